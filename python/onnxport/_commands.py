"""The commands of `onnxport` as functions.

There is one list of options, the command line's: signatures and documentation are read from it,
and `_signatures.pyi` is generated from it for editors and type checkers.
"""

from __future__ import annotations

import inspect as _inspect
import json
import keyword
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar, cast, overload

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from onnxport import _signatures
    from onnxport._onnx_program import ONNXProgram
    from onnxport._operators.functions import Custom
    from onnxport._operators.rules import Pass, Rule


Model = TypeVar("Model")


class Result(Mapping[str, Any]):
    """The result of a command: the object that it prints with `--json`.

    Printing it gives the output of the command without that option.
    """

    def __init__(self, said: Mapping[str, Any], printed: str = "") -> None:
        self._said = said
        self._printed = printed

    @classmethod
    def read(cls, text: str) -> Result:
        """Read the result of a command from the extension module."""
        said = json.loads(text)
        return cls(said, said.pop("printed", ""))

    def __getitem__(self, key: str) -> Any:
        return self._said[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._said)

    def __len__(self) -> int:
        return len(self._said)

    def __getattr__(self, name: str) -> Any:
        try:
            return self._said[name]
        except KeyError:
            raise AttributeError(f"the result has no `{name}`; it has {', '.join(self)}") from None

    def __repr__(self) -> str:
        return self._printed.rstrip() or f"Result({dict(self._said)!r})"

    def with_module(self, compared: Mapping[str, Any]) -> Result:
        """Return the result with `module`: how the captured program and its module compare."""
        return Result({**self._said, "module": compared}, self._printed)

    def narrowed(self, said: Mapping[str, Any]) -> Result:
        """Return the part `said` of the result, which is printed as before."""
        return Result(said, self._printed)

    @property
    def diagnostics(self) -> tuple[Any, ...]:
        """Warnings and notes."""
        from onnxport import _diagnostics

        return _diagnostics.read(json.dumps(self._said.get("diagnostics", [])))


class Command:
    """A command as a function.

    Positional arguments of the command line are positional here. Options are keywords, with `_` for
    `-`: a flag is true or false, a repeatable option takes a list.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.__name__ = name.replace(" ", "_")
        self.__qualname__ = self.__name__
        self.__module__ = "onnxport"

    @cached_property
    def _known(self) -> dict[str, Any]:
        from onnxport import _native

        return json.loads(_native.describe(self.name))

    @property
    def arguments(self) -> list[dict[str, Any]]:
        """The arguments and options, each with its `name` and whether it has a `place`."""
        return self._known["arguments"]

    @property
    def _places(self) -> list[str]:
        return [known["name"] for known in self.arguments if known["place"]]

    @property
    def __signature__(self) -> _inspect.Signature:
        parameters = []
        by_place = _inspect.Parameter.POSITIONAL_OR_KEYWORD
        for known in self.arguments:
            kind = by_place if known["place"] else _inspect.Parameter.KEYWORD_ONLY
            is_free = not known["required"] or not known["place"]
            default = None if is_free else _inspect.Parameter.empty
            parameters.append(_inspect.Parameter(_word(known["name"]), kind, default=default))
        parameters.sort(key=lambda parameter: (parameter.kind, parameter.default is None))
        return _inspect.Signature(parameters, return_annotation=Result)

    @property
    def __doc__(self) -> str:  # type: ignore[override]
        lines = [f"{self._known['about']}.", "", "Args:"]
        for known in self.arguments:
            values = f" One of {', '.join(known['values'])}." if known["values"] else ""
            lines.append(f"    {_word(known['name'])}: {known['help']}.{values}")
        return "\n".join(lines)

    def __call__(self, *places: Any, **options: Any) -> Result:
        """Run the command within this process."""
        return self.run(self.bind(places, options))

    def bind(self, places: Sequence[Any], options: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments of a call by name."""
        names = self._places
        if len(places) > len(names):
            raise TypeError(f"{self.__name__}() takes {len(names)} positional arguments")
        given = dict(zip(names, places, strict=False))
        twice = given.keys() & options.keys()
        if twice:
            raise TypeError(f"{self.__name__}() got several values for `{min(twice)}`")
        given.update({_name(word): value for word, value in options.items()})
        return given

    def run(self, given: Mapping[str, Any], custom: Custom | None = None) -> Result:
        """Run the command with these options, and the user's Python functions for it."""
        from onnxport import _native

        said = to_json(given)
        with collected(custom) as functions:
            return Result.read(_native.command(self.name, said, functions=functions))

    def __repr__(self) -> str:
        return f"<the command `onnxport {self.name}`>"


@contextmanager
def collected(custom: Custom | None) -> Iterator[Any]:
    """Yield the user's Python functions; errors of the extension module become public ones."""
    from onnxport import _errors, _native

    known = sys.modules.get("onnxport._operators.functions")
    functions = known.collect(custom) if known is not None else None
    try:
        yield functions
    except _native.Error as error:
        raised = functions.take_raised() if functions is not None else []
        _errors.raise_native(error, next(iter(raised), None))


def to_json(given: Mapping[str, Any]) -> str:
    """Return options as the extension module reads them."""
    return json.dumps({_name(word): value for word, value in given.items()}, default=text)


def _word(name: str) -> str:
    """Return the parameter for an option: one that is a word of Python ends in `_`."""
    return f"{name}_" if keyword.iskeyword(name) else name


def _name(word: str) -> str:
    return word[:-1] if keyword.iskeyword(word[:-1]) else word


def text(value: Any) -> str:
    """Return a path, or a class of modules, as an option has it."""
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, type):
        return f"{value.__module__}.{value.__qualname__}"
    raise TypeError(f"an option is a {type(value).__name__}: a text, a number, a list or a path")


bench = cast("_signatures.Bench", Command("bench"))
bisect = cast("_signatures.Bisect", Command("bisect"))
check = cast("_signatures.Check", Command("check"))
convert = cast("_signatures.Convert", Command("convert"))
diff = cast("_signatures.Diff", Command("diff"))
draw = cast("_signatures.Draw", Command("draw"))
inspect = cast("_signatures.Inspect", Command("inspect"))
legal = cast("_signatures.Legal", Command("legal"))
llm = cast("_signatures.Llm", Command("llm"))
ops = cast("_signatures.Ops", Command("ops"))
package = cast("_signatures.Package", Command("package"))
partition = cast("_signatures.Partition", Command("partition"))
plugin_check = cast("_signatures.PluginCheck", Command("plugin check"))
plugin_info = cast("_signatures.PluginInfo", Command("plugin info"))
plugin_list = cast("_signatures.PluginList", Command("plugin list"))
plugin_new = cast("_signatures.PluginNew", Command("plugin new"))
profile = cast("_signatures.Profile", Command("profile"))
report = cast("_signatures.Report", Command("report"))
rules = cast("_signatures.Rules", Command("rules"))
run = cast("_signatures.Run", Command("run"))
verify = cast("_signatures.Verify", Command("verify"))
weights_bind = cast("_signatures.WeightsBind", Command("weights bind"))
_explain = Command("explain")
_optimize = Command("optimize")


@overload
def optimize(
    model: str | os.PathLike[str],
    output: str | os.PathLike[str] | None = None,
    *,
    rules: Sequence[Rule] = (),
    passes: Sequence[Pass] = (),
    **options: Unpack[_signatures.OptimizeOptions],
) -> Result: ...


@overload
def optimize(
    model: ONNXProgram,
    output: None = None,
    *,
    rules: Sequence[Rule] = (),
    passes: Sequence[Pass] = (),
) -> None: ...


@overload
def optimize(
    model: Model,
    output: None = None,
    *,
    rules: Sequence[Rule] = (),
    passes: Sequence[Pass] = (),
    **options: Unpack[_signatures.OptimizeOptions],
) -> Model: ...


def optimize(
    model: Any,
    output: str | os.PathLike[str] | None = None,
    *,
    rules: Sequence[Rule] = (),
    passes: Sequence[Pass] = (),
    **options: Any,
) -> Any:
    """Read an ONNX model, apply rules and passes, check it and write it again.

    `model` is a path, with the result written to `output`, or a model in memory: an `ONNXProgram`,
    an `onnx.ModelProto` or an `onnx_ir.Model`. `rules` and `passes` are added to the standard and
    the registered ones. `options` are those of `onnxport optimize`; `optimize=` is a level,
    or `False` for none.

    Returns:
        The result of the command for a path, and a model of the same kind for one in memory. A
        program is changed in place.
    """
    from onnxport._operators.functions import Custom

    custom = Custom.of(rules=rules, passes=passes)
    if isinstance(model, (str, os.PathLike)):
        return _optimize.run({"model": model, "output": output, **options}, custom)
    from onnxport._onnx_program import ONNXProgram

    if isinstance(model, ONNXProgram):
        return model.optimize(rules=rules, passes=passes, **options)
    if output is not None:
        raise TypeError("`output` is for a model in a file: a model in memory comes back")

    from onnxport import _in_memory

    return _in_memory.optimize(model, options, custom)


def explain(
    code: str,
    program: str | os.PathLike[str] | None = None,
    **options: Unpack[_signatures.ExplainOptions],
) -> Result:
    """Explain a code of a diagnostic: `code`, `text`, `means`, `why`, `ways_out` and `example`.

    With `program`, an exported program, also list its diagnostics with this code as `found`.
    `options` are those of `onnxport explain`.
    """
    explained = _explain.run({"code": code, "program": program, **options})
    found = {"found": explained["found"]} if "found" in explained else {}
    return explained.narrowed({**explained["codes"][0], **found})
