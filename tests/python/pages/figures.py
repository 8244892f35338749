"""The measured facts of the README, from the pages that measurements write."""

from __future__ import annotations

import re

from tests.python.onnx_runtime import ROOT

README, BENCHES = ROOT / "README.md", "benches/README.md"
BEGIN, END = "<!-- figures: tests/python/pages/figures.py -->\n", "<!-- end of figures -->\n"


def found(page: str, pattern: str) -> tuple[str, ...]:
    """Return the groups of the one place in a page that `pattern` matches."""
    text = re.sub(r"\s+", " ", (ROOT / page).read_text())
    places = re.findall(pattern, text)
    if len(places) != 1:
        raise ValueError(f"{len(places)} places in {page} for {pattern}")
    return places[0] if isinstance(places[0], tuple) else (places[0],)


def samples() -> tuple[int, int, int]:
    """Return the judged, the right and the refused samples of all kinds."""
    text = (ROOT / "docs/operators.md").read_text()
    row = r"^\| [\w-]+ \| (\d+) \| (\d+) \| (\d+) \| \d+ \| \d+ \| .* % \|$"
    rows = re.findall(row, text, re.MULTILINE)
    judged, right, refused = (sum(map(int, column)) for column in zip(*rows, strict=True))
    return judged, right, refused


def speeds() -> str:
    """Return the times of models relative to those of the exporter, by kind."""
    kinds = {
        "convolutional": "convolutional",
        "encoders": "encoders",
        "decoders, prompts": "prompts",
        "decoders, one token or 64 behind a cache": "tokens behind a cache",
    }
    shown = []
    for kind, name in kinds.items():
        (target,) = found(BENCHES, rf"\| {kind} \| \d+ \| [\d.]+ \| ([\d.]+) \|")
        shown.append(f"{name} {target}")
    return ", ".join(shown)


def table() -> str:
    """Return the table, in Markdown."""
    judged, right, refused = samples()
    runtime, torch = found(
        "docs/operators.md", r"ONNX Runtime ([\d.]+) .* eager PyTorch (\d[\d.]*\d):"
    )
    date, machine = found(
        BENCHES, r"(\d+ \w+ \d{4}), ONNX Runtime [^|]*? two idle cores of an ([^:|]*):"
    )
    models, times = found(BENCHES, r"\| median ratio of (\d+) \| \| \| \| \d+ / (\d+) \|")
    fewest, counted = found(BENCHES, r"(\d+) of (\d+) models have no more nodes than")
    equal, families = found("docs/families.md", r"(\d+) of (\d+) families are equal")
    served, tried = found("docs/llm-families.md", r"(\d+) of (\d+) families are equal")
    different = judged - right - refused
    rows = (
        (
            "[PyTorch's own samples](docs/operators.md) of operators and modules",
            f"{right:,} of {judged:,} right, {refused} refused, {different} different",
        ),
        (
            "[families of language models](docs/families.md), each step of two calls of `generate`",
            f"{equal} of {families} equal",
        ),
        (
            "[families of decoders](docs/llm-families.md) as folders for a server",
            f"{served} of {tried} equal",
        ),
        (
            "CPU time of [a conversion](benches/README.md#conversions) after `torch.export`, "
            f"median of {models} models",
            f"1/{times} of `torch.onnx.export`",
        ),
        (
            "[nodes](benches/README.md#nodes) after optimization",
            f"in {fewest} of {counted} models no more than those of `torch.onnx`, onnxslim, "
            "onnxsim and ONNX Runtime",
        ),
        (
            "[time in ONNX Runtime](benches/README.md#models-in-onnx-runtime), `torch.onnx` = 1",
            speeds(),
        ),
    )
    lines = ["| Measured | Result |", "|---|---|"]
    lines += [f"| {what} | {value} |" for what, value in rows]
    note = f"PyTorch {torch}, ONNX Runtime {runtime}. Times in ONNX Runtime: {machine}, {date}."
    return "\n".join([*lines, "", note]) + "\n"


def placed(text: str) -> str:
    """Return the text of the README with the current table."""
    before, rest = text.split(BEGIN)
    return before + BEGIN + "\n" + table() + "\n" + END + rest.split(END)[1]
