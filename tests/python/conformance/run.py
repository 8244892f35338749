"""A run over many samples, in several processes, which continues where an earlier one ended."""

from __future__ import annotations

import json
import logging
import warnings
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import torch

from tests.python.conformance import samples as sampled
from tests.python.conformance.judge import judge

Row = dict[str, Any]


def judged(task: tuple[str, str, int]) -> list[Row]:
    """Return the verdicts on the samples of one operator."""
    kind, name, limit = task
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    torch.set_num_threads(1)
    rows: list[Row] = []
    try:
        for sample in sampled.samples(kind, name, limit):
            found = judge(sample)
            rows.append({"id": sample.id, "verdict": found.verdict, "reason": found.reason[:300]})
    except Exception as error:
        rows.append(
            {"id": f"{kind}/{name}/-", "verdict": "not judged", "reason": f"samples: {error}"[:300]}
        )
    return [{"kind": kind, "name": name, **row} for row in rows]


def run(tasks: list[tuple[str, str, int]], jobs: int, log: Path | None) -> list[Row]:
    """Return the verdicts on every task, those of an earlier run included."""
    rows = (
        [json.loads(line) for line in log.read_text().splitlines()] if log and log.exists() else []
    )
    done = {(row["kind"], row["name"]) for row in rows}
    left = [task for task in tasks if task[:2] not in done]
    with ProcessPoolExecutor(jobs, max_tasks_per_child=400) as pool:
        for found in pool.map(judged, left, chunksize=4):
            rows += found
            if log:
                with log.open("a") as file:
                    file.writelines(json.dumps(row) + "\n" for row in found)
    return rows
