"""Creating sessions in ONNX Runtime: our models, and the exporter's.

    python benches/sessions.py --runs 15

Exports models with random weights, converts each, has `torch.onnx.export` write it as well,
and creates sessions by turns in one process, with one thread. The table has medians of processor
time, and what a conversion took. Needs PyTorch, torchvision, transformers, onnxscript and ONNX
Runtime; `ONNXPORT_BIN` is the program.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import onnxruntime as ort
import torch
from quantised import ROOT, cpu, session
from torch import nn

sys.path.insert(0, str(ROOT))

OPSET = 20
OURS = "ours"
THEIRS = "torch.onnx"


def models() -> dict[str, tuple[nn.Module, tuple]]:
    """Return models with their inputs."""
    import torchvision
    import transformers

    def text(kind: str, **sizes: int) -> nn.Module:
        config = getattr(transformers, f"{kind}Config")(**sizes)
        return getattr(transformers, f"{kind}Model")(config).eval()

    class First(nn.Module):
        def __init__(self, inner: nn.Module, **more: bool) -> None:
            super().__init__()
            self.inner = inner
            self.more = more

        def forward(self, ids: torch.Tensor) -> torch.Tensor:
            """Return hidden states."""
            return self.inner(input_ids=ids, return_dict=False, **self.more)[0]

    ids = torch.randint(3, 1000, (1, 16))
    image = torch.randn(1, 3, 224, 224)
    sizes = {"hidden_size": 768, "intermediate_size": 2048, "num_hidden_layers": 6}
    heads = {"num_attention_heads": 12, "num_key_value_heads": 4}
    plain = First(text("Llama", vocab_size=8192, **sizes, **heads), use_cache=False)
    gpt = First(text("GPT2", n_embd=512, n_layer=6, n_head=8), use_cache=False)
    return {
        "llama": (plain, (ids,)),
        "bert": (First(text("Bert", num_hidden_layers=6)), (ids,)),
        "gpt2": (gpt, (ids,)),
        "vit_b_16": (torchvision.models.vit_b_16().eval(), (image,)),
        "swin_t": (torchvision.models.swin_t().eval(), (image,)),
        "resnet50": (torchvision.models.resnet50().eval(), (image,)),
    }


def main() -> None:
    """Export, convert, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--models", nargs="*")
    arguments = parser.parse_args()
    binary = os.environ.get("ONNXPORT_BIN", str(ROOT / "target/release/onnxport"))
    torch.manual_seed(0)
    print("| model | MB | torch.onnx s | ours | of torch.onnx | converting s |")
    print("|---|---:|---:|---:|---:|---:|", flush=True)
    for name, (model, inputs) in models().items():
        if arguments.models and name not in arguments.models:
            continue
        with tempfile.TemporaryDirectory() as scratch, torch.no_grad():
            folder = Path(scratch)
            exported = torch.export.export(model, inputs, strict=False)
            torch.export.save(exported, folder / "model.pt2")
            paths = {OURS: folder / "ours" / "model.onnx"}
            paths[OURS].parent.mkdir()
            command = [binary, "convert", folder / "model.pt2", "-o", paths[OURS]]
            command += ["--opset", str(OPSET), "--no-verify", "--quiet"]
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run(command, check=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            taken = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            paths[THEIRS] = folder / "theirs" / "model.onnx"
            paths[THEIRS].parent.mkdir()
            options = {"dynamo": True, "optimize": True, "opset_version": OPSET, "verbose": False}
            torch.onnx.export(exported, (), paths[THEIRS], external_data=True, **options)
            times: dict[str, list[float]] = {form: [] for form in paths}
            for _ in range(arguments.runs):
                for form, path in paths.items():
                    times[form].append(cpu(lambda path=path: session(path)))
            size = sum(file.stat().st_size for file in paths["ours"].parent.iterdir()) / 1e6
            ours, theirs = (statistics.median(times[form]) for form in (OURS, THEIRS))
            measured = f"{theirs:.3f} | {ours:.3f} | {ours / theirs:.2f} | {taken:.2f}"
            print(f"| {name} | {size:.0f} | {measured} |", flush=True)


if __name__ == "__main__":
    ort.set_default_logger_severity(3)
    main()
