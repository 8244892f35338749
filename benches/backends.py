"""Models compiled by OpenVINO at conversion, beside ONNX Runtime and OpenVINO alone.

    python -m benches.backends [NAMES…] [--runs 15] [--json FILE]

For each model: the verdicts of `onnxport legal --target openvino`, the nodes that the backend
`openvino` takes (`onnxport partition`) and the regions of the compiled model, how far its outputs
through ONNX Runtime's OpenVINO provider are from PyTorch's (of the largest number), and the
milliseconds of a run: the plain model in ONNX Runtime, the compiled one through the provider, and
the plain model in OpenVINO. All three run by turns in one process, with one thread each and in
float32; medians. Prints a Markdown table, and why nodes stay outside of regions. Needs PyTorch,
torchvision, transformers, onnxruntime, openvino and onnxruntime-ep-openvino; `ONNXPORT_BIN` is the
program.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "python")]

MODELS = (
    "resnet18",
    "resnet50",
    "mobilenet_v3",
    "efficientnet_b0",
    "densenet121",
    "unet",
    "vit",
    "bert",
    "distilbert",
    "gpt2",
    "llama_64",
    "whisper_encoder",
)
VERDICTS = ("native", "form", "fallback", "refused", "unknown")
HEAD = f"""| model | nodes | {", ".join(VERDICTS)} | taken | regions | error \
| ONNX Runtime, ms | provider, ms | OpenVINO, ms | provider by ONNX Runtime |
|---|--:|---|--:|--:|--:|--:|--:|--:|--:|"""
PACKAGES = ("torch", "onnxruntime", "openvino", "onnxruntime-ep-openvino")
# Times before those that count.
WARM = 3


def recipe(name: str) -> Any:
    """Return what to capture."""
    import torch
    import transformers
    from torchvision import models

    from benches.runtime.recipes import RECIPES
    from tests.python.models.registry import Recipe
    from tests.python.models.vision import images

    if name == "resnet18":
        return images(models.resnet18())
    if name == "whisper_encoder":
        config = transformers.WhisperConfig(
            d_model=384, encoder_layers=4, encoder_attention_heads=6, encoder_ffn_dim=1536
        )
        encoder = transformers.models.whisper.modeling_whisper.WhisperEncoder(config)
        return Recipe(encoder, (torch.randn(1, 80, 3000),))
    return RECIPES[name]()


def onnxport(*arguments: object) -> dict[str, Any]:
    """Run the command and return what it reports; a verdict may be a failure."""
    binary = os.environ.get("ONNXPORT_BIN", str(ROOT / "target/release/onnxport"))
    command = [binary, *map(str, arguments), "--json"]
    environment = {**os.environ, "VIRTUAL_ENV": sys.prefix}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    return json.loads(done.stdout) | {"exit": done.returncode}


def converted(name: str, folder: Path) -> dict[str, Any]:
    """Capture a model, ask for verdicts and regions, and write it plain and compiled."""
    import torch

    from benches.runtime.variants import capture

    torch.set_num_threads(1)
    torch.manual_seed(0)
    capture(recipe(name), folder)
    program = folder / "program.pt2"
    nodes = onnxport("legal", program, "--target", "openvino")["legal"]["nodes"]
    verdicts = [node["verdict"] for node in nodes]
    partition = onnxport("partition", program, "--backend", "openvino")
    placed = partition["placement"]["nodes"]
    taken = sum(node["region"] is not None for node in placed)
    found: dict[str, Any] = {
        "verdicts": {verdict: verdicts.count(verdict) for verdict in VERDICTS},
        "nodes": len(placed),
        "taken": taken,
        "left": [
            (refusal["count"], refusal["op"], refusal["reason"])
            for backend in partition["backends"]
            for refusal in backend["refusals"]
        ],
    }
    for form, more in (("plain", []), ("compiled", ["--backend", "openvino"])):
        made = onnxport("convert", program, "-o", folder / f"{form}.onnx", "--no-verify", *more)
        if made["exit"] != 0:
            raise RuntimeError(made["diagnostics"][-1]["message"])
    found["regions"] = sum(len(backend["regions"]) for backend in made["backends"])
    compiled = sum(r["nodes"] for backend in made["backends"] for r in backend["regions"])
    if compiled != taken:
        found["left"].append((taken - compiled, "nodes", "planned, but not compiled"))
    return found


def plain_session(path: Path) -> Callable[[list[np.ndarray]], list[np.ndarray]]:
    """Return the runs of ONNX Runtime's own kernels."""
    import onnxruntime

    return runs(onnxruntime.InferenceSession(path, options(), providers=["CPUExecutionProvider"]))


def options() -> Any:
    """Return options of a session with one thread."""
    import onnxruntime

    made = onnxruntime.SessionOptions()
    made.intra_op_num_threads = made.inter_op_num_threads = 1
    made.log_severity_level = 4
    return made


def runs(session: Any) -> Callable[[list[np.ndarray]], list[np.ndarray]]:
    """Return the runs of a session."""
    names = [put.name for put in session.get_inputs()]
    return lambda given: session.run(None, dict(zip(names, given, strict=True)))


def provider_session(path: Path) -> Callable[[list[np.ndarray]], list[np.ndarray]]:
    """Return the runs of the model through ONNX Runtime's OpenVINO provider."""
    import onnxruntime
    import onnxruntime_ep_openvino as provider

    onnxruntime.register_execution_provider_library("openvino", provider.get_library_path())
    cpu, name = onnxruntime.OrtHardwareDeviceType.CPU, provider.get_ep_name()
    found = onnxruntime.get_ep_devices()
    devices = [one for one in found if one.ep_name == name and one.device.type == cpu]
    config = {"CPU": {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": 1}}
    chosen = options()
    chosen.add_provider_for_devices(devices, {"load_config": json.dumps(config)})
    return runs(onnxruntime.InferenceSession(path, chosen))


def openvino_alone(path: Path) -> Callable[[list[np.ndarray]], list[np.ndarray]]:
    """Return the runs of OpenVINO itself."""
    import openvino

    config = {
        "INFERENCE_PRECISION_HINT": "f32",
        "INFERENCE_NUM_THREADS": 1,
        "PERFORMANCE_HINT": "LATENCY",
    }
    compiled = openvino.Core().compile_model(path, "CPU", config)
    request = compiled.create_infer_request()
    return lambda given: list(request.infer(given).values())


def measured(name: str, count: int) -> dict[str, Any]:
    """Convert and time a model, in this process."""
    from benches.runtime import __main__ as runtime

    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        found = converted(name, folder)
        given, wanted = runtime.values(folder, "i"), runtime.values(folder, "o")
        calls = {
            "onnxruntime": plain_session(folder / "plain.onnx"),
            "provider": provider_session(folder / "compiled.onnx"),
            "openvino": openvino_alone(folder / "plain.onnx"),
        }
        found["errors"] = {
            variant: runtime.distance(call(given), wanted) for variant, call in calls.items()
        }
        spent: dict[str, list[float]] = {variant: [] for variant in calls}
        order = list(calls)
        for number in range(WARM + count):
            order = [*order[1:], order[0]]
            for variant in order:
                start = time.process_time()
                calls[variant](given)
                if number >= WARM:
                    spent[variant].append(time.process_time() - start)
        found["ms"] = {variant: statistics.median(all_) * 1e3 for variant, all_ in spent.items()}
        pairs = zip(spent["provider"], spent["onnxruntime"], strict=True)
        found["ratio"] = statistics.median(one / other for one, other in pairs)
    return found


def line(name: str, found: dict[str, Any]) -> str:
    """Return the row of a model."""
    if "failed" in found:
        return f"| {name} | {found['failed']} |"
    share = found["taken"] / max(1, found["nodes"])
    cells = [
        name,
        str(found["nodes"]),
        ", ".join(str(found["verdicts"][verdict]) for verdict in VERDICTS),
        f"{found['taken']} ({share:.0%})",
        str(found["regions"]),
        f"{found['errors']['provider']:.1e}",
        *(f"{found['ms'][variant]:.2f}" for variant in ("onnxruntime", "provider", "openvino")),
        f"{found['ratio']:.2f}",
    ]
    return f"| {' | '.join(cells)} |"


def summary(all_found: dict[str, dict[str, Any]]) -> str:
    """Return why nodes stay outside of regions, and the mean of the ratios."""
    reasons: dict[tuple[str, str], list[str]] = {}
    for name, found in all_found.items():
        for count, operator, reason in found.get("left", []):
            reasons.setdefault((operator, reason), []).append(f"{name} {count}")
    made = [f"- `{op}`: {why} ({', '.join(where)})" for (op, why), where in sorted(reasons.items())]
    ratios = [found["ratio"] for found in all_found.values() if "ratio" in found]
    if ratios:
        mean = statistics.geometric_mean(ratios)
        made.append(f"\nprovider by ONNX Runtime: {mean:.2f} (geometric mean of {len(ratios)})")
    return "\n".join(made)


def child(name: str, count: int) -> dict[str, Any]:
    """Measure a model in a process of its own, so that a crash is a row."""
    command = [sys.executable, "-m", "benches.backends", name, "--runs", str(count), "--step"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    if done.returncode != 0:
        last = done.stderr.strip().rsplit("\n", 1)[-1]
        return {"failed": f"exit code {done.returncode}: {last}"}
    return json.loads(done.stdout.strip().rsplit("\n", 1)[-1])


def main() -> int:
    """Run the command line and return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m benches.backends",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*")
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--json", type=Path, help="a file for all numbers")
    parser.add_argument("--step", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.step:
        print("\n" + json.dumps(measured(options.names[0], options.runs)))
        return 0
    versions = [f"{package} {importlib.metadata.version(package)}" for package in PACKAGES]
    print(f"{datetime.now(UTC):%d %B %Y}, {', '.join(versions)}\n\n{HEAD}", flush=True)
    found = {}
    for name in options.names or MODELS:
        found[name] = child(name, options.runs)
        print(line(name, found[name]), flush=True)
    print(f"\n{summary(found)}")
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n")
    return int(any("failed" in it for it in found.values()))


if __name__ == "__main__":
    raise SystemExit(main())
