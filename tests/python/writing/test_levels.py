"""Severities of the findings of a conversion."""

import json
import subprocess

import pytest
import torch

from tests.python.onnx_runtime import binary


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.erf(x.double())


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    path = tmp_path_factory.mktemp("levels") / "model.pt2"
    torch.export.save(torch.export.export(Model(), (torch.randn(3),)), path)
    return path


CASES = pytest.mark.parametrize(
    ("options", "code", "shown"),
    [
        ((), 0, "note[OP408]"),
        (("--warnings-as-errors",), 0, "note[OP408]"),
        (("-A", "OP408"), 0, None),
        (("--warn", "op408"), 0, "warning[OP408]"),
        (("-W", "OP408", "--warnings-as-errors"), 0, "warning[OP408]"),
        (("-D", "OP408"), 3, "error[OP408]"),
        (("-D", "OP408", "-A", "OP408"), 2, "error[OP001]"),
        (("-D", "OP9"), 2, "unknown code"),
    ],
)


@CASES
def test_a_code_is_as_bad_as_the_user_says(archive, tmp_path, options, code, shown):
    model = tmp_path / "model.onnx"
    command = [binary(), "convert", archive, "-o", model, "--no-verify", *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    assert model.exists() == (code == 0)
    if shown is None:
        assert "OP408" not in done.stderr
    else:
        assert shown in done.stderr


@CASES
def test_a_code_is_as_bad_for_a_package(archive, tmp_path, options, code, shown):
    package, report = tmp_path / "package", tmp_path / "found.sarif"
    command = [binary(), "package", f"a={archive}", f"b={archive}", "-o", package, "--no-verify"]
    command += ["--report", report, *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    assert package.exists() == (code == 0)
    if shown is None:
        assert "OP408" not in done.stderr
    else:
        assert shown in done.stderr
    assert report.exists() == (code != 2)
    if code == 2:
        return
    results = json.loads(report.read_text())["runs"][0]["results"]
    assert [one["ruleId"] for one in results] == (["OP408"] * 2 if shown else [])
    for name, result in zip("ab", results, strict=False):
        assert f"in `{name}`" in result["message"]["text"]
        place = result["locations"][0]["physicalLocation"]
        assert place["region"]["snippet"]["text"] == "return torch.erf(x.double())"


def test_a_package_has_no_page(archive, tmp_path):
    package = tmp_path / "package"
    command = [binary(), "package", archive, "-o", package, "--report", tmp_path / "a.html"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "a page describes one model only" in done.stderr
