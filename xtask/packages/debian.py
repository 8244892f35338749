"""The Debian package, made from the contents of an archive with `dpkg-deb` and `objdump`."""

from __future__ import annotations

import gzip
import os
import re
import shutil
import subprocess
import time
from pathlib import Path

import builds

ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
GLIBC = ("libc.so", "libm.so", "libdl.so", "libpthread.so", "librt.so", "ld-linux")
MAINTAINER = "The onnxport developers <onnxport@users.noreply.github.com>"

CONTROL = """\
Package: onnxport
Version: {version}
Architecture: {architecture}
Maintainer: {maintainer}
Section: science
Priority: optional
Depends: {depends}
Suggests: python3
Installed-Size: {size}
Homepage: {homepage}
Description: converter of PyTorch exported programs to ONNX
 onnxport converts programs that torch.export.save wrote to ONNX models,
 optimizes them, and checks that they compute the same results. It needs no
 Python to convert. Plugins add operators, rewrite rules and runtimes.
 .
 To verify models, it loads ONNX Runtime or OpenVINO if they are there.
"""

COPYRIGHT = """\
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: onnxport
Source: {homepage}

Files: *
Copyright: {holder}
License: Expat or Apache-2.0

License: Expat
{expat}

License: Apache-2.0
 On Debian systems, the full text of the Apache License, version 2.0, is in
 /usr/share/common-licenses/Apache-2.0.
"""

CHANGELOG = """\
onnxport ({version}) unstable; urgency=medium

  * Release {upstream}: see CHANGELOG.md of the sources.

 -- {maintainer}  {date}
"""


def pack(root: Path, folder: Path, target: str, out: Path, epoch: int) -> Path:
    """Write the package of the archive laid out in `folder`, and return its path."""
    architecture = ARCHITECTURES[target.split("-")[0]]
    upstream = builds.version(root)
    version = f"{upstream}-1"
    tree = out / f"onnxport_{version}_{architecture}"
    shutil.rmtree(tree, ignore_errors=True)
    install(folder, tree)
    homepage = builds.manifest(root).split('repository = "')[1].split('"')[0]
    documents = tree / "usr/share/doc/onnxport"
    documents.mkdir(parents=True)
    (documents / "copyright").write_text(copyright_of(root, homepage))
    date = time.strftime("%a, %d %b %Y %H:%M:%S +0000", time.gmtime(epoch))
    changes = CHANGELOG.format(version=version, upstream=upstream, maintainer=MAINTAINER, date=date)
    compressed(documents / "changelog.Debian.gz", changes.encode())
    control = CONTROL.format(
        version=version,
        architecture=architecture,
        maintainer=MAINTAINER,
        depends=depends(tree),
        size=-(-sum(path.stat().st_size for path in tree.rglob("*") if path.is_file()) // 1024),
        homepage=homepage,
    )
    (tree / "DEBIAN").mkdir()
    (tree / "DEBIAN/control").write_text(control)
    for path in [tree, *tree.rglob("*")]:
        path.chmod(0o755 if path.is_dir() or path.parent.name == "bin" else 0o644)
    package = out / f"{tree.name}.deb"
    # Gzip: other compressors of dpkg-deb are not there on older systems.
    build = ["dpkg-deb", "-Zgzip", "--root-owner-group", "--build", str(tree), str(package)]
    subprocess.run(build, check=True, env={**os.environ, "SOURCE_DATE_EPOCH": str(epoch)})
    shutil.rmtree(tree)
    return package


def install(folder: Path, tree: Path) -> None:
    """Put the files of an archive where Debian has them."""
    places = {
        "onnxport": "usr/bin/onnxport",
        "completions/onnxport.bash": "usr/share/bash-completion/completions/onnxport",
        "completions/_onnxport": "usr/share/zsh/vendor-completions/_onnxport",
        "completions/onnxport.fish": "usr/share/fish/vendor_completions.d/onnxport.fish",
    }
    for file, place in places.items():
        (tree / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(folder / file, tree / place)
    manual = tree / "usr/share/man/man1"
    manual.mkdir(parents=True)
    compressed(manual / "onnxport.1.gz", (folder / "man/onnxport.1").read_bytes())


def compressed(path: Path, contents: bytes) -> None:
    """Write a file of gzip without a time."""
    path.write_bytes(gzip.compress(contents, 9, mtime=0))


def copyright_of(root: Path, homepage: str) -> str:
    """Return the file `copyright`."""
    text = (root / "LICENSE-MIT").read_text()
    holder = next(line for line in text.splitlines() if line.startswith("Copyright"))
    body = text.split(holder)[1].strip()
    expat = "\n".join(f" {line}" if line else " ." for line in body.splitlines())
    holder = holder.removeprefix("Copyright (c) ").removeprefix("Copyright ")
    return COPYRIGHT.format(homepage=homepage, holder=holder, expat=expat)


def depends(tree: Path) -> str:
    """Return what the binary needs: glibc, in the oldest version that will do.

    For symbols that were in other libraries of glibc before, `dpkg-shlibdeps` would state the
    version in which they moved.
    """
    command = ["objdump", "-p", tree / "usr/bin/onnxport"]
    stated = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    libraries = set(re.findall(r"^ +NEEDED +(\S+)$", stated, re.MULTILINE))
    if others := {name for name in libraries if not name.startswith(GLIBC)}:
        raise RuntimeError(f"the package would have to depend on {', '.join(sorted(others))}")
    versions = re.findall(r" GLIBC_([0-9.]+)$", stated, re.MULTILINE)
    oldest = max(versions, key=lambda version: [int(part) for part in version.split(".")])
    return f"libc6 (>= {oldest})"
