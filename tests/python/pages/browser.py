"""A headless browser, where there is one."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "chrome")
OPTIONS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--enable-logging=stderr",
    "--virtual-time-budget=2000",
)


def found() -> str | None:
    """Return the path of a browser."""
    return next((path for name in PROGRAMS if (path := shutil.which(name))), None)


def opened(page: Path, *options: str) -> str:
    """Open a page and return the browser's output; raise if its script complains."""
    program = found()
    assert program is not None
    with tempfile.TemporaryDirectory() as profile:
        command = [program, *OPTIONS, f"--user-data-dir={profile}", *options, page.as_uri()]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    complaints = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    assert not complaints, complaints
    return done.stdout


def document(page: Path) -> str:
    """Return the document as it is once its script has run."""
    return opened(page, "--dump-dom")


def picture(page: Path, target: Path, size: tuple[int, int] = (1200, 1600)) -> Path:
    """Save a screenshot."""
    opened(page, f"--screenshot={target}", f"--window-size={size[0]},{size[1]}")
    return target
