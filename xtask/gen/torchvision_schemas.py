"""Write `plugins/torchvision/schemas.txt`: one operator per line, as torchvision registers it.

Backward operators, those of quantised tensors and what asks about the installation are left out.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch
import torchvision

NAMESPACE = "torchvision::"
HEADER = """\
# Operator schemas of torchvision {version}: one overload per line, sorted, `default` where unnamed.
# Written by `cargo xtask gen` (xtask/gen/torchvision_schemas.py). Do not edit.
"""


def schema_lines() -> list[str]:
    """Return the sorted table, each head written as `namespace::op.overload`."""
    lines = []
    for name in torch._C._dispatch_get_all_op_names():
        op, _, overload = name.partition(".")
        if not op.startswith(NAMESPACE) or op.removeprefix(NAMESPACE).startswith(("_", "q")):
            continue
        text = str(torch._C._get_schema(op, overload))
        lines.append(f"{op}.{overload or 'default'}{text[text.index('(') :]}")
    return sorted(lines)


def main() -> None:
    """Write the table to the path given on the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", type=Path)
    options = parser.parse_args()
    version = torchvision.__version__.split("+")[0]
    options.output.write_text(HEADER.format(version=version) + "\n".join(schema_lines()) + "\n")


if __name__ == "__main__":
    main()
