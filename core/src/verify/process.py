"""A process of the user's Python that onnxport starts to answer it: how both talk.

    python -c <this> ARCHIVE PARENT [OPTION...]

Standard input and output carry messages: eight bytes that state a length, then as many bytes. The
first one that comes in is the script, and the others are requests. Standard input stays open: its
end is that of the process that asked.
"""
# ruff: noqa: E402

from __future__ import annotations

import os
import signal
import sys

# What lies in the current folder is nobody's package.
sys.path[:] = [path for path in sys.path if path not in ("", ".")]

import ctypes
import queue
import re
import struct
import threading
from typing import Any

CHUNK = 1 << 20
PR_SET_PDEATHSIG = 1

ANSWERS = os.dup(1)
# The output of other code is not an answer.
os.dup2(2, 1)


def end_with(parent: int) -> None:
    """End this process as soon as the one that asked is gone."""
    if sys.platform != "linux":
        return
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL))
    if os.getppid() != parent:
        os._exit(1)
    try:
        # Where memory runs out, this process goes before the one that asked.
        with open("/proc/self/oom_score_adj", "w") as file:
            file.write("1000")
    except OSError:
        pass


REQUESTS: queue.SimpleQueue[bytearray] = queue.SimpleQueue()
LISTENING = threading.Event()


def listen() -> None:
    """Read requests until the end of standard input, which ends this process."""
    stream = sys.stdin.buffer
    while True:
        head = stream.read(8)
        if len(head) < 8:
            os._exit(1)
        (length,) = struct.unpack("<Q", head)
        request = bytearray(stream.read(length))
        if len(request) < length:
            os._exit(1)
        REQUESTS.put(request)


def receive() -> bytearray:
    """Return the next request; a thread waits for it, and for the end of standard input."""
    if not LISTENING.is_set():
        LISTENING.set()
        threading.Thread(target=listen, daemon=True).start()
    return REQUESTS.get()


def write(data: Any) -> None:
    """Write all of `data`."""
    view = memoryview(data).cast("B")
    while len(view):
        view = view[os.write(ANSWERS, view[:CHUNK]) :]


def reason(error: BaseException) -> str:
    """Return the first line of an error that says something."""
    lines = re.sub(r"\x1b\[[0-9;]*m", "", str(error)).splitlines()
    lines = [line.strip() for line in lines if line.strip()]
    return f"{type(error).__name__}: {lines[0][:300]}" if lines else type(error).__name__
