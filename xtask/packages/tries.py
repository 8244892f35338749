"""Installs packages in fresh systems of Debian, and converts the README's example there.

It needs root and `debootstrap`.
"""

from __future__ import annotations

import shlex
import shutil
import subprocess
from pathlib import Path

CONVERT = "convert mlp.pt2 -o mlp.onnx"
RUN = """
{command} --version
{command} convert mlp.pt2 -o mlp.onnx --executor reference
ls -l mlp.onnx
"""

INSTALLED = """
test -s /usr/share/man/man1/onnxport.1.gz -o ! -d /usr/share/man/man1
test -s /usr/share/bash-completion/completions/onnxport
test -s /usr/share/zsh/vendor-completions/_onnxport
test -s /usr/share/fish/vendor_completions.d/onnxport.fish
"""


class Systems:
    """Systems to try packages in, each a copy of one that is made once."""

    def __init__(self, root: Path, out: Path, suite: str, system: Path | None) -> None:
        """Make the first system, unless it is there."""
        self.root = root
        self.folder = out / "systems"
        self.first = system or self.folder / suite
        self.fresh = self.folder / "fresh"
        self.folder.mkdir(exist_ok=True)
        if not self.first.is_dir():
            draft = self.folder / f".{suite}"
            subprocess.run(["debootstrap", "--variant=minbase", suite, draft], check=True)
            draft.rename(self.first)

    def attempt(self, package: Path, python: str) -> None:
        """Install a package in a fresh system, and use it as the README does."""
        shutil.rmtree(self.fresh, ignore_errors=True)
        subprocess.run(["cp", "-a", self.first, self.fresh], check=True)
        home = self.fresh / "root"
        for file in (package, *sorted((self.root / "examples/mlp").glob("mlp.*"))):
            shutil.copy(file, home)
        name = shlex.quote(package.name)
        if package.suffix == ".deb":
            # A local package: its dependencies are in the system, and no index is needed.
            script = f"dpkg -i {name}\n{INSTALLED}" + RUN.format(command="onnxport")
        elif package.suffix == ".whl":
            script = self.install_wheel(name, python) + RUN.format(command="fresh/bin/onnxport")
        else:
            inner = name.removesuffix(".tar.gz")
            script = f"tar xzf {name}\n" + RUN.format(command=f"{inner}/onnxport")
        print(f"== {package.name} in {self.first.name}", flush=True)
        if not self.run(f"set -ex\ncat /etc/debian_version\nldd --version | head -n 1\n{script}"):
            raise RuntimeError(f"{package.name} does not work in {self.first.name}")
        shutil.rmtree(self.fresh)

    def install_wheel(self, name: str, python: str) -> str:
        """Return a script that installs a wheel into an environment that holds nothing else."""
        install = "apt-get install -qq -y --no-install-recommends python3-venv"
        lines = [f"apt-get update -qq\n{install} >/dev/null"] if python == "python3" else []
        lines.append(f"{python} -m venv fresh")
        lines.append(f"fresh/bin/pip install -q --no-index --disable-pip-version-check {name}")
        return "\n".join(lines)

    def run(self, script: str) -> bool:
        """Run a script in the fresh system, as root, with its own mounts."""
        enter = (
            'mount -t proc proc "$1/proc" && mount --rbind /dev "$1/dev" && cd "$1" && '
            "exec env -i HOME=/root PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "
            'DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 chroot "$1" sh -c "cd && $2"'
        )
        command = ["unshare", "--mount", "sh", "-c", enter, "sh", str(self.fresh), script]
        return subprocess.run(command, check=False).returncode == 0
