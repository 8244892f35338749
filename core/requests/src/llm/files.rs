//! The files of a checkpoint.

use std::path::Path;

use onnxport_core::diagnose::{Code, Diagnostic, Report};
use onnxport_core::write::NewFolder;

/// Files of tokenizers, chat templates and settings. Those that a checkpoint has are copied.
const COPIED: &[&str] = &[
    "added_tokens.json",
    "chat_template.jinja",
    "chat_template.json",
    "config.json",
    "config_sentence_transformers.json",
    "generation_config.json",
    "merges.txt",
    "normalizer.json",
    "preprocessor_config.json",
    "sentence_bert_config.json",
    "sentencepiece.bpe.model",
    "special_tokens_map.json",
    "spiece.model",
    "tokenizer.json",
    "tokenizer.model",
    "tokenizer_config.json",
    "vocab.json",
    "vocab.txt",
];

/// Larger files are refused.
const MAX_BYTES: u64 = 256 << 20;

/// Fails unless `checkpoint` is a folder with a configuration, which `code` may stand for, and `code` is a file.
///
/// # Errors
/// `OP650`, `OP655`.
pub(super) fn check(checkpoint: &Path, code: Option<&Path>) -> Result<(), Diagnostic> {
    if let Some(code) = code.filter(|path| !path.is_file()) {
        let message = format!("`{}` is not a file", code.display());
        return Err(
            Diagnostic::error(Code::CAPTURE_CODE, message).help("give the path of a Python file to `--code`")
        );
    }
    let at = checkpoint.display();
    let message = if !checkpoint.is_dir() {
        format!("`{at}` is not a folder")
    } else if code.is_none() && !checkpoint.join("config.json").is_file() {
        format!("`{at}` has no config.json")
    } else {
        return Ok(());
    };
    Err(Diagnostic::error(Code::CAPTURE_CHECKPOINT, message)
        .help("name a folder of transformers, as `save_pretrained` writes it"))
}

/// Returns the names and contents of the files that a server needs besides the models.
///
/// # Errors
/// `OP650` for a file that cannot be read.
pub(super) fn read(checkpoint: &Path) -> Result<Vec<(&'static str, Vec<u8>)>, Diagnostic> {
    let there = COPIED.iter().filter(|name| checkpoint.join(name).is_file());
    let read = |name: &&'static str| {
        let path = checkpoint.join(name);
        let contents = onnxport_core::files::read(&path, MAX_BYTES).map_err(|error| {
            let message = format!("`{}` cannot be read: {error}", path.display());
            Diagnostic::error(Code::CAPTURE_CHECKPOINT, message).help("download the checkpoint again")
        })?;
        Ok((*name, contents))
    };
    there.map(read).collect()
}

/// Copies what a server needs besides the model; returns the names of the files.
///
/// # Errors
/// `OP601`.
pub(super) fn copy(checkpoint: &Path, folder: &NewFolder) -> Result<Vec<String>, Report> {
    let mut copied = Vec::new();
    for name in COPIED {
        let from = checkpoint.join(name);
        if from.is_file() {
            folder.copy(&from, name)?;
            copied.push((*name).to_owned());
        }
    }
    Ok(copied)
}
