"""Calls `onnxport.pieces` on an archive for onnxport, which starts this with the user's Python.

Its arguments are ARCHIVE PARENT trusted. `process.py` stands before it, and has the import of
annotations for both.

Messages are JSON. The request has the keywords of `pieces`. The answers are a greeting with
`torch` and `onnxport`, the versions of both; messages with `step`, what begins; and then what
`to_json` of the result gives, or a message with `error`, which is the last one.
"""

import json
import os
import struct
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from process import end_with, reason, receive, write


def send(text: str) -> None:
    """Write one message."""
    data = text.encode()
    write(struct.pack("<Q", len(data)) + data)


def main() -> None:
    """Answer the request."""
    archive, parent, *_ = sys.argv[1:]
    end_with(int(parent))
    request = receive()
    try:
        import torch

        import onnxport
        from onnxport import _native

        send(json.dumps({"torch": str(torch.__version__), "onnxport": _native.__version__}))

        def tell(step: str) -> None:
            send(json.dumps({"step": step}))

        send(onnxport.pieces(archive, progress=tell, **json.loads(request)).to_json())
    except BaseException as error:
        send(json.dumps({"error": reason(error)}))


if __name__ == "__main__":
    main()
    # Exit at once: loaded libraries may be slow to shut down.
    os._exit(0)
