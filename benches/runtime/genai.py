"""A Llama of ours, compared with that of onnxruntime-genai's model builder.

    python -m benches.runtime.genai --builder SITE [--rounds 15] [--width 1024] [--layers 4]

`SITE` is a folder of packages with onnxruntime-genai (`pip install --no-deps --target SITE
onnxruntime-genai`). Its builder writes a graph by hand, with `GroupQueryAttention` and, in int4,
`MatMulNBits`, from the weights of a model that is saved with random weights. Ours are the same
model, exported with a cache and converted at each level. Both take tokens, a mask and a cache, and
return logits and the longer cache. One process holds all sessions and runs them in rounds, in
another order each time: CPU milliseconds of a run, medians, and the median of the ratios to the
builder's in the same round; `again` is the builder's file once more, and tells the noise. *apart*
is how far logits are from PyTorch's, in parts of the largest.
"""

from __future__ import annotations

import argparse
import functools
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime

from .__main__ import ROOT, SESSIONS, distance, in_rounds, session

VOCABULARY = 8192
# The width of a head.
HEAD = 64
# New tokens after so many that are cached.
CASES = {"decode after 900": (1, 900), "decode after 64": (1, 64), "prompt of 512": (512, 0)}
FORMS: dict[str, tuple[str, ...]] = {
    "fp32": (),
    "int4": ("--quantize", "int4", "--quantize-form", "matmulnbits", "--accuracy-level", "4"),
}


def model(width: int, layers: int) -> Any:
    """Return a Llama with random weights, four queries to a key."""
    import torch
    import transformers

    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=width,
        intermediate_size=width * 11 // 4,
        num_hidden_layers=layers,
        num_attention_heads=width // HEAD,
        num_key_value_heads=width // (4 * HEAD),
        max_position_embeddings=2048,
        tie_word_embeddings=False,
    )
    return transformers.LlamaForCausalLM(config).eval()


def saved(made: Any, folder: Path) -> None:
    """Save a model with a tokenizer of a few words, which the builder asks for."""
    import tokenizers
    import transformers

    words = {f"w{at}": at for at in range(VOCABULARY)}
    kind = tokenizers.models.WordLevel(words, unk_token="w0")
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizers.Tokenizer(kind), bos_token="w1", eos_token="w2"
    )
    tokenizer.save_pretrained(folder)
    made.save_pretrained(folder)


def built(site: Path, source: Path, form: str, folder: Path) -> Path:
    """Let the builder write a model."""
    models = site / "onnxruntime_genai" / "models"
    command = [sys.executable, models / "builder.py", "-i", source, "-o", folder, "-p", form]
    command += ["-e", "cpu", "-c", folder / "cache"]
    environment = {**os.environ, "PYTHONPATH": str(models), "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False, cwd=folder.parent
    )
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip().rsplit("\n", 1)[-1])
    return folder / "model.onnx"


def programs(made: Any, folder: Path) -> dict[str, Path]:
    """Export a prompt without a cache, and one token after others; return their archives."""
    import torch
    from torch import nn
    from torch.export import Dim

    from tests.python.models.text import WithCache

    class Prompt(nn.Module):
        """A prompt, which begins the cache."""

        def __init__(self) -> None:
            super().__init__()
            self.inner = made

        def forward(self, tokens: torch.Tensor, mask: torch.Tensor) -> Any:
            """Return logits, keys and values."""
            out = self.inner(input_ids=tokens, attention_mask=mask, use_cache=True)
            present = [(layer.keys, layer.values) for layer in out.past_key_values.layers]
            return out.logits, present

    layers, heads = made.config.num_hidden_layers, made.config.num_key_value_heads
    batch = Dim("batch", max=64)
    past = [(torch.randn(2, heads, 5, HEAD), torch.randn(2, heads, 5, HEAD)) for _ in range(layers)]
    cached = {0: batch, 2: Dim("past", max=2047)}
    mask = torch.ones(2, 6, dtype=torch.int64)
    tokens = {0: batch, 1: Dim("length", max=2048)}
    parts = {
        "decode": (
            WithCache(made),
            (mask[:, :1], mask, past),
            ({0: batch}, {0: batch, 1: Dim.DYNAMIC}, [(cached, cached)] * layers),
        ),
        "prompt": (Prompt(), (mask.clone(), mask), (tokens, tokens)),
    }
    found = {}
    for name, (module, args, shapes) in parts.items():
        with torch.no_grad():
            program = torch.export.export(module, args, dynamic_shapes=shapes, strict=False)
        found[name] = folder / f"{name}.pt2"
        torch.export.save(program, found[name])
    return found


def converted(binary: str, program: Path, form: str, level: str, folder: Path) -> Path:
    """Convert an archive at a level."""
    folder.mkdir(parents=True)
    command = [binary, "convert", program, "-o", folder / "model.onnx", "--no-verify", "--quiet"]
    command += ["--target", "onnxruntime", "--optimize", level, *FORMS[form]]
    subprocess.run(command, check=True)
    return folder / "model.onnx"


def cache(made: Any, past: int) -> list[np.ndarray]:
    """Return a key and a value for each layer, in turn."""
    random = np.random.default_rng(0)
    shape = (1, made.config.num_key_value_heads, past, HEAD)
    count = 2 * made.config.num_hidden_layers
    return [random.standard_normal(shape, dtype=np.float32) for _ in range(count)]


def feeds(
    ready: onnxruntime.InferenceSession, tokens: np.ndarray, past: list[np.ndarray]
) -> dict[str, np.ndarray]:
    """Return tokens, a mask of ones and a cache, under the names of a session."""
    found: dict[str, np.ndarray] = {}
    places = ready.get_inputs()
    whole = np.ones((1, tokens.shape[1] + past[0].shape[2]), np.int64)
    found[places[0].name], found[places[1].name] = tokens, whole
    # The builder names its cache by layer and kind; ours are in that order.
    named = {f"past_key_values.{at // 2}.{('key', 'value')[at % 2]}": at for at in range(len(past))}
    for at, place in enumerate(places[2:]):
        found[place.name] = past[named.get(place.name, at)]
    return found


def expected(made: Any, tokens: np.ndarray, past: list[np.ndarray]) -> np.ndarray:
    """Return PyTorch's logits for the same."""
    import torch
    from transformers import DynamicCache

    parts = [torch.from_numpy(part) for part in past]
    pairs = list(zip(parts[::2], parts[1::2], strict=True))
    known = DynamicCache(pairs) if past[0].shape[2] else None
    with torch.no_grad():
        return made(torch.from_numpy(tokens), past_key_values=known).logits.numpy()


def measured(
    what: str, threads: int, rounds: int, paths: dict[str, Path], inner: Any, case: tuple[int, int]
) -> None:
    """Print a row for each model."""
    new, length = case
    tokens = np.random.default_rng(1).integers(3, VOCABULARY, (1, new))
    past = cache(inner, length)
    wanted = expected(inner, tokens, past)
    spent: dict[str, list[float]] = {}
    found: dict[str, np.ndarray] = {}
    order, repeat = list(paths), 1 if new > 1 else 4
    for _ in range(SESSIONS):
        order.reverse()
        ready = {name: session(paths[name], threads) for name in order}
        given = {name: feeds(made, tokens, past) for name, made in ready.items()}
        found = {name: made.run(None, given[name])[0] for name, made in ready.items()}
        calls = {name: functools.partial(ready[name].run, None, given[name]) for name in order}
        in_rounds(calls, -(-rounds // SESSIONS), repeat, spent)
        del ready, calls
    for name in paths:
        ratios = [one / other for one, other in zip(spent[name], spent["genai"], strict=True)]
        apart = distance([found[name]], [wanted])
        cells = [f"{statistics.median(spent[name]) * 1e3:.2f}", f"{statistics.median(ratios):.3f}"]
        print(f"| {what} | {threads} | {name} | {' | '.join(cells)} | {apart:.2g} |", flush=True)


def main() -> int:
    """Run the command line and return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m benches.runtime.genai",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--builder", type=Path, required=True, help="where onnxruntime-genai is")
    parser.add_argument("--onnxport", default=str(ROOT / "target" / "release" / "onnxport"))
    parser.add_argument("--levels", nargs="*", default=["2", "target"])
    parser.add_argument("--forms", nargs="*", default=list(FORMS))
    parser.add_argument("--cases", nargs="*", default=list(CASES), choices=list(CASES))
    parser.add_argument("--threads", type=int, nargs="*", default=[1, 2])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--width", type=int, default=1024, help="a multiple of 256")
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--keep", type=Path, help="a folder for the models")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.keep or Path(scratch)
        made = model(options.width, options.layers)
        archives = {part: folder / f"{part}.pt2" for part in ("decode", "prompt")}
        if not (folder / "source").exists():
            saved(made, folder / "source")
            archives = programs(made, folder)
        print("| what | threads | model | ms | by genai's | apart |\n|---|--:|---|--:|--:|--:|")
        for form in options.forms:
            theirs = folder / f"genai-{form}" / "model.onnx"
            if not theirs.exists():
                theirs = built(options.builder, folder / "source", form, theirs.parent)
            for case in options.cases:
                sizes = CASES[case]
                program = archives["decode" if sizes[1] else "prompt"]
                paths = {"genai": theirs, "again": theirs}
                for level in options.levels:
                    place = folder / f"{form}-{level}-{program.stem}"
                    path = place / "model.onnx"
                    if not path.exists():
                        converted(options.onnxport, program, form, level, place)
                    paths[f"onnxport_{level}"] = path
                for threads in options.threads:
                    measured(f"{form}, {case}", threads, options.rounds, paths, made, sizes)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
