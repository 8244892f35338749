"""`cargo xtask package`: the packages of a release.

Every command writes into `target/packages`, or `--out`. The same sources give the same bytes in
every folder: see `builds.py`.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

import archives
import builds
import crates
import debian
import tries

ROOT = Path(__file__).resolve().parents[2]


def main() -> None:
    """Run the command that the arguments name."""
    parser = argparse.ArgumentParser(prog="cargo xtask package", description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "target/packages", help="the folder")
    commands = parser.add_subparsers(dest="command", required=True)
    archive = commands.add_parser("archive", help="build the command, and pack it for a target")
    archive.add_argument(
        "--target", help="the target [default: the host's, on Linux with glibc 2.17]"
    )
    archive.add_argument("--binary", type=Path, help="pack this binary instead of building one")
    archive.add_argument("--deb", action="store_true", help="also write a Debian package")
    wheel = commands.add_parser("wheel", help="build a wheel")
    wheel.add_argument("--target", help="the target [default: the host's]")
    wheel.add_argument("--compatibility", help="manylinux_2_17, musllinux_1_2, …")
    for builds_something in (archive, wheel):
        builds_something.add_argument("--profile", default="dist", help="cargo's profile")
    commands.add_parser("sums", help="write SHA256SUMS of the folder")
    crate = commands.add_parser("crates", help="check that the crates can be published, in order")
    crate.add_argument("--no-verify", action="store_true", help="do not build the packed crates")
    tried = commands.add_parser("try", help="install packages in fresh systems, and use them there")
    tried.add_argument("packages", type=Path, nargs="+", help="wheels, archives, Debian packages")
    tried.add_argument("--suite", default="bookworm", help="a release of Debian")
    tried.add_argument(
        "--python", default="python3", help="the interpreter in the system, for wheels"
    )
    tried.add_argument(
        "--system", type=Path, help="a folder with a system instead, which is copied"
    )
    arguments = parser.parse_args()
    out: Path = arguments.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    match arguments.command:
        case "archive":
            target = arguments.target or builds.host()
            binary = arguments.binary or builds.command(ROOT, target, arguments.profile)
            folder = archives.lay_out(ROOT, binary, target, out)
            print(archives.pack(folder, builds.epoch(ROOT)))
            if arguments.deb:
                print(debian.pack(ROOT, folder, target, out, builds.epoch(ROOT)))
        case "wheel":
            builds.wheel(ROOT, arguments.target, arguments.compatibility, arguments.profile, out)
        case "sums":
            print(archives.sums(out).read_text(), end="")
        case "crates":
            crates.check(ROOT, verify=not arguments.no_verify)
        case "try":
            systems = tries.Systems(ROOT, out, arguments.suite, arguments.system)
            for package in arguments.packages:
                systems.attempt(package.resolve(), arguments.python)


if __name__ == "__main__":
    os.environ["LC_ALL"] = "C.UTF-8"
    try:
        main()
    except (OSError, RuntimeError, subprocess.CalledProcessError) as error:
        sys.exit(f"cargo xtask package: {error}")
