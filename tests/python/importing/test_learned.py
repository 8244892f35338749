"""The evaluator computes the operators of `ai.onnx.ml` as ONNX Runtime does."""

import subprocess

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper
from safetensors.numpy import load_file, save_file

from tests.python.onnx_runtime import binary

DOMAIN = "ai.onnx.ml"
FEATURES = 4
ROWS = np.random.default_rng(0).normal(size=(9, FEATURES)).astype(np.float32)
# A tree that looks at two features, and one that looks at one.
TREES = {
    "nodes_treeids": [0, 0, 0, 0, 0, 1, 1, 1],
    "nodes_nodeids": [0, 1, 2, 3, 4, 0, 1, 2],
    "nodes_featureids": [0, 1, 0, 0, 0, 3, 0, 0],
    "nodes_modes": ["BRANCH_LEQ", "BRANCH_LT", "LEAF", "LEAF", "LEAF", "BRANCH_GT", "LEAF", "LEAF"],
    "nodes_values": [0.1, -0.3, 0.0, 0.0, 0.0, 0.2, 0.0, 0.0],
    "nodes_truenodeids": [1, 2, 0, 0, 0, 1, 0, 0],
    "nodes_falsenodeids": [4, 3, 0, 0, 0, 2, 0, 0],
    "nodes_missing_value_tracks_true": [0, 1, 0, 0, 0, 1, 0, 0],
}
LEAVES = [(0, 2), (0, 3), (0, 4), (1, 1), (1, 2)]


def votes(kind, ids, weights):
    """Return the attributes that hold the votes of the leaves: one of each, or several in turn."""
    trees, nodes = zip(*(LEAVES * (len(ids) // len(LEAVES))), strict=True)
    lists = {"treeids": trees, "nodeids": nodes, "ids": ids, "weights": weights}
    return {f"{kind}_{name}": list(items) for name, items in lists.items()}


def numbers(count, seed=1):
    """Return numbers around 0."""
    return np.random.default_rng(seed).normal(size=count).astype(np.float32).tolist()


def case(op, *, id, outputs=1, rows=ROWS, **attributes):
    """Return a parameter of the test: a node with these attributes, and its input."""
    return pytest.param(op, outputs, rows, attributes, id=id)


MISSING = ROWS.copy()
MISSING[::2, 1] = np.nan
MISSING[::3, 3] = np.nan

CASES = [
    case("Binarizer", id="binarizer", threshold=0.25),
    case("Scaler", id="scaler", offset=numbers(4), scale=numbers(4, 2)),
    case("Scaler", id="scaler-one", offset=[0.5], scale=[3.0]),
    *(case("Normalizer", id=f"normalizer-{n}", norm=n) for n in ("L1", "L2")),
    case("Normalizer", id="normalizer-MAX", norm="MAX", rows=np.abs(ROWS)),
    case(
        "Imputer",
        id="imputer",
        rows=MISSING,
        imputed_value_floats=numbers(4),
        replaced_value_float=float("nan"),
    ),
    case("OneHotEncoder", id="one-hot", rows=np.arange(6.0, dtype=np.float32), cats_int64s=[4, 1]),
    case("FeatureVectorizer", id="vectorizer", inputdimensions=[FEATURES]),
    case(
        "LinearRegressor",
        id="linear",
        coefficients=numbers(12),
        intercepts=numbers(3, 2),
        targets=3,
    ),
    *(
        case(
            "LinearClassifier",
            id=f"linear-{transform}",
            outputs=2,
            coefficients=numbers(12),
            intercepts=numbers(3, 2),
            classlabels_ints=[7, 8, 9],
            post_transform=transform,
        )
        for transform in ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO")
    ),
    *(
        case(
            "TreeEnsembleRegressor",
            id=f"trees-{how}",
            rows=MISSING,
            **TREES,
            **votes("target", [0] * 5 + [1] * 5, numbers(10)),
            n_targets=2,
            aggregate_function=how,
            base_values=[0.5, -0.5],
        )
        for how in ("SUM", "AVERAGE", "MIN", "MAX")
    ),
    *(
        case(
            "TreeEnsembleClassifier",
            id=f"trees-of-three-{transform}",
            outputs=2,
            **TREES,
            **votes("class", [0, 1, 2, 0, 2], np.abs(numbers(5)).tolist()),
            classlabels_int64s=[3, 5, 7],
            post_transform=transform,
        )
        for transform in ("NONE", "SOFTMAX")
    ),
    *(
        case(
            "TreeEnsembleClassifier",
            id=f"trees-of-two-{kind}",
            outputs=2,
            **TREES,
            **votes("class", [0, 0, 0, 0, 0], weights),
            classlabels_int64s=[0, 1],
        )
        for kind, weights in (("shares", [0.1, 0.4, 0.3, 0.2, 0.5]), ("margins", numbers(5)))
    ),
    *(
        case(
            "SVMRegressor",
            id=f"svm-{kernel}",
            kernel_type=kernel,
            kernel_params=[0.3, 0.1, 2.0],
            support_vectors=numbers(12),
            coefficients=numbers(3, 2),
            n_supports=3,
            rho=[0.25],
        )
        for kernel in ("LINEAR", "POLY", "RBF", "SIGMOID")
    ),
    case(
        "SVMRegressor",
        id="svm-one-class",
        kernel_type="RBF",
        kernel_params=[0.3, 0.0, 3.0],
        support_vectors=numbers(12),
        coefficients=[0.4, 0.3, 0.5],
        n_supports=3,
        rho=[-0.6],
        one_class=1,
    ),
    *(
        case(
            "SVMClassifier",
            id=f"svm-of-three-{kind}",
            outputs=2,
            kernel_type="RBF",
            kernel_params=[0.3, 0.0, 3.0],
            support_vectors=numbers(20),
            coefficients=numbers(10, 2),
            vectors_per_class=[2, 1, 2],
            rho=numbers(3, 3),
            classlabels_ints=[0, 1, 2],
            **more,
        )
        for kind, more in (
            ("votes", {}),
            ("probabilities", {"prob_a": [-1.0, -2.0, -1.5], "prob_b": [0.1, 0.0, -0.2]}),
        )
    ),
]


def model(op, outputs, rows, attributes):
    """Return a model of one node."""
    version = 3 if op.startswith("TreeEnsemble") else 1
    names = [f"y{index}" for index in range(outputs)]
    node = helper.make_node(op, ["x"], names, domain=DOMAIN, **attributes)
    kinds = [TensorProto.FLOAT] if outputs == 1 else [TensorProto.INT64, TensorProto.FLOAT]
    graph = helper.make_graph(
        [node],
        "learned",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, rows.shape)],
        [helper.make_tensor_value_info(*pair, None) for pair in zip(names, kinds, strict=True)],
    )
    opsets = [helper.make_opsetid("", 20), helper.make_opsetid(DOMAIN, version)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


@pytest.mark.parametrize(("op", "outputs", "rows", "attributes"), CASES)
def test_learned(op, outputs, rows, attributes, tmp_path):
    path, given, found = (
        tmp_path / name for name in ("m.onnx", "in.safetensors", "out.safetensors")
    )
    onnx.save(model(op, outputs, rows, attributes), str(path))
    save_file({"x": rows}, given)
    command = [binary(), "run", path, "--inputs", given, "-o", found, "--executor", "reference"]
    subprocess.run([*command, "--quiet"], check=True)
    got = load_file(found)
    session = ort.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    for output, expected in zip(session.get_outputs(), session.run(None, {"x": rows}), strict=True):
        value = got[output.name]
        assert value.dtype == expected.dtype
        np.testing.assert_allclose(value, expected.reshape(value.shape), rtol=1e-5, atol=1e-6)
        assert value.size == expected.size
