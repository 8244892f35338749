//! The outputs of a run as a file.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use safetensors::tensor::TensorView;

use super::{Computed, Run};
use crate::diagnose::{Code, Diagnostic, Report};
use crate::weights;
use crate::write;

impl Run {
    /// Writes the outputs to a safetensors file at `path`, atomically. It never replaces one of `sources`.
    ///
    /// # Errors
    /// `OP601` if the file cannot be written, or an output is of a type that such files do not support; `OP603` if
    /// it is a source.
    pub fn save(&self, path: &Path, sources: &[PathBuf]) -> Result<(), Report> {
        let mut views: BTreeMap<&str, TensorView<'_>> = BTreeMap::new();
        for tensor in &self.tensors {
            let view = view(tensor).ok_or_else(|| {
                let message =
                    format!("safetensors files have no {}, the type of `{}`", tensor.dtype, tensor.name);
                Diagnostic::error(Code::WRITE_IO, message)
                    .help("leave out -o, or cast the output in the model")
            })?;
            views.insert(&tensor.name, view);
        }
        let bytes = safetensors::serialize(views, None)
            .map_err(|e| Diagnostic::error(Code::WRITE_IO, format!("`{}`: {e}", path.display())))?;
        write::file(path, sources, |file| file.write_all(&bytes))
    }
}

fn view(tensor: &Computed) -> Option<TensorView<'_>> {
    let dtype = weights::safetensors_stored(tensor.dtype)?;
    let shape = tensor.shape.iter().map(|d| *d as usize).collect();
    TensorView::new(dtype, shape, &tensor.bytes).ok()
}
