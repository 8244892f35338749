"""Write `plugins/torchvision/schemas.txt`: one operator per line, as torchvision registers it.

Backward operators, those of quantised tensors and queries of the installation are left out.
The facts of `plugins/torchvision/facts.toml` follow the schemas.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import facts
import torch
import torchvision

NAMESPACE = "torchvision::"
FACTS = Path(__file__).parents[2] / "plugins/torchvision/facts.toml"
HEADER = """\
# Operator schemas of torchvision {version}: one overload per line, sorted, `default` where unnamed.
# Written by `cargo xtask gen` (xtask/gen/torchvision_schemas.py). Do not edit.
"""


def table() -> str:
    """Return the sorted table, each head written as `namespace::op.overload`."""
    lines = {}
    for name in torch._C._dispatch_get_all_op_names():
        op, _, overload = name.partition(".")
        if not op.startswith(NAMESPACE) or op.removeprefix(NAMESPACE).startswith(("_", "q")):
            continue
        text = str(torch._C._get_schema(op, overload))
        head = f"{op}.{overload or 'default'}"
        lines[head] = f"{head}{text[text.index('(') :]}\n"
    stated = facts.stated(FACTS, lines, NAMESPACE.removesuffix("::"))
    return "".join(lines[head] + facts.line(stated.get(head, {})) for head in sorted(lines))


def main() -> None:
    """Write the table to the path given on the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", type=Path)
    options = parser.parse_args()
    version = torchvision.__version__.split("+")[0]
    options.output.write_text(HEADER.format(version=version) + table())


if __name__ == "__main__":
    main()
