"""The part of referenced weights that a conversion reads: `python benches/reference.py FOLDER`.

`python -m tests.python.weights.llama FOLDER` writes FOLDER. The pages of the weights are
dropped from the page cache first; those that are there after the conversion were read. Linux only.
"""

from __future__ import annotations

import argparse
import ctypes
import mmap
import os
import subprocess
import sys
import time
from pathlib import Path

LIBC = ctypes.CDLL(None, use_errno=True)


def drop(path: Path) -> None:
    """Drop the pages of a file from the page cache."""
    with path.open("rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def resident(path: Path) -> int:
    """Return how many bytes of a file are in the page cache."""
    size = path.stat().st_size
    pages = -(-size // mmap.PAGESIZE)
    with path.open("rb") as file, mmap.mmap(file.fileno(), size, mmap.MAP_PRIVATE) as mapped:
        address = ctypes.addressof(ctypes.c_char.from_buffer(mapped))
        flags = (ctypes.c_ubyte * pages)()
        if LIBC.mincore(ctypes.c_void_p(address), ctypes.c_size_t(size), flags) != 0:
            raise OSError(ctypes.get_errno(), "mincore")
        return sum(flag & 1 for flag in flags) * mmap.PAGESIZE


def rss_anon(pid: int) -> int:
    """Return the anonymous memory of a process in bytes, 0 once it is gone."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("RssAnon")), 0)


def measure(binary: Path, folder: Path) -> dict[str, float]:
    """Convert once; return seconds and bytes."""
    shards = sorted(folder.glob("*.safetensors"))
    os.sync()  # Pages that are still to be written would not be dropped.
    for shard in shards:
        drop(shard)
    before = sum(map(resident, shards))
    rules = folder / "map.toml"
    rules.write_text('prefix = { "model." = "" }\n')
    model = folder / "model.onnx"
    command = [binary, "convert", folder / "program.pt2", "-o", model, "--no-verify", "--quiet"]
    command += ["--weights", folder, "--weights-map", rules, "--external-data", "reference"]
    start = time.perf_counter()
    process = subprocess.Popen(command)
    peak = 0
    while process.poll() is None:
        peak = max(peak, rss_anon(process.pid))
        time.sleep(0.0002)
    if process.returncode != 0:
        raise SystemExit(process.returncode)
    return {
        "shards": len(shards),
        "weights": sum(shard.stat().st_size for shard in shards),
        "wall": time.perf_counter() - start,
        "read": sum(map(resident, shards)) - before,
        "peak": peak,
        "model": model.stat().st_size,
        "data": sum(path.stat().st_size for path in folder.glob("model.onnx.data")),
    }


def main() -> None:
    """Print the measurements."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--binary", type=Path, default=Path("target/release/onnxport"))
    arguments = parser.parse_args()
    found = measure(arguments.binary, arguments.folder)
    sys.stdout.write(
        f"{found['weights'] / 1e9:.1f} GB in {found['shards']} files, {found['wall']:.2f} s: "
        f"{found['read'] / 1024:.0f} KiB of them read, RssAnon {found['peak'] / 2**20:.1f} MiB, "
        f"model {found['model'] / 1e6:.1f} MB, copied {found['data']} bytes\n"
    )


if __name__ == "__main__":
    main()
