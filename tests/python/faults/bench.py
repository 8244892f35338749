"""Two programs of one shape, their models, and the contents of a folder."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import onnx
import onnxruntime as ort
import torch
from onnx.external_data_helper import ExternalDataInfo
from torch import Tensor, nn

from tests.python.onnx_runtime import binary

MODEL = "m.onnx"
DATA = "m.onnx.data"


class Layers(nn.Module):
    """Square layers with weights of 4 MiB each."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(1024, 1024) for _ in range(count))

    def forward(self, x: Tensor) -> Tensor:
        """Return `[1, 1024]` of `x` with the same extents."""
        for layer in self.layers:
            x = layer(x)
        return x


@dataclass(frozen=True)
class Side:
    """A program, and the files that an undisturbed conversion writes."""

    program: Path
    files: dict[str, str]
    """The hash of every file."""
    content: str
    """A hash of the weights and the graph, wherever the weights are."""
    seconds: float
    """How long the conversion takes."""


class Bench:
    """A folder, and two programs whose models it may hold."""

    def __init__(self, root: Path, layers: int) -> None:
        self.root = root
        self.folder = root / "out"
        self.folder.mkdir()
        self.a = self._side("a", layers)
        self.b = self._side("b", layers)

    def _side(self, name: str, layers: int) -> Side:
        torch.manual_seed(ord(name))
        program = self.root / f"{name}.pt2"
        example = (torch.zeros(1, 1024),)
        torch.export.save(torch.export.export(Layers(layers).eval(), example), program)
        start = time.monotonic()
        code, _ = self.convert(program)
        seconds = time.monotonic() - start
        assert code == 0
        side = Side(program, self.files(), self.content(), seconds)
        for path in self.folder.iterdir():
            path.unlink()
        return side

    def command(self, program: Path, output: Path | None = None) -> list[str]:
        """Return the command that converts `program`."""
        output = output or self.folder / MODEL
        arguments = ["--no-verify", "--json", "--external-data", "external"]
        return [str(binary()), "convert", str(program), "-o", str(output), *arguments]

    def start(self, program: Path) -> subprocess.Popen[bytes]:
        """Start a conversion."""
        command = self.command(program)
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def convert(self, program: Path, output: Path | None = None) -> tuple[int, list[str]]:
        """Convert, and return the exit code and the codes of all diagnostics."""
        done = subprocess.run(self.command(program, output), capture_output=True, check=False)
        return done.returncode, codes(done.stdout)

    def files(self) -> dict[str, str]:
        """Return the hash of every file in the folder."""
        paths = sorted(self.folder.iterdir())
        return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}

    def content(self) -> str:
        """Return a hash of the model that does not depend on where its weights are."""
        model = onnx.load(self.folder / MODEL, load_external_data=False)
        digest = hashlib.sha256()
        for tensor in model.graph.initializer:
            if tensor.data_location == onnx.TensorProto.EXTERNAL:
                info = ExternalDataInfo(tensor)
                with (self.folder / info.location).open("rb") as file:
                    file.seek(info.offset)
                    digest.update(file.read(info.length))
                del tensor.external_data[:]
        digest.update(model.SerializeToString(deterministic=True))
        return digest.hexdigest()

    def check_readable(self) -> None:
        """Load the model in ONNX Runtime and run it."""
        session = ort.InferenceSession(
            self.folder / MODEL, providers=["CPUExecutionProvider"], sess_options=quick()
        )
        session.run(None, {session.get_inputs()[0].name: torch.zeros(1, 1024).numpy()})

    def reset(self) -> None:
        """Put the model of the first program there: the next run."""
        code, said = self.convert(self.a.program)
        assert code == 0, said
        assert self.files() == self.a.files, "the next run left something behind"

    def check_old_or_new(self) -> str:
        """Check the files after the second program replaced the first one, or not."""
        content = self.content()
        assert content in (self.a.content, self.b.content), "old and new are mixed"
        self.check_readable()
        if content == self.b.content:
            return "new"
        files = self.files()
        same = all(files.get(name) == value for name, value in self.a.files.items())
        return "old" if same else "old under second names"

    def check_nothing_happened(self) -> None:
        """Check that the first program's files stand there, and no others."""
        assert self.files() == self.a.files


def quick() -> ort.SessionOptions:
    """Return options for a session that is made for one run."""
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    return options


def codes(stdout: bytes) -> list[str]:
    """Return the codes of the diagnostics that a command printed as JSON."""
    if not stdout.strip():
        return []
    return [diagnostic["code"] for diagnostic in json.loads(stdout)["diagnostics"]]


def finish(process: subprocess.Popen[bytes]) -> tuple[int, list[str]]:
    """Wait for a conversion, and return its exit code and the codes of all diagnostics."""
    stdout, _ = process.communicate(timeout=60)
    return process.returncode, codes(stdout)


def stop(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    """Send a signal to a process that may be gone already."""
    if process.poll() is None:
        os.kill(process.pid, number)
