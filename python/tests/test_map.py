"""`onnxport.map`: one outcome for each request, on executors whose workers may be killed."""

from __future__ import annotations

import concurrent.futures
import json
import os
import pickle
import shutil
import signal
from functools import partial
from pathlib import Path

import pytest

import onnxport
from onnxport import Request, _map

ROOT = Path(__file__).parents[2]
PROGRAM = ROOT / "examples" / "mlp" / "mlp.pt2"


def requests(folder: Path, count: int) -> list[Request]:
    return [
        Request("convert", PROGRAM, output=folder / f"{number}.onnx", no_verify=True)
        for number in range(count)
    ]


def processes(count: int = 2) -> concurrent.futures.Executor:
    return concurrent.futures.ProcessPoolExecutor(count)


class Killing(concurrent.futures.ProcessPoolExecutor):
    """A pool whose workers are killed by some requests, and count what they run in `log`."""

    def __init__(self, log: Path, victim: str, times: int) -> None:
        super().__init__(2)
        self._what = (log, victim, times)

    def submit(self, fn, /, request, file):
        return super().submit(kill_or_run, *self._what, request, file)


def kill_or_run(log: Path, victim: str, times: int, request: Request, file: Path | None):
    name = Path(request.options["output"]).stem
    with log.open("a") as lines:
        lines.write(f"{name}\n")
    if name == victim and log.read_text().split().count(name) <= times:
        os.kill(os.getpid(), signal.SIGKILL)
    return _map.perform(request, file)


def test_a_request_is_data(tmp_path):
    request = Request("convert", PROGRAM, output=tmp_path / "m.onnx", opset=20)
    assert pickle.loads(pickle.dumps(request)) == request
    assert request == Request("convert", program=PROGRAM, output=tmp_path / "m.onnx", opset=20)
    assert str(request) == f"convert {PROGRAM}"
    assert len({request, request}) == 1
    with pytest.raises(onnxport.UsageError, match="unknown options for `convert`: ouput"):
        Request("convert", PROGRAM, ouput="m.onnx")


@pytest.mark.parametrize("executor", [None, processes], ids=["here", "processes"])
def test_every_request_has_an_outcome(tmp_path, executor):
    missing = Request("convert", tmp_path / "none.pt2", output=tmp_path / "none.onnx")
    seen = []
    found = onnxport.map([*requests(tmp_path, 3), missing], executor, progress=seen.append)
    assert [one.ok for one in found] == [True, True, True, False]
    assert sorted(map(str, seen)) == sorted(map(str, found))
    assert {path.name for path in tmp_path.glob("*.onnx")} == {"0.onnx", "1.onnx", "2.onnx"}
    assert found[0].result is not None
    assert found[0].result["ok"]
    error = found[3].error
    assert isinstance(error, onnxport.FileError)
    assert error.diagnostics[0].code == "OP101"
    assert str(found) == f"3 of 4 requests succeeded\nOP101:\n  convert {tmp_path}/none.pt2"
    with pytest.raises(onnxport.FileError, match="3 of 4"):
        found.raise_for_failures()
    found.save(tmp_path / "report.json")
    report = json.loads((tmp_path / "report.json").read_text())
    assert (report["requests"], report["failed"], len(report["outcomes"])) == (4, 1, 4)
    assert report["outcomes"][3]["diagnostics"][0]["code"] == "OP101"


def test_a_manifest_is_resumed(tmp_path):
    program, manifest = tmp_path / "m.pt2", tmp_path / "manifest"
    shutil.copy(PROGRAM, program)
    once = [
        Request("convert", program, output=tmp_path / f"{n}.onnx", no_verify=True) for n in range(3)
    ]
    missing = Request("convert", tmp_path / "none.pt2", output=tmp_path / "none.onnx")
    run = partial(onnxport.map, [*once, missing], manifest=manifest)

    def attempts() -> list[int]:
        return [one.attempts for one in run()]

    assert attempts() == [1, 1, 1, 1]
    # What failed runs again.
    assert attempts() == [0, 0, 0, 1]
    assert "3 of them earlier" in str(run())
    (tmp_path / "1.onnx").unlink()
    assert attempts() == [0, 1, 0, 1]
    os.utime(program, (1, 1))
    assert attempts() == [1, 1, 1, 1]
    for file in manifest.iterdir():
        file.write_text("{")
    assert attempts() == [1, 1, 1, 1]


def test_killed_workers_lose_nothing(tmp_path):
    log = tmp_path / "log"
    pool = partial(Killing, log, "3", 2)
    found = onnxport.map(requests(tmp_path, 8), pool, manifest=tmp_path / "manifest")
    assert all(one.ok for one in found)
    assert len(list(tmp_path.glob("*.onnx"))) == 8
    # What others had finished did not run again.
    # A worker that is killed while it writes leaves a hidden file.
    entries = [path for path in (tmp_path / "manifest").iterdir() if path.name[0] != "."]
    assert len(entries) == 8


def test_a_request_that_always_kills_its_worker_is_an_error(tmp_path):
    pool = partial(Killing, tmp_path / "log", "1", 99)
    found = onnxport.map(requests(tmp_path, 4), pool, retries=1)
    assert [one.ok for one in found] == [True, False, True, True]
    error = found[1].error
    assert error is not None
    assert "had no answer from 2 workers" in str(error)
    assert found[1].attempts == 2


def test_a_broken_executor_that_cannot_be_replaced_ends_the_rest(tmp_path):
    with Killing(tmp_path / "log", "0", 99) as pool:
        found = onnxport.map(requests(tmp_path, 4), pool)
    assert len(found) == 4
    failed = found.failed
    assert failed
    assert all("pass a function" in str(one.error) for one in failed)
    assert {one.error.diagnostics[0].code for one in failed if one.error} == {"OP901"}


def test_wrong_arguments_are_refused(tmp_path):
    twice = [*requests(tmp_path, 1), *requests(tmp_path, 1)]
    with pytest.raises(onnxport.UsageError, match="both write"):
        onnxport.map(twice)

    class Own:
        def submit(self, fn, /, *args):
            return fn(*args)

    with pytest.raises(onnxport.UsageError, match=r"get_executor\(\)"):
        onnxport.map(requests(tmp_path, 1), Own())
