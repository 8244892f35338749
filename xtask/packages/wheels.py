"""Wheels whose bytes do not depend on the folder that they are built in."""

from __future__ import annotations

import base64
import hashlib
import zipfile
from pathlib import Path

NAME = "/onnxport"
"""Replaces the folder of the sources, as in the paths of panics."""


def normalize(wheel: Path, root: Path, folder: Path) -> Path:
    """Write a wheel into `folder` without the path of the sources, and return the new path.

    Maturin's bill of materials states it. The file `RECORD` states the hash of each file.
    """
    with zipfile.ZipFile(wheel) as old:
        entries = [(info, old.read(info)) for info in old.infolist()]
    named = str(root).encode()
    replaced = {
        info.filename: data.replace(named, NAME.encode()) if "/sboms/" in info.filename else data
        for info, data in entries
    }
    record = next(name for name in replaced if name.endswith(".dist-info/RECORD"))
    lines = [line(name, data) for name, data in replaced.items() if name != record]
    replaced[record] = "".join([*lines, f"{record},,\n"]).encode()
    written = folder / wheel.name
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as new:
        for info, _ in entries:
            new.writestr(info, replaced[info.filename], zipfile.ZIP_DEFLATED, 9)
    return written


def line(name: str, data: bytes) -> str:
    """Return the line of a file in `RECORD`."""
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(data)}\n"
