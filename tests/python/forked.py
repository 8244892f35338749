"""A server that has imported PyTorch, and forks a Python process for each script that a test runs.

A new process needs seconds to import PyTorch and export a first program. `python()` returns an
interpreter to start instead, as in `[python(), "script.py", ...]`. `prefix()` returns an
environment with that interpreter, for programs that look for Python themselves. Forking is safe on
Linux only; elsewhere, both are those of this process.

Unlike a new process, a forked one has modules imported, and the server is its parent. The server
uses one thread and ends with the process that started it. It kills a forked process if the process
that asked for it is gone.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import selectors
import signal
import socket
import struct
import sys
from pathlib import Path
from typing import Any

SHELL = '#!/bin/sh\nexec "{python}" -IS "{file}" ask "{path}" "$@"\n'


def python() -> str:
    """Return the interpreter to start."""
    return str(prefix() / "bin" / "python3") if sys.platform == "linux" else sys.executable


@functools.cache
def prefix() -> Path:
    """Return the environment of the interpreter, with the packages of this process."""
    if sys.platform != "linux":
        return Path(sys.prefix)
    import atexit
    import shutil
    import subprocess
    import sysconfig
    import tempfile

    folder = Path(tempfile.mkdtemp(prefix="forked-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    packages = Path(sysconfig.get_path("purelib"))
    (folder / "lib" / packages.parent.name).mkdir(parents=True)
    (folder / "lib" / packages.parent.name / packages.name).symlink_to(packages)
    (folder / "pyvenv.cfg").write_text("include-system-site-packages = false\n")
    (folder / "bin").mkdir()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(folder / "socket"))
        listener.listen(64)
        number = listener.fileno()
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        # Its standard input ends with this process.
        subprocess.Popen(
            [sys.executable, __file__, "serve", str(number)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            pass_fds=[number],
            env={**environment, "OMP_NUM_THREADS": "1"},
            cwd=folder,
        )
    interpreter = folder / "bin" / "python3"
    text = SHELL.format(python=sys.executable, file=__file__, path=folder / "socket")
    interpreter.write_text(text)
    interpreter.chmod(0o755)
    return folder


def ask(path: str, arguments: list[str]) -> None:
    """Run `arguments` in a process of the server, with this environment; exit with its status."""
    request = json.dumps(
        {
            "arguments": arguments,
            "environment": dict(os.environ),
            "folder": os.getcwd(),
            "parent": os.getppid(),
        }
    ).encode()
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(path)
        socket.send_fds(connection, [struct.pack("<Q", len(request))], [0, 1, 2])
        connection.sendall(request)
        answer = connection.recv(4)
    if len(answer) < 4:
        sys.exit("the server of tests/python/forked.py has ended")
    (code,) = struct.unpack("<i", answer)
    if code < 0:
        # The handler of SIGKILL cannot be set.
        with contextlib.suppress(OSError):
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)


def warm_up() -> None:
    """Import PyTorch, and export and load a program, which imports the rest."""
    import gc
    import io
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import torch

        batch = torch.export.Dim("batch", min=2)
        module = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU()).eval()
        shapes = ({0: batch},)
        program = torch.export.export(module, (torch.zeros(3, 2),), dynamic_shapes=shapes)
        file = io.BytesIO()
        torch.export.save(program, file)
        file.seek(0)
        torch.export.load(file).module()(torch.zeros(3, 2))
    del module, program
    gc.collect()
    gc.freeze()


def serve(listener: socket.socket) -> dict[str, Any]:
    """Answer requests until the end of standard input; return a request in the process for it."""
    awake, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake)
    running: dict[int, socket.socket] = {}
    selector = selectors.DefaultSelector()
    for source in (0, awake, listener):
        selector.register(source, selectors.EVENT_READ)
    while True:
        for key, _ in selector.select():
            if key.fileobj == 0:
                for pid in running:
                    os.kill(pid, signal.SIGKILL)
                os._exit(0)
            elif key.fileobj == awake:
                os.read(awake, 64)
                for pid, code in ended():
                    connection = running.pop(pid)
                    selector.unregister(connection)
                    answer(connection, code)
            elif key.fileobj is listener:
                connection, _ = listener.accept()
                request, files = received(connection)
                if request is None:
                    connection.close()
                    continue
                pid = os.fork()
                if pid == 0:
                    signal.set_wakeup_fd(-1)
                    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                    for number, file in enumerate(files):
                        os.dup2(file, number)
                    for one in (*running.values(), connection, listener):
                        one.close()
                    selector.close()
                    for file in (*files, awake, wake):
                        os.close(file)
                    return request
                for file in files:
                    os.close(file)
                running[pid] = connection
                selector.register(connection, selectors.EVENT_READ, pid)
            elif key.data in running:
                # The process that asked is gone: it sends nothing else.
                os.kill(key.data, signal.SIGKILL)


def ended() -> list[tuple[int, int]]:
    """Return the processes that ended, with their status as in `Popen.returncode`."""
    found = []
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return found
        if pid == 0:
            return found
        found.append((pid, os.waitstatus_to_exitcode(status)))


def answer(connection: socket.socket, code: int) -> None:
    """Send the status of a process."""
    with contextlib.suppress(OSError):
        connection.sendall(struct.pack("<i", code))
    connection.close()


def received(connection: socket.socket) -> tuple[dict[str, Any] | None, list[int]]:
    """Return a request and its standard streams; no request if its sender is gone."""
    head, files, _, _ = socket.recv_fds(connection, 8, 3)
    if len(head) < 8:
        return None, files
    (length,) = struct.unpack("<Q", head)
    request = b""
    while len(request) < length:
        request += connection.recv(length - len(request))
    return json.loads(request), files


def become(request: dict[str, Any]) -> None:
    """Run the script of a request as a new interpreter would, and exit."""
    import types

    import torch

    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["folder"])
    # Scripts that onnxport starts exit if their parent is not the process that it named.
    os.getppid = lambda: request["parent"]
    # A new process draws its own seed.
    torch.seed()
    main = types.ModuleType("__main__")
    sys.modules["__main__"] = main
    code = 0
    try:
        exec(prepared(request["arguments"], main), main.__dict__)
    except SystemExit as asked:
        code = asked.code or 0
        if not isinstance(code, int):
            print(code, file=sys.stderr)
            code = 1
    except BaseException as error:
        code = 1
        # Without the frame of this function.
        shown = error.__traceback__ and error.__traceback__.tb_next
        sys.excepthook(type(error), error.with_traceback(shown), shown)
    end(code)


def prepared(arguments: list[str], main: Any) -> Any:
    """Return the code for arguments of an interpreter, and set `sys.argv` and `sys.path` for it."""
    import warnings

    while arguments[0] == "-W":
        sys.warnoptions.append(arguments[1])
        warnings.simplefilter(arguments[1])
        arguments = arguments[2:]
    if arguments[0] == "-c":
        text, name, first = arguments[1], "<string>", ""
        sys.argv = ["-c", *arguments[2:]]
    else:
        name = os.path.abspath(arguments[0])
        text, first = Path(name).read_bytes(), str(Path(name).resolve().parent)
        main.__file__ = name
        sys.argv = arguments
    further = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    sys.path[:1] = [first, *(path for path in further if path)]
    return compile(text, name, "exec", dont_inherit=True)


def end(code: int) -> None:
    """Exit as an interpreter does, but without unloading modules."""
    import atexit
    import threading

    threading._shutdown()
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            code = code or 120
    os._exit(code)


if __name__ == "__main__":
    if sys.argv[1] == "ask":
        ask(sys.argv[2], sys.argv[3:])
    else:
        warm_up()
        become(serve(socket.socket(fileno=int(sys.argv[2]))))
