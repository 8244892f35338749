"""Findings of verification, and no false ones: faults, generated calls, states, executors."""

import json
import os
import subprocess

import numpy as np
import onnx
import pytest
import torch
from onnx import TensorProto, helper, numpy_helper
from torch import nn
from torch.export import Dim, export

from tests.python import forked
from tests.python.onnx_runtime import binary, library
from tests.python.trust.corpus import Corpus
from tests.python.trust.networks import networks

BARE = {name: value for name, value in os.environ.items() if name != "ONNXPORT_REFERENCE"}
ENVIRONMENT = {**BARE, "VIRTUAL_ENV": str(forked.prefix()), "ORT_DYLIB_PATH": str(library())}
MISMATCH = 4
UNVERIFIED = 6


def verify(model, *options, code=0):
    """Verify a model; return the report."""
    line = [binary(), "verify", *map(str, (model, *options)), "--json"]
    done = subprocess.run(
        line, capture_output=True, text=True, timeout=600, check=False, env=ENVIRONMENT
    )
    assert done.returncode == code, done.stdout + done.stderr
    return json.loads(done.stdout)


def cases(said):
    return {case["name"]: case for case in said["verification"]["cases"]}


def converted(tmp_path, module, args, shapes=None):
    """Save a program without recorded values and convert it; return both paths."""
    path = tmp_path / "m.pt2"
    torch.export.save(export(module, args, dynamic_shapes=shapes, strict=False), path)
    target = path.with_suffix(".onnx")
    line = [binary(), "convert", path, "-o", target, "--no-verify", "--quiet"]
    subprocess.run(line, check=True, timeout=600, env=ENVIRONMENT)
    return path, target


@pytest.mark.parametrize("name", networks())
def test_the_noise_tells_faults_from_rounding(name, tmp_path):
    corpus = Corpus.make(name, tmp_path)
    against = ("--against", corpus.program, "--tolerance", "auto")
    said = verify(corpus.model, *against)
    for case in said["verification"]["cases"]:
        for output in case["outputs"]:
            assert output["difference"]["max_abs"] <= output["floor"]["bound"]
    assert len(corpus.faults) == 10
    for fault, path in corpus.seeded():
        found = verify(path, *against, code=MISMATCH)
        assert any(d["code"] == "OP701" for d in found["diagnostics"]), fault


class Counting(nn.Module):
    """Token ids in a table, a mask, and a state that each call moves on."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(50, 8)
        self.register_buffer("total", torch.zeros(8))

    def forward(self, ids, mask):
        x = self.table(ids) * mask[..., None]
        self.total.add_(x.mean((0, 1)))
        return x + self.total


@pytest.fixture(scope="module")
def counting(tmp_path_factory):
    batch, places = Dim("batch", min=1, max=64), Dim("places", min=2, max=40)
    shapes = {0: batch, 1: places}
    args = (torch.randint(0, 50, (2, 6)), torch.ones(2, 6))
    folder = tmp_path_factory.mktemp("counting")
    return converted(folder, Counting(), args, (shapes, shapes))


def test_symbols_have_their_smallest_a_prime_and_their_largest_size(counting):
    program, model = counting
    said = verify(model, "--against", program, "--max-memory", "1MiB")
    shapes = {name: case["inputs"][0]["shape"] for name, case in cases(said).items()}
    assert shapes["minimum"] == [1, 2]
    prime, largest = shapes["prime"], shapes["maximum"]
    assert all(n > 1 and all(n % d for d in range(2, n)) for n in prime)
    assert prime[0] < largest[0] <= 64
    assert largest[1] == 40
    assert all(case["expected"] == "torch" for case in cases(said).values())


def test_states_are_fed_on_for_three_steps(counting):
    program, model = counting
    found = cases(verify(model, "--against", program, "--tolerance", "auto"))
    steps = [found[name] for name in ("traced", "traced-step-2", "traced-step-3")]
    largest = [step["outputs"][-1]["difference"]["largest"] for step in steps]
    assert largest[1] == pytest.approx(2 * largest[0], rel=1e-5)
    assert largest[2] == pytest.approx(3 * largest[0], rel=1e-5)


def test_a_state_that_is_not_fed_on_is_found(counting, tmp_path):
    program, model = counting
    loaded = onnx.load(model)
    (state,) = json.loads(next(p.value for p in loaded.metadata_props if p.key == "onnxport.state"))
    for node in loaded.graph.node:
        # The first call has zeros there: only a later one shows that they are taken twice.
        if node.op_type == "Add" and state["input"] in node.input:
            other = next(name for name in node.input if name != state["input"])
            doubled = helper.make_node(
                "Add", [state["input"], state["input"]], ["doubled"], name="doubled"
            )
            loaded.graph.node.insert(list(loaded.graph.node).index(node), doubled)
            node.input[:] = ["doubled", other]
            break
    faulty = tmp_path / "faulty.onnx"
    onnx.save(loaded, faulty)
    found = cases(verify(faulty, "--against", program, code=MISMATCH))
    wrong = {name for name, case in found.items() if any(o["problem"] for o in case["outputs"])}
    assert "traced" not in wrong
    assert {"traced-step-2", "traced-step-3"} <= wrong


def test_executors_stand_side_by_side(counting):
    program, model = counting
    said = verify(
        model, "--against", program, "--executor", "ort", "--executor", "reference", "--seed", 7
    )
    first, second = said["executors"]
    assert first["executor"].startswith("ONNX Runtime")
    assert second["executor"].startswith("the reference evaluator")
    assert [c["name"] for c in first["cases"]] == [c["name"] for c in second["cases"]]
    assert "drawn" in cases(said)


def test_a_model_alone_is_run_by_executors_against_each_other(counting):
    _, model = counting
    said = verify(model, "--executor", "ort", "--executor", "reference", "--max-memory", "64KiB")
    first, second = said["executors"]
    assert all(case["expected"] == "executor" for case in first["cases"])
    assert first["oracle"] == second["executor"] == second["oracle"]
    assert first["values_compared"]
    assert not second["values_compared"]
    verify(model, code=2)
    lacking = verify(model, "--executor", "ort", "--executor", "cuda-lacking", code=2)
    assert "cuda-lacking" in str(lacking["diagnostics"])


def test_values_are_drawn_by_rules(counting):
    program, model = counting
    rule = ("--draw", "ids=integers(0,3)", "--draw", "mask=ones")
    said = verify(model, "--against", program, *rule)
    assert cases(said)["drawn"]["expected"] == "torch"
    for text in ("ids=normal(0,1)", "nobody=ones", "ids=many"):
        line = [binary(), "verify", model, "--against", program, "--draw", text]
        done = subprocess.run(line, capture_output=True, text=True, check=False, env=ENVIRONMENT)
        assert done.returncode != 0, text


def test_calls_are_read_from_files(counting, tmp_path):
    program, model = counting
    json_file, npz = tmp_path / "mine.json", tmp_path / "others.npz"
    json_file.write_text(json.dumps({"ids": [[1, 2, 3]], "mask": [[1, 1, 0]]}))
    arrays = {"ids": np.array([[4, 5]]), "mask": np.ones((1, 2), np.float32)}
    np.savez(npz, **{f"{case}/{name}": a for case in "ab" for name, a in arrays.items()})
    said = verify(model, "--against", program, "--inputs", json_file, "--inputs", npz)
    names = [name for name in cases(said) if "step" not in name]
    assert names == ["mine", "a", "b"]
    assert all(case["expected"] == "torch" for case in cases(said).values())
    json_file.write_text(json.dumps({"ids": [[1.5]], "mask": [[1]]}))
    line = [binary(), "verify", model, "--against", program, "--inputs", json_file]
    done = subprocess.run(line, capture_output=True, text=True, check=False, env=ENVIRONMENT)
    assert done.returncode != 0
    assert "OP710" in done.stderr


def test_reports_are_written(counting, tmp_path):
    program, model = counting
    text, data = tmp_path / "r.txt", tmp_path / "r.json"
    verify(model, "--against", program, "--report", text, "--report", data)
    assert "elements by |error|" in text.read_text()
    assert json.loads(data.read_text())["verification"]["cases"]
    verify(model, "--against", program, "--report", tmp_path / "r.pdf", code=2)


class Peculiar(nn.Module):
    def forward(self, x):
        nothing = torch.zeros_like(x) / 0
        return nothing * x, x * 0 + 2, x.half() * 0 + 60000, x / 0


def test_a_match_between_nan_and_nan_is_not_called_trust(tmp_path):
    program, model = converted(tmp_path, Peculiar(), (torch.rand(4) + 1,))
    said = verify(model, "--against", program)
    outputs = cases(said)["traced"]["outputs"]
    remarks = [" ".join(output["remarks"]) for output in outputs]
    for remark, what in zip(
        remarks, ("NaN", "the same", "more than half", "infinite"), strict=True
    ):
        assert what in remark, remarks
    warned = [d["message"] for d in said["diagnostics"] if d["severity"] == "warning"]
    assert any("comparing them proves nothing" in message for message in warned), warned


def nothing_but_nan(tmp_path):
    graph = helper.make_graph(
        [helper.make_node("Div", ["z", "z"], ["y"])],
        "g",
        [helper.make_tensor_value_info("z", TensorProto.FLOAT, [2])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2])],
    )
    path = tmp_path / "nan.onnx"
    opsets = [helper.make_opsetid("", 20)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=10), path)
    return path


def test_executors_that_agree_on_nan_say_nothing(tmp_path):
    zeros = tmp_path / "zeros.json"
    zeros.write_text(json.dumps({"z": [0, 0]}))
    model = nothing_but_nan(tmp_path)
    line = [binary(), "verify", model, "--executor", "ort", "--executor", "reference"]
    line += ["--inputs", zeros]
    done = subprocess.run(line, capture_output=True, text=True, check=True, env=ENVIRONMENT)
    assert "verified" not in done.stdout
    assert "comparing them proves nothing" in done.stderr


def cropped(tmp_path, rows):
    """Write a model that pools an image without its first rows.

    ONNX Runtime refuses to pool an image of no rows.
    """
    image = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 1, "h", "w"])
    result = helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 1, 1, 1])
    bounds = {"start": rows, "end": 1 << 40, "axis": 2}
    constants = [
        numpy_helper.from_array(np.array([number]), name) for name, number in bounds.items()
    ]
    nodes = [
        helper.make_node("Slice", ["x", *bounds], ["rest"]),
        helper.make_node("GlobalMaxPool", ["rest"], ["y"]),
    ]
    graph = helper.make_graph(nodes, "g", [image], [result], constants)
    path = tmp_path / "cropped.onnx"
    opsets = [helper.make_opsetid("", 20)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=10), path)
    return path


def unjoinable(tmp_path):
    """Write a model that adds vectors of sizes that always differ by two."""
    vector = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n"])
    result = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["m"])
    zeros = numpy_helper.from_array(np.zeros(2, np.float32), "zeros")
    nodes = [
        helper.make_node("Concat", ["x", "zeros"], ["longer"], axis=0),
        helper.make_node("Concat", ["longer", "zeros"], ["longest"], axis=0),
        helper.make_node("Add", ["longer", "longest"], ["y"]),
    ]
    graph = helper.make_graph(nodes, "g", [vector], [result], [zeros])
    path = tmp_path / "unjoinable.onnx"
    opsets = [helper.make_opsetid("", 20)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=10), path)
    return path


def test_a_model_that_no_executor_runs_is_not_verified(tmp_path):
    options = ("--executor", "ort", "--executor", "reference", "--max-memory", "64KiB")
    said = verify(unjoinable(tmp_path), *options, code=UNVERIFIED)
    assert all(case["error"] for executor in said["executors"] for case in executor["cases"])
    errors = [entry for entry in said["diagnostics"] if entry["severity"] == "error"]
    assert [entry["code"] for entry in errors] == ["OP704", "OP704"]
    assert all("verified nothing" in entry["message"] for entry in errors)
    assert all("--inputs" in entry["help"] for entry in errors)


def test_a_size_that_one_executor_refuses_is_said_and_not_compared(tmp_path):
    options = ("--executor", "ort", "--executor", "reference", "--max-memory", "64KiB")
    said = verify(cropped(tmp_path, 1), *options)
    first, second = said["executors"]
    refused = {case["name"] for case in first["cases"] if case["error"]}
    assert refused == {"minimum"}
    assert not any(case["error"] for case in second["cases"])
    compared = {case["name"] for case in first["cases"] for o in case["outputs"] if o["difference"]}
    assert compared == {case["name"] for case in first["cases"]} - refused
    (warning,) = (entry for entry in said["diagnostics"] if entry["code"] == "OP704")
    assert warning["severity"] == "warning"
    assert "case minimum was not compared" in warning["message"]


def test_an_executor_that_refuses_every_size_does_not_run_the_model(tmp_path):
    # So that no size that is drawn has more rows than are cut off.
    options = ("--executor", "ort", "--executor", "reference", "--max-memory", "1KiB")
    verify(cropped(tmp_path, 6), *options, code=MISMATCH)


class Cancelling(nn.Module):
    """A sum that loses most digits of its terms."""

    def forward(self, x):
        return (x + 65536) - 65536


def reordered(model, target, offset=0.0):
    """Write a model that subtracts before it adds, and adds `offset` more."""
    loaded = onnx.load(model)
    plus = numpy_helper.from_array(np.float32(65536 + offset), "plus")
    minus = numpy_helper.from_array(np.float32(65536), "minus")
    (x,), (y,) = loaded.graph.input, loaded.graph.output
    nodes = [
        helper.make_node("Sub", [x.name, "minus"], ["less"], name="less"),
        helper.make_node("Add", ["less", "plus"], [y.name], name="more"),
    ]
    del loaded.graph.node[:], loaded.graph.initializer[:]
    loaded.graph.node.extend(nodes)
    loaded.graph.initializer.extend([plus, minus])
    onnx.save(loaded, target)
    return target


def test_a_difference_that_rounding_explains_is_no_mismatch(tmp_path):
    program, model = converted(tmp_path, Cancelling(), (torch.linspace(0.3, 4.1, 64),))
    against = ("--against", program)
    right = reordered(model, tmp_path / "right.onnx")
    for said in (verify(right, *against), verify(right, *against, "--executor", "reference")):
        assert said["verification"]["tolerance"] == "default"
        (output,) = cases(said)["traced"]["outputs"]
        # More than the tolerance of the element type, and as much as the program itself rounds.
        off, noise = output["difference"]["max_abs"], output["floor"]["noise"]
        assert off > 4e-4
        assert noise / 4 < off < 4 * noise
    # Neither the recorded values alone nor a stated tolerance let that pass.
    for options in (("--rtol", "1e-3", "--atol", "1e-4"), ("--rtol", "1e-3")):
        verify(right, *against, *options, code=MISMATCH)
    wrong = reordered(model, tmp_path / "wrong.onnx", offset=0.0625)
    found = verify(wrong, *against, code=MISMATCH)
    assert "floor" not in cases(found)["traced"]["outputs"][0]
