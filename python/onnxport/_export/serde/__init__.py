"""An exported program in the format of PyTorch's serializer, at a fraction of the time.

PyTorch creates a dataclass for every part of every argument, and then a copy of all of them in an
order that it does not use. Here the JSON is created from the graph directly, for one release of
PyTorch: the schema and some private names may differ in another one.
"""

import torch
from torch._export.serde import schema

RELEASE, SCHEMA_VERSION = "2.15.", (8, 20)


def is_followed() -> bool:
    """Tell whether this release of PyTorch is the one that is followed."""
    return torch.__version__.startswith(RELEASE) and schema.SCHEMA_VERSION == SCHEMA_VERSION
