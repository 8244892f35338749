"""Optimizes generated graphs at every level and compares results before and after."""

from __future__ import annotations

import os
import random
import re
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnxruntime.capi.onnxruntime_pybind11_state import NotImplemented as MissingKernel
from safetensors.numpy import load_file, save_file

import onnxport
from onnxport import _commands, _native
from tests.python.generated.graphs.graph import SIZES, Graph, feeds, model

# Relative to the largest magnitude, where results may be rounded otherwise.
TOLERANCE, OF_HALF = 1e-4, 3e-2
# A folder in memory, if there is one.
MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
Arrays = list[np.ndarray]


@dataclass(frozen=True)
class Run:
    """An optimizer run: its options, and whether results may be rounded otherwise."""

    options: tuple[tuple[str, Any], ...]
    is_exact: bool
    is_evaluated: bool = False

    @property
    def is_for_another(self) -> bool:
        """Whether the model is for another runtime than ONNX Runtime."""
        return dict(self.options).get("target") in ("openvino", "tensorrt")

    def __str__(self) -> str:
        """Return the options."""
        return " ".join(f"{key}={value}" for key, value in self.options)


def runs(seed: int) -> list[Run]:
    """Return the optimizer runs of a pack: each level, with a target and other options."""
    rng = random.Random(seed)
    target = rng.choice(("onnxruntime-cpu", "onnxruntime", "onnx", "openvino", "tensorrt"))
    more = rng.choice(
        (
            (),
            (),
            (("fold_budget", 0),),
            (("outline", 3),),
            (("reorder", True),),
            (("inline", "all"),),
        )
    )
    found = [
        Run((("optimize", "1"), *more), True),
        Run((("optimize", "2"), *more), False),
        Run((("optimize", "target"),), False),
        Run((("optimize", rng.choice(("1", "2", "target"))), ("target", target)), False),
    ]
    if seed % 8 == 0:
        found.append(Run((("optimize", "0"),), True))
    return found


@dataclass(frozen=True)
class Failure:
    """A failure of one graph, with its kind, which shrinking keeps."""

    graph: Graph
    run: Run
    kind: str
    detail: str
    # The index of the size at which the evaluator ran.
    at: int = 0


@dataclass
class Counts:
    """The numbers of comparisons."""

    graphs: int = 0
    compared: int = 0
    evaluated: int = 0
    refused: int = 0
    applied: Counter[str] = field(default_factory=Counter)


def optimized(message: bytes, run: Run) -> bytes:
    """Return the message of a model after an optimizer run."""
    made = _native.optimize(message, {}, _commands.to_json(dict(run.options)))
    result = onnx.ModelProto.FromString(made.to_bytes())
    for name, number, shape, size in made.initializers():
        data = made.read(name, 0, size)
        result.graph.initializer.add(name=name, data_type=number, dims=shape, raw_data=data)
    return result.SerializeToString()


def session(message: bytes) -> onnxruntime.InferenceSession:
    """Return ONNX Runtime for a model, without its own optimizer."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(message, options)


def evaluated(message: bytes, given: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the results of a model in the evaluator."""
    with tempfile.TemporaryDirectory(prefix="onnxport-", dir=MEMORY) as folder:
        path, inputs = Path(folder) / "model.onnx", Path(folder) / "in.safetensors"
        output = Path(folder) / "out.safetensors"
        path.write_bytes(message)
        save_file({name: np.array(one, order="C") for name, one in given.items()}, inputs)
        onnxport.run(path, output=output, inputs=[inputs], executor="reference")
        return load_file(output)


def difference(
    found: np.ndarray, wanted: np.ndarray, is_exact: bool, tolerance: float = TOLERANCE
) -> str | None:
    """Return how a result differs."""
    if found.dtype != wanted.dtype or found.shape != wanted.shape:
        return f"{found.dtype}{list(found.shape)}, not {wanted.dtype}{list(wanted.shape)}"
    if not found.size:
        return None
    if wanted.dtype.kind == "f":
        both = np.isnan(found) & np.isnan(wanted)
        found, wanted = np.where(both, 0, found), np.where(both, 0, wanted)
        if is_exact:
            same = bool(np.all((found == wanted) & (np.signbit(found) == np.signbit(wanted))))
        else:
            finite = wanted[np.isfinite(wanted)]
            scale = max(1.0, float(np.max(np.abs(finite), initial=0)))
            with np.errstate(all="ignore"):
                near = np.abs(found - wanted) <= tolerance * scale
            same = bool(np.all((found == wanted) | near))
    else:
        same = bool(np.all(found == wanted))
    if same:
        return None
    at = [one.reshape(-1)[:12].tolist() for one in (found, wanted)]
    return f"{at[0]}, not {at[1]}"


class Pack:
    """Graphs that are optimized as one model, since each run of the optimizer takes 30 ms."""

    def __init__(self, graphs: Sequence[Graph], opset: int, counts: Counts) -> None:
        self.opset, self.counts = opset, counts
        # Those that ONNX Runtime has all kernels for, with their results at each size.
        self.graphs: list[Graph] = []
        self.expected: list[list[Arrays]] = []
        self.others: list[Graph] = []
        for graph in graphs:
            results = _results(graph, opset)
            if results is None:
                self.others.append(graph)
            else:
                self.graphs.append(graph)
                self.expected.append(results)

    def judge(self, seed: int) -> Iterator[Failure]:
        """Yield failures."""
        self.counts.graphs += len(self.graphs) + len(self.others)
        for run in runs(seed):
            yield from self.judged(run, seed)
        if self.graphs:
            yield from self._against_evaluator(seed)

    def judged(self, run: Run, seed: int) -> Iterator[Failure]:
        """Yield failures of an optimizer run; the evaluator runs at a size of the seed."""
        if run.is_evaluated:
            yield from self._against_evaluator(seed)
            return
        if self.graphs:
            yield from self._judged(run)
        if self.others:
            yield from self._only_evaluated(self.others, run, seed)

    def _given(self, graphs: Sequence[Graph], at: int) -> dict[str, np.ndarray]:
        if len(graphs) == 1:
            return feeds(graphs[0], at, graphs[0].special)
        return {
            f"g{index}_{name}": array
            for index, graph in enumerate(graphs)
            for name, array in feeds(graph, at, graph.special).items()
        }

    def _judged(self, run: Run) -> Iterator[Failure]:
        try:
            after = session(optimized(model(self.graphs, self.opset).SerializeToString(), run))
            found = [after.run(None, self._given(self.graphs, at)) for at in range(len(SIZES))]
        except Exception as error:
            if len(self.graphs) == 1:
                kind = _kind(error, run)
                if kind is None:
                    self.counts.refused += 1
                else:
                    yield Failure(self.graphs[0], run, kind, str(error)[:2000])
                return
            for graph, expected in zip(self.graphs, self.expected, strict=True):
                yield from self._alone(graph, expected)._judged(run)
            return
        position = 0
        for graph, expected in zip(self.graphs, self.expected, strict=True):
            failure = None
            for at in range(len(SIZES)):
                results = found[at][position : position + len(graph.outputs)]
                failure = failure or self._compared(graph, run, at, results, expected[at])
            position += len(graph.outputs)
            if failure:
                yield failure

    def _alone(self, graph: Graph, expected: list[Arrays]) -> Pack:
        pack = Pack([], self.opset, self.counts)
        pack.graphs, pack.expected = [graph], [expected]
        return pack

    def _compared(
        self, graph: Graph, run: Run, at: int, found: Arrays, wanted: Arrays
    ) -> Failure | None:
        for name, one, other in zip(graph.outputs, found, wanted, strict=True):
            value = graph.values[name]
            if graph.special and not run.is_exact:
                # Bounds are about finite numbers: only types are compared.
                one, other = np.zeros_like(one), np.zeros_like(other)
            is_exact = run.is_exact and (value.exact or value.dtype[0] in "ib")
            self.counts.compared += 1
            problem = difference(one, other, is_exact, _tolerance(graph))
            if problem:
                detail = f"at {SIZES[at]}, output {name}: {problem}"
                return Failure(graph, run, self._class(graph, run, at), detail)
        return None

    def _class(self, graph: Graph, run: Run, at: int) -> str:
        """Return whether the evaluator finds the difference as well."""
        try:
            before = model([graph], self.opset).SerializeToString()
            given = feeds(graph, at, graph.special)
            results = [evaluated(one, given) for one in (before, optimized(before, run))]
        except Exception:
            return "differs in ONNX Runtime, and is not evaluated"
        for name in graph.outputs:
            if difference(results[1][name], results[0][name], run.is_exact, _tolerance(graph)):
                return "differs"
        return "differs in ONNX Runtime only"

    def _only_evaluated(self, graphs: Sequence[Graph], run: Run, seed: int) -> Iterator[Failure]:
        """Compare in the evaluator, at one size."""
        at = seed % len(SIZES)
        if run.is_exact and "target" not in dict(run.options):
            # Nodes that ONNX Runtime has no kernel for are computed in other types at every level.
            run = Run((*run.options, ("target", "onnx")), True)
        message = model(graphs, self.opset).SerializeToString()
        given = self._given(graphs, at)
        try:
            before = evaluated(message, given)
            try:
                after = evaluated(optimized(message, run), given)
            except Exception as error:
                kind = _kind(error)
                if kind is None:
                    self.counts.refused += 1
                    return
                raise
        except Exception as error:
            if len(graphs) > 1:
                for graph in graphs:
                    yield from self._only_evaluated([graph], run, seed)
            elif kind := _kind(error):
                yield Failure(graphs[0], run, kind, str(error)[:2000], at)
            return
        for index, graph in enumerate(graphs):
            prefix = f"g{index}_" if len(graphs) > 1 else ""
            for name in graph.outputs:
                if graph.special and not run.is_exact:
                    continue
                self.counts.evaluated += 1
                one, other = after[prefix + name], before[prefix + name]
                if problem := difference(one, other, run.is_exact, _tolerance(graph)):
                    detail = f"at {SIZES[at]}, output {name}: {problem}"
                    yield Failure(graph, run, "differs", detail, at)
                    break

    def _against_evaluator(self, seed: int) -> Iterator[Failure]:
        """Compare the evaluator with ONNX Runtime, and itself at level 1, bit for bit."""
        at = seed % len(SIZES)
        run = Run((("optimize", "1"), ("target", "onnx")), True, True)
        message = model(self.graphs, self.opset).SerializeToString()
        given = self._given(self.graphs, at)
        try:
            before = evaluated(message, given)
            after = evaluated(optimized(message, run), given)
        except Exception as error:
            if len(self.graphs) == 1:
                kind = _kind(error) or "is refused"
                yield Failure(self.graphs[0], run, f"evaluator: {kind}", str(error)[:2000], at)
                return
            for graph, expected in zip(self.graphs, self.expected, strict=True):
                yield from self._alone(graph, expected)._against_evaluator(seed)
            return
        for index, graph in enumerate(self.graphs):
            prefix = f"g{index}_" if len(self.graphs) > 1 else ""
            for position, name in enumerate(graph.outputs):
                one = before[prefix + name]
                self.counts.evaluated += 1
                if problem := difference(after[prefix + name], one, True):
                    detail = f"at {SIZES[at]}, output {name}: {problem}"
                    yield Failure(graph, run, "differs", detail, at)
                    break
                wanted = self.expected[index][at][position]
                if problem := difference(one, wanted, False):
                    if graph.special or graph.is_half:
                        # ONNX Runtime computes 16-bit floats in float32.
                        continue
                    detail = f"at {SIZES[at]}, output {name}: {problem}"
                    yield Failure(graph, run, "the evaluator differs", detail, at)
                    break


def _tolerance(graph: Graph) -> float:
    return OF_HALF if graph.is_half else TOLERANCE


def _kind(error: Exception, run: Run | None = None) -> str | None:
    """Return the kind of an error, `None` for the refusal of a target or by another runtime."""
    if isinstance(error, MissingKernel) and run and run.is_for_another:
        return None
    codes = re.findall(r"error\[(OP\d+)\]", str(error))
    if "OP409" in codes:
        return None
    if codes:
        return f"{type(error).__name__} {codes[0]}"
    text = re.sub(r"'[^']*'|\d+", "", str(error))
    return f"{type(error).__name__}: {text[:100]}"


def _results(graph: Graph, opset: int) -> list[Arrays] | None:
    """Return the results of ONNX Runtime at each size, if it runs the graph there."""
    try:
        before = session(model([graph], opset).SerializeToString())
        found = [before.run(None, feeds(graph, at, graph.special)) for at in range(len(SIZES))]
    except Exception:
        return None
    for at, results in enumerate(found):
        for name, array in zip(graph.outputs, results, strict=True):
            if array.shape != tuple(dim[at] for dim in graph.values[name].dims):
                return None
            if not graph.special and not np.isfinite(array.astype("float64")).all():
                return None
    return found
