"""Count nodes of other exporters' models after `onnxport optimize` and after onnxslim.

    python benches/foreign.py --keep target/foreign

The models are those that the tests of importing use, and architectures of the zoo, exported by
`torch.onnx` through TorchScript and, without its own optimizer, through `torch.export`. Each result
runs in ONNX Runtime and is compared with the model before. It may differ by 1e-4 of the largest
value, or by four times as much as ONNX Runtime's own optimizer makes the model before differ.
Nodes of nested graphs and functions count, constants do not. `--keep` is the folder in which models
and results of onnxslim stay.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import onnx

ROOT = Path(__file__).parents[1]
OPSET = 20

# Architectures of the zoo.
ARCHITECTURES = (
    "tv_swin_t",
    "tv_convnext_tiny",
    "tv_efficientnet_v2_s",
    "tv_inception_v3",
    "timm_densenet121",
    "timm_levit_128s",
    "timm_nfnet_f0",
    "timm_repvit_m0_9",
    "hf_bert",
    "hf_electra",
    "hf_modernbert",
    "hf_opt",
    "hf_qwen3",
    "hf_gemma2",
    "hf_bart",
    "hf_detr",
    "hf_segformer",
    "hf_wav2vec2_ctc",
)

LEVELS = ("2", "target")


@dataclass(frozen=True)
class Model:
    """A model of another exporter, and the family of the table that it counts for."""

    family: str
    name: str
    path: Path


def architecture(name: str, way: str, target: Path) -> None:
    """Export an architecture of the zoo."""
    import torch

    from tests.python.zoo.registry import load_zoo

    torch.manual_seed(0)
    recipe = load_zoo()[name].recipe()
    dynamo = way == "dynamo"
    shapes = {"dynamic_shapes": recipe.shapes, "optimize": False} if dynamo else {}
    with torch.no_grad():
        torch.onnx.export(
            recipe.module.eval(),
            recipe.args,
            str(target),
            kwargs=dict(recipe.kwargs),
            dynamo=dynamo,
            opset_version=OPSET,
            verbose=False,
            external_data=False,
            **shapes,
        )


def made(keep: Path) -> Iterator[Model]:
    """Yield the models; one that cannot be exported is reported."""
    for way in ("script", "dynamo"):
        for name in ARCHITECTURES:
            target = keep / f"{name}.{way}" / "model.onnx"
            failed = target.with_suffix(".failed")
            target.parent.mkdir(parents=True, exist_ok=True)
            if not (target.exists() or failed.exists()):
                try:
                    with quiet():
                        architecture(name, way, target)
                except Exception as why:  # Exceptions of exporters have no common class.
                    failed.write_text(str(why))
                    target.unlink(missing_ok=True)
                    print(f"{name} ({way}): {type(why).__name__}", file=sys.stderr)
            if target.exists():
                yield Model(f"architectures, {way}", f"{name}.{way}", target)


def of_tests() -> Iterator[Model]:
    """Yield the models of the tests of importing."""
    from tests.python.importing import sources

    for way, found in sources.of_torch(everything=False).items():
        for name, path, _ in found:
            yield Model(f"tests, {way.rpartition(' ')[2]}", name, path)


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Hide the output of an exporter."""
    with (
        warnings.catch_warnings(),
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(io.StringIO()),
    ):
        warnings.simplefilter("ignore")
        yield


def slim(source: Path, target: Path) -> None:
    """Shorten a model with onnxslim."""
    import onnxslim

    onnx.save(onnxslim.slim(str(source)), str(target))


def optimize(binary: Path, source: Path, target: Path, level: str) -> None:
    """Shorten a model with onnxport."""
    command = [binary, "optimize", source, "-o", target, "--quiet", "--optimize", level]
    subprocess.run(command, check=True, capture_output=True, timeout=600)


def plain(path: Path) -> list[object] | None:
    """Return the outputs of a model without ONNX Runtime's optimizer, if it runs."""
    import onnxruntime

    from tests.python.importing import same

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads, options.log_severity_level = 1, 4
    providers = ["CPUExecutionProvider"]
    try:
        session = onnxruntime.InferenceSession(str(path), options, providers=providers)
        given = same.feeds(session)
        return None if given is None else session.run(None, given)
    except Exception:  # Its exceptions have no common class.
        return None


@dataclass(frozen=True)
class Judge:
    """The expected results of a model, and how much they may differ."""

    before: list[object] | str
    allowed: float

    @classmethod
    def of(cls, path: Path) -> Judge:
        """Run a model."""
        from tests.python.importing import optimised, same

        before = same.outcome(path, None)
        other = None if isinstance(before, str) else plain(path)
        noise = 0.0 if other is None else optimised.distance(before, other)
        return cls(before, max(optimised.APART, 4 * noise))

    def note(self, path: Path) -> str:
        """Return a note if a result does not compute the same."""
        from tests.python.importing import optimised, same

        before, after = self.before, same.outcome(path, None)
        if isinstance(before, str) or isinstance(after, str):
            return "" if before == after else f" ({after if isinstance(after, str) else 'runs'})"
        apart = optimised.distance(before, after)
        return f" ({apart:.0e})" if apart > self.allowed else ""


def row(model: Model, binary: Path, keep: Path) -> dict[str, tuple[int | None, str]]:
    """Return the nodes of a model and of the results, with a note on each."""
    from tests.python.importing import optimised

    judge = Judge.of(model.path)
    found: dict[str, tuple[int | None, str]] = {"before": (optimised.nodes(model.path), "")}
    peer = keep / "slim" / f"{model.name}.onnx"
    peer.parent.mkdir(parents=True, exist_ok=True)
    try:
        if not peer.exists():
            with quiet():
                slim(model.path, peer)
        found["onnxslim"] = (optimised.nodes(peer), judge.note(peer))
    except Exception as why:  # Exceptions of peers have no common class.
        found["onnxslim"] = (None, type(why).__name__)
    for level in LEVELS:
        with tempfile.TemporaryDirectory() as folder:
            target = Path(folder, "model.onnx")
            try:
                optimize(binary, model.path, target, level)
                found[level] = (optimised.nodes(target), judge.note(target))
            except subprocess.CalledProcessError as why:
                found[level] = (None, why.stderr.decode().splitlines()[0])
    return found


def main() -> None:
    """Print a row for each model where onnxslim has fewer nodes, then the totals."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--keep", type=Path, default=ROOT / "target" / "foreign")
    parser.add_argument("--onnxport", type=Path, default=ROOT / "target/release/onnxport")
    parser.add_argument("--all", action="store_true", help="a row for each model")
    parser.add_argument("names", nargs="*", help="beginnings of names; all without one")
    arguments = parser.parse_args()
    sys.path.insert(0, str(ROOT))
    arguments.keep.mkdir(parents=True, exist_ok=True)
    columns = ("before", "onnxslim", *LEVELS)
    totals: dict[str, list[dict[str, tuple[int | None, str]]]] = {}
    print(f"| model | {' | '.join(columns)} |\n|---|{'--:|' * len(columns)}")
    for model in (*made(arguments.keep), *of_tests()):
        if arguments.names and not model.name.startswith(tuple(arguments.names)):
            continue
        found = row(model, arguments.onnxport, arguments.keep)
        totals.setdefault(model.family, []).append(found)
        counts = [found[name][0] for name in columns]
        fewer = counts[1] is not None and (counts[2] is None or counts[1] < counts[2])
        if arguments.all or fewer or any(found[name][1] for name in columns):
            cells = ["-" if count is None else count for count in counts]
            notes = [found[name][1] for name in columns]
            line = " | ".join(f"{cell}{note}" for cell, note in zip(cells, notes, strict=True))
            print(f"| {model.name} | {line} |", flush=True)
    print(f"\n| models | files | {' | '.join(columns)} | fewer by onnxslim |")
    print(f"|---|--:|{'--:|' * len(columns)}--:|")
    for family, rows in totals.items():
        whole = [row for row in rows if all(row[name][0] is not None for name in columns)]
        sums = [sum(row[name][0] or 0 for row in whole) for name in columns]
        fewer = sum((row["onnxslim"][0] or 0) < (row["2"][0] or 0) for row in whole)
        print(f"| {family} | {len(whole)} | {' | '.join(map(str, sums))} | {fewer} |")


if __name__ == "__main__":
    main()
