"""The failures of `docs/failures.md`: what is said of each, and the commands that show it.

The programs are `docs/failures/NAME.py`; `docs/failures/mended/NAME.py` does what the message asks.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Failure:
    """A program that fails, or that other exporters fail at.

    `shown` are commands whose output the page shows, `after` those that show the mended program.
    """

    title: str
    program: str
    about: str
    code: str | None = None
    shown: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()

    @property
    def run(self) -> str:
        """The command that runs the program."""
        return f"python {self.program}.py"


FAILURES = (
    Failure(
        "An operator that nobody lowers",
        "unsupported_operator",
        "The message has the line of the module, and below it a function to fill in. The command "
        "says the same of a saved program, and `--suggest=rust` begins a plugin.",
        code="OP301",
        shown=("onnxport check scores.pt2 --suggest=rust",),
        after=("onnxport inspect scores.onnx",),
    ),
    Failure(
        "Control flow that depends on data",
        "data_dependent_branch",
        "PyTorch's draft export follows the example call, so there is a model; the warning says "
        "at which line it is right for some inputs only, and what to write there.",
        code="OP211",
        after=("onnxport inspect gate.onnx",),
    ),
    Failure(
        "A batch that the module fixes",
        "specialised_batch",
        "The number in the line that is shown stands where a size of the input is meant.",
        code="OP216",
        after=("onnxport inspect pool.onnx",),
    ),
    Failure(
        "A batch that nobody asked for",
        "forgotten_batch",
        "Without `dynamic_shapes` every size is that of the example. Whoever asks for a dynamic "
        "axis later is given the line to export with, in the names of the module's own arguments.",
        code="OP307",
        shown=("onnxport convert mean.pt2 -o mean.onnx --dim tokens:0=batch",),
        after=(
            "onnxport convert mean.pt2 -o mean.onnx --dim tokens:0=batch --no-verify --quiet",
            "onnxport inspect mean.onnx",
        ),
    ),
    Failure(
        "A buffer that the module writes to",
        "mutated_buffer",
        "Nothing is to be done. The buffer becomes a state: an input and an output of the model, "
        "paired in its metadata. The program that `export` returns feeds one back as the other; "
        "in another runtime, hand `total.next` of a call to `total` of the next.",
        shown=("onnxport inspect running.onnx",),
    ),
    Failure(
        "An argument of a class of one's own",
        "custom_class",
        "The lines below the message go behind the class; they are made of its constructor.",
        code="OP213",
        after=("onnxport inspect encoder.onnx",),
    ),
    Failure(
        "An operator without a fake kernel",
        "missing_fake_kernel",
        "PyTorch ran the operator once, and knows the result of this call. The function below the "
        "message says what it looks like for every call.",
        code="OP215",
        after=("onnxport inspect filter.onnx",),
    ),
    Failure(
        "An element type that cannot be traced",
        "unsupported_dtype",
        "A tensor that is quantised already has no counterpart: give the export a plain one, and "
        "let `--quantize` store it in few bits.",
        code="OP212",
        after=("onnxport inspect table.onnx",),
    ),
    Failure(
        "An opset that is too low",
        "opset_too_low",
        "Models of old opsets are not written.",
        code="OP306",
        after=("onnxport inspect net.onnx",),
    ),
    Failure(
        "Tied weights",
        "tied_weights",
        "Nothing is to be done. One memory in PyTorch is one tensor in the model, under one of its "
        "names.",
        shown=("onnxport inspect tied.onnx --weights",),
    ),
    Failure(
        "An operator that the runtime has no kernel for",
        "missing_runtime_kernel",
        "Each version of an operator is another kernel. The message names an opset whose version "
        "the runtime has. From the command, `--target onnxruntime` makes an error of it.",
        code="OP409",
        after=("onnxport inspect crops.onnx",),
        needs=("torchvision", "onnxruntime"),
    ),
)
