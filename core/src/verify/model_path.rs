//! Paths as executors are given them: the contract says text.

use std::fs::File;
use std::path::Path;

use crate::diagnose::{Code, Diagnostic};

/// The path of a model as text, as long as this lives.
#[derive(Debug)]
pub(super) struct ModelPath {
    text: String,
    /// The owner of a path through `/proc`.
    _open: Option<File>,
}

impl ModelPath {
    /// The path of the model at `path`. Where that is not UTF-8 it leads through an open folder, so that
    /// files beside the model are found from it as well; a model whose own name is not UTF-8 is opened
    /// itself, and has none.
    ///
    /// # Errors
    /// `OP702` when the path is not a text and the system has no way around it.
    pub(super) fn of(path: &Path) -> Result<Self, Diagnostic> {
        if let Some(text) = path.to_str() {
            return Ok(Self { text: text.to_owned(), _open: None });
        }
        through_open(path).ok_or_else(|| {
            let message =
                format!("the path `{}` is not UTF-8, and cannot be given to an executor", path.display());
            Diagnostic::error(Code::VERIFY_NO_EXECUTOR, message).help("move or rename the model")
        })
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }
}

#[cfg(target_os = "linux")]
fn through_open(path: &Path) -> Option<ModelPath> {
    use std::os::fd::AsRawFd;

    let name = path.file_name()?;
    let open = |path: &Path| {
        let file = File::open(path).ok()?;
        // Not `self`: the executor may be another process.
        let link = format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd());
        Path::new(&link).exists().then_some((link, file))
    };
    let (text, file) = match name.to_str() {
        Some(name) => {
            let (folder, file) = open(path.parent()?)?;
            (format!("{folder}/{name}"), file)
        }
        None => open(path)?,
    };
    Some(ModelPath { text, _open: Some(file) })
}

#[cfg(not(target_os = "linux"))]
fn through_open(_path: &Path) -> Option<ModelPath> {
    None
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::ffi::OsStr;
    use std::fs;
    use std::os::unix::ffi::OsStrExt;

    use super::*;

    #[test]
    fn a_path_that_is_no_text_has_another_one() {
        let folder = tempfile::tempdir().unwrap();
        let inside = folder.path().join(OsStr::from_bytes(b"d\xff"));
        fs::create_dir(&inside).unwrap();
        for name in [&b"m.onnx"[..], b"m\xff.onnx"] {
            let path = inside.join(OsStr::from_bytes(name));
            fs::write(&path, name).unwrap();
            let place = ModelPath::of(&path).unwrap();
            assert_eq!(fs::read(place.text()).unwrap(), name);
        }
        fs::write(inside.join("m.onnx.data"), "beside").unwrap();
        let place = ModelPath::of(&inside.join("m.onnx")).unwrap();
        assert_eq!(fs::read(format!("{}.data", place.text())).unwrap(), b"beside");
        assert_eq!(ModelPath::of(Path::new("m.onnx")).unwrap().text(), "m.onnx");
        let gone = inside.join("gone").join("m.onnx");
        assert_eq!(ModelPath::of(&gone).unwrap_err().code, Code::VERIFY_NO_EXECUTOR);
    }
}
