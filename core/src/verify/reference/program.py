"""Runs an exported program for onnxport, which starts this with the Python that the user has.

Its arguments are ARCHIVE PARENT [trusted]. `process.py` and `selections.py` stand before it; the
first has the import of annotations for all.

Messages are safetensors files. The request has a metadata entry `cases`, a JSON list of
`{"name", "inputs", "continues"}`, and tensors `<case>/input/<placeholder>`. A case that continues
the one before starts from the state that it left. The answers are a greeting with `torch`,
PyTorch's version; then one message for each case, in the format of the files that `onnxport.save`
writes, or with `case` and `refused`, the reason. Where the request has the entry `exact`, as many
messages follow with the values that computing in float64 gives. A message with `error` is the last
one about a request. The next request may have the entry `archive`, another program to load.

The package of Python runs this within its process, with `write` and `reason` of its own.

Nothing but PyTorch is needed. A program that is not `trusted` must not run code when it is loaded.
"""

import collections
import contextlib
import ctypes
import importlib
import json
import os
import re
import struct
import sys
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from process import end_with, reason, receive, write
    from selections import Selections

FORMAT = "onnxport-expected/1"
SPELLED = "BOOL U8 I8 U16 I16 U32 I32 U64 I64 F16 BF16 F32 F64 F8_E5M2 F8_E4M3 F8_E8M0"
TORCH = (
    "bool uint8 int8 uint16 int16 uint32 int32 uint64 int64 float16 bfloat16 float32 float64"
    " float8_e5m2 float8_e4m3fn float8_e8m0fnu"
)
DTYPES = dict(zip(SPELLED.split(), TORCH.split()))  # noqa: B905 (Python 3.9)


def send(metadata: Mapping[str, str], tensors: Iterable[tuple[str, Any]] = ()) -> None:
    """Write one message; `tensors` are pairs of a key and a tensor on the CPU."""
    header: dict[str, Any] = {"__metadata__": metadata}
    parts, end, spelled = [], 0, dtypes() if tensors else {}
    for key, tensor in tensors:
        tensor = tensor.contiguous()
        size = tensor.numel() * tensor.element_size()
        header[key] = {
            "dtype": spelled[tensor.dtype],
            "shape": list(tensor.shape),
            "data_offsets": [end, end + size],
        }
        parts.append((tensor, size))
        end += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    write(struct.pack("<QQ", 8 + len(text) + end, len(text)) + text)
    for tensor, size in parts:
        if size:
            write((ctypes.c_char * size).from_address(tensor.data_ptr()))


def dtypes() -> dict[Any, str]:
    """Return the names of element types in safetensors files."""
    import torch

    here = {spelled: getattr(torch, name, None) for spelled, name in DTYPES.items()}
    return {dtype: spelled for spelled, dtype in here.items() if dtype is not None}


def tensors_of(request: bytearray) -> tuple[dict[str, str], dict[str, Any]]:
    """Return the metadata and the tensors of a safetensors file."""
    import torch

    (length,) = struct.unpack("<Q", request[:8])
    header = json.loads(bytes(request[8 : 8 + length]))
    metadata = header.pop("__metadata__", {})
    known = {spelled: dtype for dtype, spelled in dtypes().items()}
    tensors = {}
    for key, entry in header.items():
        start, end = (8 + length + offset for offset in entry["data_offsets"])
        # A buffer of no bytes is refused.
        data = torch.frombuffer(request[start:end] or bytearray(1), dtype=torch.uint8)
        tensors[key] = data[: end - start].view(known[entry["dtype"]]).reshape(entry["shape"])
    return metadata, tensors


WORDS = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")
TEXTS = re.compile(r"'([^'\\]*)'|\"([^\"\\]*)\"")
# Symbols, sympy's classes, and what PyTorch writes into guards.
ARITHMETIC = re.compile(
    r"z?[usf][a-z]*[0-9]+|L|size|torch|sym_(max|min|not|float|int|ite|sqrt|sum)|and|or|not|if|else|is"
    r"|in|None|e|E|oo|int_oo|zoo|nan|inf|math|max|min|abs|int|float|bool|floor|ceil|ceiling|sqrt|cbrt"
    r"|exp|log|log2|pow|trunc|round|len|dtype|shape|stride|storage_offset|ndim|positive|negative"
    r"|nonnegative|nonpositive|nonzero|zero|even|odd|integer|real|finite|commutative|evaluate"
    r"|OpaqueUnaryFn_[a-z0-9]+|[A-Z]([a-z]+[A-Z]?)+"
)
PLAIN = re.compile(r"[\w .:/-]*")
OPERATORS = re.compile(
    r"#?(torch\.ops\.[\w.]+|_operator\.\w+|math\.\w+|torch\._?sym_\w+"
    r"|builtins\.(max|min|abs|round|pow)|torch\.utils\._sympy\.functions\.\w+)"
)
# Besides programs an archive may hold compiled code, and before PyTorch 2.8 it had other entries.
ENTRIES = re.compile(
    r"([^/]+/)?(models/[^/]+\.json|data/(weights|constants|sample_inputs)/[^/]+|extra/.*"
    r"|archive_format|archive_version|byteorder|version|\.data/[^/]+)"
)


def programs(archive: str) -> Iterator[Any]:
    """Yield the decoded JSON of every program in an archive."""
    with zipfile.ZipFile(archive) as file:
        for name in file.namelist():
            if re.search(r"(^|/)models/[^/]+\.json$", name):
                yield json.loads(file.read(name))


def objects(root: Any) -> Iterator[dict[str, Any]]:
    """Yield every JSON object inside of a value."""
    waiting = [root]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            yield value
            waiting.extend(value.values())
        elif isinstance(value, list):
            waiting.extend(value)


def suspicious(archive: str) -> str | None:
    """Return a part that PyTorch might run as code in loading or running the archive."""
    with zipfile.ZipFile(archive) as file:
        names = file.namelist()
    # PyTorch finds entries whatever their case.
    if len({name.lower() for name in names}) < len(names):
        return "two entries of one name"
    for name in names:
        if not ENTRIES.fullmatch(name):
            return f"the entry {name[:80]!r}"
    for program in programs(archive):
        for part in objects(program):
            expressions = [part.get("expr_str"), *(part.get("guards_code") or ())]
            expressions += part.get("range_constraints") or ()
            for expression in expressions:
                if isinstance(expression, str) and not is_arithmetic(expression):
                    return f"the expression {expression[:80]!r}"
            target = part.get("target")
            if isinstance(target, str) and "inputs" in part and not OPERATORS.fullmatch(target):
                return f"the operator {target[:80]!r}"
    with zipfile.ZipFile(archive) as file:
        for name in file.namelist():
            if name.endswith("_config.json"):
                payloads = json.loads(file.read(name)).get("config", {}).values()
                if any(payload.get("use_pickle") for payload in payloads):
                    return "a pickle"
    return None


def is_arithmetic(expression: str) -> bool:
    """Tell whether an expression computes with symbols and sizes, and does nothing else."""
    texts = [text for pair in TEXTS.findall(expression) for text in pair]
    words = WORDS.findall(TEXTS.sub("0", expression))
    return all(map(ARITHMETIC.fullmatch, words)) and all(map(PLAIN.fullmatch, texts))


def stand_in(archive: str) -> None:
    """Let classes of the program's inputs and outputs that are not known here be plain ones.

    The graph takes and gives tensors; only the structure around them names classes.
    """
    import torch.utils._pytree as pytree

    known = pytree.SERIALIZED_TYPE_TO_PYTHON_TYPE
    for node in structures(archive):
        name = node["type"]
        if name == "collections.namedtuple":
            name = json.loads(node["context"])
            if name not in known:
                fields = [f"field_{index}" for index in range(len(node["children_spec"]))]
                kind = collections.namedtuple("StandIn", fields)
                pytree._register_namedtuple(kind, serialized_type_name=name)
        elif name not in known:
            kind = type("StandIn", (list,), {})
            pytree.register_pytree_node(
                kind,
                lambda value: (list(value), None),
                lambda values, context, kind=kind: kind(values),
                serialized_type_name=name,
                flatten_with_keys_fn=lambda value: (
                    [(pytree.SequenceKey(index), part) for index, part in enumerate(value)],
                    None,
                ),
                to_dumpable_context=lambda context: None,
                from_dumpable_context=lambda context: None,
            )


def structures(archive: str) -> Iterator[dict[str, Any]]:
    """Yield every node of the structures of inputs and outputs."""
    for program in programs(archive):
        for part in objects(program):
            for text in (part.get("in_spec"), part.get("out_spec")):
                if isinstance(text, str) and text:
                    nodes = objects(json.loads(text))
                    yield from (node for node in nodes if isinstance(node.get("type"), str))


# Namespaces of operators that a module of another name registers.
MODULES = {"quantized_decomposed": "torch.ao.quantization.fx._decomposed"}
CALL = re.compile(r"#?torch\.ops\.(\w+)\.[\w.]+")


def import_operators(archive: str) -> None:
    """Import the libraries whose operators a program calls, those that are installed.

    A library registers operators in the namespace that it is called as. This runs its code.
    """
    import torch

    targets = {
        part["target"]
        for program in programs(archive)
        for part in objects(program)
        if isinstance(part.get("target"), str) and "inputs" in part
    }
    calls = {call[1] for call in map(CALL.fullmatch, targets) if call}
    known = {name.partition("::")[0] for name in torch._C._dispatch_get_all_op_names()}
    for namespace in sorted(calls - known):
        # Without it, loading the program says which operator is not known.
        with contextlib.suppress(ImportError):
            importlib.import_module(MODULES.get(namespace, namespace))


def load(archive: str) -> Any:
    """Return the program in an archive."""
    import torch
    from torch._export.serde import serialize

    def read(stored: Any, read: Any = serialize.deserialize_torch_artifact) -> Any:
        # Recorded inputs may be of classes that are not known here, and are not needed.
        try:
            return read(stored)
        except Exception:
            return None

    stand_in(archive)
    serialize.deserialize_torch_artifact = read
    with open(archive, "rb") as file:
        return torch.export.load(file)


def may_write(module: Any) -> bool:
    """Tell whether some call of a program may write to its arguments."""
    import torch

    graphs = (part.graph for part in module.modules() if isinstance(part, torch.fx.GraphModule))
    targets = (node.target for graph in graphs for node in graph.nodes if callable(node.target))
    for target in targets:
        schema = getattr(target, "_schema", None)
        if schema is not None:
            if schema.is_mutable:
                return True
        elif isinstance(target, torch._ops.HigherOrderOperator) and "mutation" in target.name():
            return True
    return False


def drop_guesses(module: Any) -> None:
    """Remove assertions that sizes which operators of other libraries choose are at least 2.

    PyTorch assumes so while it traces, since 0 and 1 are special. The operator may give either.
    """
    import operator

    import torch

    own = ("aten", "prim", "prims", "higher_order")
    for part in module.modules():
        if not isinstance(part, torch.fx.GraphModule):
            continue
        for node in list(part.graph.nodes):
            if node.target != torch.ops.aten._assert_scalar.default:
                continue
            compared = node.args[0]
            if getattr(compared, "target", None) != operator.ge or compared.args[1] != 2:
                continue
            size = compared.args[0]
            if getattr(size, "target", None) != torch.ops.aten.sym_size.int:
                continue
            if getattr(size.args[0].target, "namespace", "aten") not in own:
                part.graph.erase_node(node)
        part.recompile()


class Program:
    """A program that was loaded, which starts from its recorded state in every call.

    `module` runs in place of the program's own, if given.
    """

    def __init__(self, exported: Any, module: Any = None) -> None:
        import torch

        self.structure = exported.call_spec.in_spec
        self.module = exported.module() if module is None else module
        drop_guesses(self.module)
        self.writes = may_write(self.module)
        self.initial = {name: value.detach().clone() for name, value in self.state()}
        placeholders = (node for node in exported.graph.nodes if node.op == "placeholder")
        stated = {node.name: node.meta.get("val") for node in placeholders}
        inputs = exported.graph_signature.input_specs
        inputs = [spec.arg for spec in inputs if spec.kind.name == "USER_INPUT"]
        self.inputs = [(arg, stated.get(arg.name)) for arg in inputs]
        self.devices = {
            arg.name: value.device for arg, value in self.inputs if isinstance(value, torch.Tensor)
        }
        outputs = exported.graph_signature.output_specs
        outputs = [spec.arg for spec in outputs if spec.kind.name == "USER_OUTPUT"]
        self.outputs = [
            arg.name if isinstance(getattr(arg, "value", 0), (bool, int, float)) else None
            for arg in outputs
        ]
        self.selections = Selections(self.module, len(self.outputs))
        self.mutated: list[str] | None = None
        self.left: dict[str, Any] = {}
        self.is_wide = False

    def widen(self) -> None:
        """Compute in float64 from now on, whatever the program says."""
        import torch
        from torch.fx.node import map_aggregate

        for module in self.module.modules():
            if not isinstance(module, torch.fx.GraphModule):
                continue
            for node in list(module.graph.nodes):
                if node.target == torch.ops.aten._assert_tensor_metadata.default:
                    # It asserts the type that was traced.
                    module.graph.erase_node(node)
                    continue
                node.args = map_aggregate(node.args, wide)
                node.kwargs = map_aggregate(node.kwargs, wide)
            module.recompile()
            for name, value in list(vars(module).items()):
                if isinstance(value, torch.Tensor):
                    setattr(module, name, wide(value))
        for value in (*self.module.parameters(), *self.module.buffers()):
            value.data = wide(value.data)
        self.initial = {name: wide(value) for name, value in self.initial.items()}
        # Without a type, the default applies.
        torch.set_default_dtype(torch.float64)
        self.is_wide, self.left = True, {}

    def state(self) -> Iterator[tuple[str, Any]]:
        """Yield the tensors that a call may write to: buffers, and parameters if it writes."""
        yield from self.module.named_buffers()
        if self.writes:
            yield from self.module.named_parameters()

    def leaves(self, given: Mapping[str, Any]) -> Iterator[Any]:
        """Return the program's inputs, in its order, from tensors by placeholder."""
        import torch

        for arg, stated in self.inputs:
            value = given.get(arg.name)
            if value is None:
                yield getattr(arg, "value", None)
            elif not isinstance(stated, torch.Tensor):
                yield value.item()
            elif stated.is_complex():
                # Complex numbers are pairs in a last axis.
                yield torch.view_as_complex(self.placed(arg.name, value))
            else:
                yield self.placed(arg.name, value)

    def placed(self, name: str, value: Any) -> Any:
        """Return a copy of an input, where the program takes it."""
        return value.to(self.devices[name], copy=True)

    def answer(self, case: str, given: Mapping[str, Any], continues: bool) -> None:
        """Run one case and send the outputs."""
        import torch
        import torch.utils._pytree as pytree

        if continues:
            # Inputs that the step before wrote to are as it left them.
            given = {**given, **self.left}
        else:
            self.left = {}
            with torch.no_grad():
                for name, value in self.state():
                    value.copy_(self.initial[name])
        leaves = list(self.leaves(given))
        if self.is_wide:
            leaves = [wide(leaf) for leaf in leaves]
        args, kwargs = pytree.tree_unflatten(leaves, self.structure)
        watched = dict(self.state())
        for (arg, _), leaf in zip(self.inputs, leaves):  # noqa: B905
            if isinstance(leaf, torch.Tensor):
                watched[arg.name] = leaf
        before = {key: (value._version, value.detach().clone()) for key, value in watched.items()}
        torch.manual_seed(0)
        generator = torch.get_rng_state()
        with torch.no_grad():
            results = pytree.tree_leaves(self.module(*args, **kwargs))
        drew = not torch.equal(generator, torch.get_rng_state())
        if len(results) != len(self.outputs):
            raise RuntimeError(f"{len(results)} outputs, but the program has {len(self.outputs)}")
        if self.mutated is None:
            # Batch norms update their statistics without counting a version.
            self.mutated = [
                name
                for name, value in watched.items()
                if value._version != before[name][0] or not same(value, before[name][1])
            ]
        placeholders = {arg.name for arg, _ in self.inputs}
        mutated = [name for name in self.mutated if name in placeholders]
        self.left = {name: dense(watched[name]) for name in mutated}
        values = {f"{case}/output/{index}": value for index, value in enumerate(results)}
        values |= {f"{case}/state/{name}": watched[name] for name in self.mutated}
        numbers = (torch.Tensor, bool, int, float)
        indices, kept = self.selections.take()
        if self.is_wide:
            # Only the noise of values is asked for.
            indices, kept = [], {}
        values |= {f"{case}/{key}": value for key, value in kept.items()}
        tensors = {k: dense(v) for k, v in values.items() if isinstance(v, numbers)}
        about = {"outputs": self.outputs, "states": self.mutated, "random": drew}
        if indices:
            about["indices"] = indices
        described = json.dumps([{"name": case, "inputs": [], **about}])
        send({"format": FORMAT, "cases": described}, tensors.items())

    def answer_all(self, cases: list[dict[str, Any]], tensors: Mapping[str, Any]) -> None:
        """Answer every case, or say why there is no answer."""
        runs = True
        for case in cases:
            name, continues = case["name"], case.get("continues", False)
            try:
                if continues and not runs:
                    raise RuntimeError("the step before it does not run")
                given = {key: tensors[f"{name}/input/{key}"] for key in case["inputs"]}
                self.answer(name, given, continues)
                runs = True
            except BaseException as error:
                runs = False
                send({"case": name, "refused": reason(error)})


def wide(value: Any) -> Any:
    """Return a tensor, or an element type, of more bits where there is one."""
    import torch

    if isinstance(value, torch.Tensor):
        wider = wide(value.dtype)
        return value if wider == value.dtype else value.to(wider)
    if isinstance(value, torch.dtype):
        if value in (torch.float32, torch.float16, torch.bfloat16):
            return torch.float64
        return torch.complex128 if value in (torch.complex64, torch.complex32) else value
    return value


def dense(value: Any) -> Any:
    """Return a result as a tensor of real numbers on the CPU."""
    import torch

    if not isinstance(value, torch.Tensor):
        value = torch.tensor(value, dtype=torch.float64 if isinstance(value, float) else None)
    value = value.detach().cpu().resolve_neg()
    return torch.view_as_real(value.resolve_conj()) if value.is_complex() else value


def same(a: Any, b: Any) -> bool:
    """Tell whether two tensors hold equal values; NaN equals NaN."""
    return bool(((a == b) | ((a != a) & (b != b))).all())


def answer(request: bytearray, load: Callable[[], Program]) -> None:
    """Answer a request about the program that `load` gives."""
    try:
        program = load()
        import torch

        send({"torch": str(torch.__version__)})
        metadata, tensors = tensors_of(request)
    except BaseException as error:
        send({"error": reason(error)})
        return
    cases = json.loads(metadata["cases"])
    program.answer_all(cases, tensors)
    if "exact" in metadata:
        try:
            program.widen()
        except BaseException as error:
            send({"error": reason(error)})
            return
        program.answer_all(cases, tensors)


def ahead(load: Callable[[], Program]) -> Callable[[], Program]:
    """Call `load` now; return a function that gives its result or raises its error."""
    try:
        program = load()
    except BaseException as error:
        failure = error

        def fail() -> Program:
            raise failure

        return fail
    return lambda: program


def archive_of(request: bytearray) -> str | None:
    """Return the archive that a request names, if it is not the one of the arguments."""
    (length,) = struct.unpack("<Q", request[:8])
    header = json.loads(bytes(request[8 : 8 + length]))
    return header.get("__metadata__", {}).get("archive")


def main() -> None:
    """Answer requests until the process that asks is gone."""
    archive, parent, *options = sys.argv[1:]
    end_with(int(parent))

    def loaded() -> Program:
        if "trusted" not in options:
            found = suspicious(archive)
            if found is not None:
                raise ValueError(f"the program contains {found}, which PyTorch may run as code")
            os.environ["TORCH_FORCE_WEIGHTS_ONLY_LOAD"] = "1"
        else:
            import_operators(archive)
        return Program(load(archive))

    # onnxport may start this long before its first request.
    ready = ahead(loaded)
    while True:
        request = receive()
        other = archive_of(request)
        if other is not None:
            archive = other
            # The program before is gone before the next one is loaded.
            ready = None
            ready = ahead(loaded)
        answer(request, ready)


if __name__ == "__main__":
    main()
