"""Programs with the behaviour that PyTorch's tests of export require, against eager mode."""

from pathlib import Path

import pytest

from tests.python import known_failures
from tests.python.contracts import counts, examples, registry
from tests.python.contracts.judge import compare, converted

KNOWN = known_failures.load(Path(__file__).with_name("known_failures.toml"))
CONTRACTS = registry.load()
EXAMPLES = examples.examples()
OPERATORS = examples.operators()


def parameters(programs):
    return [pytest.param(name, marks=known_failures.marks(KNOWN, name)) for name in programs]


def check(contract):
    model, module = converted(contract), contract.module()
    with examples.in_python(module):
        compare(model, module, contract.calls, contract.tolerance)


@pytest.mark.parametrize("name", parameters(CONTRACTS))
def test_a_program_agrees_with_eager_mode(name):
    check(CONTRACTS[name])


@pytest.mark.parametrize("name", parameters(EXAMPLES))
def test_an_example_of_the_database_agrees_with_eager_mode(name):
    check(EXAMPLES[name])


@pytest.mark.parametrize("name", parameters(OPERATORS))
def test_a_sample_of_a_higher_order_operator_agrees_with_eager_mode(name):
    check(OPERATORS[name])


def test_known_failures_name_programs():
    assert not known_failures.strays(KNOWN, {*CONTRACTS, *EXAMPLES, *OPERATORS})


def test_the_counts_are_current():
    assert counts.README.read_text() == counts.text(), "run `python -m tests.python.contracts`"


def test_a_test_function_is_ported_or_excluded():
    for file, groups in counts.excluded().items():
        names = [name for group in groups.values() for name in group]
        assert len(names) == len({*names}), file
        assert not {*names} & counts.ported()[file].keys(), file
