//! Which kind of file a path is.

use std::path::Path;

use crate::tensor::MappedFile;
use crate::tensor::zip_index::{Region, ZipIndex};
use crate::weights;

/// The kind of a file, judged by its name and its first bytes. Its contents are not validated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// An exported program; also the fallback for unknown files.
    Program,
    /// An ONNX model.
    Model,
    /// Weights: safetensors, an index of shards, a checkpoint, or a folder of these.
    Weights,
}

impl FileKind {
    /// Returns the kind of `path`. An unreadable path counts as a program, whose reader reports the reason.
    pub fn of(path: &Path) -> Self {
        let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
        match extension {
            "onnx" => return Self::Model,
            "json" | "safetensors" => return Self::Weights,
            _ if path.is_dir() => return Self::Weights,
            "pt2" => return Self::Program,
            _ => {}
        }
        let Ok(file) = MappedFile::open(path) else { return Self::Program };
        let is_checkpoint = if file.bytes().starts_with(b"PK") {
            ZipIndex::open(Region::whole(file.clone()), "").is_ok_and(|zip| weights::is_checkpoint(&zip))
        } else {
            matches!(extension, "pt" | "pth" | "bin" | "ckpt")
        };
        if is_checkpoint || weights::is_safetensors(file.bytes()) { Self::Weights } else { Self::Program }
    }
}
