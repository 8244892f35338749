"""How a lowering refuses a call."""

from __future__ import annotations

from onnxport import _native


class Refusal(_native.Refused):
    """A lowering raises this to refuse a call.

    The sentence names the argument or the type. The user sees it with the line of their own code.
    """

    def __init__(self, message: str, *, help: str = "", code: str = "") -> None:
        """Take the sentence, the next step, and a code of your own, which is `python:CODE`."""
        super().__init__(message)
        self.help = help
        self.code = code
