"""The build backend: maturin, after a check that Rust is there and new enough.

Without it, a build from source ends in pages of output that do not state the cause.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]


def needed() -> tuple[int, int]:
    """Return the version of Rust that the workspace states."""
    found = re.search(r'^rust-version = "(\d+)\.(\d+)', (ROOT / "Cargo.toml").read_text(), re.M)
    if not found:
        sys.exit("onnxport: Cargo.toml states no rust-version.")
    return int(found[1]), int(found[2])


def installed(program: str) -> tuple[int, int] | None:
    """Return the version of `rustc` or `cargo`, or `None` if it does not run."""
    try:
        command = [program, "--version"]
        stated = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    found = re.match(r"\w+ (\d+)\.(\d+)", stated.stdout)
    return (int(found[1]), int(found[2])) if found else None


def check() -> None:
    """End the build with one sentence if Rust is missing or too old."""
    wanted = needed()
    for name in ("rustc", "cargo"):
        found = installed(os.environ.get(name.upper(), name))
        if found is None or found < wanted:
            state = "which is not installed" if found is None else f"not {found[0]}.{found[1]}"
            version = f"{wanted[0]}.{wanted[1]}"
            sys.exit(
                f"onnxport: building from source needs Rust {version} or newer ({name}), {state}: "
                "install it from https://rustup.rs, or install a wheel with "
                "`pip install --only-binary onnxport onnxport`."
            )


def get_requires_for_build_wheel(config_settings: dict[str, Any] | None = None) -> list[str]:
    """Return what a build needs besides maturin: nothing. Pip asks before it builds."""
    check()
    return []


def get_requires_for_build_editable(config_settings: dict[str, Any] | None = None) -> list[str]:
    """Return what an editable build needs besides maturin: nothing."""
    check()
    return []


def get_requires_for_build_sdist(config_settings: dict[str, Any] | None = None) -> list[str]:
    """Return what packing the sources needs besides maturin: nothing."""
    check()
    return []


def __getattr__(name: str) -> Any:
    """Return any other hook of maturin."""
    import maturin

    return getattr(maturin, name)
