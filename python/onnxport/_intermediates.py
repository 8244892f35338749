"""The values of every node of an exported program, streamed to a file while they are computed.

A safetensors file of the format `onnxport-intermediates/1`. A tensor `NAME` is the result of the
node of this name in the program's graph, complex ones as pairs of reals in a last axis of extent 2;
`input/NAME` is an input of the call. The metadata `inputs` is a JSON list of the inputs' names in
order. Results that are not tensors, and those of types that safetensors does not support, are left
out.
"""

from __future__ import annotations

import ctypes
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind

FORMAT = "onnxport-intermediates/1"

_TYPES = {
    torch.bool: "BOOL",
    torch.uint8: "U8",
    torch.int8: "I8",
    torch.uint16: "U16",
    torch.int16: "I16",
    torch.uint32: "U32",
    torch.int32: "I32",
    torch.uint64: "U64",
    torch.int64: "I64",
    torch.float16: "F16",
    torch.bfloat16: "BF16",
    torch.float32: "F32",
    torch.float64: "F64",
    torch.float8_e4m3fn: "F8_E4M3",
    torch.float8_e5m2: "F8_E5M2",
}
# Operators whose results have no values yet.
_UNINITIALISED = ("aten.empty", "aten.new_empty", "prims.empty")
# The header's size for a tensor besides its name and extents: keys, a type, two offsets.
_ENTRY_BYTES = 128
_NUMBER_BYTES = 22


def intermediates_path(path: str | os.PathLike[str]) -> Path:
    """Return where the intermediate values of the archive at `path` lie."""
    return Path(path).with_suffix(".intermediates.safetensors")


def record(ep: ExportedProgram, inputs: Sequence[Any], path: Path, seed: int) -> None:
    """Run `ep` on its flattened `inputs` and write the result of every node to `path`.

    A value is written when it is computed and kept no longer than the program needs it.
    """
    names = {
        spec.arg.name: leaf
        for spec, leaf in zip(_user_specs(ep), inputs, strict=True)
        if isinstance(leaf, torch.Tensor)
    }
    metadata = {"format": FORMAT, "inputs": json.dumps(list(names))}
    with _Stream(path, metadata, _header_bytes(ep)) as stream:
        for name, leaf in names.items():
            stream.put(f"input/{name}", leaf)
        with torch.random.fork_rng(devices=[]), torch.no_grad():
            torch.manual_seed(seed)
            _Interpreter(ep.graph_module, stream).run(*_arguments(ep, inputs))


def record_intermediates(
    archive: str | os.PathLike[str],
    target: str | os.PathLike[str] | None = None,
    *,
    seed: int = 0,
) -> Path:
    """Record the result of every node of an archive's program in its example call.

    The archive is not changed. `torch.export.load` reads it, which may run code from it; installed
    libraries whose operators the program calls are imported first.

    Args:
        archive: A `.pt2` file with its example inputs.
        target: The output file, by default `model.intermediates.safetensors` beside the archive.
        seed: The seed of random operators inside the program.

    Returns:
        The path of the file.

    Raises:
        SaveError: The archive holds no example inputs.
    """
    from onnxport._onnx_program.reference import load
    from onnxport._program import SaveError, flatten_inputs

    ep = load(archive)
    if ep.example_inputs is None:
        raise SaveError(f"`{os.fspath(archive)}` holds no example inputs")
    path = intermediates_path(archive) if target is None else Path(target)
    record(ep, flatten_inputs(ep, *ep.example_inputs), path, seed)
    return path


def _user_specs(ep: ExportedProgram) -> list[Any]:
    return [s for s in ep.graph_signature.input_specs if s.kind is InputKind.USER_INPUT]


def _arguments(ep: ExportedProgram, inputs: Sequence[Any]) -> list[Any]:
    """Return a value for each placeholder; tensors that the program may write to are copied."""
    user = iter(inputs)
    values: list[Any] = []
    for spec in ep.graph_signature.input_specs:
        if spec.kind is InputKind.USER_INPUT:
            leaf = next(user)
            values.append(leaf.detach().clone() if isinstance(leaf, torch.Tensor) else leaf)
            continue
        held = ep.state_dict if spec.target in ep.state_dict else ep.constants
        value = held.get(spec.target)
        copied = spec.kind is InputKind.BUFFER and isinstance(value, torch.Tensor)
        values.append(value.detach().clone() if copied else value)
    return values


def _header_bytes(ep: ExportedProgram) -> int:
    """Return a bound on the header's size: names and ranks are known before anything runs."""
    total = 4096
    for node in ep.graph.nodes:
        value = node.meta.get("val")
        if isinstance(value, torch.Tensor):
            name = len(json.dumps(f"input/{node.name}"))
            total += 2 * (_ENTRY_BYTES + name + _NUMBER_BYTES * (value.dim() + 3))
    return -(-total // 8) * 8


class _Interpreter(torch.fx.Interpreter):
    """Runs a graph, and streams the results of its nodes."""

    def __init__(self, module: torch.fx.GraphModule, stream: _Stream) -> None:
        super().__init__(module)
        self.stream = stream

    def run_node(self, n: torch.fx.Node) -> Any:
        value = super().run_node(n)
        if n.op == "call_function" and isinstance(value, torch.Tensor):
            if str(n.target).startswith(_UNINITIALISED):
                # Any value is correct; zeros are those that the lowerings write.
                value.zero_()
            # Written at once: an in-place operator may change it later.
            self.stream.put(n.name, value)
        return value


class _Stream:
    """A safetensors file that grows: its header is written last, to room that is kept for it.

    Until it is whole it has another name, and it vanishes when something goes wrong.
    """

    def __init__(self, path: Path, metadata: Mapping[str, str], header_bytes: int) -> None:
        self.path = path
        self.hidden = path.with_name(f".{path.name}.{os.getpid()}.tmp")
        self.header: dict[str, Any] = {"__metadata__": dict(metadata)}
        self.room = header_bytes
        self.end = 0

    def __enter__(self) -> _Stream:
        self.file = open(self.hidden, "wb")
        self.file.seek(8 + self.room)
        return self

    def put(self, name: str, value: torch.Tensor) -> None:
        """Append a tensor, unless safetensors files have no such ones."""
        if value.layout is not torch.strided or value.is_quantized:
            return
        value = value.detach().cpu()
        if value.is_complex():
            value = torch.view_as_real(value.resolve_conj())
        if value.dtype not in _TYPES:
            return
        value = value.resolve_neg().contiguous()
        count = value.numel() * value.element_size()
        if count:
            self.file.write((ctypes.c_char * count).from_address(value.data_ptr()))
        self.header[name] = {
            "dtype": _TYPES[value.dtype],
            "shape": list(value.shape),
            "data_offsets": [self.end, self.end + count],
        }
        self.end += count

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if kind is None:
                header = json.dumps(self.header).encode()
                if len(header) > self.room:
                    raise RuntimeError(
                        f"the header takes {len(header)} bytes, kept are {self.room}"
                    )
                self.file.seek(0)
                self.file.write(self.room.to_bytes(8, "little") + header.ljust(self.room))
                self.file.truncate(8 + self.room + self.end)
                self.file.close()
                self.hidden.replace(self.path)
        finally:
            self.file.close()
            self.hidden.unlink(missing_ok=True)
