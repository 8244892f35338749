"""Write the backend tests of the `onnx` package into a folder, as files that need no Python.

A test is `<kind>/<name>/` with `model.onnx` and `test_data_set_<n>/{input,output}_<i>.pb`; an
input or output that is absent has no file. Tolerances other than the usual ones stand in
`data.json`.
"""

from __future__ import annotations

import argparse
import json
import shutil
from pathlib import Path

import numpy as np
import onnx
from onnx import TypeProto, numpy_helper
from onnx.backend.test.case.node import collect_testcases
from onnx.backend.test.loader import DATA_DIR

KINDS = ("simple", "pytorch-converted", "pytorch-operator")
TOLERANCES = (1e-3, 1e-7)


def proto(value: object, kind: TypeProto, name: str) -> bytes:
    """Return the message that holds `value`."""
    if hasattr(value, "SerializeToString"):
        return value.SerializeToString()
    if kind.HasField("optional_type"):
        return numpy_helper.from_optional(value, name).SerializeToString()
    if kind.HasField("sequence_type"):
        return numpy_helper.from_list(value, name).SerializeToString()
    if kind.HasField("map_type"):
        return numpy_helper.from_dict(value, name).SerializeToString()
    return numpy_helper.from_array(np.asarray(value), name).SerializeToString()


def write(folder: Path, case: object) -> None:
    """Write one test."""
    folder.mkdir(parents=True)
    folder.joinpath("model.onnx").write_bytes(case.model.SerializeToString())
    if (case.rtol, case.atol) != TOLERANCES:
        folder.joinpath("data.json").write_text(json.dumps({"rtol": case.rtol, "atol": case.atol}))
    graph = case.model.graph
    for number, (inputs, outputs) in enumerate(case.data_sets):
        data = folder / f"test_data_set_{number}"
        data.mkdir()
        for name, values, formals in (
            ("input", inputs, graph.input),
            ("output", outputs, graph.output),
        ):
            for index, (value, formal) in enumerate(zip(values, formals, strict=False)):
                message = proto(value, formal.type, formal.name)
                data.joinpath(f"{name}_{index}.pb").write_bytes(message)


def main() -> None:
    """Write the tests to the folder given on the command line, unless they are there."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", type=Path)
    output = parser.parse_args().output
    stamp = output / "version"
    if stamp.exists() and stamp.read_text() == onnx.__version__:
        return
    shutil.rmtree(output, ignore_errors=True)
    for kind in KINDS:
        shutil.copytree(Path(DATA_DIR) / kind, output / kind, dirs_exist_ok=True)
    cases = collect_testcases(None)
    failed = []
    for case in cases:
        try:
            write(output / "node" / case.name, case)
        except (TypeError, ValueError) as error:
            failed.append((case.name, error))
            shutil.rmtree(output / "node" / case.name)
    for name, error in failed:
        print(f"{name} cannot be written: {error}")
    stamp.write_text(onnx.__version__)


if __name__ == "__main__":
    main()
