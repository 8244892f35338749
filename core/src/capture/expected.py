"""Calls to run a decoder with, and their values: the checkpoint runs in PyTorch with its weights.

They are written beside the program, as `onnxport.save` writes them.
"""

import json
import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from adapters import Adapters
    from caches import shapes_of
    from process import reason
    from streamed import largest

# The part of the free memory that the weights may take.
SHARE = 0.5
# Tokens of the prompt, of the second text that are not padding, of a later part, and of a buffer.
PROMPT, SHORT, PART, BUFFER = 6, 4, 3, 16


def free_memory() -> int | None:
    """Return the bytes of memory that are free or can be freed; `None` where that is unknown."""
    try:
        with open("/proc/meminfo") as file:
            rows = dict(line.split(":", 1) for line in file)
        return int(rows["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        return None


def too_large(model: Any) -> str | None:
    """Return the reason why the weights are not loaded, if there is one."""
    size = sum(one.numel() * one.element_size() for one in model.parameters())
    free = free_memory()
    if free is None:
        return "the free memory is unknown"
    if size > free * SHARE:
        gigabytes = f"{size / 1e9:.1f} GB of weights, and {free / 1e9:.1f} GB of memory are free"
        return f"PyTorch would have to load {gigabytes}"
    return None


def can_stream(source: Any) -> bool:
    """Whether the weights can be read while the model runs, one module after another."""
    free = free_memory()
    is_large = free is None or largest(source.model) > free * SHARE
    return hasattr(source, "streamed") and not is_large


def refuse_fake(cases: dict[str, tuple[list[Any], list[Any]]]) -> None:
    """Raise if a module took a weight of another one, which has no values at that time."""
    from torch._subclasses.fake_tensor import FakeTensor

    values = (one for _, results in cases.values() for one in results)
    if any(isinstance(one, FakeTensor) for one in values):
        raise ValueError("a module uses the weights of another one")


class Calls:
    """Calls of a model, one after another, with their values if there is a model to run."""

    def __init__(self, source: Any, adapters: "Adapters", model: Any) -> None:
        self.source, self.adapters, self.model = source, adapters, model
        self.pairs: dict[str, tuple[Any, Any]] = {}
        if model is not None:
            adapters.merge(model)
            self.pairs = adapters.attach(model)
        self.dtype = next(source.model.parameters()).dtype
        self.cases: dict[str, tuple[list[Any], list[Any]]] = {}

    def caches(self, texts: int, tokens: int) -> list[Any]:
        """Return caches of zeros."""
        import torch

        shapes = shapes_of(self.source.layers, texts, tokens)
        return [torch.zeros(shape, dtype=self.dtype) for shape in shapes]

    def call(
        self, name: str, ids: Any, mask: Any, past: list[Any], buffer: int = 0
    ) -> tuple[Any, list[Any]]:
        """Record a call, with caches in buffers of this length if it is not 0.

        Return the most likely next tokens, and the caches.
        """
        import torch

        places = (mask.cumsum(1) - 1).clamp(min=0)[:, -ids.shape[1] :]
        given = [ids, mask, *([places] if self.source.positions else []), *past]
        results: list[Any] = []
        tokens, present = ids[:, -1:], self.caches(len(ids), mask.shape[1])
        if self.model is not None:
            with torch.no_grad():
                results = self.source.run(self.model, given)
            logits, *present = results
            tokens = logits[:, -1:].argmax(-1)

        def buffered(tensor: Any) -> Any:
            rows = max(buffer - tensor.shape[2], 0) if tensor.dim() == 4 else 0
            return torch.nn.functional.pad(tensor, (0, 0, 0, rows)) if rows else tensor

        pairs = self.adapters.given(self.dtype, self.pairs)
        arguments = [*(buffered(one) for one in given), *pairs]
        self.cases[name] = arguments, [buffered(one) for one in results]
        return tokens, present

    def make(self, buffers: bool) -> None:
        """Record a prompt, two tokens, and a part of several tokens."""
        import torch

        random = torch.Generator().manual_seed(0)
        words = self.source.words
        ids = torch.randint(words, (2, PROMPT), generator=random)
        mask = torch.ones_like(ids)
        # GroupQueryAttention takes padding at the end only, where results do not count.
        if not buffers:
            mask[1, : PROMPT - SHORT] = 0
        tokens, past = self.call("prompt", ids, mask, self.caches(2, 0))
        for step in (1, 2):
            mask = torch.cat([mask, torch.ones_like(tokens)], 1)
            buffer = BUFFER if buffers and step == 2 else 0
            tokens, past = self.call(f"token-{step}", tokens, mask, past, buffer)
        # Several tokens behind a past: GroupQueryAttention takes them of one text only.
        texts = 1 if buffers else 2
        ids = torch.randint(words, (texts, PART), generator=random)
        mask = torch.cat([mask[:texts], torch.ones_like(ids)], 1)
        self.call("part", ids, mask, [one[:texts] for one in past])
        for index, adapter in enumerate(self.adapters.swapped):
            self.pairs.update(adapter.weights(self.dtype))
            name = f"adapter-{index + 1}"
            ids = torch.randint(words, (2, PROMPT), generator=random)
            mask = torch.ones_like(ids)
            tokens, past = self.call(name, ids, mask, self.caches(2, 0))
            mask = torch.cat([mask, torch.ones_like(tokens)], 1)
            self.call(f"{name}-token", tokens, mask, past)
            self.pairs.clear()


def record(source: Any, adapters: "Adapters", request: dict[str, Any], program: Any) -> str | None:
    """Write calls, with the values of the checkpoint if it can run.

    Return the reason if it cannot.
    """
    wanted = request["record"] == "values"
    missing = too_large(source.model) if wanted else None
    load = source.loaded
    # Adapters change weights that stay.
    if missing is not None and not adapters.all and can_stream(source):
        load, missing = source.streamed, None
    recorded = None
    if wanted and missing is None:
        try:
            recorded = Calls(source, adapters, load())
            recorded.make(request["buffers"])
            refuse_fake(recorded.cases)
        except Exception as error:
            recorded, missing = None, f"PyTorch does not run the checkpoint: {reason(error)}"
    if recorded is None:
        recorded = Calls(source, adapters, None)
        recorded.make(request["buffers"])
    write_calls(request["program"], program, recorded.cases)
    return missing


def write_calls(
    program_path: str, program: Any, calls: dict[str, tuple[list[Any], list[Any]]]
) -> None:
    """Write calls of a program, inputs and results, beside it."""
    import safetensors.torch

    signature = program.graph_signature
    tensors, described = {}, []
    for name, (given, results) in calls.items():
        inputs = dict(zip(signature.user_inputs, given, strict=True))
        values = {f"input/{key}": one for key, one in inputs.items()}
        values |= {f"output/{at}": one for at, one in enumerate(results)}
        tensors |= {f"{name}/{key}": one.contiguous().clone() for key, one in values.items()}
        outputs = list(signature.user_outputs) if results else None
        described.append({"name": name, "inputs": list(inputs), "outputs": outputs, "states": []})
    metadata = {"format": "onnxport-expected/1", "cases": json.dumps(described), "complex": "[]"}
    path = os.path.splitext(program_path)[0] + ".expected.safetensors"
    safetensors.torch.save_file(tensors, path, metadata)
