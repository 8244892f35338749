"""Records the values of an archive for onnxport, which starts this with the user's Python.

Its arguments are ARCHIVE PARENT trusted. `process.py` stands before it, and has the import of
annotations for both.

Messages are JSON. The request has the keywords of `record_intermediates`. The answer is empty,
or has `error`.
"""

import json
import os
import struct
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from process import end_with, reason, receive, write


def main() -> None:
    """Answer the request."""
    archive, parent, *_ = sys.argv[1:]
    end_with(int(parent))
    request = receive()
    try:
        import onnxport

        onnxport.record_intermediates(archive, **json.loads(request))
        answer = {}
    except BaseException as error:
        answer = {"error": reason(error)}
    data = json.dumps(answer).encode()
    write(struct.pack("<Q", len(data)) + data)


if __name__ == "__main__":
    main()
    # Exit at once: loaded libraries may be slow to shut down.
    os._exit(0)
