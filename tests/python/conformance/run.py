"""A run over many samples, in several processes, which continues where an earlier one ended."""

from __future__ import annotations

import json
import logging
import multiprocessing
import time
import warnings
from collections.abc import Iterator
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

import torch

from tests.python.conformance import samples as sampled
from tests.python.conformance.judge import judge

Row = dict[str, Any]
Task = tuple[str, str, int]

# Forked processes inherit the imports.
FORK = multiprocessing.get_context("fork")
# The limit of one task, and the tasks of one process.
SECONDS = 300
TASKS = 100


def judged(task: Task) -> Iterator[Row]:
    """Yield the verdicts on the samples of one operator."""
    kind, name, limit = task
    try:
        for sample in sampled.samples(kind, name, limit):
            found = judge(sample)
            yield row(task, sample.id, found.verdict, found.reason)
    except Exception as error:
        yield row(task, f"{kind}/{name}/-", "not judged", f"samples: {error}")


def row(task: Task, sample: str, verdict: str, reason: str) -> Row:
    """Return the entry of one sample in a log."""
    kind, name, _ = task
    return {"kind": kind, "name": name, "id": sample, "verdict": verdict, "reason": reason[:300]}


def run(tasks: list[Task], jobs: int, log: Path | None) -> list[Row]:
    """Return the verdicts on every task, those of an earlier run included."""
    rows = (
        [json.loads(line) for line in log.read_text().splitlines()] if log and log.exists() else []
    )
    done = {(row["kind"], row["name"]) for row in rows}
    for found in _in_processes([task for task in tasks if task[:2] not in done], jobs):
        rows += found
        if log:
            with log.open("a") as file:
                file.writelines(json.dumps(row) + "\n" for row in found)
    return rows


def _in_processes(tasks: list[Task], jobs: int) -> Iterator[list[Row]]:
    """Yield the verdicts on each task, in the order in which they end."""
    left = list(reversed(tasks))
    workers: list[Worker] = []
    while left or workers:
        while left and len(workers) < jobs:
            workers.append(Worker())
            workers[-1].start(left.pop())
        wait([worker.connection for worker in workers], timeout=1)
        for worker in list(workers):
            found = worker.rows()
            if found is None:
                continue
            yield found
            if worker.spent() or not left:
                worker.end()
                workers.remove(worker)
            else:
                worker.start(left.pop())


class Worker:
    """A process that judges tasks; a crash or a hang costs one task."""

    def __init__(self) -> None:
        self.connection, theirs = FORK.Pipe()
        self.process = FORK.Process(target=_serve, args=(theirs,), daemon=True)
        self.process.start()
        theirs.close()
        self.count = 0

    def start(self, task: Task) -> None:
        """Send a task."""
        self.task, self.since = task, time.monotonic()
        self.count += 1
        self.connection.send(task)

    def rows(self) -> list[Row] | None:
        """Return the verdicts on the task, or nothing while it is running."""
        if self.connection.poll():
            try:
                return self.connection.recv()
            except (EOFError, ConnectionError):
                self.process.join()
                return [self._broken(f"the process ended with {self.process.exitcode}")]
        if time.monotonic() - self.since > SECONDS:
            self.process.kill()
            self.process.join()
            return [self._broken(f"longer than {SECONDS} s")]
        return None

    def spent(self) -> bool:
        """Tell whether another process should go on."""
        return self.count == TASKS or not self.process.is_alive()

    def end(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.join()
        self.connection.close()

    def _broken(self, reason: str) -> Row:
        return row(self.task, f"{self.task[0]}/{self.task[1]}/-", "broken", reason)


def _serve(connection: Connection) -> None:
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    torch.set_num_threads(1)
    while True:
        connection.send(list(judged(connection.recv())))
