//! Where the bytes of tensors are, how they are viewed and transformed, and which tensors share them.

mod entries;
mod grouped;
mod lazy;
mod model;
mod sharing;
mod summary;

#[cfg(test)]
mod tests;

use std::path::Path;

pub use grouped::{grouped, type_of, type_text};
pub use lazy::Drafts;
pub use summary::shown;
pub use summary::{
    DestinationSummary, PartSummary, ProblemSummary, SharedStorage, SourceSummary, TensorKind, TensorSummary,
    ViewSummary,
};

use schemars::JsonSchema;
use serde::Serialize;

use crate::diagnose::{Code, Diagnostic, Report};
use crate::onnx::OnnxFile;

/// So many tensors are named in one diagnostic.
const NAMED: usize = 20;

/// The tensors of a file, of several, or of a model that is to be written. No weight is read for it.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize)]
pub struct WeightTable {
    /// The tensors, in the order of their source.
    pub tensors: Vec<TensorSummary>,
    /// The storages that several of them show.
    pub shared: Vec<SharedStorage>,
    /// The bytes of all tensors, each by itself.
    pub bytes: u64,
    /// The bytes of all different ones: what a copy of each takes, tensors that show the same elements
    /// counted once. Views that overlap without being the same count each.
    pub distinct_bytes: u64,
    /// The bytes that are not needed twice: [`bytes`](Self::bytes) without
    /// [`distinct_bytes`](Self::distinct_bytes).
    pub saved_bytes: u64,
}

impl WeightTable {
    /// Reads the initializers of the model at `path`, including those of nested graphs. A problem with one of them
    /// is recorded in its [`problem`](TensorSummary::problem): see [`WeightTable::check`].
    ///
    /// # Errors
    /// `OP101` and `OP110` for a file that is not readable or not a model.
    pub fn read_model(path: &Path) -> Result<Self, Diagnostic> {
        Ok(Self::from(&OnnxFile::declarations(path)?))
    }

    /// Fails if the bytes of a tensor are unavailable: they lie outside of the model's folder or beyond the end of
    /// a file, or the file is missing. Unbound weights are not an error.
    ///
    /// # Errors
    /// `OP106` and `OP110`, each with the names of its tensors.
    pub fn check(&self) -> Result<(), Report> {
        let mut by_code: Vec<(&str, Vec<String>)> = Vec::new();
        for tensor in &self.tensors {
            let Some(problem) = &tensor.problem else { continue };
            let line = format!("`{}` {}", tensor.name, problem.message);
            match by_code.iter_mut().find(|(code, _)| *code == problem.code) {
                Some((_, lines)) => lines.push(line),
                None => by_code.push((&problem.code, vec![line])),
            }
        }
        let diagnostics = by_code.into_iter().map(|(code, mut lines)| {
            let count = lines.len();
            let what = if count == 1 { "tensor" } else { "tensors" };
            lines.truncate(NAMED);
            if count > NAMED {
                lines.push(format!("and {} more", count - NAMED));
            }
            let code = if code == Code::READ_ONNX.as_str() { Code::READ_ONNX } else { Code::READ_PAYLOAD };
            let message = format!("the bytes of {count} {what} cannot be had");
            Diagnostic { notes: lines, ..Diagnostic::error(code, message) }
        });
        let diagnostics: Vec<Diagnostic> = diagnostics.collect();
        if diagnostics.is_empty() { Ok(()) } else { Err(Report { diagnostics, ..Report::default() }) }
    }
}

impl From<&OnnxFile> for WeightTable {
    /// The initializers of a model, including those of nested graphs; the same as of [`WeightTable::read_model`].
    fn from(file: &OnnxFile) -> Self {
        model::table(file)
    }
}
