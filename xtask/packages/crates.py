"""The crates of the workspace as a registry gets them."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path


def order(root: Path) -> list[str]:
    """Return the crates that are published, each after those that it needs.

    Raise `RuntimeError` if one needs a crate of the workspace that is not published.
    """
    command = ["cargo", "metadata", "--no-deps", "--format-version", "1", "--offline"]
    text = subprocess.run(command, cwd=root, check=True, capture_output=True, text=True).stdout
    packages = json.loads(text)["packages"]
    own = {package["name"] for package in packages}
    # `publish` is a list of registries, which is empty where it is `false`.
    published = {package["name"]: package for package in packages if package["publish"] != []}
    done: list[str] = []

    def visit(name: str, above: tuple[str, ...]) -> None:
        if name in done:
            return
        if name in above:
            raise RuntimeError(f"crates need each other: {' -> '.join([*above, name])}")
        for dependency in published[name]["dependencies"]:
            needed, only_tests = dependency["name"], dependency["kind"] == "dev"
            if needed not in own or (only_tests and dependency["req"] == "*"):
                # cargo leaves out what only tests need if it states no version.
                continue
            if needed not in published or dependency["req"] == "*":
                raise RuntimeError(f"{name} needs {needed}, which is not published with a version")
            visit(needed, (*above, name))
        done.append(name)

    for name in sorted(published):
        visit(name, ())
    return done


def check(root: Path, *, verify: bool) -> None:
    """Pack all crates as `cargo publish` does, and build each from its package if `verify`."""
    print("\n".join(order(root)))
    command = ["cargo", "publish", "--workspace", "--dry-run", "--locked"]
    command += [] if verify else ["--no-verify"]
    command += [] if os.environ.get("CI") else ["--allow-dirty"]
    if subprocess.run(command, cwd=root, check=False).returncode:
        raise RuntimeError("the crates cannot be published")
