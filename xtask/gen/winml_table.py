"""Write the table of a provider of ONNX Runtime from what Windows ML's command line has measured.

    python xtask/gen/winml_table.py RULES core/src/legalise/targets/qnn.txt --target qnn \
        --provider QNNExecutionProvider_NPU --version 0.4.0 --date DATE

`RULES` is the folder `winml/modelkit/analyze/rules/runtime_check_rules` of the package `winml-cli`
on PyPI, under the MIT license. Its files have a row for each kind of node: the types, ranks,
attributes and constants, and whether the provider compiles and runs it. The table has conditions
which no node that runs satisfies; where no condition tells them apart, nodes are unknown. It needs
`pyarrow`.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from itertools import combinations
from pathlib import Path

import numpy as np
from onnx import defs
from onnxruntime_kernels import NAMES, element
from pyarrow import parquet

TYPES = {"FLOAT": "f32", "DOUBLE": "f64", "BOOL": "bool", "STRING": "string"}
# Columns that are about all elements of an attribute: its words where they do not hold.
ELEMENTS = {
    "dilations_all_ones": "dilations!=1",
    "strides_all_ones": "strides!=1",
    "pads_all_zeros": "pads!=0",
    "attr_group_is_one": "group!=1",
}
# A condition of `lacks` covers at least so many rows; those of fewer rows may be about these only.
ENOUGH = 4
# The part of nodes that fail among those of a condition which is not sure, by its words.
RATIO = {1: 0.5, 2: 0.4, 3: 0}
# Conditions of an operator that are not sure; with more, it is unknown as a whole.
MOST = 12

Kind = dict[str, object]


@cache
def decoded(cell: str | None) -> object:
    """Return the value of a cell."""
    value = None if cell is None else json.loads(cell).get("v")
    return value if isinstance(value, (bool, int, str)) else None


def short(name: str) -> str:
    """Return `f16` for `FLOAT16`."""
    return TYPES.get(name) or NAMES.get(name.lower(), name.lower())


class Operator:
    """The measurements of a version of an operator."""

    def __init__(self, name: str, version: int, path: Path) -> None:
        self.name, self.version = name, version
        self.schema = defs.get_schema(name, version)
        self.inputs = {formal.name for formal in self.schema.inputs}
        table = parquet.read_table(path)
        names = [name for name in table.column_names if name != "compile_run_success"]
        runs = [all(cell) for cell in table.column("compile_run_success").to_pylist()]
        cells = zip(*(table.column(name).to_pylist() for name in names), strict=True)
        # Rows of the same cells, as often as they do not run, and as they do.
        self.rows: dict[tuple, list[int]] = defaultdict(lambda: [0, 0])
        for row, ran in zip(cells, runs, strict=True):
            self.rows[row][ran] += 1
        self.columns = names

    def kinds(self) -> Iterator[tuple[Kind, list[int]]]:
        """Yield what a table can tell of the rows, and how many of them do not run, and do.

        The runtime itself computes nodes of constants.
        """
        for cells, counts in self.rows.items():
            row = dict(zip(self.columns, map(decoded, cells), strict=True))
            given = [name for name in self.inputs if row.get(f"{name}_is_none") is False]
            if given and all(row.get(f"{name}_is_constant") is True for name in given):
                continue
            if counts[1] or not self.is_beyond(row):
                yield dict(self.words(row)), counts

    def is_beyond(self, row: Kind) -> bool:
        """Return whether the first input lacks the axis: no such model is valid."""
        axis, rank = row.get("attr_axis"), row.get(f"{self.schema.inputs[0].name}_dim")
        return isinstance(axis, int) and isinstance(rank, int) and not -rank <= axis <= rank

    def words(self, row: Kind) -> Iterator[tuple[str, object]]:
        """Yield the subjects of conditions, and their values in a row."""
        for column, value in row.items():
            head, _, rest = column.partition("_")
            if rest == self.name and isinstance(value, str):
                yield f"{head}=", short(value)
            elif column in ELEMENTS:
                yield ELEMENTS[column], value is False
            elif found := re.fullmatch(r"attr_(\w+)_is_none", column):
                if found[1] in self.schema.attributes and value is not None:
                    yield found[1], not value
            elif found := re.fullmatch(r"attr_(\w+)", column):
                if found[1] in self.schema.attributes and self.is_word(found[1]):
                    yield f"{found[1]}=", self.default(found[1]) if value is None else value
            elif found := re.fullmatch(r"(\w+?)_(dim|is_constant|is_fixed_shape|is_none)", column):
                name, what = found[1], found[2]
                is_given = row.get(f"{name}_is_none") is not True
                if name not in self.inputs or value is None:
                    continue
                if what == "is_none":
                    yield name, is_given
                elif is_given and what == "dim" and isinstance(value, int):
                    yield f"rank({name})=", value
                elif is_given and isinstance(value, bool):
                    yield ("const" if what == "is_constant" else "static") + f"({name})", value

    def is_word(self, attribute: str) -> bool:
        """Return whether a condition can compare the attribute with a value."""
        kind = self.schema.attributes[attribute].type.name
        return kind in {"INT", "STRING"}

    def default(self, attribute: str) -> object:
        """Return the default of an attribute."""
        stated = self.schema.attributes[attribute]
        if not stated.default_value.name:
            return None
        value = stated.default_value
        return value.i if stated.type.name == "INT" else value.s.decode()

    def is_type(self, word: str) -> bool:
        """Return whether a word is about a type."""
        return any(c.type_param_str == word.rstrip("=") for c in self.schema.type_constraints)


def literals(kinds: list[Kind]) -> dict[str, np.ndarray]:
    """Return each word of a condition, and whether it holds for each kind of node."""
    values = defaultdict(set)
    for kind in kinds:
        for word, value in kind.items():
            values[word].add(value)
    out = {}
    for word, found in sorted(values.items()):
        if word.endswith("="):
            for value in sorted(found - {None}, key=str):
                if re.fullmatch(r"[\w-]+", str(value)):
                    out[f"{word}{value}"] = np.array([k.get(word) == value for k in kinds])
        elif "!=" in word:
            out[word] = np.array([k.get(word) is True for k in kinds])
        else:
            out[word] = np.array([k.get(word) is True for k in kinds])
            out[f"!{word}"] = np.array([k.get(word) is False for k in kinds])
    return out


def conditions(words: dict[str, np.ndarray], size: int) -> Iterator[tuple[str, np.ndarray]]:
    """Yield conditions of so many words that some kind of node satisfies."""
    for group in combinations(words, size):
        holds = np.logical_and.reduce([words[word] for word in group])
        if holds.any():
            yield " ".join(group), holds


def covering(
    words: dict[str, np.ndarray], fails: np.ndarray, runs: np.ndarray, weight: np.ndarray
) -> tuple[list[str], list[str], bool]:
    """Return conditions of failing nodes only, those of the rest, and whether some are left."""
    left, lacks, unsure = fails.copy(), [], []
    for size in (1, 2):
        options = [(w, h) for w, h in conditions(words, size) if not (h & runs).any()]
        while options:
            counts = [(weight[h & left].sum(), -len(w)) for w, h in options]
            best = max(range(len(options)), key=lambda at: counts[at])
            if counts[best][0] < ENOUGH:
                break
            lacks.append(options[best][0])
            left &= ~options[best][1]
    for size in (1, 2, 3):
        options = [(w, h) for w, h in conditions(words, size) if (h & left).any()]
        while options and left.any() and len(unsure) < MOST:
            # The best one has the largest part of failing nodes.
            scores = [
                (
                    (weight * (h & left)).sum() / (weight * (h & (left | runs))).sum(),
                    weight[h & left].sum(),
                )
                for _, h in options
            ]
            best = max(range(len(options)), key=scores.__getitem__)
            if scores[best][0] < RATIO[size]:
                break
            unsure.append(options[best][0])
            left &= ~options[best][1]
            options = [(w, h) for w, h in options if (h & left).any()]
    return lacks, unsure, bool(left.any())


def asked(operator: Operator, kinds: list[Kind]) -> Iterator[str]:
    """Yield lines about what no row has."""
    line = f"unsure {operator.name} {operator.version}"
    values = defaultdict(set)
    for kind in kinds:
        for word, value in kind.items():
            values[word].add(value)
    for word, found in sorted(values.items()):
        stated = sorted(map(str, found - {None}))
        if word.startswith("rank("):
            yield f"{line} {word[:-1]}!={','.join(stated)} : other ranks were not measured"
        elif word.endswith("=") and not operator.is_type(word):
            if operator.schema.attributes[word[:-1]].type.name == "STRING" and stated:
                yield f"{line} {word[:-1]}!={','.join(stated)} : other values were not measured"
        elif word.startswith("const(") and found == {True}:
            yield f"{line} !{word} : it was measured with a constant only"
        elif word.startswith("static(") and found == {True}:
            yield f"{line} !{word} : dynamic sizes were not measured"


def lines(operator: Operator) -> Iterator[str]:
    """Yield the lines about a version of an operator."""
    name, version = operator.name, operator.version
    weight: dict[tuple, list[int]] = defaultdict(lambda: [0, 0])
    for kind, counts in operator.kinds():
        total = weight[tuple(sorted(kind.items(), key=str))]
        total[0] += counts[0]
        total[1] += counts[1]
    if not weight:
        return
    if not any(good for _, good in weight.values()):
        count = sum(bad for bad, _ in weight.values())
        yield f"lacks {name} {version} : none of {count} nodes runs"
        return
    kinds = [dict(key) for key in weight]
    types, words = {}, []
    for word in sorted({word for kind in kinds for word in kind if operator.is_type(word)}):
        good = [k for k, (_, good) in zip(kinds, weight.values(), strict=True) if good]
        ran = {kind[word] for kind in good if word in kind}
        asked_for = {kind[word] for kind in kinds if word in kind}
        constraint = next(
            c for c in operator.schema.type_constraints if c.type_param_str == word[:-1]
        )
        allowed = {element(t) for t in constraint.allowed_type_strs} - {None}
        rest = {t for t in allowed if not t.startswith("float6")} - asked_for
        types[word] = ran
        words.append(f"{word}{','.join(sorted(ran) + sorted(rest))}")
        if rest:
            yield f"unsure {name} {version} {word}{','.join(sorted(rest))} : not measured"
    yield " ".join(["kernel", name, str(version), *words])
    inside = [
        (kind, count)
        for kind, count in zip(kinds, weight.values(), strict=True)
        if all(kind.get(word) in ran for word, ran in types.items() if word in kind)
    ]
    kinds = [kind for kind, _ in inside]
    bad, good = (np.array([count[at] for _, count in inside]) for at in (0, 1))
    lacks, unsure, left = covering(literals(kinds), bad > 0, good > 0, bad + good)
    for condition in lacks:
        yield f"lacks {name} {version} {condition}"
    for condition in unsure:
        yield f"unsure {name} {version} {condition} : some such nodes run, and others do not"
    if left:
        count = bad.sum() + good.sum()
        yield f"unsure {name} {version} : the provider refuses {bad.sum()} of {count} nodes"
    yield from asked(operator, kinds)


def main() -> None:
    """Write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rules", type=Path)
    parser.add_argument("output", type=Path)
    for name in ("target", "provider", "version", "date"):
        parser.add_argument(f"--{name}", required=True)
    options = parser.parse_args()
    files = {}
    pattern = re.compile(rf"(\w+)_{options.provider}_ai\.onnx_opset(\d+)\.parquet")
    for path in sorted((options.rules / options.provider).iterdir()):
        found = pattern.fullmatch(path.name)
        if found and defs.has(found[1]):
            files[found[1], int(found[2])] = path
    versions = sorted({version for _, version in files})
    table = [
        "# @generated by xtask/gen/winml_table.py. Do not edit.",
        f"# From the measurements in the package winml-cli {options.version},",
        "# (c) Microsoft Corporation, MIT license.",
        f"target {options.target}",
        f"version of winml-cli {options.version}",
        f"provider {options.provider.replace('_', ' ')}",
        f"source https://pypi.org/project/winml-cli/{options.version}/",
        f"date {options.date}",
        f"opset 1-{versions[-1]}",
        "partial",
        "fallback onnxruntime-cpu",
    ]
    for (name, version), path in sorted(files.items()):
        table.extend(lines(Operator(name, version, path)))
    options.output.write_text("\n".join(table) + "\n")


if __name__ == "__main__":
    main()
