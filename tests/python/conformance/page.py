"""The page about PyTorch's samples: `docs/operators.md`."""

from __future__ import annotations

import itertools
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import tomllib

from tests.python.conformance import samples as sampled
from tests.python.conformance.judge import TOLERANCES, VERDICTS
from tests.python.conformance.run import Row

ABOUT = """\
# PyTorch's samples of operators

PyTorch tests its operators (`OpInfo`) and modules (`ModuleInfo`) with samples of their arguments.
Each sample here is exported without decompositions, converted with default options, run in
ONNX Runtime {runtime} (in onnxport's evaluator where that has no kernel), and compared with eager
PyTorch {torch}: {count} samples, at most {limit} of each operator and kind.
`cargo xtask conformance ops` measures them and writes this page.

- **right**: the results agree. **refused**: onnxport reports that it cannot convert the call.
  **different**: the results do not agree. **broken**: the model does not load or run.
- `dynamic`: axes have dynamic sizes, and other sizes than those of the sample are compared too.
  `extremal`: inputs hold NaN, infinities, zeros, tiny and huge numbers.
- Not judged: results that are random or uninitialized, samples that PyTorch itself refuses to run
  or to export, and sparse tensors.
- Factorizations are compared by what is unique, such as products. Tolerances are {tolerances}.
  Results that are further away are right where none is further from float64 than PyTorch's own, or
  where they agree with mpmath.

"""
# Why models differ from PyTorch, where it is known.
REASONS = tomllib.loads(Path(__file__).with_name("reasons.toml").read_text())
REAL = [item for item in TOLERANCES.items() if not item[0].is_complex]


def write(rows: list[Row], limit: int) -> str:
    """Return the page, in Markdown."""
    runtime, torch = version("onnxruntime"), version("torch")
    about = ABOUT.format(
        runtime=runtime,
        torch=torch,
        count=len(rows),
        limit=limit,
        tolerances=", ".join(f"{rtol:g} ({str(dtype)[6:]})" for dtype, (rtol, _) in REAL),
    )
    lines = itertools.chain(_table(rows), [""], _refused(rows), [""], _different(rows))
    return about + "\n".join(lines) + "\n"


def shares(rows: list[Row]) -> Iterator[tuple[str, ...]]:
    """Yield the cells of the table by kind, after its head."""
    yield ("kind", "judged", "right", "refused", "different", "broken", "share")
    for kind in sampled.KINDS:
        counts = Counter(row["verdict"] for row in rows if row["kind"] == kind)
        judged = counts.total() - counts["not judged"]
        if judged:
            numbers = (judged, *(counts[verdict] for verdict in VERDICTS[:-1]))
            yield (kind, *map(str, numbers), f"{100 * counts['right'] / judged:.1f} %")


def _table(rows: list[Row]) -> Iterator[str]:
    head, *body = shares(rows)
    yield f"| {' | '.join(head)} |"
    yield "|---" + "|---:" * (len(head) - 1) + "|"
    yield from (f"| {' | '.join(cells)} |" for cells in body)


def _refused(rows: list[Row]) -> Iterator[str]:
    """Yield the refused operators by reason."""
    yield "## Refused\n"
    yield "| reason | samples of |\n|---|---|"
    reasons: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        if row["verdict"] == "refused":
            reasons[_reason(row)].add(row["name"])
    for reason, names in sorted(reasons.items()):
        yield f"| {reason} | {_listed(names)} |"


def _different(rows: list[Row]) -> Iterator[str]:
    """Yield the operators whose models are wrong or broken, by kind."""
    yield "## Different or broken\n"
    yield "| operator | kinds | reason |\n|---|---|---|"
    kinds: dict[str, list[str]] = defaultdict(list)
    for row in rows:
        if row["verdict"] in ("wrong", "broken") and row["kind"] not in kinds[row["name"]]:
            kinds[row["name"]].append(row["kind"])
    for name, found in sorted(kinds.items()):
        yield f"| `{name}` | {', '.join(found)} | {REASONS.get(name, 'unknown')} |"


def _reason(row: Row) -> str:
    """Return the reason of a refusal, without names of values and numbers of calls."""
    text = re.sub(r"^error\[(\w+)\]: ", r"\1: ", row["reason"])
    text = re.sub(r"`models/model.json`: value `\w+`: ", "", text)
    return re.sub(r" \(\d+ times\)", "", text).replace("|", "\\|")


def _listed(names: set[str]) -> str:
    shown = sorted(names)
    more = f" and {len(shown) - 6} more" if len(shown) > 6 else ""
    return ", ".join(f"`{name}`" for name in shown[:6]) + more
