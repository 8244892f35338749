"""The files of a release: archives, the installer and the build from source, without a build."""

import base64
import hashlib
import http.server
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tarfile
import threading
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
BACKEND = "import onnxport_build; print(onnxport_build.get_requires_for_build_wheel())"


def module(name, monkeypatch):
    """Return a module of the packaging scripts."""
    monkeypatch.syspath_prepend(ROOT / "xtask/packages")
    spec = importlib.util.spec_from_file_location(name, ROOT / f"xtask/packages/{name}.py")
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


def put(path, text, mode=0o644):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)


def command(folder):
    """Write a program that answers as the command does."""
    script = (
        '#!/bin/sh\ncase $1 in\n--version) echo "onnxport 0.1.0" ;;\n*) echo "for $*" ;;\nesac\n'
    )
    put(folder / "onnxport", script, 0o755)
    return folder / "onnxport"


@pytest.fixture
def archives(monkeypatch):
    return module("archives", monkeypatch)


def test_an_archive_depends_on_its_contents_only(archives, tmp_path):
    binary = command(tmp_path)
    target = "x86_64-unknown-linux-gnu"
    bytes_of = []
    for out in (tmp_path / "one", tmp_path / "another/folder"):
        out.mkdir(parents=True)
        packed = archives.pack(archives.lay_out(ROOT, binary, target, out), 1_700_000_000)
        bytes_of.append(packed.read_bytes())
    assert bytes_of[0] == bytes_of[1]
    with tarfile.open(packed) as tar:
        modes = {
            Path(info.name).name: (info.mode, info.mtime, info.uid) for info in tar.getmembers()
        }
    assert modes["onnxport"] == (0o755, 1_700_000_000, 0)
    assert modes["onnxport.1"] == (0o644, 1_700_000_000, 0)
    assert {"onnxport.bash", "_onnxport", "onnxport.fish", "LICENSE-MIT"} <= modes.keys()


def test_a_wheel_does_not_state_the_folder_of_its_build(monkeypatch, tmp_path):
    wheels = module("wheels", monkeypatch)
    written = []
    for root in ("/one", "/another/folder"):
        old = tmp_path / root[1:].replace("/", "-") / "x-1-py3-none-any.whl"
        new = old.parent / "new"
        new.mkdir(parents=True)
        with zipfile.ZipFile(old, "w") as wheel:
            for name, data in {
                "x/a.so": b"code",
                "x-1.dist-info/sboms/x.json": f'"path+file://{root}/python#x"'.encode(),
                "x-1.dist-info/RECORD": f"of {root}".encode(),
            }.items():
                wheel.writestr(zipfile.ZipInfo(name), data)
        written.append(wheels.normalize(old, Path(root), new).read_bytes())
    assert written[0] == written[1]
    with zipfile.ZipFile(new / old.name) as wheel:
        assert wheel.read("x-1.dist-info/sboms/x.json") == b'"path+file:///onnxport/python#x"'
        record = wheel.read("x-1.dist-info/RECORD").decode()
    digest = base64.urlsafe_b64encode(hashlib.sha256(b"code").digest()).decode().rstrip("=")
    assert f"x/a.so,sha256={digest},4\n" in record


def test_names_and_versions_agree(archives):
    version = archives.builds.version(ROOT)
    installer = (ROOT / "install.sh").read_text()
    assert f"\nVERSION={version}\n" in installer
    repository = re.search(r'^repository = "(.+)"', archives.builds.manifest(ROOT), re.M)[1]
    assert f"\nRELEASES={repository}/releases/download\n" in installer
    assert archives.name("$VERSION", "$machine-$system") in installer
    manifest = (ROOT / "cli/Cargo.toml").read_text()
    assert "v{ version }/{ name }-{ version }-{ target }{ archive-suffix }" in manifest
    workspace = archives.builds.manifest(ROOT)
    listed = re.findall(r'^onnxport[a-z-]* = .*version = "([^"]+)"', workspace, re.M)
    assert len(listed) > 20
    assert set(listed) == {version}


def test_crates_need_only_published_ones(monkeypatch):
    order = module("crates", monkeypatch).order(ROOT)
    assert order[-1] == "onnxport"
    assert order.index("onnxport-abi") < order.index("onnxport-sdk") < order.index("onnxport-aten")
    assert "onnxport-harness" not in order


@pytest.fixture
def release(archives, tmp_path):
    """Serve a folder with a release for this machine; return the folder and its address."""
    folder = tmp_path / "release"
    folder.mkdir()
    system = "apple-darwin" if sys.platform == "darwin" else "unknown-linux-gnu"
    machine = {"arm64": "aarch64", "amd64": "x86_64"}.get(os.uname().machine, os.uname().machine)
    laid_out = archives.lay_out(ROOT, command(tmp_path), f"{machine}-{system}", folder)
    archives.pack(laid_out, 1_700_000_000)
    shutil.rmtree(laid_out)
    archives.sums(folder)

    class Handler(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *arguments):
            super().__init__(*arguments, directory=str(folder))

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield folder, f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def install(*arguments):
    environment = {**os.environ, "no_proxy": "127.0.0.1"}
    script = ["sh", str(ROOT / "install.sh"), *map(str, arguments)]
    return subprocess.run(script, capture_output=True, text=True, env=environment, check=False)


@pytest.mark.skipif(os.name != "posix", reason="a shell script")
def test_the_installer_installs_what_has_the_right_checksum(release, tmp_path):
    folder, address = release
    prefix = tmp_path / "a prefix"
    done = install("--from", address, "--prefix", prefix)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("installed onnxport 0.1.0 as ")
    assert os.access(prefix / "bin/onnxport", os.X_OK)
    files = {path.relative_to(prefix).as_posix() for path in prefix.rglob("*") if path.is_file()}
    assert files == {
        "bin/onnxport",
        "share/man/man1/onnxport.1",
        "share/bash-completion/completions/onnxport",
        "share/zsh/site-functions/_onnxport",
        "share/fish/vendor_completions.d/onnxport.fish",
    }

    [archive] = folder.glob("*.tar.gz")
    stated = hashlib.sha256(archive.read_bytes()).hexdigest()
    archive.write_bytes(archive.read_bytes() + b"\0")
    other = tmp_path / "other"
    refused = install("--from", address, "--prefix", other)
    assert refused.returncode == 1
    assert f"instead of {stated}: nothing was installed" in refused.stderr
    assert not other.exists()


@pytest.mark.skipif(os.name != "posix", reason="a shell script")
def test_the_installer_states_why_it_cannot_install(release, tmp_path):
    _, address = release
    missing = install("--from", address, "--prefix", tmp_path / "p", "--version", "9.9.9")
    assert missing.returncode == 1
    assert "install.sh: release 9.9.9 has no onnxport-9.9.9-" in missing.stderr
    unknown = install("--from", f"{address}/none", "--prefix", tmp_path / "p")
    assert "cannot download" in unknown.stderr.splitlines()[-1]
    assert install("--prefix").returncode == 1
    assert install("--wrong").returncode == 1
    assert install("--help").stdout.startswith("usage: install.sh")
    assert not (tmp_path / "p").exists()


@pytest.mark.skipif(os.name != "posix", reason="programs that are shell scripts")
@pytest.mark.parametrize(
    ("rust", "state"),
    [
        (None, "which is not installed"),
        ("1.70.0", "not 1.70"),
        ("1.1000.0", None),
        ("2.0.0-nightly", None),
    ],
)
def test_a_build_from_source_states_the_rust_that_it_needs(tmp_path, rust, state):
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("rustc", "cargo") if rust else ():
        put(tools / name, f'#!/bin/sh\necho "{name} {rust} (abc 2026-01-01)"\n', 0o755)
    environment = {
        "PATH": str(tools),
        "PYTHONPATH": str(ROOT / "python/backend"),
    }
    build = [sys.executable, "-S", "-c", BACKEND]
    done = subprocess.run(build, capture_output=True, text=True, env=environment, check=False)
    if state is None:
        assert (done.returncode, done.stdout) == (0, "[]\n"), done.stderr
    else:
        wanted = re.search(r'^rust-version = "(.+)"', (ROOT / "Cargo.toml").read_text(), re.M)[1]
        assert done.returncode == 1
        start = f"onnxport: building from source needs Rust {wanted} or newer (rustc), {state}: "
        assert done.stderr.startswith(start)
        assert len(done.stderr.splitlines()) == 1
