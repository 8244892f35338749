"""The extension module: the library behind the command, for the package's own modules.

Options are a JSON object: the long options of the command, with `_` for `-`. `null` means that an
option is not given, a flag is true or false, and `no_verify` can be given as `verify` with the
opposite value. A repeatable option takes a list. An unknown key is refused.

The interpreter's lock is released during the work. Ctrl-C ends it, and nothing half-written
remains.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias, final

from onnxport._onnx import Operators
from onnxport._operators.dtype import DType

__version__: str

REFERENCE: str
"""The script that runs an exported program: a module whose `answer` takes a request.

It calls `write` with the pieces of its answers, and `reason`, which formats an error as one line.
"""

Progress = Callable[[str, int, int], object]
"""Called with the stage, the bytes done and the bytes in all (0 where they are not counted).

It is called on the caller's thread, several times a second. An exception in it ends the work.
"""

class Error(Exception):
    """A failure. The package converts it to its own exceptions."""

    exit: int
    """The exit code of the command.

    2 usage, 3 unsupported, 4 mismatch, 5 files, 6 unverified, 70 defect.
    """
    diagnostics: str
    """Errors, warnings and notes, as the list that the command prints with `--json`."""
    report: str
    """The output of the command with `--json`."""

@final
class Tensor:
    """A parameter, buffer or constant in memory. Nothing is copied.

    `address` and `nbytes` are those of the whole storage, `offset` and `strides` count elements.
    `storage` is equal for tensors that share one. `owner` is kept alive for the readers; the
    storage must not be written to meanwhile.
    """

    def __init__(
        self,
        *,
        address: int,
        nbytes: int,
        dtype: str,
        shape: Sequence[int],
        strides: Sequence[int],
        offset: int,
        storage: int,
        owner: object,
    ) -> None: ...

@final
class Optimized:
    """An optimized model that is not in a file."""

    def to_bytes(self) -> bytes:
        """Return the message of the model without its weights."""

    def initializers(self) -> list[tuple[str, int, list[int], int]]:
        """Return the weights, which the message leaves out.

        Each has its name, the number of its element type in ONNX, its shape and its size in bytes.
        """

    def read(self, name: str, offset: int, length: int) -> bytes:
        """Return bytes of a weight, in ONNX's order."""

def optimize(
    message: bytes,
    weights: Mapping[str, Tensor],
    options: str,
    *,
    progress: Progress | None = None,
    functions: Functions | None = None,
) -> Optimized:
    """Optimize a model in memory.

    `weights` are the bytes of initializers that state their data in these locations. `options` are
    those of `onnxport optimize` as a JSON object.
    """

@final
class Conversion:
    """A program to be converted."""

    @staticmethod
    def open(path: str | os.PathLike[str]) -> Conversion:
        """Read a `.pt2`. Its weights stay in the file."""

    @staticmethod
    def from_parts(
        *,
        program: bytes,
        weights: dict[str, Tensor | None],
        constants: dict[str, Tensor | None],
        dims: Mapping[str, str] = ...,
        guards: Mapping[str, str] = ...,
        recorded: bytes | None = None,
    ) -> Conversion:
        """Take a program from memory. Its weights are not copied.

        `program` is the JSON of PyTorch's serializer, `weights` and `constants` are the tensors
        that it names, None for those without data, `dims` names for its symbols, `guards` stack
        traces of the code that asked for each guard. `recorded` holds calls with their results, in
        the form of `SIDECAR_FORMAT`.
        """

    def run(
        self,
        options: str,
        *,
        output: str | os.PathLike[str] | None = None,
        progress: Progress | None = None,
        functions: Functions | None = None,
    ) -> Model:
        """Convert the program. This can be done more than once.

        `options` are those of `onnxport convert`: `opset`, `input_names` (a list, or an object of
        other names for some), `output_names`, `dim` (a list of `[input, axis, name or size]`),
        `optimise`, `target`, `decompose`, `dtype`, `weightless`, `plugin`, `verify` and so on.
        Those about writing apply to every `save` that does not override them. `output` is the path
        to which the model will be written, if that is known: compiled blobs are named after it.
        `functions` are the Python functions.
        """

    def verify(
        self,
        options: str,
        run: Callable[[bytearray], list[bytes]],
        *,
        draws: bool,
        progress: Progress | None = None,
    ) -> str:
        """Verify the model in a file against the program, which `run` executes.

        `options` are those of `onnxport verify`, the path of the `model` among them. `run` receives
        a request, as `REFERENCE` reads it, and returns the answers. `recorded` has the first call;
        `draws` requests others drawn from it. Returns the output of the command with `--json`.
        """

@final
class Model:
    """A converted model that is not in a file yet. It can be written more than once."""

    @property
    def report(self) -> str:
        """The output of `onnxport convert --json`, as far as it is known without a file."""

    def save(
        self,
        path: str | os.PathLike[str],
        options: str = "{}",
        *,
        progress: Progress | None = None,
    ) -> str:
        """Write the model; it gets its name after verification, unless `run` disabled that.

        `options` are those of `onnxport convert` about writing: `external_data`, `initializers`
        (false leaves their data out), `initializers_as_inputs`, `shard_size`, `manifest`,
        `max_memory`, `plan` and so on. Returns the output of `onnxport convert --json`.
        """

    def page(self, name: str, said: str, options: str) -> str:
        """Return the page about the model as `save` writes it to `name`.onnx, without writing it.

        `said` is the output of `convert --json`.
        """

    def to_bytes(self, options: str = "{}", *, limit: int | None = None) -> bytes:
        """Make one message of the model with its weights, of at most `limit` bytes.

        Messages end at 2 GiB in any case. `options` are those of `save`.
        """

    def text(self) -> str:
        """Print the graph."""

    def initializers(self) -> list[tuple[str, str, list[int], int]]:
        """List the weights that `to_bytes` can leave out: name, type, shape and size in bytes."""

    def read(self, name: str, offset: int, length: int) -> bytes:
        """Read a part of a weight, in ONNX's order: row-major and little-endian."""

def save_package(
    models: Sequence[tuple[str, Model]],
    folder: str | os.PathLike[str],
    options: str = "{}",
    *,
    progress: Progress | None = None,
) -> str:
    """Write models by name into a new folder, where equal weights are stored once.

    `options` are those of `onnxport package` about its files: `shard_size`, `manifest`,
    `max_memory`, `check_weights`. Returns its output with `--json` about the files.
    """

def command(
    name: str,
    options: str,
    *,
    progress: Progress | None = None,
    functions: Functions | None = None,
) -> str:
    """Run a command within this process: `optimize`, `weights bind`, `inspect` and so on.

    `options` are its options, and its arguments by their names in `--help` (`program`, `model`).
    Returns its output with `--json`, and its output without it under `printed`.
    """

def page(name: str, said: str) -> str:
    """Return the page about a failed export: `said` is the output of `convert --json`."""

def describe(name: str) -> str:
    """Describe a command: `about`, and `arguments`.

    Each has `name`, `place` (whether it is positional), `kind` (`flag`, `count`, `list`
    or `value`), `required`, `values` and `help`.
    """

def compare(
    dtype: str,
    shape: Sequence[int],
    found: bytes,
    wanted: bytes,
    rtol: float | None = None,
    atol: float | None = None,
) -> str | None:
    """Measure how far a tensor is from the expected one, as `onnxport verify` does.

    The difference is an object in JSON; `None` where the two cannot be compared. Both are given by
    their bytes, row-major and little-endian.
    """

def main(argv: Sequence[str]) -> int:
    """Run the command as a program, whose name comes first, and return the exit code.

    Signals and standard streams belong to it. The process must end after it.
    """

def signature(model: bytes) -> str:
    """Read the declarations of a model: `inputs`, `outputs` and `states`.

    A port has `name`, `type` (`f32[batch, 3]`) and `dims`: numbers, names and nulls. Inputs are
    `given` in a call, unless they are states with an initial value. A state has `name`, `kind`,
    `input` and `output`.
    """

def with_outputs(model: bytes, names: Sequence[str]) -> bytes:
    """Return the model with further outputs, whose types its reader infers."""

class Refused(Exception):  # noqa: N818
    """The exception that a lowering raises to refuse a call. The package's `Refusal` extends it."""

    help: str
    code: str

# The size of an axis; `None` is unknown.
Extent: TypeAlias = "int | Dim | None"
# A value, or a number that takes the element type of the value beside it.
Operand: TypeAlias = "Value | float | bool"
# A value, or its source: a number, nested lists, extents, an array of NumPy or PyTorch.
Given: TypeAlias = Any

@final
class Functions:
    """The Python functions of a conversion.

    A lowering is an operator such as `mylib.foo.default`, its schema as PyTorch prints it, whether
    it takes precedence over those of others, whether it takes complex tensors, and a function. The
    function takes an emitter, the names of the call's arguments and the arguments, and returns a
    value, `None`, or a list of the two.

    A rule is a name, a one-line description, a pattern, the lowest and the highest opset, a
    priority, how far results may differ (0 for not at all), a condition, and a builder of the
    replacement. The condition takes the bindings of the pattern, by name, and the builder an
    emitter and the bindings.

    A pass is a name, a one-line description, the lowest and the highest opset, a priority, whether
    it runs after the rules, how far results may differ (`None` for unknown), and a function of an
    emitter and the graph.
    """

    def __init__(
        self,
        lowerings: list[
            tuple[str, str | None, bool, bool, Callable[[Emitter, list[str], list[Any]], Any]]
        ] = ...,
        rules: list[
            tuple[
                str,
                str,
                str,
                int,
                int,
                int,
                float,
                Callable[[dict[str, Any]], bool] | None,
                Callable[[Emitter, dict[str, Any]], Any],
            ]
        ] = ...,
        passes: list[
            tuple[str, str, int, int, int, bool, float | None, Callable[[Emitter, Graph], Any]]
        ] = ...,
    ) -> None: ...
    def take_raised(self) -> list[BaseException]:
        """Return the exceptions of the functions in the last conversion, except for refusals."""

def try_rule(
    functions: Functions,
    name: str,
    pattern: str,
    values: dict[str, tuple[int, list[int]]],
    attributes: dict[str, Any],
    *,
    opset: int,
    bound: float,
    seed: int,
) -> tuple[bool, str] | None:
    """Compute both sides of the only rule of `functions` with drawn values.

    Returns whether it was applied, and the difference; `None` if both sides agree.
    """

def sarif(diagnostics: str, root: str) -> str:
    """Return diagnostics, a JSON list of records, as a SARIF log.

    Files below the folder `root` are named relative to it.
    """

def names(pattern: str) -> list[list[str]]:
    """Tell the names in a pattern: of nodes, values, extents and attributes."""

@final
class Node:
    """A node of the graph that a rule inspects, or a pass edits.

    A node with one output is accepted as a value.
    """

    @property
    def op(self) -> str: ...
    @property
    def domain(self) -> str: ...
    @property
    def inputs(self) -> list[Value | None]: ...
    @property
    def outputs(self) -> list[Value | None]: ...
    @property
    def output(self) -> Value:
        """The output of a node with a single one."""
    @property
    def attributes(self) -> dict[str, Any]:
        """The attributes: numbers, texts, lists, and values that can only be passed on (`Kept`)."""
    @property
    def target(self) -> str: ...
    @property
    def module(self) -> str: ...
    @property
    def exists(self) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Kept:
    """The value of an attribute that is a tensor, a graph or a reference."""

    @property
    def constant(self) -> Any:
        """The contents of a small tensor, a number or lists of numbers."""

@final
class Graph:
    """The graph that a pass edits. New nodes go to the position set last by `before` or `after`."""

    @property
    def opset(self) -> int: ...
    def opset_of(self, domain: str) -> int: ...
    @property
    def nodes(self) -> list[Node]:
        """All nodes, those of bodies before the node that contains them."""
    @property
    def inputs(self) -> list[Value]: ...
    @property
    def outputs(self) -> list[tuple[str, Value]]: ...
    def before(self, node: Node) -> None: ...
    def after(self, node: Node) -> None: ...
    def replace(self, old: Value | Node, new: Value | Node) -> None:
        """Make everything that reads `old` read `new`."""
    def set_input(self, node: Node, index: int, value: Value | Node | None) -> None: ...
    def set_attribute(self, node: Node, name: str, value: Any) -> None:
        """Set an attribute; `None` removes it."""
    def remove(self, node: Node) -> None:
        """Remove a node, which nothing may read any more."""
    def note(self, node: Node, message: str) -> None:
        """Record the change at a node, or why it was left alone; `explain_rule` shows it."""

@final
class Dim:
    """An extent that is an expression of the program. Arithmetic on it emits nothing."""

    @property
    def min(self) -> int | None: ...
    @property
    def max(self) -> int | None: ...
    def __add__(self, other: Dim | int) -> Dim | int: ...
    def __radd__(self, other: int) -> Dim | int: ...
    def __sub__(self, other: Dim | int) -> Dim | int: ...
    def __rsub__(self, other: int) -> Dim | int: ...
    def __mul__(self, other: Dim | int) -> Dim | int: ...
    def __rmul__(self, other: int) -> Dim | int: ...
    def __floordiv__(self, other: Dim | int) -> Dim | int: ...
    def __rfloordiv__(self, other: int) -> Dim | int: ...
    def __mod__(self, other: Dim | int) -> Dim | int: ...
    def __rmod__(self, other: int) -> Dim | int: ...
    def __hash__(self) -> int: ...

@final
class Value:
    """A value of the model under construction. Operators on it emit; `==` does not."""

    @property
    def dtype(self) -> DType | None:
        """The element type, if it is known."""
    @property
    def shape(self) -> tuple[Extent, ...] | None:
        """The extents, if the rank is known."""
    @property
    def rank(self) -> int | None:
        """The number of axes, if it is known."""
    @property
    def constant(self) -> Any:
        """The contents of a small constant, a number or lists of numbers. Weights have none."""
    @property
    def extents(self) -> tuple[Extent, ...] | None:
        """The elements of a vector of integers, as far as they follow from shapes."""
    @property
    def name(self) -> str:
        """The name, as rules and passes know it; empty if there is none."""
    @property
    def producer(self) -> Node | None: ...
    @property
    def uses(self) -> list[tuple[Node, int]]: ...
    @property
    def is_initializer(self) -> bool: ...
    @property
    def is_returned(self) -> bool: ...
    def read(self) -> Any:
        """Read a constant, or a weight of at most 1 MiB, which becomes part of the model."""
    def __add__(self, other: Operand) -> Value: ...
    def __radd__(self, other: Operand) -> Value: ...
    def __sub__(self, other: Operand) -> Value: ...
    def __rsub__(self, other: Operand) -> Value: ...
    def __mul__(self, other: Operand) -> Value: ...
    def __rmul__(self, other: Operand) -> Value: ...
    def __truediv__(self, other: Operand) -> Value: ...
    def __rtruediv__(self, other: Operand) -> Value: ...
    def __pow__(self, other: Operand) -> Value: ...
    def __rpow__(self, other: Operand) -> Value: ...
    def __matmul__(self, other: Value) -> Value: ...
    def __and__(self, other: Operand) -> Value: ...
    def __rand__(self, other: Operand) -> Value: ...
    def __or__(self, other: Operand) -> Value: ...
    def __ror__(self, other: Operand) -> Value: ...
    def __xor__(self, other: Operand) -> Value: ...
    def __rxor__(self, other: Operand) -> Value: ...
    def __lt__(self, other: Operand) -> Value: ...
    def __le__(self, other: Operand) -> Value: ...
    def __gt__(self, other: Operand) -> Value: ...
    def __ge__(self, other: Operand) -> Value: ...
    def __neg__(self) -> Value: ...
    def __invert__(self) -> Value: ...
    def __abs__(self) -> Value: ...
    def __hash__(self) -> int: ...

@final
class Block:
    """A body for an attribute of a node of control flow."""

@final
class Nested:
    """A nested graph among the arguments of a call."""

    @property
    def inputs(self) -> list[tuple[DType, tuple[Extent, ...]]]:
        """The inputs, as `op.block` takes them."""
    @property
    def outputs(self) -> list[tuple[DType, tuple[Extent, ...]]]: ...
    def __call__(self, *values: Given) -> Any:
        """Lower it into the block that is being emitted; return its output, or several."""

@final
class Reference:
    """An attribute of the function around."""

@final
class Operator:
    """An operator of ONNX."""

    def __call__(self, *inputs: Given, outputs: int | None = None, **attributes: Any) -> Any:
        """Emit a node, and return its output, or a tuple of several.

        `None` leaves an input out. A number, a list or an array becomes a constant of the type that
        the operator wants there. Attributes are keywords.
        """

@final
class Emitter(Operators):
    """Emits into the model: for a call that is lowered, in a rule, or in a pass.

    `op.Add(x, y)` is any operator of ONNX. The verbs, in small letters, are those that emit nothing
    where nothing is to be done, and the right form for the opset. Verbs for one operator over a
    value are `abs`, `neg`, `exp`, `relu` and so on; those over two are `add`, `less`, `max`.
    """

    @property
    def opset(self) -> int: ...
    @property
    def target(self) -> str: ...
    @property
    def result_count(self) -> int: ...
    def result(self, index: int = 0) -> tuple[DType, tuple[Extent, ...]]: ...
    @property
    def origin(self) -> dict[str, Any]: ...
    def constant(self, value: Any, dtype: Any = None) -> Value: ...
    def extents(self, extents: Sequence[Any]) -> Value: ...
    def extent(self, x: Given, axis: int) -> Value: ...
    def abs(self, x: Given) -> Value: ...
    def neg(self, x: Given) -> Value: ...
    def exp(self, x: Given) -> Value: ...
    def log(self, x: Given) -> Value: ...
    def sqrt(self, x: Given) -> Value: ...
    def reciprocal(self, x: Given) -> Value: ...
    def sigmoid(self, x: Given) -> Value: ...
    def tanh(self, x: Given) -> Value: ...
    def erf(self, x: Given) -> Value: ...
    def floor(self, x: Given) -> Value: ...
    def ceil(self, x: Given) -> Value: ...
    def round(self, x: Given) -> Value: ...
    def sign(self, x: Given) -> Value: ...
    def relu(self, x: Given) -> Value: ...
    def identity(self, x: Given) -> Value: ...
    def is_nan(self, x: Given) -> Value: ...
    def shape_value(self, x: Given) -> Value: ...
    def add(self, a: Given, b: Given) -> Value: ...
    def sub(self, a: Given, b: Given) -> Value: ...
    def mul(self, a: Given, b: Given) -> Value: ...
    def div(self, a: Given, b: Given) -> Value: ...
    def pow(self, a: Given, b: Given) -> Value: ...
    def equal(self, a: Given, b: Given) -> Value: ...
    def less(self, a: Given, b: Given) -> Value: ...
    def less_equal(self, a: Given, b: Given) -> Value: ...
    def greater(self, a: Given, b: Given) -> Value: ...
    def greater_equal(self, a: Given, b: Given) -> Value: ...
    def xor(self, a: Given, b: Given) -> Value: ...
    def max(self, a: Given, b: Given) -> Value: ...
    def min(self, a: Given, b: Given) -> Value: ...
    def matmul(self, a: Given, b: Given) -> Value: ...
    def modulo(self, a: Given, b: Given, fmod: bool = False) -> Value: ...
    def cast(self, x: Given, dtype: Any) -> Value: ...
    def select(self, condition: Given, a: Given, b: Given) -> Value: ...
    def clamp(self, x: Given, low: Given, high: Given) -> Value: ...
    def clip(self, x: Given, min: Given | None = None, max: Given | None = None) -> Value: ...
    def transpose(self, x: Given, perm: Sequence[int]) -> Value: ...
    def reshape(self, x: Given, shape: Given) -> Value: ...
    def reshape_to_result(self, x: Given, index: int = 0) -> Value: ...
    def expand(self, x: Given, shape: Given) -> Value: ...
    def tile(self, x: Given, repeats: Given) -> Value: ...
    def unsqueeze(self, x: Given, axes: Sequence[int]) -> Value: ...
    def squeeze(self, x: Given, axes: Sequence[int]) -> Value: ...
    def concat(self, values: Sequence[Given], axis: int) -> Value: ...
    def slice(self, x: Given, axis: int, start: int, end: int = ..., step: int = 1) -> Value: ...
    def gather(self, x: Given, indices: Given, axis: int = 0) -> Value: ...
    def reduce(
        self, name: str, x: Given, axes: Sequence[int] = (), keepdim: bool = False
    ) -> Value: ...
    def softmax(self, x: Given, axis: int = -1) -> Value: ...
    def filled(self, shape: Given, number: float, dtype: Any = None) -> Value: ...
    def range(self, start: Given, limit: Given, delta: Given) -> Value: ...
    def not_(self, x: Given) -> Value: ...
    def and_(self, a: Given, b: Given) -> Value: ...
    def or_(self, a: Given, b: Given) -> Value: ...
    def custom(
        self,
        domain: str,
        name: str,
        *inputs: Given,
        outputs: int = 1,
        version: int = 1,
        **attributes: Any,
    ) -> Any:
        """Emit a node of another domain's operator, which the model keeps."""
    def function(
        self,
        domain: str,
        name: str,
        *inputs: Given,
        body: Callable[..., Any],
        outputs: int = 1,
        version: int = 1,
        **attributes: Any,
    ) -> Any:
        """Call a local function of the model, which `body` states.

        It takes as many values as are passed, and uses nothing from outside. `refer` names an
        attribute of the call.
        """
    def refer(self, name: str) -> Reference: ...
    def typed(self, x: Given, dtype: Any, shape: Sequence[Extent] | None = None) -> Value:
        """State the result type of an operator that is not ONNX's own, in rules and passes."""
    def block(
        self, body: Callable[..., Any], *inputs: tuple[Any, Sequence[Extent] | None]
    ) -> Block:
        """Make a body for `If`, `Loop` or `Scan`, whose inputs have these types."""
