"""The examples of `onnxport explain` that run anywhere, and the files that they are about."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

# By code: the command of the example, `$ onnxport` left out.
COMMANDS = {
    "OP001": "check model.pt2 -A OP408 -D OP408",
    "OP101": "convert modle.pt2 -o model.onnx",
    "OP102": "inspect half-downloaded.pt2",
    "OP103": "convert traced.pt -o model.onnx",
    "OP104": "inspect from-the-future.pt2",
    "OP105": "check edited.pt2",
    "OP110": "optimize notes.onnx -o out.onnx",
    "OP203": "convert model.pt2 -o model.onnx --decompositions mine.txt",
    "OP301": "check scores.pt2",
    "OP306": "convert model.pt2 -o model.onnx --opset 9",
    "OP307": "convert model.pt2 -o model.onnx --dim y:0=batch",
    "OP309": "convert model.pt2 -o model.onnx --dim x:0=1",
    "OP407": "convert model.pt2 -o model.onnx --explain-rule transpose_transpos",
    "OP408": "convert wide.pt2 -o wide.onnx --no-verify",
    "OP409": "convert crops.pt2 -o crops.onnx --opset 22 --target onnxruntime",
    "OP411": "convert wide.pt2 -o wide.onnx --no-verify",
    "OP501": "convert model.pt2 -o model.onnx --backend npu",
    "OP601": "convert model.pt2 -o missing/model.onnx",
    "OP603": "convert model.pt2 -o model.pt2",
    "OP630": "convert fake.pt2 -o model.onnx",
    "OP631": "convert fake.pt2 -o model.onnx --weights model.gguf",
    "OP632": "convert fake.pt2 -o model.onnx --weights part.safetensors",
    "OP634": "convert fake.pt2 -o model.onnx --weights other.safetensors",
    "OP635": "convert fake.pt2 -o model.onnx --weights half.safetensors",
    "OP636": "convert fake.pt2 -o m.onnx --weights base.safetensors --weights tuned.safetensors",
    "OP639": "weights bind done.onnx --from base.safetensors",
    "OP662": "convert model.pt2 -o model.onnx --quantize int8",
    "OP663": "convert model.pt2 -o model.onnx --dtype f16 --keep-dtype 'heads.*'",
    "OP803": "plugin info notes.onnx",
    "OP807": "convert model.pt2 -o model.onnx --use aten.relu=mine",
    "OP813": "convert model.pt2 -o model.onnx --plugin libnew.so --plugin-allow plugins.allow",
    "OP831": "plugin new Fn",
}


def prepare(folder: Path) -> None:
    """Write the files that the examples name."""
    from safetensors.torch import save_file

    batch = torch.export.Dim("batch", min=2)
    model = _Model().eval()
    _save(folder / "model.pt2", model, torch.randn(3, 8), dynamic_shapes=({0: batch},))
    whole = (folder / "model.pt2").read_bytes()
    (folder / "half-downloaded.pt2").write_bytes(whole[: len(whole) // 2])
    torch.jit.save(torch.jit.trace(model, torch.randn(3, 8)), folder / "traced.pt")
    _edited(folder, "from-the-future.pt2", lambda text: text.update(_VERSION))
    _edited(folder, "edited.pt2", lambda text: text.pop("graph_module"))
    (folder / "notes.onnx").write_text("hello")
    (folder / "mine.txt").write_text("aten.relu.default(self: T) {\n  return %y\n}\n")
    (folder / "model.gguf").write_bytes(b"GGUF\x03\0\0\0")
    (folder / "plugins.allow").write_text("")
    (folder / "libnew.so").write_bytes(b"\x7fELF")
    boxes = torch.tensor([[0.0, 0.0, 0.0, 4.0, 4.0]])
    _save(folder / "crops.pt2", _Crops(), torch.randn(1, 3, 8, 8), boxes)
    _save(folder / "wide.pt2", _Wide(), torch.randn(3))
    with torch._subclasses.FakeTensorMode():
        _save(folder / "fake.pt2", _Model().eval(), torch.randn(3, 8))
    shapes = {"first.weight": (4, 8), "first.bias": (4,)}
    tensors = {name: torch.ones(shape) for name, shape in shapes.items()}
    save_file(tensors, folder / "base.safetensors")
    save_file(tensors, folder / "tuned.safetensors")
    save_file({"first.bias": torch.ones(4)}, folder / "part.safetensors")
    save_file({**tensors, "first.bias": torch.ones(5)}, folder / "other.safetensors")
    save_file({name: one.half() for name, one in tensors.items()}, folder / "half.safetensors")


def _save(path: Path, model: torch.nn.Module, *args: torch.Tensor, **options: Any) -> None:
    torch.export.save(torch.export.export(model, args, **options), path)


def _edited(folder: Path, name: str, edit: Callable[[dict[str, Any]], Any]) -> None:
    """Write `model.pt2` with another program in it."""
    with (
        zipfile.ZipFile(folder / "model.pt2") as source,
        zipfile.ZipFile(folder / name, "w") as out,
    ):
        for entry in source.namelist():
            data = source.read(entry)
            if entry.endswith("models/model.json"):
                text = json.loads(data)
                edit(text)
                data = json.dumps(text).encode()
            out.writestr(entry, data)


class _Crops(torch.nn.Module):
    def forward(self, image: torch.Tensor, boxes: torch.Tensor) -> torch.Tensor:
        from torchvision.ops import roi_align

        return roi_align(image, boxes, 3)


class _Wide(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.erf(x.double()) + torch.tan(x.double())


_VERSION = {"schema_version": {"major": 9, "minor": 1}}


class _Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = torch.nn.Linear(8, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.first(x))
