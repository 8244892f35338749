//! Values that were recorded while PyTorch ran the program.
//!
//! A safetensors file of the format `onnxport-intermediates/1`, which the Python package writes. A tensor `NAME` is the
//! result of the exported node of this name, complex ones as pairs of reals in a last axis; `input/NAME` is an input,
//! and the metadata `inputs` is a JSON list of their names in order.

use std::path::{Path, PathBuf};

use bytes::Bytes;
use safetensors::SafeTensors;

use crate::diagnose::{Code, Diagnostic, Report};
use crate::run::Computed;
use crate::tensor::{LazyTensor, MappedFile};
use crate::weights::WeightSet;

/// The value of the metadata `format` of a recording.
const FORMAT: &str = "onnxport-intermediates/1";

/// The prefix of inputs' names.
const INPUT: &str = "input/";

/// Recorded values, which stay in their file until they are requested.
#[derive(Debug)]
pub struct Recorded {
    path: PathBuf,
    values: WeightSet,
    /// The names of the inputs, in the program's order.
    inputs: Vec<String>,
}

impl Recorded {
    /// Returns the path of the recording of the archive at `path`.
    pub fn beside(path: &Path) -> PathBuf {
        path.with_extension("intermediates.safetensors")
    }

    /// Returns the archive beside the recording at `path`.
    pub fn archive(path: &Path) -> Option<PathBuf> {
        let stem = path.file_name()?.to_str()?.strip_suffix(".intermediates.safetensors")?;
        Some(path.with_file_name(format!("{stem}.pt2"))).filter(|path| path.is_file())
    }

    /// Opens a recording.
    ///
    /// # Errors
    /// `OP704` if it is not a recording, and errors of reading it.
    pub fn open(path: &Path) -> Result<Self, Report> {
        let file = MappedFile::open(path)
            .map_err(|e| Diagnostic::error(Code::READ_IO, format!("cannot read {}: {e}", path.display())))?;
        let header = SafeTensors::read_metadata(file.bytes());
        let metadata = header.ok().and_then(|(_, header)| header.metadata().clone()).unwrap_or_default();
        if metadata.get("format").is_none_or(|format| format != FORMAT) {
            let message = format!("{} has no recorded intermediate values", path.display());
            return Err(Diagnostic::error(Code::VERIFY_EXPECTED, message)
                .help("`onnxport.save(program, path, intermediates=True)` of the Python package records them")
                .into());
        }
        let inputs = metadata.get("inputs").map_or("[]", String::as_str);
        let inputs: Vec<String> = serde_json::from_str(inputs).map_err(|e| {
            let message = format!("the inputs in {} cannot be read: {e}", path.display());
            Diagnostic::error(Code::VERIFY_EXPECTED, message)
        })?;
        let values = WeightSet::open(&[path.to_owned()], None)?;
        Ok(Self { path: path.to_owned(), values, inputs })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether the value is there.
    pub fn has(&self, name: &str) -> bool {
        self.values.get(name).is_some()
    }

    /// The inputs of the recorded call in the program's order, by its names.
    pub fn inputs(&self) -> Vec<(String, LazyTensor)> {
        let input = |name: &String| Some((name.clone(), self.values.get(&format!("{INPUT}{name}"))?.clone()));
        self.inputs.iter().filter_map(input).collect()
    }

    /// Returns the value of this name.
    ///
    /// # Errors
    /// `OP704` if the file has changed.
    pub fn value(&self, name: &str) -> Result<Option<Computed>, Diagnostic> {
        let Some(tensor) = self.values.get(name) else { return Ok(None) };
        let bytes = tensor.read().ok_or_else(|| {
            let message = format!("`{name}` of {} cannot be read", self.path.display());
            Diagnostic::error(Code::VERIFY_EXPECTED, message)
        })?;
        Ok(Some(Computed {
            name: name.to_owned(),
            dtype: tensor.dtype,
            shape: tensor.shape.clone(),
            bytes: Bytes::from(bytes.into_owned()),
        }))
    }
}
