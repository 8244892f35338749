"""The failures of `docs/failures.md`: a description of each, and the commands that show it.

The programs are `docs/failures/NAME.py`; `docs/failures/mended/NAME.py` follows the message.
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
        "An operator without a lowering",
        "unsupported_operator",
        "The message shows the line of the module and a function to complete. For a saved "
        "program, the command reports the same, and `--suggest=rust` starts a plugin.",
        code="OP301",
        shown=("onnxport check scores.pt2 --suggest=rust",),
        after=("onnxport inspect scores.onnx",),
    ),
    Failure(
        "Data-dependent control flow",
        "data_dependent_branch",
        "PyTorch's draft export follows the example call, so the model is valid for some "
        "inputs only. The warning shows the line, and how to rewrite it.",
        code="OP211",
        after=("onnxport inspect gate.onnx",),
    ),
    Failure(
        "A batch size that the module fixes",
        "specialised_batch",
        "The line shown uses a number instead of a size of the input.",
        code="OP216",
        after=("onnxport inspect pool.onnx",),
    ),
    Failure(
        "A batch size that was not dynamic at export",
        "forgotten_batch",
        "Without `dynamic_shapes`, every size is that of the example. A later request for a "
        "dynamic axis prints the export call to use.",
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
        "Nothing to do. The buffer becomes a state: an input and an output of the model, paired "
        "in its metadata. The program that `export` returns feeds one back as the other; in "
        "another runtime, pass `total.next` of one call as `total` to the next.",
        shown=("onnxport inspect running.onnx",),
    ),
    Failure(
        "An argument of a custom class",
        "custom_class",
        "Paste the lines below the message after the class.",
        code="OP213",
        after=("onnxport inspect encoder.onnx",),
    ),
    Failure(
        "An operator without a fake kernel",
        "missing_fake_kernel",
        "PyTorch ran the operator once, so it knows only the result of this call. The function "
        "below the message describes the result of every call.",
        code="OP215",
        after=("onnxport inspect filter.onnx",),
    ),
    Failure(
        "A quantized parameter",
        "unsupported_dtype",
        "Export a plain tensor, and let `--quantize` quantize it.",
        code="OP212",
        after=("onnxport inspect table.onnx",),
    ),
    Failure(
        "An opset that is too low",
        "opset_too_low",
        "onnxport writes opsets 11 to 28.",
        code="OP306",
        after=("onnxport inspect net.onnx",),
    ),
    Failure(
        "Tied weights",
        "tied_weights",
        "Nothing to do. Tensors that share memory in PyTorch become one tensor in the model, "
        "under one of their names.",
        shown=("onnxport inspect tied.onnx --weights",),
    ),
    Failure(
        "An operator that the runtime has no kernel for",
        "missing_runtime_kernel",
        "Each version of an operator needs its own kernel. The message names an opset whose "
        "version the runtime has. With `--target onnxruntime`, the command treats this as an "
        "error.",
        code="OP409",
        after=("onnxport inspect crops.onnx",),
        needs=("torchvision", "onnxruntime"),
    ),
)
