"""How many nodes our models have, beside those of `torch.onnx` and of optimizers of its models.

    python -m tests.python.models make --all
    python benches/nodes.py target/models --keep target/peers --more
    python benches/nodes.py target/models llama resnet18 --keep target/peers

Every archive is converted by onnxport and by `torch.onnx.export(optimize=True)`, both
at the same opset; onnxslim, onnxsim and ONNX Runtime's optimizer, as far as it emits operators of
ONNX, work on what the latter wrote, where they are installed. With `--more` architectures of the
zoo and of the timings are exported as well, and stay in the folder of `--keep`.
Nodes of nested graphs and functions count, constants do not. With `--keep` the peers' models stay
in a folder and are not made again. `-` is a peer that fails, is not installed, or writes what the
checker of ONNX refuses.
"""

from __future__ import annotations

import argparse
import importlib.util
import statistics
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import onnx

ROOT = Path(__file__).parents[1]
OPSET = 20


def nodes(path: Path) -> int:
    """Return the nodes of the model at `path`, without constants."""
    model = onnx.load(path, load_external_data=False)

    def of(nodes: Iterator[onnx.NodeProto]) -> int:
        return sum(
            (node.op_type != "Constant")
            + sum(of(graph.node) for a in node.attribute for graph in (a.g, *a.graphs))
            for node in nodes
        )

    return of(model.graph.node) + sum(of(function.node) for function in model.functions)


def torch_onnx(archive: Path, target: Path) -> None:
    """Export with PyTorch's own exporter, optimised."""
    import torch
    import torchvision  # noqa: F401  (registers its operators)
    import transformers.modeling_outputs  # noqa: F401  (registers the types of outputs)

    from tests.python.models.registry import load_all

    load_all()
    program = torch.export.load(archive)
    torch.onnx.export(
        program, f=target, dynamo=True, optimize=True, opset_version=OPSET, verbose=False
    )


def slim(source: Path, target: Path) -> None:
    """Shorten an exported model with onnxslim."""
    import onnxslim

    onnx.save(onnxslim.slim(str(source)), target)


def sim(source: Path, target: Path) -> None:
    """Shorten an exported model with onnxsim."""
    import onnxsim

    shorter, valid = onnxsim.simplify(str(source), check_n=0)
    if not valid:
        raise ValueError("onnxsim says that its own model is not right")
    onnx.save(shorter, target)


def runtime(source: Path, target: Path) -> None:
    """Shorten an exported model with ONNX Runtime, for every execution provider."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.optimized_model_filepath = str(target)
    options.log_severity_level = 3
    onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])


PEERS: dict[str, Callable[[Path, Path], None]] = {
    "onnxslim": slim,
    "onnxsim": sim,
    "onnxruntime": runtime,
}

# Architectures beside the models of the tests: of the zoo, and of the timings.
ZOO = (
    "tv_swin_t",
    "tv_convnext_tiny",
    "tv_efficientnet_v2_s",
    "tv_shufflenet_v2_x0_5",
    "tv_googlenet",
    "tv_inception_v3",
    "tv_regnet_y_400mf",
    "timm_densenet121",
    "timm_res2net50_14w_8s",
    "timm_repvit_m0_9",
    "timm_levit_128s",
    "timm_nfnet_f0",
    "hf_bert",
    "hf_electra",
    "hf_modernbert",
    "hf_opt",
    "hf_mistral",
    "hf_qwen3",
    "hf_gemma2",
    "hf_phi3",
    "hf_bart",
    "hf_clip",
    "hf_mamba",
    "hf_falcon_mamba",
    "hf_rwkv",
    "hf_detr",
    "hf_yolos",
    "hf_segformer",
    "hf_wav2vec2_ctc",
)
TIMED = ("unet", "recurrent")


def exported(keep: Path, names: list[str]) -> None:
    """Export the further architectures, those of `names` if there are any, into `keep`."""
    import torch

    from benches.runtime.recipes import RECIPES
    from tests.python.zoo.registry import load_zoo

    recipes = {name: load_zoo()[name].recipe for name in ZOO}
    recipes |= {f"timed_{name}": RECIPES[name] for name in TIMED}
    for name, recipe in recipes.items():
        archive = keep / f"{name}.pt2"
        if archive.exists() or (names and name not in names):
            continue
        torch.manual_seed(0)
        one = recipe()
        with torch.no_grad():
            program = torch.export.export(
                one.module.eval(),
                one.args,
                dict(one.kwargs),
                dynamic_shapes=one.shapes,
                strict=False,
            )
        torch.export.save(program, archive)


def made(target: Path, make: Callable[[Path, Path], None], source: Path) -> int | None:
    """Return the nodes of `make`'s model of `source`, in a file that may exist already."""
    failed = target.with_suffix(".failed")
    if not target.exists() and not failed.exists():
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                make(source, target)
                onnx.checker.check_model(target, full_check=True)
        except Exception as why:
            failed.write_text(f"{type(why).__name__}: {why}\n")
            print(f"{target.name}: {type(why).__name__}", file=sys.stderr)
    return None if failed.exists() else nodes(target)


def ours(binary: Path, archive: Path, options: list[str]) -> int | None:
    """Return the nodes of our model; `None` where it is refused at this opset."""
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder, "model.onnx")
        command = [binary, "convert", archive, "-o", target, "--opset", str(OPSET), *options]
        converted = subprocess.run(command, check=False, capture_output=True)
        return nodes(target) if converted.returncode == 0 else None


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("archives", type=Path)
    parser.add_argument("--keep", type=Path, help="where the peers' models stay")
    parser.add_argument("--onnxport", type=Path, default=ROOT / "target/release/onnxport")
    parser.add_argument("--option", action="append", default=[], help="handed on to onnxport")
    parser.add_argument("--more", action="store_true", help="architectures of the zoo, too")
    parser.add_argument("names", nargs="*", help="models; all of the folder unless some are named")
    arguments = parser.parse_intermixed_args()
    sys.path.insert(0, str(ROOT))
    with tempfile.TemporaryDirectory() as folder:
        keep = arguments.keep or Path(folder)
        keep.mkdir(parents=True, exist_ok=True)
        if arguments.more:
            exported(keep, arguments.names)
        table(arguments, keep)


def table(arguments: argparse.Namespace, keep: Path) -> None:
    """Print a row for each archive."""
    installed = {name: make for name, make in PEERS.items() if importlib.util.find_spec(name)}
    print("| model | onnxport | torch.onnx | " + " | ".join(PEERS) + " | to the smallest |")
    print("|---|---:|---:|" + "---:|" * len(PEERS) + "---:|")
    ratios = []
    archives = [*arguments.archives.glob("*.pt2"), *(keep.glob("*.pt2") if arguments.more else [])]
    for archive in sorted(archives, key=lambda archive: archive.stem):
        name = archive.stem
        if arguments.names and name not in arguments.names:
            continue
        first = keep / f"{name}.torch.onnx"
        counts = {"torch.onnx": made(first, torch_onnx, archive)}
        for peer in PEERS:
            able = peer in installed and first.exists()
            target = keep / f"{name}.{peer}.onnx"
            counts[peer] = made(target, installed[peer], first) if able else None
        own = ours(arguments.onnxport, archive, arguments.option)
        known = [count for count in counts.values() if count is not None]
        counted = (own, *counts.values())
        cells = " | ".join("-" if count is None else str(count) for count in counted)
        ratio = ""
        if own is not None and known:
            ratios.append(own / min(known))
            ratio = f"{ratios[-1]:.2f}"
        print(f"| {name} | {cells} | {ratio} |", flush=True)
    if ratios:
        most = sum(ratio <= 1 for ratio in ratios)
        print(f"\nNo more than the smallest peer: {most} of {len(ratios)}.", end=" ")
        print(f"Median of the ratios: {statistics.median(ratios):.3f}.")


if __name__ == "__main__":
    main()
