"""Rotary embeddings that `com.microsoft::GroupQueryAttention` computes itself.

The operator takes tables of cosines and sines. The position of a token is the number of tokens
before it. So a model qualifies if its results depend on positions through rotary embeddings alone,
and if these are rotations of the operator: the function that applies them runs once on random
numbers, and is compared. The attention then gets queries and keys that are not rotated yet.
"""

import contextlib
import functools
import sys
from collections.abc import Iterator
from typing import Any

# Tokens of the comparison.
PROBED = 5
Constant = str | int | float | bool | None


class Rotary:
    """The rotary modules of a model, and the functions that apply them.

    While `active`, the functions leave queries and keys as they are where the operator can rotate
    them, and remember them for the attention.
    """

    def __init__(self, model: Any, limit: int | None) -> None:
        self.limit, self.active = limit, False
        # The results of rotary modules in this call, with functions of positions that compute them.
        self.made: list[tuple[Any, Any]] = []
        self.left: list[tuple[Any, Any, Any]] = []
        self.tables: dict[Any, Any] = {}
        for module in model.modules():
            if any(name.endswith("inv_freq") for name, _ in module.named_buffers(recurse=False)):
                module.forward = self._remembering(module)
        for source in {type(module).__module__ for module in model.modules()}:
            for name, function in list(vars(sys.modules[source]).items()):
                if name.startswith("apply_rotary") and callable(function):
                    setattr(sys.modules[source], name, self._applied(function))

    def _remembering(self, module: Any) -> Any:
        forward = module.forward

        @functools.cache
        def of_positions(*rest: Any, **more: Any) -> Any:
            return lambda x, positions: forward(x, positions, *rest, **more)

        def remembering(x: Any, position_ids: Any, *rest: Any, **more: Any) -> Any:
            results = forward(x, position_ids, *rest, **more)
            # Such as the type of the layer; a tensor could be one of the call.
            constant = all(isinstance(one, Constant) for one in (*rest, *more.values()))
            if self.active and constant and isinstance(results, tuple):
                self.made.append((results, of_positions(*rest, **more)))
            return results

        return remembering

    def _applied(self, function: Any) -> Any:
        def applied(query: Any, key: Any, *rest: Any, **more: Any) -> Any:
            table = None
            if self.active and len(rest) == 2 and not more:
                table = self._table(function, *rest, query)
            if table is None:
                return function(query, key, *rest, **more)
            self.left.append((query, key, table))
            return query, key

        return applied

    def _table(self, function: Any, cos: Any, sin: Any, query: Any) -> Any:
        """Return cosines, sines and whether neighbours are rotated, or None."""
        made = next((one for one in self.made if one[0][0] is cos and one[0][1] is sin), None)
        if made is None or self.limit is None:
            return None
        probe = function, made[1], query.shape[-1], query.dtype
        if probe not in self.tables:
            # A function may expect other shapes than those of a probe.
            with contextlib.suppress(IndexError, RuntimeError, TypeError, ValueError):
                self.tables[probe] = self.probed(*probe)
        return self.tables.setdefault(probe)

    def probed(self, function: Any, of_positions: Any, size: int, dtype: Any) -> Any:
        """Return the tables with which the operator rotates as `function` does, or None."""
        import torch
        from torch.utils._python_dispatch import _disable_current_modes

        with _disable_current_modes(), torch.no_grad():
            positions = torch.arange(self.limit)[None]
            cos, sin = of_positions(torch.zeros(1, 1, dtype=dtype), positions)
            random = torch.Generator().manual_seed(0)
            query, key = (torch.randn(1, heads, PROBED, size, generator=random) for heads in (2, 1))
            wanted = function(query, key, cos[:, :PROBED].float(), sin[:, :PROBED].float())
            half = cos.shape[-1] // 2
            for columns in (slice(half), slice(None, None, 2), slice(None)):
                tables = cos[0, :, columns].contiguous(), sin[0, :, columns].contiguous()
                # The operator takes tables of some widths only.
                if tables[0].shape[1] % 8 or tables[0].shape[1] > size // 16 * 8:
                    continue
                for interleaved in (False, True):
                    found = [rotated(one, *tables, interleaved) for one in (query, key)]
                    if all(map(torch.allclose, found, wanted)):
                        return *tables, interleaved
        return None

    def taken(self, query: Any, key: Any) -> Any:
        """Return the table for a query and a key that the attention has to rotate, or None."""
        for at, (own, other, table) in enumerate(self.left):
            if own is query and other is key:
                del self.left[at]
                return table
        return None

    @contextlib.contextmanager
    def call(self) -> Iterator[None]:
        """Have one call of the model leave rotations to the attention."""
        self.active = True
        self.made.clear()
        self.left.clear()
        try:
            yield
        finally:
            self.active = False
            self.made.clear()


def rotated(x: Any, cos: Any, sin: Any, interleaved: bool) -> Any:
    """Rotate `[batch, heads, tokens, size]` as the operator does, the first token by row 0."""
    import torch

    cos, sin = cos[: x.shape[2]].float(), sin[: x.shape[2]].float()
    width = 2 * cos.shape[1]
    part, rest = x[..., :width], x[..., width:]
    if interleaved:
        a, b = part[..., ::2], part[..., 1::2]
        part = torch.stack([a * cos - b * sin, b * cos + a * sin], -1).flatten(-2)
    else:
        a, b = part.chunk(2, -1)
        part = torch.cat([a * cos - b * sin, b * cos + a * sin], -1)
    return torch.cat([part, rest], -1)


def depends(run: Any, source: Any) -> bool:
    """Tell whether tensors that `run` returns depend on the tensor `source`."""
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_leaves

    # Keeps the tensors, so that no identity is given twice.
    reached = {id(source): source}

    class Follow(TorchDispatchMode):  # type: ignore[misc]
        """Marks each result of an operator that takes a marked tensor."""

        def __torch_dispatch__(
            self, function: Any, _types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            out = function(*args, **(kwargs or {}))
            if any(id(one) in reached for one in tree_leaves((args, kwargs))):
                reached.update((id(one), one) for one in tree_leaves(out))
            return out

    with Follow():
        results = tree_leaves(run())
    return any(id(one) in reached for one in results)
