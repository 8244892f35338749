"""Records the session of the README: `python -m tests.python.pages.session`."""

from __future__ import annotations

import tempfile
from pathlib import Path

from tests.python.guide.page import as_seen, shown, tools
from tests.python.onnx_runtime import ROOT
from tests.python.pages.terminal import picture

PICTURE = ROOT / "docs/images/session.svg"
TITLE = "onnxport converts and verifies a model, judges it for another runtime, and refuses another"
PROGRAM = """\
import onnxport
import torch
from torch import nn


@torch.library.custom_op("mylib::softcap", mutates_args=())
def softcap(x: torch.Tensor, cap: float) -> torch.Tensor:
    return cap * torch.tanh(x / cap)


@softcap.register_fake
def _(x: torch.Tensor, cap: float) -> torch.Tensor:
    return torch.empty_like(x)


class Scores(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.ops.mylib.softcap(x @ x.mT, 30.0).softmax(-1)


class Digits(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(1, 8, 3, padding=1)
        self.norm = nn.BatchNorm2d(8)
        self.head = nn.Linear(8 * 14 * 14, 10)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        x = nn.functional.max_pool2d(self.norm(self.conv(image)).relu(), 2)
        return self.head(x.flatten(1)).softmax(-1)


torch.manual_seed(0)
batch = ({0: torch.export.Dim("batch")},)
digits = torch.export.export(Digits().eval(), (torch.rand(2, 1, 28, 28),), dynamic_shapes=batch)
onnxport.save(digits, "digits.pt2")
onnxport.save(torch.export.export(Scores().eval(), (torch.rand(3, 4),)), "scores.pt2")
"""
COMMANDS = (
    "onnxport convert digits.pt2 -o digits.onnx",
    "onnxport legal digits.onnx --target tensorrt",
    "onnxport convert scores.pt2 -o scores.onnx",
)


def record(home: Path) -> str:
    """Run the commands in an empty folder, and return the picture."""
    environment = tools(home)
    (home / "models.py").write_text(PROGRAM)
    said = shown("python models.py", home, environment)
    assert not said, said
    session = []
    for command in COMMANDS:
        said = shown(f"{command} --color always", home, environment)
        session.append((command, as_seen(said, home)))
    return picture(session, TITLE)


def main() -> None:
    """Write the picture."""
    with tempfile.TemporaryDirectory() as home:
        PICTURE.write_text(record(Path(home).resolve()))


if __name__ == "__main__":
    main()
