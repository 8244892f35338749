"""Write `docs/unsafe.md`: every use of `unsafe` outside of tests, with the reason why it is sound.

`python xtask/gen/unsafe_inventory.py OUTPUT`
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# Kinds, each with the folders that it covers; the first that fits counts.
KINDS = [
    ("Mapped and lent memory", "Mapped files, and memory of a caller.", ["core/ir/src/tensor/"]),
    (
        "Binary contract",
        "Tables, records and lists that cross between the host and plugins.",
        ["plugin-sdk/", "core/src/", "core/check/", "python/src/plugin/"],
    ),
    (
        "Runtimes and drivers",
        "Functions of CUDA, NVRTC, cuBLAS, ONNX Runtime and OpenVINO.",
        ["plugins/"],
    ),
    ("System", "Signals, the ends of processes, and Python's buffers.", ["cli/", "python/"]),
]

TESTS = re.compile(r"(^|/)(tests?|benches|examples|emulated)(/|\.rs$)|/template/")

HEAD = """# Uses of `unsafe`

Written by `cargo xtask gen`. Do not edit. A lint requires a reason for each block; functions of a
type that is listed are called in blocks.

| kind | files | uses |
|---|---:|---:|
"""

POINTER = re.compile(r"[:=<(]\s*(for<[^>]*>\s*)?unsafe\s+extern[^{]*fn\s*\(")


def form(code: str) -> str:
    """Return the form of a use."""
    if re.search(r"unsafe\s+impl", code):
        return "impl"
    if re.search(r"unsafe\s+trait", code):
        return "trait"
    if re.search(r"unsafe\s*\(", code):
        return "attribute"
    if POINTER.search(code) or code.startswith("unsafe extern"):
        return "type of functions"
    if re.search(r"unsafe\s+(extern\s+\"[^\"]*\"\s+)?fn", code):
        return "function"
    return "block"


def reason(lines: list[str], at: int) -> str:
    """Return the nearest comment above line `at` that states why it is sound, in the same item."""
    for above in range(at - 1, max(at - 40, -1), -1):
        text = lines[above].strip()
        if "SAFETY:" in text or text == "/// # Safety":
            words = [text.split("SAFETY:", 1)[1]] if "SAFETY:" in text else []
            for line in lines[above + 1 : at]:
                if not line.strip().startswith("//"):
                    break
                words.append(line.strip().lstrip("/"))
            return " ".join(" ".join(words).split())
        # The end of an item.
        if lines[above] == "}":
            break
    return "(no reason is stated)"


def without_strings(line: str) -> str:
    """Return the code of a line, without comments and the contents of strings."""
    return re.sub(r'"(\\.|[^"\\])*"', '""', line).split("//", 1)[0]


def uses(path: str) -> list[tuple[str, str]]:
    """Return the uses of a file, those in its tests left out."""
    lines = (ROOT / path).read_text().splitlines()
    found = []
    for at, line in enumerate(lines):
        if line.startswith("#[cfg(test)]") and lines[at + 1].endswith("{"):
            break
        code = without_strings(line)
        if re.search(r"\bunsafe\b", code):
            use = form(code.strip())
            found.append((use, "" if use == "type of functions" else reason(lines, at)))
    return found


def page() -> str:
    """Return the page."""
    listed = subprocess.run(["git", "ls-files", "*.rs"], cwd=ROOT, capture_output=True, check=True)
    by_kind = {kind: [] for kind, _, _ in KINDS}
    for path in sorted(listed.stdout.decode().split()):
        found = uses(path)
        kind = next((kind for kind, _, under in KINDS if path.startswith(tuple(under))), None)
        if found and kind is not None and not TESTS.search(path):
            by_kind[kind].append((path, found))
    text = HEAD
    for kind, files in by_kind.items():
        text += f"| {kind} | {len(files)} | {sum(len(found) for _, found in files)} |\n"
    for kind, about, _ in KINDS:
        text += f"\n## {kind}\n\n{about}\n"
        for path, found in by_kind[kind]:
            text += f"\n`{path}`\n\n"
            for use, why in dict.fromkeys(found):
                times = found.count((use, why))
                count = f"{times} times: " if times > 1 else ""
                text += f"- {count}{use}: {why}\n" if why else f"- {count}{use}\n"
    return text


Path(sys.argv[1]).write_text(page())
