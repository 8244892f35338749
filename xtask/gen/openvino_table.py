"""Write the operators that OpenVINO compiles for the CPU, as the runtime itself answers.

    python xtask/gen/openvino_table.py core/src/legalise/targets/openvino.txt --date DATE

It needs the packages `openvino` and `onnx`, and takes a quarter of an hour. The questions are those
of `openvino_probe.py`; `--answers FILE` keeps them, or reads them if the file exists.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import combinations
from pathlib import Path

import numpy as np
import onnx
import openvino
import openvino_probe
from onnx import defs, helper
from onnxruntime_kernels import NAMES

Record = dict
# A condition as words, and whether it holds for a record.
Predicate = tuple[str, Callable[[Record], bool]]

# The types that onnxport casts to where the runtime has no kernel: policy, not facts.
POLICY = """\
compute bool in u8
compute bool in i32
"""


def answers(path: Path | None, newest: int) -> list[Record]:
    """Return the records of all questions."""
    if path and path.exists():
        return [json.loads(line) for line in path.read_text().splitlines()]
    records = []
    for op in sorted(openvino_probe.cases()):
        records.extend(openvino_probe.probe(op, newest))
        print(op, len(records), flush=True)
    if path:
        path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return records


def given(record: Record) -> dict[str, tuple[int, bool]]:
    """Return the rank of each input that is given, and whether it is a constant."""
    return {name: (rank, constant) for name, rank, constant in record["inputs"]}


def uniform(value: object) -> object:
    """Return the element of a list of equal integers; other values stay."""
    if isinstance(value, list) and value and len(set(map(str, value))) == 1:
        return value[0] if isinstance(value[0], int) else None
    return None if isinstance(value, list) else value


def predicates(record: Record) -> Iterator[Predicate]:
    """Yield the conditions that hold for a record."""
    for name, value in record["attributes"].items():
        one = uniform(value)
        if isinstance(one, (int, float, str)) and not (
            isinstance(one, str) and not one.isalnum() and "_" not in one
        ):
            yield (
                f"{name}={one}",
                lambda r, name=name, one=one: uniform(r["attributes"].get(name)) == one,
            )
        if name in record["stated"] and one is None:
            yield name, lambda r, name=name: name in r["stated"]
    for name, (rank, _) in given(record).items():
        yield f"rank({name})={rank}", lambda r, n=name, k=rank: given(r).get(n, (-1, 0))[0] == k
        yield name, lambda r, name=name: name in given(r)
    schema = defs.get_schema(record["op"], record["opset"])
    for index, used in enumerate(record["outputs"]):
        if index and used and index < len(schema.outputs):
            name = schema.outputs[index].name
            yield name, lambda r, i=index: len(r["outputs"]) > i and r["outputs"][i]
    for formal in schema.inputs:
        if formal.name not in given(record):
            yield f"!{formal.name}", lambda r, name=formal.name: name not in given(r)
    for name, kind in record["types"].items():
        if any(c.type_param_str == name for c in schema.type_constraints):
            yield f"{name}={kind}", lambda r, n=name, k=kind: r["types"].get(n) == k


Condition = tuple[str, list[Record]]


def rank(words: str, covered: list[Record]) -> tuple[int, bool, int]:
    """Return a key of a condition: which is better to describe the records that it covers.

    Types tell least: an input that is given has a type.
    """
    is_typed = any(re.match(r"[TUV]\w?=", word) for word in words.split())
    return len(covered), not is_typed, -len(words)


def separate(failing: list[Record], passing: list[Record]) -> tuple[list[Condition], list[Record]]:
    """Return conditions of failing records only, each with those records, and the rest."""
    found, left = [], list(failing)
    for size in (1, 2):
        while left:
            options: dict[str, list[Callable[[Record], bool]]] = {}
            for record in left[:40]:
                for group in combinations(predicates(record), size):
                    options[" ".join(words for words, _ in group)] = [test for _, test in group]
            best: Condition = ("", [])
            for words, tests in options.items():
                if any(all(test(r) for test in tests) for r in passing):
                    continue
                covered = [r for r in left if all(test(r) for test in tests)]
                if rank(words, covered) > rank(*best):
                    best = (words, covered)
            if not best[1]:
                break
            found.append(best)
            left = [r for r in left if r not in best[1]]
    return found, left


def joined(found: list[str]) -> list[str]:
    """Return conditions, of which those that differ in the value of one word are one."""
    merged: dict[tuple[str, ...], list[str]] = {}
    for condition in sorted(found):
        words = condition.split(" ")
        for at, word in enumerate(words):
            name, sign, value = word.partition("=")
            if sign:
                key = (*words[:at], f"{name}=", *words[at + 1 :])
                merged.setdefault(key, []).append(value)
    out, done = [], set()
    for key, values in sorted(merged.items(), key=lambda item: -len(item[1])):
        at = next(k for k, word in enumerate(key) if word.endswith("="))
        each = [" ".join((*key[:at], key[at] + value, *key[at + 1 :])) for value in values]
        if not done.intersection(each):
            done.update(each)
            out.append(" ".join((*key[:at], key[at] + ",".join(values), *key[at + 1 :])))
    return sorted({*out, *(set(found) - done)})


def restricted(op: str, version: int, records: list[Record]) -> Iterator[str]:
    """Yield the lines about attributes, ranks and inputs of a version of an operator."""
    passing = [r for r in records if not r["answer"]]
    failing = [r for r in records if r["answer"]]
    names = {name for r in passing for name, (_, constant) in given(r).items() if constant}
    for name in sorted(names):
        free = [r for r in passing if name in given(r) and not given(r)[name][1]]
        yield (
            f"unsure {op} {version} !const({name}) : `{name}` must be a constant in some cases"
            if free
            else f"lacks {op} {version} !const({name}) : `{name}` must be a constant"
        )
    # Nodes that are taken with constants are described by these lines.
    free = [r for r in failing if any(n in given(r) and not given(r)[n][1] for n in names)]
    found, left = separate([r for r in failing if r not in free], passing)
    # A condition that a single test shows may be about that test only.
    for word, several in (("lacks", True), ("unsure", False)):
        for condition in joined([c for c, covered in found if (len(covered) > 1) is several]):
            yield f"{word} {op} {version} {condition}"
    if left:
        yield (
            f"unsure {op} {version} : the runtime refuses {len(left)} of {len(records)} nodes: "
            f"{reason(left)}"
        )


def dynamic(op: str, version: int, records: list[Record]) -> Iterator[str]:
    """Yield the lines about dynamic sizes of inputs."""
    schema = defs.get_schema(op, records[0]["opset"])
    for index, formal in enumerate(schema.inputs):
        about = [record for record in records if record["moving"][0] == index]
        yield from dynamic_input(op, version, formal.name, about)


def dynamic_input(op: str, version: int, name: str, records: list[Record]) -> Iterator[str]:
    """Yield the lines about dynamic sizes of an input."""
    asked, refused = defaultdict(int), defaultdict(int)
    for record in records:
        axis = record["moving"][1]
        for place in (axis, axis - given(record)[name][0]):
            asked[place] += 1
            refused[place] += bool(record["answer"])
    if not any(refused.values()):
        return
    for sign in (1, -1):
        places = [p for p in asked if (p >= 0) == (sign > 0)]
        if all(refused[p] in (0, asked[p]) for p in places):
            wrong = [p for p in places if refused[p]]
            if len(wrong) == len(places):
                yield f"lacks {op} {version} !static({name}) : dynamic sizes are refused"
            else:
                for place in wrong:
                    yield f"lacks {op} {version} dim({name},{place})=? : dynamic sizes are refused"
            return
    yield f"unsure {op} {version} !static({name}) : dynamic sizes are refused in some cases"


def lines(op: str, version: int, records: list[Record]) -> Iterator[str]:
    """Yield the lines about a version of an operator."""
    passing = [r for r in records if not r["answer"]]
    if not passing:
        yield f"lacks {op} {version} : {reason(records)}"
        return
    schema = defs.get_schema(op, records[0]["opset"])
    words, denied = [], {}
    for constraint in schema.type_constraints:
        name = constraint.type_param_str
        formals = [f for f in (*schema.inputs, *schema.outputs) if f.type_str == name]
        # Each value has a type of its own: the nodes of the body decide.
        if any(not formal.is_homogeneous for formal in formals):
            continue
        key = name if any(name in r["types"] for r in records) else "="
        asked = {r["types"][key] for r in records if key in r["types"]}
        taken = {r["types"][key] for r in passing if key in r["types"]}
        taken = {t for t in taken if not t.startswith("float6")}
        if not taken:
            continue
        tensors = (t for t in constraint.allowed_type_strs if t.startswith("tensor("))
        bare = (t.removeprefix("tensor(").removesuffix(")") for t in tensors)
        # onnxport has no types of 6 bits.
        allowed = {NAMES.get(b, b) for b in bare if not b.startswith("float6")}
        rest = sorted(allowed - asked)
        words.append(f"{name}={','.join(sorted(taken) + rest)}")
        denied[key] = asked - taken
        if rest:
            types = ",".join(rest)
            yield f"unsure {op} {version} {name}={types} : the runtime was not asked about it"
    yield " ".join(["kernel", op, str(version), *(words or ["any"])])
    inside = [r for r in records if not any(r["types"].get(k) in d for k, d in denied.items())]
    yield from restricted(op, version, [r for r in inside if r["moving"] is None])
    moving = [r for r in inside if r["moving"] is not None]
    if moving:
        yield from dynamic(op, version, moving)


def reason(records: list[Record]) -> str:
    """Return the runtime's words, without those that name its own files."""
    words = records[0]["answer"]
    if "No conversion rule" in words:
        return "its ONNX frontend has no conversion rule for it"
    if "Conversion is failed" in words:
        return "its ONNX frontend fails to convert it"
    if words == "the process ended":
        return "the runtime crashes"
    return "the plugin of the CPU does not compile it"


def narrowed() -> Iterator[str]:
    """Yield the types that the kernel of `Add` computes in a narrower one."""
    core = openvino.Core()
    for wide, narrow, value in (
        ("int64", "int32", 2**40 + 1),
        ("uint64", "uint32", 2**40 + 2**31 + 1),
        ("uint64", "int32", 2**40 + 2**31 + 1),
        ("float64", "float32", 1 + 2**-40),
    ):
        kind = helper.np_dtype_to_tensor_dtype(np.dtype(wide))
        values = [helper.make_tensor_value_info(name, kind, [1]) for name in "xyz"]
        node = helper.make_node("Add", ["x", "y"], ["z"])
        graph = helper.make_graph([node], "g", values[:2], values[2:])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
        compiled = core.compile_model(core.read_model(model.SerializeToString()), "CPU")
        pair = [np.array([value], wide), np.array([2], wide)]
        (result,) = compiled(pair).values()
        in_narrow = [x.astype(narrow) for x in pair]
        if result[0] != (pair[0] + pair[1])[0] and result == (in_narrow[0] + in_narrow[1]).astype(
            wide
        ):
            yield f"narrows {NAMES[wide]} in {NAMES[narrow]}"


def main() -> None:
    """Write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", type=Path)
    parser.add_argument("--date", required=True)
    parser.add_argument("--answers", type=Path)
    options = parser.parse_args()
    newest = defs.onnx_opset_version()
    records = answers(options.answers, newest)
    found = defaultdict(list)
    for record in records:
        found[record["op"], record["version"]].append(record)
    version = openvino.__version__.split("-")[0]
    table = [
        "# @generated by xtask/gen/openvino_table.py. Do not edit.",
        "target openvino",
        f"version {version}",
        "provider CPU",
        f"source openvino {version} asked about the node tests of onnx {onnx.__version__}",
        f"date {options.date}",
        f"opset {openvino_probe.FIRST}-{newest}",
        "partial",
        "executor openvino",
        *dict.fromkeys(narrowed()),
        *POLICY.splitlines(),
    ]
    for (op, since), group in sorted(found.items()):
        table.extend(lines(op, since, group))
    options.output.write_text("\n".join(table) + "\n")


if __name__ == "__main__":
    main()
