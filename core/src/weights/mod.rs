//! Weights from other sources than the program: safetensors files, checkpoints of `torch.save`, other
//! exported programs, bytes of a caller.
//!
//! [`WeightSet`] names the tensors of such sources; their bytes stay in the mapped files. [`bind`] assigns
//! them to a program's tensors by name, [`bind_model`] to those of a model that was written without
//! weights. A mismatch is reported at once, never guessed.

mod adapter;
mod checkpoint;
mod composition;
mod header;
mod index;
mod matching;
mod model;
mod names;
mod plugin;
mod program;
mod quantiser;
mod safetensors;
mod source;
mod withhold;

#[cfg(test)]
mod tests;

pub use crate::host::WeightsPlugin;
pub use composition::Composition;
pub use model::bind_model;
pub use names::NameMap;
pub(crate) use plugin::transform;
pub(crate) use program::missing_constants;
pub use program::{BindOptions, Bound, bind, missing};
pub use quantiser::{Found, QuantiserName, quantiser};
pub(crate) use safetensors::{
    dtype as safetensors_dtype, looks_like as is_safetensors, stored as safetensors_stored,
};
pub(crate) use source::is_checkpoint;
pub use withhold::withhold;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use indexmap::IndexMap;

use crate::diagnose::{Code, Diagnostic, Report};
use crate::tensor::{DType, LazyTensor};

/// A tensor and its source.
#[derive(Clone, Debug)]
struct SourcedTensor {
    tensor: LazyTensor,
    /// The file or the caller, as diagnostics call it.
    place: String,
}

/// Tensors by name.
#[derive(Clone, Debug, Default)]
pub struct WeightSet {
    given: IndexMap<String, SourcedTensor>,
    files: BTreeSet<PathBuf>,
}

impl WeightSet {
    /// The number of tensors.
    pub fn len(&self) -> usize {
        self.given.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.given.is_empty()
    }

    /// The tensor called `name`.
    pub fn get(&self, name: &str) -> Option<&LazyTensor> {
        self.given.get(name).map(|given| &given.tensor)
    }

    /// The names, in the order of the sources.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.given.keys().map(String::as_str)
    }

    /// Returns the files that were read for it, indices of shards included.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        self.files.iter().map(PathBuf::as_path)
    }

    /// Adds bytes of a caller as a dense tensor: little-endian, row-major, four-bit elements two to a byte
    /// with the first in the lower half.
    ///
    /// # Errors
    /// `OP631` if the bytes do not fit the shape, `OP636` if the name is taken.
    pub fn insert_bytes(
        &mut self,
        name: &str,
        dtype: DType,
        shape: Vec<u64>,
        bytes: impl Into<Bytes>,
    ) -> Result<(), Diagnostic> {
        let tensor = LazyTensor::inline(dtype, shape, bytes);
        let held = tensor.source.bytes().len() as u64;
        if tensor.byte_len() != Some(held) {
            let message = format!("`{name}` is given {held} bytes as {}", crate::table::type_of(&tensor));
            return Err(Diagnostic::error(Code::WEIGHTS_SOURCE, message));
        }
        self.insert(name.to_owned(), tensor, "the caller")
    }

    /// Adds a tensor from `place`.
    fn insert(&mut self, name: String, tensor: LazyTensor, place: &str) -> Result<(), Diagnostic> {
        if let Some(other) = self.given.get(&name) {
            let message = match other.place.as_str() {
                first if first == place => format!("{place} holds `{name}` twice"),
                first => format!("both {first} and {place} hold `{name}`"),
            };
            return Err(Diagnostic::error(Code::WEIGHTS_TWICE, message)
                .help("give only the files that belong to the program"));
        }
        self.given.insert(name, SourcedTensor { tensor, place: place.to_owned() });
        Ok(())
    }

    /// Adds all tensors of `other`; every name that is taken is reported.
    fn extend(&mut self, other: Self) -> Result<(), Report> {
        let mut problems = Vec::new();
        self.files.extend(other.files);
        for (name, given) in other.given {
            problems.extend(self.insert(name, given.tensor, &given.place).err());
        }
        into_result(problems)
    }
}

fn into_result(problems: Vec<Diagnostic>) -> Result<(), Report> {
    if problems.is_empty() {
        return Ok(());
    }
    Err(Report { diagnostics: problems, ..Report::default() })
}
