"""Fifty seeded faults: `onnxport bisect` names the node in each.

`python -m tests.python.trust` prints the table of `docs/bisect.md`.
"""

from __future__ import annotations

import json
import shutil
from collections import Counter

import onnx
import pytest

from tests.python.trust.corpus import Corpus, bisect, onnxport
from tests.python.trust.faults import KINDS
from tests.python.trust.networks import networks

PER_KIND = 2


@pytest.fixture(scope="module", params=list(networks()))
def corpus(request, tmp_path_factory):
    return Corpus.make(request.param, tmp_path_factory.mktemp(request.param))


def test_every_kind_of_fault_is_seeded_twice(corpus):
    assert Counter(fault.kind for fault in corpus.faults) == dict.fromkeys(KINDS, PER_KIND)


def test_a_model_without_a_fault_agrees(corpus):
    for against in (corpus.program, corpus.model, "reference"):
        said, code = bisect(corpus.model, against, corpus.inputs)
        assert (said["bisect"]["fault"], code) == (None, 0), said["text"]


def test_the_node_is_named_where_another_model_is_right(corpus):
    for fault, path in corpus.seeded():
        said, code = bisect(path, corpus.model, corpus.inputs)
        found = said["bisect"]["fault"]
        assert code == 4, fault
        assert found is not None, fault
        assert (found["row"]["node"], found["wrong"]) == (fault.node, "model"), fault


def test_the_node_is_named_where_pytorch_is_right(corpus):
    exported = {node.name: exported_node(node) for node in onnx.load(corpus.model).graph.node}
    for fault, path in corpus.seeded():
        said, code = bisect(path, corpus.program)
        found = said["bisect"]["fault"]
        assert code == 4, fault
        assert found is not None, fault
        assert fault.node in [node["node"] for node in found["nodes"]], fault
        assert {node["exported"] for node in found["nodes"]} == {exported[fault.node]}, fault


def test_pytorch_records_a_program_that_nobody_recorded(corpus, tmp_path):
    bare = tmp_path / corpus.program.name
    shutil.copy(corpus.program, bare)
    said, code = bisect(corpus.model, bare)
    assert (said["diagnostics"][0]["code"], code) == ("OP704", 6)
    assert "--record" in said["diagnostics"][0]["help"]
    fault, path = next(iter(corpus.seeded()))
    said, code = bisect(path, bare, None, "--record")
    assert code == 4, said
    assert fault.node in [node["node"] for node in said["bisect"]["fault"]["nodes"]]
    assert list(tmp_path.iterdir()) == [bare]


def test_what_two_models_differ_in_is_said(corpus):
    for fault, path in corpus.seeded():
        done = onnxport("diff", corpus.model, path, "--json", "--exit-code")
        assert done.returncode == 4
        diff = json.loads(done.stdout)["diff"]
        changed = [pair["after"]["node"] for pair in diff["changed"]]
        assert (changed, diff["added"], diff["removed"]) == ([fault.node], [], []), fault


def exported_node(node):
    return next(entry.value for entry in node.metadata_props if entry.key == "onnxport.node")
