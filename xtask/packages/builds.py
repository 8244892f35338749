"""Builds of the command and of wheels, which do not depend on their folders."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import wheels

GLIBC = "2.17"
"""The oldest release that binaries for Linux run with."""


def version(root: Path) -> str:
    """Return the version of the workspace."""
    found = re.search(r'^\[workspace\.package\]\nversion = "([^"]+)"', manifest(root), re.MULTILINE)
    if not found:
        raise RuntimeError("Cargo.toml states no version")
    return found[1]


def manifest(root: Path) -> str:
    """Return the manifest of the workspace."""
    return (root / "Cargo.toml").read_text()


def host() -> str:
    """Return the target of the machine's compiler."""
    stated = subprocess.run(["rustc", "-vV"], check=True, capture_output=True, text=True).stdout
    return stated.split("host: ")[1].split()[0]


def epoch(root: Path) -> int:
    """Return the time that packages state: of the commit, in seconds."""
    stated = os.environ.get("SOURCE_DATE_EPOCH")
    if stated:
        return int(stated)
    git = ["git", "log", "-1", "--format=%ct"]
    found = subprocess.run(git, cwd=root, capture_output=True, text=True, check=False)
    if found.returncode:
        raise RuntimeError("there is no commit to take the time from: set SOURCE_DATE_EPOCH")
    return int(found.stdout)


def environment(root: Path) -> dict[str, str]:
    """Return an environment in which a build depends on the sources, the tools and the target only.

    Messages of panics state paths of sources: the folders of the workspace, of cargo's registry and
    of the standard library's sources get names that are the same everywhere.
    """
    sysroot = ["rustc", "--print", "sysroot"]
    found = subprocess.run(sysroot, check=True, capture_output=True, text=True).stdout.strip()
    cargo = Path(os.environ.get("CARGO_HOME") or Path.home() / ".cargo")
    folders = {root: "/onnxport", cargo / "registry/src": "/crates", Path(found): "/rust"}
    flags = [f"--remap-path-prefix={folder}={name}" for folder, name in folders.items()]
    if os.name == "posix":
        # C sources are those of mimalloc: its assertions would state their paths.
        c = " ".join(f"-ffile-prefix-map={folder}={name}" for folder, name in folders.items())
    else:
        c = ""
    return {
        **os.environ,
        "CARGO_ENCODED_RUSTFLAGS": "\x1f".join(flags),
        "CARGO_INCREMENTAL": "0",
        "SOURCE_DATE_EPOCH": str(epoch(root)),
        "CFLAGS": f"{os.environ.get('CFLAGS', '')} {c}".strip(),
    }


def output(root: Path) -> Path:
    """Return the folder of cargo's outputs."""
    return root / os.environ.get("CARGO_TARGET_DIR", "target")


def command(root: Path, target: str, profile: str) -> Path:
    """Build the command for `target`, and return the binary."""
    zig = target.endswith("linux-gnu") and shutil.which("cargo-zigbuild") is not None
    if target.endswith("linux-gnu") and not zig:
        print(
            "cargo-zigbuild is missing: the binary will need this machine's glibc", file=sys.stderr
        )
    build = ["zigbuild", "--target", f"{target}.{GLIBC}"] if zig else ["build", "--target", target]
    options = ["--profile", profile, "--locked", "-p", "onnxport", "--features", "cuda"]
    run(["cargo", *build, *options], root)
    suffix = ".exe" if "windows" in target else ""
    return output(root) / target / profile / f"onnxport{suffix}"


def wheel(
    root: Path, target: str | None, compatibility: str | None, profile: str, out: Path
) -> None:
    """Build a wheel into `out`, with zig if it states the C library that it needs."""
    with tempfile.TemporaryDirectory(dir=out) as folder:
        build = ["maturin", "build", "--profile", profile, "--locked", "--out", folder]
        if target:
            build += ["--target", target]
        if compatibility:
            build += ["--zig", "--compatibility", compatibility]
        run(build, root)
        for built in Path(folder).glob("*.whl"):
            print(wheels.normalize(built, root, out))


def run(build: list[str], root: Path) -> None:
    """Run a build in its environment."""
    if subprocess.run(build, cwd=root, env=environment(root), check=False).returncode:
        raise RuntimeError(f"{build[0]} failed")
