"""Work that is ended early, or that goes on while Python does something else."""

import concurrent.futures
import json
import os
import signal
import threading
import time

import pytest
import torch
from test_memory import UNVERIFIED, parts

pytestmark = pytest.mark.minutes

_native = pytest.importorskip("onnxport._native", reason="run `cargo xtask python`")


@pytest.fixture(autouse=True)
def interrupts():
    """Take interrupts, which a shell has its jobs in the background ignore."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="module")
def large():
    """A model with 1 GB of weights; how it is told from others does not matter."""

    class Large(torch.nn.Module):
        def __init__(self):
            super().__init__()
            # Memory that nobody has touched takes none.
            self.table = torch.nn.Parameter(torch.zeros(250, 1_000_000), requires_grad=False)

        def forward(self, x):
            return self.table[x]

    program = torch.export.export(Large(), (torch.tensor([1, 2]),))
    return _native.Conversion.from_parts(**parts(program)).run(UNVERIFIED)


def interrupted(model, path):
    """Save `model` with an interrupt before half of it is written; return whether it was raised."""
    writes, sent = threading.Event(), threading.Event()

    def interrupt():
        writes.wait()
        os.kill(os.getpid(), signal.SIGINT)
        sent.set()

    def begun(stage, done, total):
        # Told from this thread, which waits.
        if 0 < done < total // 2 and not writes.is_set():
            writes.set()
            sent.wait()

    thread = threading.Thread(target=interrupt, daemon=True)
    thread.start()
    try:
        model.save(path, progress=begun)
        if writes.is_set():
            # The signal came with the last byte: later work is interrupted.
            time.sleep(5)
    except KeyboardInterrupt:
        thread.join()
        return True
    # Nothing was told before half of it was written, as happens on a busy machine.
    assert not writes.is_set(), "the interrupt was lost"
    return False


def test_an_interrupt_leaves_no_file(large, tmp_path):
    path = tmp_path / "m.onnx"
    data = path.with_name("m.onnx.data")
    for _ in range(5):
        if interrupted(large, path) and not list(tmp_path.iterdir()):
            return
        # The other half was faster than the signal: then all of it is there.
        assert sorted(tmp_path.iterdir()) == [path, data]
        assert data.stat().st_size >= 1_000_000_000
        path.unlink()
        data.unlink()
    pytest.skip("the model was written before the interrupt was seen, five times")


def test_an_interrupt_leaves_what_was_there(large, tmp_path):
    path = tmp_path / "m.onnx"
    path.write_bytes(b"old")

    def stop(stage, done, total):
        if done > 0:
            raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        large.save(path, progress=stop)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_progress_is_told(large, tmp_path):
    seen = []
    large.save(tmp_path / "m.onnx", progress=lambda *now: seen.append(now))
    assert any(stage == "writing" and total > 10**9 for stage, _, total in seen)
    assert [done for _, done, _ in seen] == sorted(done for _, done, _ in seen)
    assert seen[-1][1] == seen[-1][2]


def test_other_threads_run_meanwhile(large, tmp_path):
    turns = 0
    with concurrent.futures.ThreadPoolExecutor() as threads:
        saved = threads.submit(large.save, tmp_path / "m.onnx")
        while not saved.done():
            turns += 1
            time.sleep(0.001)
    saved.result()
    assert turns > 10


def test_one_interrupted_export_leaves_another_alone(large, tmp_path):
    def stop(stage, done, total):
        if done > 0:
            raise RuntimeError("enough")

    with concurrent.futures.ThreadPoolExecutor() as threads:
        other = threads.submit(large.save, tmp_path / "other.onnx")
        with pytest.raises(RuntimeError, match="enough"):
            large.save(tmp_path / "m.onnx", progress=stop)
    other.result()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["other.onnx", "other.onnx.data"]


def test_a_thousand_exports_leak_nothing(tmp_path):
    class Small(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = torch.nn.Linear(64, 64)

        def forward(self, x):
            return self.linear(x).relu()

    program = torch.export.export(Small(), (torch.randn(2, 64),))

    def resident():
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def export():
        model = _native.Conversion.from_parts(**parts(program)).run(UNVERIFIED)
        model.to_bytes()
        json.loads(model.report)

    if not os.path.exists("/proc/self/statm"):
        pytest.skip("the system does not say how much memory a process holds")
    for _ in range(100):
        export()
    before = resident()
    for _ in range(1000):
        export()
    # One that is kept would take some 20 KB of weights alone.
    assert resident() - before < 8 << 20
