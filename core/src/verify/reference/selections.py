"""The tensors that index outputs of a program select from.

The index of a maximum, or the order of a sort, is not unique where keys are equal, and rounding
decides where they are almost equal. With the keys, another index can be judged by the key that it
selects.

This stands before `program.py`, and extends the graph of the program that runs.
"""

from typing import Any

# Operators whose result has the elements of their first operand, all or some of them.
VIEWS = frozenset(
    (
        "aten._unsafe_view",
        "aten.alias",
        "aten.clone",
        "aten.contiguous",
        "aten.detach",
        "aten.expand",
        "aten.flatten",
        "aten.movedim",
        "aten.permute",
        "aten.reshape",
        "aten.select.int",
        "aten.slice.Tensor",
        "aten.squeeze",
        "aten.t",
        "aten.transpose.int",
        "aten.unflatten.int",
        "aten.unsqueeze",
        "aten.view",
    )
)
CASTS = frozenset(("aten.to", "aten._to_copy"))
# Operators by the result that holds indices: the only one, or the second.
INDICES = frozenset(("aten.argmax", "aten.argmin", "aten.argsort"))
PAIRS = frozenset(
    (
        "aten.sort",
        "aten.topk",
        "aten.max.dim",
        "aten.min.dim",
        "aten.kthvalue",
        "aten.median.dim",
        "aten.nanmedian.dim",
    )
)
# PyTorch documents that these give the first of several equal elements.
FIRST = frozenset(("aten.argmax", "aten.argmin", "aten.max", "aten.min"))
# The most elements of a tensor that is kept.
LIMIT = 1 << 24


def called(node: Any, names: frozenset[str]) -> bool:
    """Tell whether a node calls one of the operators, by name or by name and overload."""
    text = str(node.target)
    return node.op == "call_function" and (text in names or text.rpartition(".")[0] in names)


def arguments(node: Any) -> dict[str, Any]:
    """Return the arguments of a call by name, with defaults."""
    schema = node.target._schema.arguments
    given = dict(zip((argument.name for argument in schema), node.args))  # noqa: B905
    defaults = {arg.name: arg.default_value for arg in schema if arg.has_default_value()}
    return {**defaults, **given, **node.kwargs}


def behind(value: Any, names: frozenset[str]) -> list[Any]:
    """Return the calls of these operators that lead to a value, the last one first."""
    chain = []
    while hasattr(value, "op") and called(value, names):
        chain.append(value)
        value = value.args[0]
    return chain


def source(value: Any, names: frozenset[str]) -> Any:
    """Return the value before the calls of these operators."""
    chain = behind(value, names)
    return chain[-1].args[0] if chain else value


class Selections:
    """The keys of the outputs of a module that hold indices, as of its last call."""

    def __init__(self, module: Any, count: int) -> None:
        import torch

        self.found: dict[int, dict[str, Any]] = {}
        self.stated: dict[int, dict[str, Any]] = {}
        if not isinstance(module, torch.fx.GraphModule):
            return
        graph = module.graph
        (end,) = (node for node in graph.nodes if node.op == "output")
        outputs = end.args[0] if isinstance(end.args[0], (tuple, list)) else end.args
        if len(outputs) != count:
            return
        written = {id(node) for node in written_to(graph)}
        for position, value in enumerate(outputs):
            index = source(value, VIEWS | CASTS)
            call = index_of(index)
            if call is not None and id(index) not in written:
                self.watch(module, end, position, value, index, call)
        if self.stated:
            module.recompile()

    def watch(
        self, module: Any, end: Any, position: int, value: Any, index: Any, call: Any
    ) -> None:
        """Keep the keys of an output, and for each of its elements the lane that it is of."""
        graph, given = module.graph, arguments(call)
        name = str(call.target).rpartition(".")[0]
        self.stated[position] = {
            "output": position,
            "exact": source(given["self"], VIEWS).op == "placeholder",
            "stable": name in FIRST or bool(given.get("stable")),
            "unordered": not given.get("sorted", True),
        }

        def keep(keys: Any, indices: Any, dim: Any) -> Any:
            rows, lanes = in_lanes(keys.detach(), indices, dim)
            if rows.numel() <= LIMIT:
                self.found[position] = {"keys": rows.clone(), "lanes": lanes}
            return lanes

        def hold(lanes: Any) -> None:
            if position in self.found:
                self.found[position]["lanes"] = lanes

        # The keys are those at this point: they may be written to later.
        with graph.inserting_after(index):
            lanes = graph.call_function(keep, (given["self"], index, given.get("dim")))
        with graph.inserting_before(end):
            for view in reversed(behind(value, VIEWS | CASTS)):
                if called(view, VIEWS):
                    before, after = view.args[0], lanes
                    lanes = graph.node_copy(
                        view, lambda node, a=before, b=after: b if node is a else node
                    )
            graph.call_function(hold, (lanes,))

    def take(self) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        """Return the statements about the last call, and the tensors by kind and output."""
        found, self.found = self.found, {}
        tensors = {f"{kind}/{at}": part[kind] for at, part in found.items() for kind in part}
        return [self.stated[at] for at in found], tensors


def index_of(value: Any) -> Any:
    """Return the call whose index a value is, if it is one."""
    import operator

    if not hasattr(value, "op"):
        return None
    if called(value, INDICES):
        return value
    if value.op == "call_function" and value.target is operator.getitem and value.args[1] == 1:
        call = value.args[0]
        return call if called(call, PAIRS) else None
    return None


def written_to(graph: Any) -> list[Any]:
    """Return the values that a call writes to, or to a view of them."""
    found = []
    for node in graph.nodes:
        schema = getattr(node.target, "_schema", None)
        if schema is not None and schema.is_mutable:
            found += [source(value, VIEWS | CASTS) for value in node.all_input_nodes]
    return found


def in_lanes(keys: Any, indices: Any, dim: int | None) -> tuple[Any, Any]:
    """Return keys as rows that an index selects from, and the row of each of the indices."""
    import torch

    if dim is None or not keys.dim():
        return keys.reshape(1, keys.numel()), torch.zeros_like(indices, dtype=torch.int64)
    rows = keys.movedim(dim, -1)
    count = rows.shape[:-1].numel()
    lanes = torch.arange(count, device=indices.device).reshape(rows.shape[:-1])
    if indices.dim() == keys.dim():
        lanes = lanes.unsqueeze(dim).expand_as(indices)
    return rows.reshape(count, rows.shape[-1]), lanes
