"""`python -m onnxport` is the command."""

import sys

from onnxport._cli import main

sys.exit(main())
