"""Findings of draft export as diagnostics."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from torch._logging import structured
from torch.export import ExportedProgram

from onnxport._diagnostics import Diagnostic
from onnxport._export import branches, kernels, places


def findings(program: ExportedProgram) -> tuple[Diagnostic, ...]:
    """Return the assumptions of draft export: the model is only valid where these hold."""
    report = getattr(program, "_report", None)
    if report is None or report.successful():
        return ()
    return tuple(_findings(report))


def _findings(report: Any) -> Iterator[Diagnostic]:
    # A report has the names of files that were new at the time; PyTorch numbers them only once.
    numbers = getattr(structured, "INTERN_TABLE", {})
    files = {**{number: file for file, number in numbers.items()}, **report.str_to_filename}
    for failure in report.failures:
        if failure.xfail:
            continue
        kind, data = failure.failure_type.name, failure.data
        stack = data.get("user_stack") or ()
        place = places.of_stack((files.get(frame["filename"]), frame["line"]) for frame in stack)
        if kind == "DATA_DEPENDENT_ERROR":
            yield _assumed(data, place)
        elif kind == "GUARD_ADDED":
            yield _restricted(data, place)
        elif kind in ("MISSING_FAKE_KERNEL", "MISMATCHED_FAKE_KERNEL"):
            profiles = report.op_profiles.get(data["op"], ())
            yield kernels.problem("warning", data["op"], data.get("reason"), profiles)
        else:
            yield Diagnostic("warning", "OP211", f"draft export reports {kind}", **place)


def _assumed(data: Mapping[str, Any], place: dict[str, Any]) -> Diagnostic:
    """Report that a data-dependent value decided something in Python."""
    message = (
        "this line branches on a value, and the model always takes the example's branch: "
        f"it takes `{data['expr']}` to be {data['result']} for all data"
    )
    return Diagnostic("warning", "OP211", message, **place, help=branches.help(place.get("source")))


def _restricted(data: Mapping[str, Any], place: dict[str, Any]) -> Diagnostic:
    """Report that a line holds only for some sizes."""
    needs = condition(data["expr"], data["symbol_to_sources"])
    message = f"this line does not take every size: it needs `{needs}`"
    return Diagnostic(
        "warning",
        "OP216",
        message,
        **place,
        help="use sizes of tensors, such as `x.shape[0]`, instead of numbers; "
        "or leave the dimension fixed",
    )


def condition(expr: str, sources: Mapping[str, str]) -> str:
    """Return a condition on sizes in the names of the user's arguments."""
    for symbol, source in sources.items():
        found = re.fullmatch(r"L\['(\w+)'\](.*)\.size\(\)\[(\d+)\]", source)
        own = f"{found[1]}{found[2]}.shape[{found[3]}]" if found else source
        expr = re.sub(rf"\b{symbol}\b", lambda _, own=own: own, expr)
    expr = re.sub(r"Mod\(([^(),]+), ([^(),]+)\)", r"\1 % \2", expr)
    relation = re.fullmatch(r"(Eq|Ne)\(([^()]*), ([^()]*)\)", expr)
    if relation:
        expr = f"{relation[2]} {'==' if relation[1] == 'Eq' else '!='} {relation[3]}"
    return expr
