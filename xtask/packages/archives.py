"""Release archives: the command, its manual page, completions and licenses."""

from __future__ import annotations

import gzip
import hashlib
import io
import shutil
import subprocess
import tarfile
import time
import zipfile
from pathlib import Path

import builds

COMPLETIONS = {
    "bash": "onnxport.bash",
    "zsh": "_onnxport",
    "fish": "onnxport.fish",
    "powershell": "_onnxport.ps1",
}
"""The files of completions, by shell."""

SUMS = "SHA256SUMS"


def name(version: str, target: str) -> str:
    """Return the name of an archive without its suffix, and of the folder in it."""
    return f"onnxport-{version}-{target}"


def lay_out(root: Path, binary: Path, target: str, out: Path) -> Path:
    """Lay out the contents of an archive, and return their folder. The binary must run here."""
    folder = out / name(builds.version(root), target)
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "completions").mkdir(parents=True)
    (folder / "man").mkdir()
    own = folder / f"onnxport{binary.suffix}"
    shutil.copyfile(binary, own)
    own.chmod(0o755)
    for file in ("LICENSE-APACHE", "LICENSE-MIT", "README.md"):
        shutil.copyfile(root / file, folder / file)
    for shell, file in COMPLETIONS.items():
        (folder / "completions" / file).write_bytes(output(own, "completions", shell))
    (folder / "man/onnxport.1").write_bytes(output(own, "man"))
    return folder


def output(binary: Path, *arguments: str) -> bytes:
    """Return what a command prints."""
    done = subprocess.run([binary, *arguments], capture_output=True, check=False)
    if done.returncode:
        raise RuntimeError(
            f"{binary} {' '.join(arguments)}: {done.stderr.decode(errors='replace')}"
        )
    return done.stdout


def pack(folder: Path, epoch: int) -> Path:
    """Pack a folder: the same contents and time give the same bytes."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    entries = [(path.relative_to(folder.parent).as_posix(), path) for path in files]
    if folder.name.endswith("windows-msvc"):
        return write_zip(folder.with_name(f"{folder.name}.zip"), entries, epoch)
    return write_tar(folder.with_name(f"{folder.name}.tar.gz"), entries, epoch)


def write_tar(path: Path, entries: list[tuple[str, Path]], epoch: int) -> Path:
    """Write a compressed archive of tar."""
    contents = io.BytesIO()
    with tarfile.open(fileobj=contents, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for entry, file in entries:
            info = tarfile.TarInfo(entry)
            info.size, info.mtime, info.mode = file.stat().st_size, epoch, mode(file)
            with file.open("rb") as data:
                tar.addfile(info, data)
    path.write_bytes(gzip.compress(contents.getvalue(), 9, mtime=epoch))
    return path


def write_zip(path: Path, entries: list[tuple[str, Path]], epoch: int) -> Path:
    """Write an archive of zip."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for entry, file in entries:
            info = zipfile.ZipInfo(entry, time.gmtime(epoch)[:6])
            info.external_attr, info.compress_type = mode(file) << 16, zipfile.ZIP_DEFLATED
            archive.writestr(info, file.read_bytes())
    return path


def mode(file: Path) -> int:
    """Return the permissions of a packed file, which do not depend on the umask."""
    return 0o755 if file.stem == "onnxport" and file.suffix in ("", ".exe") else 0o644


def sums(folder: Path) -> Path:
    """Write the SHA-256 of every package in a folder, as `sha256sum` does."""
    ends = (".tar.gz", ".zip", ".whl", ".deb")
    packages = sorted(path for path in folder.iterdir() if path.name.endswith(ends))
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in packages]
    written = folder / SUMS
    written.write_text("".join(lines))
    return written
