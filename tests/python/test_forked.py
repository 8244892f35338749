"""Processes of `tests.python.forked` behave like those of an interpreter."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.python import forked


def run(*arguments, **options):
    return subprocess.run(
        [forked.python(), *arguments], capture_output=True, text=True, check=False, **options
    )


def test_a_script_has_its_arguments_folder_and_environment(tmp_path):
    (tmp_path / "beside.py").write_text("NAME = 'beside'\n")
    script = tmp_path / "script.py"
    script.write_text(
        "import os, sys, beside\n"
        "print(__name__, beside.NAME, sys.argv[1:], os.getcwd(), os.environ['ONE'], input())\n"
    )
    folder = tmp_path / "folder"
    folder.mkdir()
    done = run(script, "a", "b", cwd=folder, env={**os.environ, "ONE": "1"}, input="said")
    expected = f"__main__ beside ['a', 'b'] {folder} 1 said\n"
    assert (done.returncode, done.stdout) == (0, expected), done.stderr


@pytest.mark.parametrize(
    ("code", "returned", "said"),
    [
        ("import sys; sys.exit(3)", 3, ""),
        ("raise SystemExit('why')", 1, "why\n"),
        ("import os; os.kill(os.getpid(), 9)", -9, ""),
        ("import atexit, sys; atexit.register(print, 'late', file=sys.stderr)", 0, "late\n"),
    ],
)
def test_it_ends_as_its_code_says(code, returned, said):
    done = run("-c", code)
    assert (done.returncode, done.stderr) == (returned, said)


def test_errors_show_the_lines_of_the_script_alone(tmp_path):
    script = tmp_path / "script.py"
    script.write_text("1 / 0\n")
    command = [sys.executable, "script.py"]
    plain = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    done = run("script.py", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (plain.returncode, plain.stderr)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
def test_it_ends_with_what_started_it():
    code = "import os, time; print(os.getpid(), flush=True); time.sleep(600)"
    with subprocess.Popen([forked.python(), "-c", code], stdout=subprocess.PIPE, text=True) as one:
        child = Path("/proc") / one.stdout.readline().strip()
        assert child.exists()
        one.kill()
    end = time.monotonic() + 60
    while child.exists():
        assert time.monotonic() < end
        time.sleep(0.02)
