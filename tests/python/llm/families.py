"""Families of decoders as folders for a server: the table of `docs/llm-families.md`.

`python -m tests.python.llm.families [FAMILY...] > docs/llm-families.md` makes a checkpoint of each
family with a small configuration and random weights, runs `onnxport llm` for a provider with caches
that grow and for one with buffers, and compares the folders with `generate`: in ONNX Runtime, and
in onnxruntime-genai if that is installed. It takes an hour, and is not a part of the tests.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from types import ModuleType

import numpy as np
import torch
import transformers
from transformers.models.auto import modeling_auto as auto

from tests.python.llm import checkpoints, test_buffers, test_llm
from tests.python.onnx_runtime import binary
from tests.python.zoo import families, generating

DECODERS = auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES
PROVIDERS = {"cpu": test_llm.generated, "cuda": test_buffers.generated}
TOKENS = 50
PROMPT = [1, 17, 45, 99, 23, 64, 80]
CONTEXT = 80

PAGE = """# Families of decoders in a server

Decoders of transformers, each with a small configuration and random weights: `onnxport llm` writes
a folder with caches that grow (`--provider cpu`) and one with caches in buffers (`--provider cuda`,
run on the CPU here). *Equal* folders generate the tokens of `generate` in ONNX Runtime, for two
texts of different lengths over {steps} steps; in the columns *genai*, onnxruntime-genai loads the
folder and generates {tokens} tokens. See [language models](llm.md).

{versions}: {grown} of {all} families are equal, {buffers} with buffers. `python -m
tests.python.llm.families FAMILY...` generates such a table.

| family | class | cpu | buffers | genai, cpu | genai, buffers |
|---|---|---|---|---|---|
{rows}
"""


def genai() -> ModuleType | None:
    """Return onnxruntime-genai, if it is installed."""
    try:
        import onnxruntime_genai
    except ImportError:
        return None
    return onnxruntime_genai


def refusal(said: dict) -> str:
    """Return the code and the reason of a command that failed."""
    errors = [found for found in said["diagnostics"] if found["severity"] == "error"]
    return f"{errors[0]['code']}: {errors[0]['message'].split(': ', 1)[-1]}"


def serve(folder: Path, server: ModuleType, wanted: list[int]) -> str:
    """Return how a folder generates in onnxruntime-genai."""
    path = folder / "genai_config.json"
    config = json.loads(path.read_text())
    # No token of the text ends it.
    unused = min(set(range(checkpoints.VOCABULARY)) - set(wanted))
    config["model"]["eos_token_id"] = [unused]
    path.write_text(json.dumps(config))
    try:
        settings = server.Config(str(folder))
        settings.clear_providers()
        model = server.Model(settings)
        parameters = server.GeneratorParams(model)
        parameters.set_search_options(max_length=CONTEXT, do_sample=False)
        generator = server.Generator(model, parameters)
        generator.append_tokens(np.array([PROMPT], np.int32))
        for _ in range(TOKENS):
            generator.generate_next_token()
        own = [int(token) for token in generator.get_sequence(0)]
    except Exception as error:
        return str(error).splitlines()[0][:120]
    return "equal" if own == wanted else "other tokens"


def convert(checkpoint: Path, folder: Path, provider: str) -> str | None:
    """Write the folder; return the reason if that fails."""
    command = [binary(), "llm", checkpoint, "-o", folder, "--provider", provider]
    command += ["--context", str(CONTEXT), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        return refusal(json.loads(done.stdout))
    return None


def check(family: str, server: ModuleType | None) -> list[str]:
    """Return the cells of a family."""
    torch.manual_seed(0)
    model = generating.prepare(families.build(family))
    with torch.no_grad():
        # Logits of the initial weights hardly differ from each other.
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.copy_(torch.randn_like(parameter) * 0.2)
    cells = {}
    with tempfile.TemporaryDirectory() as root:
        checkpoint = checkpoints.save(model, Path(root) / "checkpoint")
        model = transformers.AutoModelForCausalLM.from_pretrained(checkpoint).eval()
        model.generation_config.eos_token_id = None
        ids, mask = test_llm.prompts()
        tokens, _ = test_llm.expected(model, ids, mask)
        long = model.generate(
            torch.tensor([PROMPT]), max_new_tokens=TOKENS, do_sample=False, pad_token_id=0
        )
        for provider, generate in PROVIDERS.items():
            folder = Path(root) / provider
            reason = convert(checkpoint, folder, provider)
            if reason:
                cells[provider], cells[f"genai {provider}"] = reason, ""
                continue
            given = {"buffers": True} if provider == "cuda" else {}
            own, _ = generate(folder / "model.onnx", ids, mask, **given)
            cells[provider] = "equal" if np.array_equal(own, tokens) else "other tokens"
            cells[f"genai {provider}"] = serve(folder, server, long[0].tolist()) if server else ""
    return [cells["cpu"], cells["cuda"], cells["genai cpu"], cells["genai cuda"]]


def main(names: list[str]) -> None:
    """Print the page, and on the error output each row as it is there."""
    server = genai()
    rows = {}
    reasons = families.results()
    for family in sorted(names or DECODERS):
        if families.is_untried(reasons[family]):
            continue
        try:
            rows[family] = check(family, server)
        except Exception as error:
            lines = str(error).splitlines() or [type(error).__name__]
            rows[family] = [f"PyTorch: {lines[0][:100]}", "", "", ""]
        print(family, *rows[family], sep=" | ", file=sys.stderr, flush=True)
    versions = f"transformers {transformers.__version__}, PyTorch {torch.__version__.split('+')[0]}"
    if server:
        versions += f", onnxruntime-genai {server.__version__}"
    lines = [
        f"| {family} | `{DECODERS[family]}` | {' | '.join(cells)} |"
        for family, cells in rows.items()
    ]
    print(
        PAGE.format(
            versions=versions,
            steps=test_llm.STEPS,
            tokens=TOKENS,
            grown=sum(cells[0] == "equal" for cells in rows.values()),
            buffers=sum(cells[1] == "equal" for cells in rows.values()),
            all=len(rows),
            rows="\n".join(lines),
        ),
        end="",
    )


if __name__ == "__main__":
    main(sys.argv[1:])
