//! A list of the written files with their SHA-256 hashes, in the format of `sha256sum`.

use std::ffi::{OsStr, OsString};
use std::fmt::Write;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::publish::Target;
use super::stream;
use crate::diagnose::{Code, Diagnostic};
use crate::files;

/// Bytes that are hashed at a time.
const CHUNK: usize = 256 << 10;

/// A list of files is not longer than this.
const MAX_BYTES: u64 = 16 << 20;

/// The hash of a file that is being written from front to back.
pub(super) struct Hasher {
    hash: Sha256,
    at: u64,
    buffer: Vec<u8>,
}

impl Hasher {
    pub(super) fn new() -> Self {
        Self { hash: Sha256::new(), at: 0, buffer: vec![0; CHUNK] }
    }

    /// Adds the bytes up to `end`. They were written a moment ago, so that they are still in memory;
    /// many were copied by the kernel and never seen by this process.
    pub(super) fn advance(&mut self, file: &File, end: u64) -> io::Result<()> {
        while self.at < end {
            let left = usize::try_from(end - self.at).unwrap_or(usize::MAX);
            let read = stream::read_some(file, &mut self.buffer, left, self.at)?;
            if read.is_empty() {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            self.hash.update(read);
            self.at += read.len() as u64;
        }
        Ok(())
    }

    /// The hash in hexadecimal digits.
    pub(super) fn finish(self) -> String {
        hex(&self.hash.finalize())
    }
}

/// Bytes as hexadecimal digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The line of a file. Its name is bytes, as the system has it.
pub(super) fn line(name: &OsStr, hash: &str) -> Vec<u8> {
    let mut escaped = Vec::new();
    for byte in name.as_encoded_bytes() {
        match byte {
            b'\\' => escaped.extend(br"\\"),
            b'\n' => escaped.extend(br"\n"),
            b'\r' => escaped.extend(br"\r"),
            other => escaped.push(*other),
        }
    }
    let mark: &[u8] = if escaped.len() == name.len() { b"" } else { br"\" };
    [mark, hash.as_bytes(), b"  ", &escaped, b"\n"].concat()
}

/// The name and the hash that a line states.
fn parse(line: &[u8]) -> Option<(OsString, &str)> {
    let (line, escaped) = line.strip_prefix(br"\").map_or((line, false), |rest| (rest, true));
    let (hash, name) = line.split_at_checked(64)?;
    let name = name.strip_prefix(b"  ").or_else(|| name.strip_prefix(b" *"))?;
    let hash = str::from_utf8(hash).ok().filter(|hash| hash.bytes().all(|b| b.is_ascii_hexdigit()))?;
    if name.is_empty() {
        return None;
    }
    if !escaped {
        return Some((os_name(name.to_vec())?, hash));
    }
    let mut plain = Vec::new();
    let mut bytes = name.iter();
    while let Some(byte) = bytes.next() {
        plain.push(match byte {
            b'\\' => match bytes.next()? {
                b'n' => b'\n',
                b'r' => b'\r',
                other => *other,
            },
            other => *other,
        });
    }
    Some((os_name(plain)?, hash))
}

#[cfg(unix)]
#[expect(clippy::unnecessary_wraps, reason = "not every system can name a file by any bytes")]
fn os_name(bytes: Vec<u8>) -> Option<OsString> {
    Some(std::os::unix::ffi::OsStringExt::from_vec(bytes))
}

#[cfg(not(unix))]
fn os_name(bytes: Vec<u8>) -> Option<OsString> {
    String::from_utf8(bytes).ok().map(OsString::from)
}

/// The lines of a list.
fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let lines = text.strip_suffix(b"\n").unwrap_or(text);
    // An empty list has no line.
    lines
        .split(|byte| *byte == b'\n')
        .filter(|_| !text.is_empty())
        .map(|l| l.strip_suffix(b"\r").unwrap_or(l))
}

/// Removes the manifest of an output that was replaced without one, if it is one.
pub(super) fn retire(target: &Target) -> io::Result<()> {
    let Ok(text) = read(&target.manifest) else { return Ok(()) };
    let name = target.model.file_name().unwrap_or_default();
    if lines(&text).filter_map(parse).any(|(listed, _)| listed == name) {
        fs::remove_file(&target.manifest)?;
    }
    Ok(())
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    files::read(path, MAX_BYTES)
}

/// A file that a manifest lists.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Listed {
    /// The name, relative to the manifest, as it can be shown.
    pub name: String,
    /// What is wrong with it; `None` when its hash is the stated one.
    pub problem: Option<String>,
}

/// Where the manifest of the model at `path` is.
pub fn path_of(model: &Path) -> PathBuf {
    Target::new(model, 0).manifest
}

/// Compares the files that the manifest at `path` lists with their hashes.
///
/// # Errors
/// `OP101` when the manifest cannot be read, `OP615` when it is none or lists a file elsewhere.
pub fn check(path: &Path) -> Result<Vec<Listed>, Diagnostic> {
    let shown = path.display();
    let text = read(path).map_err(|e| {
        Diagnostic::error(Code::READ_IO, format!("the manifest `{shown}` cannot be read: {e}"))
    })?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let mut listed = Vec::new();
    for line in lines(&text) {
        let malformed = || {
            let line = String::from_utf8_lossy(line);
            Diagnostic::error(
                Code::WRITE_MANIFEST,
                format!("`{shown}` is not a list of SHA-256 hashes: `{line}`"),
            )
        };
        let (name, stated) = parse(line).ok_or_else(malformed)?;
        let mut parts = Path::new(&name).components();
        if !matches!((parts.next(), parts.next()), (Some(std::path::Component::Normal(_)), None)) {
            return Err(malformed());
        }
        let problem = match sha256(&folder.join(&name)) {
            Ok(hash) if hash.eq_ignore_ascii_case(stated) => None,
            Ok(_) => Some("has other bytes".to_owned()),
            Err(error) => Some(error.to_string()),
        };
        listed.push(Listed { name: name.to_string_lossy().into_owned(), problem });
    }
    Ok(listed)
}

fn sha256(path: &Path) -> io::Result<String> {
    let file = files::open(path)?;
    let mut hasher = Hasher::new();
    hasher.advance(&file, file.metadata()?.len())?;
    Ok(hasher.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_those_of_sha256sum() {
        let hash = "a".repeat(64);
        assert_eq!(line("m.onnx".as_ref(), &hash), format!("{hash}  m.onnx\n").into_bytes());
        assert_eq!(line("a\\b\n".as_ref(), &hash), format!("\\{hash}  a\\\\b\\n\n").into_bytes());
        for name in [&b"m.onnx"[..], b"a\\b\n\rn", b"two  words", b"m\xff\\.onnx"] {
            let Some(name) = os_name(name.to_vec()) else { continue };
            let line = line(&name, &hash);
            let found: Vec<_> = lines(&line).map(parse).collect();
            assert_eq!(found, [Some((name, hash.as_str()))]);
        }
        for wrong in ["", "abc", &"g".repeat(70), &format!("{hash} m"), &format!("{hash}  ")] {
            assert_eq!(parse(wrong.as_bytes()), None, "{wrong}");
        }
        assert_eq!(lines(b"").count(), 0);
    }

    #[test]
    fn changed_files_are_found() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("a"), "abc").unwrap();
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        let path = dir.path().join("list");
        fs::write(&path, [line("a".as_ref(), abc), line("b".as_ref(), abc)].concat()).unwrap();
        let problems: Vec<bool> = check(&path).unwrap().iter().map(|file| file.problem.is_some()).collect();
        assert_eq!(problems, [false, true]);
        fs::write(dir.path().join("a"), "abd").unwrap();
        assert!(check(&path).unwrap()[0].problem.is_some());
        fs::write(&path, line("../a".as_ref(), abc)).unwrap();
        assert_eq!(check(&path).unwrap_err().code, Code::WRITE_MANIFEST);
    }
}
