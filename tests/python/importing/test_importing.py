"""Models of other exporters and of the ONNX package are the same after they were read."""

import os
from itertools import chain

import pytest

from tests.python.importing import same, sources

pytestmark = pytest.mark.minutes

# They give `Range` vectors of one where ONNX wants numbers. ONNX Runtime sees that only when these
# are constants, and refuses them then.
BREACHES = {"test_affine_grid_2d_expanded", "test_affine_grid_2d_align_corners_expanded"}


def test_models_of_torch_onnx():
    known = sources.of_torch(os.environ.get("ONNXPORT_EXPORTS") == "all")
    total = sum(map(len, known.values()))
    assert total >= 200
    counts = same.judge_all(chain(*known.values()))
    # Some models are random, and foreign operators have no kernel.
    assert counts["equal"] >= 0.95 * total


def test_models_of_the_onnx_package():
    known = list(chain(*sources.of_package().values()))
    counts = same.judge_all(known)
    # The others use operators that ONNX Runtime has no kernel for, or come without inputs.
    assert counts["equal"] > 0.6 * len(known)


def test_the_standard_rules_change_no_bit_of_models_of_others():
    known = list(chain(*sources.of_package().values(), *sources.of_torch(False).values()))
    known = [source for source in known if source[0] not in BREACHES]
    counts = same.judge_all(known, optimise=True)
    assert counts["equal"] > 0.6 * len(known)
