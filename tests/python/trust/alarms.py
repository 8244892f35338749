"""False alarms: `python -m tests.python.trust.alarms [names]`.

Converts 48 right models of `tests/python/models` and `tests/python/zoo`, and prints a row for each
with what `verify`, `verify --taps` and `bisect` say with default options. Each says that the model
is wrong, or that nothing is: the exit status is 1 where one says that it is. `--keep FOLDER` keeps
archives and models, which are not made again then.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import onnx

import onnxport as package
from tests.python.models.registry import ROOT, Model, load_all
from tests.python.trust.corpus import onnxport
from tests.python.zoo.registry import load_zoo

ZOO = """
albert bert roberta electra modernbert funnel convbert bart mt5 gpt_neo gpt_neox gptj opt bloom
falcon mistral qwen2 qwen3 phi3 stablelm cohere gemma gemma2 gemma3_text olmo2 granite glm4 smollm3
mixtral qwen2_moe qwen3_moe olmoe gpt_oss deepseek_v3 mamba jamba univnet
"""
SMALL = """
llama gpt2 distilbert recurrent lstm_classifier mutated_buffer mlp mnist_convnet spectrogram
beam_step deeplabv3_resnet50
"""
NAMES = (*(f"hf_{name}" for name in ZOO.split()), *SMALL.split())

COLUMNS = ("model", "nodes", "verify", "verify --taps", "bisect", "values", "ties")


def models() -> dict[str, Model]:
    """Return every model by its name."""
    return {**load_all(), **load_zoo()}


def made(model: Model, folder: Path) -> tuple[Path, Path]:
    """Return the archive with recorded values and the model, as they are in `folder` or new."""
    archive, target = folder / f"{model.name}.pt2", folder / f"{model.name}.onnx"
    if not archive.exists():
        recipe = model.recipe()
        exported = model.export(recipe)
        package.save(exported, archive, module=recipe.reference, root=ROOT, intermediates=True)
    if not target.exists():
        onnxport("convert", archive, "-o", target, "--no-verify", check=True)
    return archive, target


def said(*arguments: Any) -> tuple[str, dict[str, Any]]:
    """Return a command's verdict on a correct model in a word or two, and its output."""
    done = onnxport(*arguments, "--json")
    found = json.loads(done.stdout)
    errors = [entry["code"] for entry in found["diagnostics"] if entry["severity"] == "error"]
    word = "right" if done.returncode == 0 else f"{done.returncode} {' '.join(errors)}"
    return word, found


def row(model: Model, folder: Path) -> tuple[str, ...]:
    """Return the row of a model."""
    archive, target = made(model, folder)
    plain, _ = said("verify", target, "--against", archive)
    taps, _ = said("verify", target, "--against", archive, "--taps")
    searched, found = said("bisect", target, "--against", archive)
    found = found.get("bisect", {"values": {"rows": []}, "ties": []})
    nodes = len(onnx.load(target, load_external_data=False).graph.node)
    counts = len(found["values"]["rows"]), len(found.get("ties", []))
    return (model.name, str(nodes), plain, taps, searched, *map(str, counts))


def rows(names: list[str], keep: Path | None) -> Iterator[tuple[str, ...]]:
    """Yield the row of each model."""
    known = models()
    for name in names or NAMES:
        with tempfile.TemporaryDirectory(prefix="onnxport-alarms-") as folder:
            yield row(known[name], keep or Path(folder))


def main() -> int:
    """Run the command line and return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.python.trust.alarms", description=__doc__
    )
    parser.add_argument("names", nargs="*", help="names of models; the 48 by default")
    parser.add_argument("--keep", type=Path, help="the folder of archives and models")
    options = parser.parse_args()
    print(f"| {' | '.join(COLUMNS)} |\n|{' --- |' * len(COLUMNS)}")
    alarms = 0
    for cells in rows(options.names, options.keep):
        alarms += any(cell != "right" for cell in cells[2:5])
        print(f"| {' | '.join(cells)} |", flush=True)
    print(f"\n{alarms} models with a false alarm")
    return 1 if alarms else 0


if __name__ == "__main__":
    raise SystemExit(main())
