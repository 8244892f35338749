"""The scenarios. Each is given a bench, how often, and random numbers with a known seed."""

from __future__ import annotations

import os
import random
import resource
import shutil
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.python.faults.bench import DATA, MODEL, Bench, codes, finish, stop

Scenario = Callable[[Bench, int, random.Random], Counter[str]]


def wait(seconds: float) -> None:
    """Wait more exactly than `time.sleep` does."""
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass


def until_names_change(bench: Bench, process: subprocess.Popen[bytes]) -> None:
    """Wait until hidden files appear, or the process ends."""
    while process.poll() is None:
        if any(name.startswith(".onnxport-") for name in os.listdir(bench.folder)):
            return


def killed(bench: Bench, times: int, numbers: random.Random) -> Counter[str]:
    """Kill a run at a random moment: any, or one while the files change their names."""
    seen: Counter[str] = Counter()
    for at in range(times):
        bench.reset()
        process = bench.start(bench.b.program)
        if at % 2:
            until_names_change(bench, process)
            wait(numbers.uniform(0, 0.004))
        else:
            time.sleep(numbers.uniform(0, bench.b.seconds))
        stop(process, signal.SIGKILL)
        process.communicate()
        seen[bench.check_old_or_new()] += 1
    bench.reset()
    return seen


def ended(bench: Bench, times: int, numbers: random.Random) -> Counter[str]:
    """End a run by a signal that it can handle; nothing is left even without a next run."""
    seen: Counter[str] = Counter()
    expected = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129}
    bench.reset()
    for at in range(times):
        number = list(expected)[at % 3]
        process = bench.start(bench.b.program)
        if at % 2:
            until_names_change(bench, process)
        else:
            # Before its first instructions, a process ends as it always did.
            time.sleep(numbers.uniform(0.02, bench.b.seconds))
        stop(process, number)
        code, said = finish(process)
        files = bench.files()
        assert files in (bench.a.files, bench.b.files)
        if code == expected[number]:
            assert said == ["OP614"]
            seen[f"{number.name}: {'old' if files == bench.a.files else 'new'}"] += 1
        elif code == -number:
            assert files == bench.a.files
            seen[f"{number.name}: before the start"] += 1
        else:
            assert (code, files) == (0, bench.b.files)
            seen["finished"] += 1
        if files != bench.a.files:
            bench.reset()
    return seen


def too_long(bench: Bench, times: int, numbers: random.Random) -> Counter[str]:
    """Forbid files beyond a length: at every point of the data, and of the model."""
    seen: Counter[str] = Counter()
    bench.reset()
    data, model = ((bench.folder / name).stat().st_size for name in (DATA, MODEL))
    points = [data * at // times for at in range(times - 2)] + [model // 2, model - 1]
    for point in points:
        size = max(point, 1)

        def limit(size: int = size) -> None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

        command = bench.command(bench.b.program)
        done = subprocess.run(command, capture_output=True, check=False, preexec_fn=limit)
        assert (done.returncode, codes(done.stdout)) == (5, ["OP610"]), done.stdout
        bench.check_nothing_happened()
        seen["refused"] += 1
    return seen


@contextmanager
def mounted(folder: Path, *arguments: str) -> Iterator[bool]:
    """Mount something at a folder, or say that this is not permitted."""
    command = ["mount", *arguments, str(folder)]
    if shutil.which("mount") is None or subprocess.run(command, capture_output=True).returncode:
        yield False
        return
    try:
        yield True
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def disk_full(bench: Bench, times: int, numbers: random.Random) -> Counter[str]:
    """Fill the disk while a run writes to it, at every point of the data."""
    seen: Counter[str] = Counter()
    data = (bench.b.program.stat().st_size // 4096 + 1) * 4096
    free = data + (8 << 20)
    with mounted(bench.folder, "-t", "tmpfs", "-o", f"size={2 * free}", "none") as permitted:
        if not permitted:
            return Counter({"not permitted": 1})
        for at in range(times):
            bench.reset()
            process = bench.start(bench.b.program)
            written(process, data * at // times)
            status = os.statvfs(bench.folder)
            blocker = bench.folder / "blocker"
            # Other files of the folder are none of the program's business.
            with blocker.open("wb") as file, suppress(OSError):
                os.posix_fallocate(file.fileno(), 0, status.f_bavail * status.f_frsize)
            code, said = finish(process)
            blocker.unlink()
            if code == 0:
                assert bench.files() == bench.b.files
                seen["finished"] += 1
            else:
                assert (code, said) == (5, ["OP610"]), said
                bench.check_nothing_happened()
                seen["refused"] += 1
        # A disk that is too small from the start is noticed before anything is written.
        bench.reset()
        subprocess.run(["mount", "-o", f"remount,size={free}", str(bench.folder)], check=True)
        assert bench.convert(bench.b.program) == (5, ["OP610"])
        bench.check_nothing_happened()
        seen["refused early"] += 1
    return seen


def written(process: subprocess.Popen[bytes], position: int) -> None:
    """Wait until the process has written so far in some file, or has ended."""
    folder = Path(f"/proc/{process.pid}")
    while process.poll() is None:
        for info in (folder / "fdinfo").glob("*"):
            try:
                is_output = "(deleted)" in os.readlink(folder / "fd" / info.name)
                if is_output and int(info.read_text().split()[1]) >= position:
                    return
            except OSError:
                continue


def truncated(bench: Bench, times: int, numbers: random.Random) -> Counter[str]:
    """Cut the program short while it is mapped."""
    seen: Counter[str] = Counter()
    bench.reset()
    source = bench.root / "source.pt2"
    for _ in range(times):
        shutil.copyfile(bench.b.program, source)
        process = bench.start(source)
        time.sleep(numbers.uniform(0, bench.b.seconds))
        os.truncate(source, int(source.stat().st_size * numbers.uniform(0, 0.9)))
        code, said = finish(process)
        if code == 0:
            assert bench.files() == bench.b.files
            seen["finished"] += 1
            bench.reset()
            continue
        assert code == 5, (code, said)
        assert said, "there is a code"
        bench.check_nothing_happened()
        seen[said[0]] += 1
    return seen


def read_only(bench: Bench, times: int, numbers: random.Random) -> Counter[str]:
    """Read from a folder, and write to one, to which nobody can write."""
    seen: Counter[str] = Counter()
    sources = bench.root / "sources"
    sources.mkdir(exist_ok=True)
    shutil.copyfile(bench.b.program, sources / "b.pt2")
    bench.reset()
    # Root may write to a folder whatever its mode says.
    with mounted(sources, "--bind", "-o", "ro", str(sources)) as permitted:
        if not permitted:
            sources.chmod(0o555)
        assert bench.convert(sources / "b.pt2") == (0, [])
        assert bench.files() == bench.b.files
        seen["read from a read-only folder"] += 1
        if permitted or os.geteuid() != 0:
            assert bench.convert(bench.a.program, sources / MODEL) == (5, ["OP601"])
            assert os.listdir(sources) == ["b.pt2"]
            seen["refused to write to it"] += 1
    sources.chmod(0o755)
    return seen


def onto_source(bench: Bench, times: int, numbers: random.Random) -> Counter[str]:
    """Write onto the program itself, by its name, a symbolic link and a hard link."""
    seen: Counter[str] = Counter()
    before = bench.b.program.read_bytes()
    for make in (None, os.symlink, os.link):
        path = bench.b.program
        if make is not None:
            path = bench.root / "other.pt2"
            make(bench.b.program, path)
        assert bench.convert(bench.b.program, path) == (5, ["OP603"])
        assert bench.b.program.read_bytes() == before
        if make is not None:
            path.unlink()
        seen["refused"] += 1
    return seen


def two_at_once(bench: Bench, times: int, numbers: random.Random) -> Counter[str]:
    """Let two runs write to one place."""
    seen: Counter[str] = Counter()
    for _ in range(times):
        first = bench.start(bench.a.program)
        wait(numbers.uniform(0, 0.02))
        second = bench.start(bench.b.program)
        with ThreadPoolExecutor() as pool:
            results = list(pool.map(finish, (first, second)))
        assert [code for code, _ in results] == [0, 0], results
        files = bench.files()
        assert files in (bench.a.files, bench.b.files)
        seen["the first" if files == bench.a.files else "the second"] += 1
    return seen


SCENARIOS: dict[str, tuple[Scenario, int, int]] = {
    "killed": (killed, 8, 200),
    "ended by a signal": (ended, 6, 60),
    "file too long": (too_long, 6, 50),
    "disk full": (disk_full, 4, 50),
    "source truncated": (truncated, 6, 60),
    "read-only": (read_only, 1, 1),
    "onto its source": (onto_source, 1, 1),
    "two at once": (two_at_once, 4, 50),
}
"""The scenario, and how often it is run in tests and by hand."""
