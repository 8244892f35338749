"""The scripts of the capture run as one text, so that a name in two of them would be lost."""

import ast
import re
from collections import defaultdict
from pathlib import Path

SOURCE = Path(__file__).parents[3] / "core/src/capture"


def defined(path: Path) -> set[str]:
    """Return the functions, classes and constants of a script."""
    names: set[str] = set()
    for item in ast.parse(path.read_text()).body:
        if isinstance(item, ast.FunctionDef | ast.ClassDef):
            names.add(item.name)
        elif isinstance(item, ast.Assign):
            names |= {target.id for target in item.targets if isinstance(target, ast.Name)}
    return names


def test_no_name_is_defined_twice():
    listed = (SOURCE / "mod.rs").read_text().partition("const SCRIPT")[2].partition(");")[0]
    scripts = re.findall(r'include_str!\("(\w+\.py)"\)', listed)
    assert len(scripts) > 10
    owners = defaultdict(list)
    for script in scripts:
        for name in defined(SOURCE / script):
            owners[name].append(script)
    assert {name: found for name, found in owners.items() if len(found) > 1} == {}
