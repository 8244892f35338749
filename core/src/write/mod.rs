//! Writing a model: an ONNX file, with its weights inside or in a data file beside it.
//!
//! Weights are streamed from where they are, in chunks or by the kernel; none is held in memory.
//! Files are written under temporary names, flushed to disk and renamed, the data before the model.

mod encode;
mod metadata;
mod names;
mod plan;
mod publish;
mod stream;
mod value_info;

#[cfg(test)]
mod tests;

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use crate::diagnose::Report;
use crate::ir::Model;
use crate::tensor::MappedFile;

pub use metadata::STATE_KEY;

/// Under [`ExternalData::Auto`], a model whose weights take at most this many bytes is one file.
///
/// A protobuf message ends at 2 GiB and is read into memory as a whole, so that larger weights are
/// better off in a file that runtimes map.
pub const AUTO_INLINE_BYTES: u64 = 64 << 20;

/// Tensors under this many bytes stay in the model even when the weights go to a data file.
pub const SMALL_TENSOR_BYTES: u64 = 1 << 10;

/// Where weights go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ExternalData {
    /// Into the model up to [`AUTO_INLINE_BYTES`] in all, else into a data file.
    #[default]
    Auto,
    /// Into the model.
    Inline,
    /// Into a data file, tensors under [`SMALL_TENSOR_BYTES`] excepted.
    External,
}

impl FromStr for ExternalData {
    type Err = ();
    fn from_str(s: &str) -> Result<Self, ()> {
        match s {
            "auto" => Ok(Self::Auto),
            "inline" => Ok(Self::Inline),
            "external" => Ok(Self::External),
            _ => Err(()),
        }
    }
}

/// Called with the bytes written so far and the bytes in all.
pub type Progress = Arc<dyn Fn(u64, u64) + Send + Sync>;

/// How a model is written.
#[expect(clippy::struct_excessive_bools, reason = "independent switches")]
#[derive(Clone)]
pub struct WriteOptions {
    /// Where weights go.
    pub external_data: ExternalData,
    /// Record on every node the module that it comes from, as `namespace`.
    pub module_paths: bool,
    /// Record on every node the exported node that it comes from, as `onnxport.node`.
    pub exported_nodes: bool,
    /// Record on every node the line of the user's code, as `onnxport.source`.
    pub source_lines: bool,
    /// Record the types of intermediate values.
    pub value_info: bool,
    /// The file of the program, which is never overwritten.
    pub program: Option<MappedFile>,
    /// Told how far writing has come.
    pub progress: Option<Progress>,
}

impl Default for WriteOptions {
    fn default() -> Self {
        Self {
            external_data: ExternalData::Auto,
            module_paths: true,
            exported_nodes: true,
            source_lines: false,
            value_info: true,
            program: None,
            progress: None,
        }
    }
}

impl fmt::Debug for WriteOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WriteOptions").field("external_data", &self.external_data).finish_non_exhaustive()
    }
}

/// What was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteReport {
    /// The model.
    pub model: PathBuf,
    /// Its size in bytes.
    pub model_bytes: u64,
    /// The data file, if there is one.
    pub data: Option<PathBuf>,
    /// Its size in bytes.
    pub data_bytes: u64,
    /// The number of initializers.
    pub tensors: usize,
    /// Of them, those that share the stored bytes of another one.
    pub tied: usize,
}

/// Writes `model` to `path`, and its data file, if it has one, to `path` with `.data` appended.
///
/// # Errors
/// `OP601` when a file cannot be written, `OP602` when the model does not fit a protobuf message,
/// `OP603` when an output is the program's file or one that the weights come from. After an error neither file was
/// touched, unless renaming the model itself failed.
pub fn write(model: &Model, path: &Path, options: &WriteOptions) -> Result<WriteReport, Report> {
    let names = names::Names::of(model);
    let weights = plan::weights(model, &names);
    let plan = plan::Plan::of(&weights, options.external_data)?;
    let target = publish::Target::new(path, plan.data_bytes > 0);
    target.refuse_others()?;
    target.refuse_sources(options.program.as_ref(), &weights)?;
    let message = encode::Encoder::new(model, options).model(&names, &weights, &plan, &target.data_name());
    let model_bytes = message.len()?;
    let meter = stream::Meter::new(model_bytes + plan.data_bytes, options.progress.clone());
    target.publish(&message, &weights, &plan, &meter)?;
    Ok(WriteReport {
        model: target.model.clone(),
        model_bytes,
        data: target.data.clone(),
        data_bytes: plan.data_bytes,
        tensors: weights.len(),
        tied: plan.tied,
    })
}
