"""The exceptions: one class for each exit code of the command.

Where PyTorch is loaded, every error is a `torch.onnx.OnnxExporterError` as well, so that code
written for `torch.onnx.export` catches it. PyTorch is never loaded for that.
"""

from __future__ import annotations

import contextlib
import dataclasses
import sys
from collections.abc import Collection, Iterable, Iterator
from functools import cache
from typing import Any, ClassVar, NoReturn

from onnxport import _diagnostics
from onnxport._diagnostics import Diagnostic


class Error(RuntimeError):
    """The exceptions of onnxport.

    `diagnostics` lists the problems in detail; `exit` is the exit code of the command.
    """

    exit: ClassVar[int] = 70

    def __new__(cls, *args: Any, **kwargs: Any) -> Error:
        """Make an error that PyTorch's handlers catch too."""
        return super().__new__(_also_of_torch(cls), *args)

    def __init__(self, message: str = "", diagnostics: Iterable[Diagnostic] = ()) -> None:
        self.diagnostics = tuple(diagnostics)
        super().__init__(message or _diagnostics.text(self.diagnostics))

    def __reduce__(self) -> tuple[Any, ...]:
        return self.__class__._own, (str(self), self.diagnostics)

    _own: ClassVar[type[Error]]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls._own = cls


Error._own = Error


class UsageError(Error, ValueError):
    """An argument is wrong, or has no meaning here."""

    exit = 2


class UnsupportedError(Error):
    """The program holds something that cannot be converted, or that a target does not run.

    `report` is the full output of the command, if one ran: for `legal`, every node.
    """

    exit = 3
    report: Any = None


class CaptureError(UnsupportedError):
    """PyTorch cannot export the module. `attempts` has the failure of each strategy."""

    def __init__(
        self,
        message: str = "",
        diagnostics: Iterable[Diagnostic] = (),
        attempts: Iterable[Any] = (),
    ) -> None:
        super().__init__(message, diagnostics)
        self.attempts = tuple(attempts)


class MismatchError(Error):
    """The model's results are wrong. `report` is the full output of the command, if one ran.

    It has the output of `onnxport verify --json`: every case, output by output.
    """

    exit = 4
    report: Any = None


class FileError(Error):
    """A file cannot be read or written, or is damaged."""

    exit = 5


class UnverifiedError(Error):
    """There is nothing to verify with."""

    exit = 6


class InternalError(Error):
    """A defect in onnxport or in a plugin."""

    exit = 70


BY_EXIT: dict[int, type[Error]] = {
    kind.exit: kind
    for kind in (
        UsageError,
        UnsupportedError,
        MismatchError,
        FileError,
        UnverifiedError,
        InternalError,
    )
}

# Tracebacks name them as users do.
for _kind in (Error, CaptureError, *BY_EXIT.values()):
    _kind.__module__ = "onnxport"

INTERRUPTED = 130


@cache
def _mixed(kind: type[Error], base: type[Exception]) -> type[Error]:
    own = kind._own
    names = {"__module__": own.__module__, "__doc__": own.__doc__, "__qualname__": own.__qualname__}
    mixed = type(own.__name__, (own, base), names)
    mixed._own = own
    return mixed


def _also_of_torch(kind: type[Error]) -> type[Error]:
    if "torch" not in sys.modules:
        return kind
    from torch.onnx.errors import OnnxExporterError

    return kind if issubclass(kind, OnnxExporterError) else _mixed(kind, OnnxExporterError)


def of_exit(exit: int, diagnostics: Iterable[Diagnostic], message: str = "") -> BaseException:
    """Return the exception for an exit code."""
    if exit == INTERRUPTED:
        return KeyboardInterrupt()
    return BY_EXIT.get(exit, InternalError)(message, diagnostics)


def usage(message: str, help: str | None = None) -> UsageError:
    """Return the error for a wrong argument."""
    return UsageError(diagnostics=[Diagnostic("error", "OP001", message, help=help)])


@contextlib.contextmanager
def arguments() -> Iterator[None]:
    """Turn failures to read the user's arguments into errors of their type."""
    try:
        yield
    except (Error, Warning):
        raise
    except (TypeError, ValueError, AttributeError) as error:
        raise usage(f"an argument has the wrong type: {error}") from error


def unwritten(file: Any, error: Exception) -> FileError:
    """Return the error for a file that cannot be written."""
    reason = getattr(error, "strerror", None) or f"{type(error).__name__}: {error}"
    return FileError(diagnostics=[Diagnostic("error", "OP601", f"cannot write `{file}`: {reason}")])


@contextlib.contextmanager
def known() -> Iterator[None]:
    """Let nothing but this package's errors, and warnings that are to be errors, through."""
    try:
        yield
    except (Error, Warning):
        raise
    except OSError as error:
        raise unwritten(error.filename or "the file", error) from error
    except Exception as error:
        message = f"the export failed unexpectedly: {type(error).__name__}: {error}"
        help = "please report it, with the traceback of the `__cause__` of this error"
        found = Diagnostic("error", "OP900", message, help=help)
        raise InternalError(diagnostics=[found]) from error


def raise_native(
    error: Any, cause: BaseException | None = None, called: Collection[str] = ()
) -> NoReturn:
    """Raise the public exception for one of the extension module's.

    `called` are the operators that functions of the user lowered.
    """
    found = _diagnostics.read(error.diagnostics)
    exit, text = error.exit, str(error)
    if exit == InternalError.exit and (users := _of_users(found, called)) is not None:
        exit, found = UnsupportedError.exit, users
        text = _diagnostics.text(found)
    public = of_exit(exit, found, f"{text}{_diagnostics.to_paste(found)}")
    if isinstance(public, (MismatchError, UnsupportedError)):
        from onnxport._commands import Result

        public.report = Result.read(error.report)
    raise public from cause


def _of_users(
    found: tuple[Diagnostic, ...], called: Collection[str]
) -> tuple[Diagnostic, ...] | None:
    """Return the message for a defect of the user's lowerings, None for another defect."""

    def is_own(one: Diagnostic) -> bool:
        return one.code == "OP401" and one.target in called

    errors = [one for one in found if one.severity == "error"]
    if not all(is_own(one) or one.code.startswith(("OP2", "OP3")) for one in errors):
        return None
    help = "return the stated type: `op.Cast` changes the type, `op.Reshape` the shape"
    return tuple(dataclasses.replace(one, help=help) if is_own(one) else one for one in found)
