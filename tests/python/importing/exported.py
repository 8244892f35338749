"""Two hundred small models, written by `torch.onnx` in both of its ways and in several opsets.

`python -m tests.python.importing.exported [--all]` writes what is missing into `target/exported`,
with `--all` that of `further.py` as well. Weights are random, with fixed seeds.
"""

from __future__ import annotations

import io
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from filelock import FileLock, Timeout
from torch import Tensor, nn
from torch.nn import functional

ROOT = Path(__file__).parents[3]
CACHE = ROOT / "target" / "exported" / torch.__version__


@dataclass(frozen=True)
class Export:
    """A module to export, with the arguments of a call.

    `way` is `dynamo` or `script`; `dynamic` makes the first axis of every input a symbol; `options`
    are more arguments of `torch.onnx.export`.
    """

    name: str
    build: Callable[[], tuple[nn.Module, tuple[Tensor, ...]]]
    way: str
    opset: int
    dynamic: bool = False
    options: Callable[[], dict[str, Any]] = dict

    @property
    def path(self) -> Path:
        """Return where the model belongs."""
        return CACHE / f"{self.name}.{self.way}.{self.opset}" / "model.onnx"

    def write(self) -> None:
        """Export the module. Its folder appears when it is whole."""
        with tempfile.TemporaryDirectory(dir=CACHE) as scratch:
            part = Path(scratch) / "part"
            part.mkdir()
            self._export(part / self.path.name)
            part.rename(self.path.parent)

    def _export(self, path: Path) -> None:
        torch.manual_seed(0)
        module, args = self.build()
        names = [f"in_{index}" for index in range(len(args))]
        axes: dict[str, object] = {}
        if self.dynamic and self.way == "dynamo":
            shapes = tuple({0: "batch"} for _ in args)
            axes = {"dynamic_shapes": (shapes,) if isinstance(module, Call) else shapes}
        elif self.dynamic:
            axes = {"dynamic_axes": {name: {0: "batch size"} for name in names}}
        with (
            warnings.catch_warnings(),
            redirect_stdout(io.StringIO()),
            redirect_stderr(io.StringIO()),
        ):
            warnings.simplefilter("ignore")
            torch.onnx.export(
                module.eval(),
                args,
                str(path),
                dynamo=self.way == "dynamo",
                opset_version=self.opset,
                input_names=names,
                **axes,
                **self.options(),
            )


class Call(nn.Module):
    """A function as a module."""

    def __init__(self, function: Callable[..., object]) -> None:
        """Keep `function`."""
        super().__init__()
        self.function = function

    def forward(self, *args: Tensor) -> object:
        """Call the function."""
        return self.function(*args)


def x(*shape: int) -> Tensor:
    """Return random numbers."""
    return torch.randn(*shape)


POINTWISE: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": torch.relu,
    "gelu": functional.gelu,
    "silu": functional.silu,
    "mish": functional.mish,
    "elu": functional.elu,
    "selu": functional.selu,
    "celu": functional.celu,
    "hardswish": functional.hardswish,
    "hardsigmoid": functional.hardsigmoid,
    "softplus": functional.softplus,
    "softsign": functional.softsign,
    "leaky": functional.leaky_relu,
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
    "exp": torch.exp,
    "abs": torch.abs,
    "floor": torch.floor,
    "round": torch.round,
    "sign": torch.sign,
    "sin": torch.sin,
    "erf": torch.erf,
    "clamp": lambda t: t.clamp(-0.5, 0.5),
    "softmax": lambda t: t.softmax(-1),
    "logsoftmax": lambda t: t.log_softmax(-1),
    "sum": lambda t: t.sum(1),
    "mean": lambda t: t.mean(-1, keepdim=True),
    "amax": lambda t: t.amax(1),
    "argmax": lambda t: t.argmax(1),
    "cumsum": lambda t: t.cumsum(1),
    "topk": lambda t: t.topk(2)[0],
    "sort": lambda t: t.sort(1)[0],
    "var": lambda t: t.var(1),
    "norm": lambda t: t.norm(dim=1),
    "transpose": lambda t: t.transpose(1, 2),
    "reshape": lambda t: t.reshape(t.shape[0], -1),
    "unsqueeze": lambda t: t.unsqueeze(1),
    "expand": lambda t: t.unsqueeze(0).expand(2, -1, -1, -1),
    "slice": lambda t: t[:, 1:, ::2],
    "roll": lambda t: t.roll(1, 1),
    "flip": lambda t: t.flip(1),
    "pad": lambda t: functional.pad(t, (1, 2)),
    "chunk": lambda t: t.chunk(2, 2)[1],
    "cat": lambda t: torch.cat([t, t * 2], 1),
    "stack": lambda t: torch.stack([t, t + 1], 1),
    "where": lambda t: torch.where(t > 0, t, -t),
    "half": lambda t: t.half().float(),
    "index": lambda t: t[:, [0, 2]],
    "triu": lambda t: t.triu(),
    "einsum": lambda t: torch.einsum("bij,bkj->bik", t, t),
    "logsumexp": lambda t: t.logsumexp(1),
}


def block(name: str) -> tuple[nn.Module, tuple[Tensor, ...]]:
    """Return a small network called `name`, and its input."""
    image = x(2, 3, 16, 16)
    modules: dict[str, Callable[[], tuple[nn.Module, tuple[Tensor, ...]]]] = {
        "mlp": lambda: (nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4)), (x(2, 8),)),
        "wide": lambda: (
            nn.Sequential(nn.Linear(64, 512), nn.GELU(), nn.Linear(512, 8)),
            (x(2, 64),),
        ),
        "conv": lambda: (nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU()), (image,)),
        "depthwise": lambda: (nn.Conv2d(3, 6, 3, groups=3, padding=1), (image,)),
        "transposed": lambda: (nn.ConvTranspose2d(3, 4, 3, stride=2), (image,)),
        "conv1d": lambda: (nn.Conv1d(3, 5, 3), (x(2, 3, 9),)),
        "maxpool": lambda: (nn.MaxPool2d(2), (image,)),
        "avgpool": lambda: (nn.AdaptiveAvgPool2d(1), (image,)),
        "layernorm": lambda: (nn.LayerNorm(8), (x(2, 4, 8),)),
        "groupnorm": lambda: (nn.GroupNorm(2, 4), (x(2, 4, 8, 8),)),
        "instancenorm": lambda: (nn.InstanceNorm2d(3, affine=True), (image,)),
        "prelu": lambda: (nn.PReLU(3), (image,)),
        "embedding": lambda: (nn.Embedding(10, 4), (torch.tensor([[1, 2], [3, 9]]),)),
        "bilinear": lambda: (nn.Upsample(scale_factor=2, mode="bilinear"), (image,)),
        "nearest": lambda: (nn.Upsample(scale_factor=2), (image,)),
        "shuffle": lambda: (nn.PixelShuffle(2), (x(2, 8, 4, 4),)),
        "lstm": lambda: (nn.LSTM(4, 6, batch_first=True), (x(2, 5, 4),)),
        "gru": lambda: (nn.GRU(4, 6, batch_first=True, bidirectional=True), (x(2, 5, 4),)),
        "rnn": lambda: (nn.RNN(4, 6), (x(5, 2, 4),)),
        "encoder": lambda: (nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), (x(2, 5, 8),)),
        "attention": lambda: (
            Call(lambda q, k, v: functional.scaled_dot_product_attention(q, k, v)),
            (x(2, 2, 5, 4), x(2, 2, 5, 4), x(2, 2, 5, 4)),
        ),
        "residual": lambda: (
            nn.Sequential(nn.Conv2d(3, 3, 3, padding=1), Call(lambda t: t + t.relu())),
            (image,),
        ),
        "two": lambda: (
            Call(lambda a, b: (a @ b, a + b.transpose(1, 2))),
            (x(2, 4, 3), x(2, 3, 4)),
        ),
        "integers": lambda: (
            Call(lambda a: (a // 3, a % 3, a.float() / 2)),
            (torch.arange(12).reshape(2, 6),),
        ),
        "booleans": lambda: (Call(lambda a: (a > 0) & (a < 1) | a.isnan()), (x(2, 6),)),
    }
    return modules[name]()


BLOCKS = (
    "mlp",
    "wide",
    "conv",
    "depthwise",
    "transposed",
    "conv1d",
    "maxpool",
    "avgpool",
    "layernorm",
    "groupnorm",
    "instancenorm",
    "prelu",
    "embedding",
    "bilinear",
    "nearest",
    "shuffle",
    "lstm",
    "gru",
    "rnn",
    "encoder",
    "attention",
    "residual",
    "two",
    "integers",
    "booleans",
)


def pointwise(name: str) -> tuple[nn.Module, tuple[Tensor, ...]]:
    """Return the operator called `name`, and its input."""
    return Call(POINTWISE[name]), (x(2, 3, 4),)


def vision(name: str) -> tuple[nn.Module, tuple[Tensor, ...]]:
    """Return a network of torchvision with few classes."""
    import torchvision

    return torchvision.models.get_model(name, weights=None, num_classes=4), (x(1, 3, 64, 64),)


def exports() -> Iterator[Export]:
    """Yield every model."""
    for number, name in enumerate(POINTWISE):
        for way, opset in (("script", 13 + number % 6), ("dynamo", 18 + number % 4)):
            dynamic = number % 2 == 0
            yield Export(name, lambda name=name: pointwise(name), way, opset, dynamic)
    for number, name in enumerate(BLOCKS):
        for way, opset in (("script", 17), ("script", 13), ("dynamo", 20), ("dynamo", 23)):
            dynamic = way == "script" and number % 2 == 1
            yield Export(name, lambda name=name: block(name), way, opset, dynamic)
    for name in ("resnet18", "mobilenet_v3_small", "squeezenet1_1", "shufflenet_v2_x0_5"):
        for way, opset in (("script", 17), ("dynamo", 20)):
            yield Export(name, lambda name=name: vision(name), way, opset)


def chosen(everything: bool) -> list[Export]:
    """Return the models above, and all of `further.py` or a tenth of them."""
    from tests.python.importing import further

    return [*exports(), *list(further.exports())[:: 1 if everything else 10]]


def write(models: list[Export]) -> list[Export]:
    """Write missing files and return all; report programs that cannot be exported.

    Processes share the work: a model that another one is writing comes last.
    """
    CACHE.mkdir(parents=True, exist_ok=True)
    failed = set()
    left = models
    for timeout in (0, -1):
        busy = []
        for export in left:
            try:
                with FileLock(f"{export.path.parent}.lock", timeout=timeout):
                    if not export.path.exists():
                        export.write()
            except Timeout:
                busy.append(export)
            except Exception as error:
                failed.add(export)
                print(f"{export.path.parent.name}: {str(error).splitlines()[:1]}", file=sys.stderr)
        left = busy
    there = [export for export in models if export not in failed]
    ways = Counter(export.way for export in there)
    print(f"{len(there)} of {len(models)} models in {CACHE}: {dict(ways)}")
    return there


if __name__ == "__main__":
    write(chosen("--all" in sys.argv[1:]))
