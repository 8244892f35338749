"""The extension module: the library that the command is made of, for the package's own modules.

Options are a JSON object: the long options of the command, with `_` for `-`. `null` is what was
not said, a flag is true or false, and `no_verify` can be said as `verify`, the other way round.
What can be repeated is a list. A key that is no option is refused.

The interpreter's lock is released while something is done. Ctrl-C ends it, and nothing half-written
remains.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import final

__version__: str

Progress = Callable[[str, int, int], object]
"""Called with the stage, the bytes done and the bytes in all (0 where they are not counted).

It is called on the caller's thread, some times in a second. What it raises ends the work.
"""

class Error(Exception):
    """A failure. The package makes its own exceptions of it."""

    exit: int
    """The exit code of the command.

    2 usage, 3 unsupported, 4 mismatch, 5 files, 6 unverified, 70 defect.
    """
    diagnostics: str
    """Errors, warnings and notes, as the list that the command prints with `--json`."""

@final
class Tensor:
    """A parameter, buffer or constant in memory. Nothing is copied.

    `address` and `nbytes` are those of the whole storage, `offset` and `strides` count elements.
    `storage` is equal for tensors that share one. `owner` is kept while anyone reads; nobody may
    write to the storage until then.
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
class Conversion:
    """A program that is to be converted."""

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
        recorded: bytes | None = None,
    ) -> Conversion:
        """Take a program from memory. Its weights stay where they are.

        `program` is the JSON of PyTorch's serializer, `weights` and `constants` are the tensors
        that it names, None for those without data, `dims` names for its symbols. `recorded` holds
        calls with their results, in the form of `SIDECAR_FORMAT`.
        """

    def run(
        self,
        options: str,
        *,
        output: str | os.PathLike[str] | None = None,
        progress: Progress | None = None,
    ) -> Model:
        """Convert the program. This can be done more than once.

        `options` are those of `onnxport convert`: `opset`, `input_names` (a list, or an object of
        other names for some), `output_names`, `dim` (a list of `[input, axis, name or size]`),
        `optimise`, `target`, `decompose`, `dtype`, `weightless`, `plugin`, `verify` and so on.
        Those about writing hold for every `save` that does not say otherwise. `output` is the path
        to which the model will be written, if that is known: compiled blobs are called after it.
        """

@final
class Model:
    """A model that was made, in no file yet. It can be written more than once."""

    @property
    def report(self) -> str:
        """What `onnxport convert --json` says, as far as it is known without a file."""

    def save(
        self,
        path: str | os.PathLike[str],
        options: str = "{}",
        *,
        progress: Progress | None = None,
    ) -> str:
        """Write the model; it gets its name when it is verified, unless `run` said not to.

        `options` are those of `onnxport convert` about writing: `external_data`, `initializers`
        (false leaves their data out), `initializers_as_inputs`, `shard_size`, `manifest`,
        `max_memory`, `plan` and so on. What `onnxport convert --json` prints comes back.
        """

    def to_bytes(self, options: str = "{}", *, limit: int | None = None) -> bytes:
        """Make one message of the model with its weights, of at most `limit` bytes.

        Messages end at 2 GiB in any case. `options` are those of `save`.
        """

    def text(self) -> str:
        """Print the graph."""

def command(name: str, options: str, *, progress: Progress | None = None) -> str:
    """Run a command within this process: `optimize`, `weights bind`, `inspect` and so on.

    `options` are its options, and its arguments by their names in `--help` (`program`, `model`).
    What it prints with `--json` comes back; its text, where that is its result, under `text`.
    """

def main(argv: Sequence[str]) -> int:
    """Run the command as a program, whose name comes first. The exit code comes back.

    Signals and standard streams belong to it. The process is to end after it.
    """

def explain(code: str) -> str | None:
    """Explain a diagnostic: an object with `code`, `means`, `why`, `ways_out` and `example`."""
