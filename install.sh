#!/bin/sh
# Installs the command onnxport: downloads the archive of a release, checks its SHA-256, and unpacks it into the folder of
# the user. It needs no root, and changes nothing else.
set -eu

VERSION=0.1.0
RELEASES=https://github.com/onnxport/onnxport/releases/download

usage() {
    cat <<END
usage: install.sh [--prefix DIR] [--version VERSION] [--from URL]

  --prefix DIR       install into DIR/bin and DIR/share [default: ~/.local]
  --version VERSION  the release [default: $VERSION]
  --from URL         the folder of the release's files
                     [default: $RELEASES/vVERSION]
  --help             print this
END
}

fail() {
    echo "install.sh: $1" >&2
    exit 1
}

prefix=${HOME:-}/.local
from=
while [ $# -gt 0 ]; do
    case $1 in
    --help | -h) usage && exit 0 ;;
    --prefix | --version | --from) [ $# -ge 2 ] || fail "$1 needs a value" ;;
    *) usage >&2 && fail "unknown option: $1" ;;
    esac
    case $1 in
    --prefix) prefix=$2 ;;
    --version) VERSION=$2 ;;
    --from) from=$2 ;;
    esac
    shift 2
done
[ "$prefix" != /.local ] || fail "HOME is not set: choose a folder with --prefix"
from=${from:-$RELEASES/v$VERSION}

case $(uname -s) in
Linux) system=unknown-linux-gnu ;;
Darwin) system=apple-darwin ;;
*) fail "there is no archive for $(uname -s): see docs/install.md" ;;
esac
case $(uname -m) in
x86_64 | amd64) machine=x86_64 ;;
aarch64 | arm64) machine=aarch64 ;;
*) fail "there is no archive for $(uname -m): build from source, as docs/install.md shows" ;;
esac
if [ "$system" = unknown-linux-gnu ] && (ldd --version 2>&1 || true) | grep -qi musl; then
    fail "there is no archive for musl, whose static binaries cannot load plugins: use \`pip install onnxport\`"
fi
name=onnxport-$VERSION-$machine-$system

if command -v curl >/dev/null; then
    get() { curl --fail --silent --show-error --location --output "$2" "$1"; }
elif command -v wget >/dev/null; then
    get() { wget --quiet --output-document "$2" "$1"; }
else
    fail "curl or wget is needed"
fi
if command -v sha256sum >/dev/null; then
    sum() { sha256sum "$1"; }
elif command -v shasum >/dev/null; then
    sum() { shasum -a 256 "$1"; }
else
    fail "sha256sum or shasum is needed"
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
get "$from/SHA256SUMS" "$work/SHA256SUMS" || fail "cannot download $from/SHA256SUMS"
stated=$(sed -n "s/^\([0-9a-f]\{64\}\)  $name\.tar\.gz\$/\1/p" "$work/SHA256SUMS")
[ -n "$stated" ] || fail "release $VERSION has no $name.tar.gz"
get "$from/$name.tar.gz" "$work/archive" || fail "cannot download $from/$name.tar.gz"
found=$(sum "$work/archive")
found=${found%% *}
[ "$found" = "$stated" ] || fail "the archive has SHA-256 $found instead of $stated: nothing was installed"
tar -xzf "$work/archive" -C "$work"
"$work/$name/onnxport" --version >/dev/null || fail "the command does not run on this system: nothing was installed"

# The command last, and by renaming it: one that runs is not overwritten.
put() {
    mkdir -p "$(dirname "$prefix/$2")" || fail "cannot write to $prefix: choose a folder with --prefix"
    { cp "$work/$name/$1" "$prefix/$2.new" && mv -f "$prefix/$2.new" "$prefix/$2"; } ||
        fail "cannot write $prefix/$2"
}
put man/onnxport.1 share/man/man1/onnxport.1
put completions/onnxport.bash share/bash-completion/completions/onnxport
put completions/_onnxport share/zsh/site-functions/_onnxport
put completions/onnxport.fish share/fish/vendor_completions.d/onnxport.fish
put onnxport bin/onnxport
echo "installed $("$prefix/bin/onnxport" --version | head -n 1) as $prefix/bin/onnxport"
case :$PATH: in
*":$prefix/bin:"*) ;;
*) echo "add $prefix/bin to PATH" ;;
esac
