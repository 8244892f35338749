"""Many requests on an executor that the user already has."""

from __future__ import annotations

import collections
import concurrent.futures
import dataclasses
import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, overload

from onnxport import _diagnostics, _errors
from onnxport._commands import Command, Result, text
from onnxport._diagnostics import Diagnostic

# Requests that an executor has at a time; others wait here.
AHEAD = 256


class Executor(Protocol):
    """A `concurrent.futures.Executor`, or anything with its `submit`."""

    def submit(self, fn: Callable[..., Any], /, *args: Any) -> concurrent.futures.Future[Any]:
        """Run a function with arguments elsewhere."""


@dataclasses.dataclass(frozen=True, init=False)
class Request:
    """A command with its arguments, as data: it can be pickled, compared and stored.

    `Request("convert", "m.pt2", output="m.onnx", opset=20)` is what `onnxport.convert("m.pt2",
    output="m.onnx", opset=20)` runs.

    Raises:
        UsageError: if there is no such command or option.
    """

    command: str
    options: Mapping[str, Any]

    def __init__(self, command: str, *places: Any, **options: Any) -> None:
        found = Command(command)
        given = found.bind(places, options)
        unknown = sorted(given.keys() - {known["name"] for known in found.arguments})
        if unknown:
            raise _errors.usage(f"unknown options for `{command}`: {', '.join(unknown)}")
        object.__setattr__(self, "command", command)
        object.__setattr__(self, "options", json.loads(json.dumps(given, default=text)))

    def __hash__(self) -> int:
        return hash((self.command, json.dumps(self.options, sort_keys=True)))

    def __str__(self) -> str:
        places = [str(self.options[name]) for name in self._places if name in self.options]
        return " ".join([self.command, *places])

    @property
    def _places(self) -> list[str]:
        return [known["name"] for known in Command(self.command).arguments if known["place"]]

    @property
    def output(self) -> Path | None:
        """The path that the request writes."""
        output = self.options.get("output")
        return Path(output) if isinstance(output, str) else None

    def run(self) -> Result:
        """Run the request in this process."""
        return Command(self.command).run(self.options)

    def key(self) -> str:
        """Return a name for the request and the size and time of its input files."""
        from onnxport import _native

        files = []
        for name in self._places:
            value = self.options.get(name)
            if name == "output" or value is None:
                continue
            for path in value if isinstance(value, list) else [value]:
                try:
                    found = os.stat(path)
                except (OSError, TypeError, ValueError):
                    continue
                files.append([path, found.st_size, found.st_mtime_ns])
        parts = [_native.__version__, self.command, self.options, files]
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:32]


@dataclasses.dataclass(frozen=True)
class Outcome:
    """The end of a request: a result or an error.

    `attempts` counts how often a worker had it, and is 0 if the manifest had the result.
    """

    request: Request
    result: Result | None
    error: _errors.Error | None
    attempts: int

    @property
    def ok(self) -> bool:
        """Whether there is a result."""
        return self.error is None

    def record(self) -> dict[str, Any]:
        """Return the outcome as JSON data."""
        head = {"command": self.request.command, "options": self.request.options}
        return {**head, "attempts": self.attempts, **_record(self.result, self.error)}


class Outcomes(Sequence[Outcome]):
    """One outcome for each request, in their order; printing it gives a summary."""

    def __init__(self, outcomes: Iterable[Outcome]) -> None:
        self._all = tuple(outcomes)

    @overload
    def __getitem__(self, index: int) -> Outcome: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Outcome]: ...
    def __getitem__(self, index: Any) -> Any:
        return self._all[index]

    def __len__(self) -> int:
        return len(self._all)

    @property
    def failed(self) -> tuple[Outcome, ...]:
        """The outcomes with an error."""
        return tuple(one for one in self if not one.ok)

    def __repr__(self) -> str:
        failed = self.failed
        known = sum(one.attempts == 0 for one in self)
        lines = [f"{len(self) - len(failed)} of {len(self)} requests succeeded"]
        lines += [f"{known} of them earlier: the manifest has their results"] if known else []
        by_code = collections.defaultdict(list)
        for one in failed:
            for code in dict.fromkeys(_codes(one.error)) or [type(one.error).__name__]:
                by_code[code].append(one.request)
        for code, requests in sorted(by_code.items()):
            lines += [f"{code}:", *(f"  {request}" for request in requests)]
        return "\n".join(lines)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all outcomes as a JSON document."""
        failed = len(self.failed)
        counts = {"requests": len(self), "succeeded": len(self) - failed, "failed": failed}
        _write(Path(path), {**counts, "outcomes": [one.record() for one in self]})

    def raise_for_failures(self) -> None:
        """Raise an error with the diagnostics of all failures, if there are any."""
        errors = [one.error for one in self.failed if one.error is not None]
        if errors:
            exits = {error.exit for error in errors}
            found = [one for error in errors for one in error.diagnostics]
            raise _errors.of_exit(exits.pop() if len(exits) == 1 else 70, found, str(self))


def map(
    requests: Iterable[Request],
    executor: Executor | Callable[[], Executor] | None = None,
    *,
    retries: int = 2,
    manifest: str | os.PathLike[str] | None = None,
    progress: Callable[[Outcome], None] | None = None,
) -> Outcomes:
    """Run requests, and return the outcome of each.

    A request that fails does not stop the others. One whose worker ends without an answer runs
    again.

    Args:
        requests: `Request("convert", "m.pt2", output="m.onnx")` and others.
        executor: A `concurrent.futures.Executor`, such as that of dask, loky or mpi4py, or anything
            with its `submit`. A function that returns one is called again when its executor
            breaks, as a process pool does when a worker is killed. By default, requests run in
            this process.
        retries: How often a request runs again after its worker ended without an answer.
        manifest: A folder with a file for each outcome, which workers write. Requests that
            succeeded there do not run again, unless their output is missing or their input has
            changed.
        progress: Called in this process with each outcome.

    Raises:
        UsageError: if two requests write one output, or `submit` does not return a future.
    """
    requests = list(requests)
    _check_outputs(requests)
    folder = Path(manifest).absolute() if manifest is not None else None
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    run = _Run(requests, folder, retries, progress)
    if executor is None:
        for index in run.waiting:
            run.end(index, perform(requests[index], run.files[index]), 1)
    else:
        run.on(executor)
    return Outcomes(run.outcomes[index] for index in range(len(requests)))


class _Run:
    """The state of a call of `map`: indices of requests that wait, and outcomes by index."""

    def __init__(
        self,
        requests: Sequence[Request],
        manifest: Path | None,
        retries: int,
        progress: Callable[[Outcome], None] | None,
    ) -> None:
        self.requests, self.retries, self.progress = requests, retries, progress
        self.outcomes: dict[int, Outcome] = {}
        self.waiting: collections.deque[int] = collections.deque()
        # Requests whose pool broke: each runs alone, since any of them may have broken it.
        self.suspects: collections.deque[int] = collections.deque()
        self.attempts: collections.Counter[int] = collections.Counter()
        self.files = [manifest and manifest / f"{one.key()}.json" for one in requests]
        for index, request in enumerate(requests):
            record = _succeeded(request, self.files[index])
            if record is None:
                self.waiting.append(index)
            else:
                self.end(index, record, 0)

    def end(self, index: int, record: Mapping[str, Any], attempts: int) -> None:
        result, error = _read(record)
        outcome = Outcome(self.requests[index], result, error, attempts)
        self.outcomes[index] = outcome
        if self.progress is not None:
            self.progress(outcome)

    def lost(self, index: int, cause: BaseException, queue: collections.deque[int]) -> None:
        """Put a request without an answer into a queue again, or give up."""
        if self.attempts[index] <= self.retries:
            queue.append(index)
            return
        times = self.attempts[index]
        message = f"`{self.requests[index]}` had no answer from {times} workers: {cause!r}"
        found = Diagnostic("error", "OP901", message, help="run it alone, in this process")
        self.end(index, _record(None, _errors.InternalError("", [found])), times)

    def on(self, executor: Executor | Callable[[], Executor]) -> None:
        make = None if hasattr(executor, "submit") else executor
        pool: Any = make() if make is not None else executor
        running: dict[concurrent.futures.Future[Any], int] = {}
        try:
            while self.waiting or self.suspects or running:
                broken = self._submit(pool, running)
                done, _ = concurrent.futures.wait(running, None, "FIRST_COMPLETED")
                alone = len(running) == 1
                for future in done:
                    index = running.pop(future)
                    try:
                        self.end(index, future.result(), self.attempts[index])
                    except concurrent.futures.BrokenExecutor as error:
                        broken = error
                        # Beside others, it is not known to be the one that broke the pool.
                        self.attempts[index] -= 0 if alone else 1
                        self.lost(index, error, self.suspects)
                    except Exception as error:
                        self.lost(index, error, self.waiting)
                if broken is None or running:
                    continue
                if make is None:
                    self._give_up(broken)
                else:
                    pool.shutdown(wait=False)
                    pool = make()
        finally:
            for future in running:
                future.cancel()
            if make is not None:
                pool.shutdown(wait=True)

    def _submit(
        self, pool: Executor, running: dict[concurrent.futures.Future[Any], int]
    ) -> BaseException | None:
        """Fill the executor. Returns the error of one that is broken."""
        while self.waiting or self.suspects:
            if self.suspects and running:
                return None
            if len(running) >= AHEAD:
                return None
            queue = self.suspects or self.waiting
            index = queue[0]
            try:
                future = pool.submit(perform, self.requests[index], self.files[index])
            except concurrent.futures.BrokenExecutor as error:
                return error
            if not isinstance(future, concurrent.futures.Future):
                kind = f"{type(future).__module__}.{type(future).__qualname__}"
                help = "with dask, pass `client.get_executor()`"
                raise _errors.usage(f"the executor returns a `{kind}`, not a future", help)
            queue.popleft()
            self.attempts[index] += 1
            running[future] = index
        return None

    def _give_up(self, cause: BaseException) -> None:
        """End the requests that wait for a broken executor."""
        message = f"the executor is broken: {cause}"
        help = "pass a function that returns an executor, which is called again"
        record = _record(
            None, _errors.InternalError("", [Diagnostic("error", "OP901", message, help=help)])
        )
        for index in [*self.suspects, *self.waiting]:
            self.end(index, record, self.attempts[index])
        self.suspects.clear()
        self.waiting.clear()


def perform(request: Request, file: Path | None) -> dict[str, Any]:
    """Run a request in a worker, and store its outcome in `file`. An error is an outcome too."""
    # An earlier worker may have ended after it stored the outcome.
    record = _succeeded(request, file)
    if record is not None:
        return record
    try:
        record = _record(request.run(), None)
    except _errors.Error as error:
        record = _record(None, error)
    if file is not None:
        _write(file, {"command": request.command, "options": request.options, **record})
    return record


def _succeeded(request: Request, file: Path | None) -> dict[str, Any] | None:
    """Return the stored outcome, if it is a result and the output is still there."""
    if file is None or (request.output is not None and not request.output.exists()):
        return None
    try:
        record = json.loads(file.read_text(encoding="utf-8"))
        return record if record["exit"] == 0 and isinstance(record["result"], dict) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _record(result: Result | None, error: _errors.Error | None) -> dict[str, Any]:
    if error is None:
        return {
            "exit": 0,
            "result": dict(result or {}),
            "printed": result._printed if result else "",
        }
    found = [dataclasses.asdict(one) for one in error.diagnostics]
    return {"exit": error.exit, "message": str(error), "diagnostics": found}


def _read(record: Mapping[str, Any]) -> tuple[Result | None, _errors.Error | None]:
    if record["exit"] == 0:
        return Result(record["result"], record["printed"]), None
    found = _diagnostics.read(json.dumps(record["diagnostics"]))
    error = _errors.of_exit(record["exit"], found, record["message"])
    if not isinstance(error, _errors.Error):
        raise error
    return None, error


def _codes(error: _errors.Error | None) -> Iterator[str]:
    return (one.code for one in error.diagnostics if one.severity == "error") if error else iter(())


def _check_outputs(requests: Sequence[Request]) -> None:
    seen: dict[Path, Request] = {}
    for request in requests:
        if request.output is None:
            continue
        path = request.output.absolute()
        if path in seen:
            raise _errors.usage(f"`{seen[path]}` and `{request}` both write {path}")
        seen[path] = request


def _write(path: Path, data: Any) -> None:
    """Write JSON that appears whole."""
    with tempfile.NamedTemporaryFile(
        "w", dir=path.parent, prefix=".", delete=False, encoding="utf-8"
    ) as file:
        json.dump(data, file, indent=1, sort_keys=True)
    os.replace(file.name, path)
