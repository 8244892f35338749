//! Reads and checks ONNX models.

use std::collections::BTreeMap;
use std::path::Path;

use bytes::Bytes;

use super::{StatedTypes, correct_misrecorded, validate};
use crate::diagnose::{Code, Diagnostic, Report, Severity};
use crate::ir::{Model, import};
use crate::tensor::LentMemory;

impl Model {
    /// Reads the ONNX model at `path` and checks it. Its weights stay in their files. Recorded shapes that contradict
    /// the nodes are corrected.
    ///
    /// # Errors
    /// `OP101` if it cannot be read; `OP110` for every defect that makes it unusable.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, Report> {
        Self::read_with_warnings(path.as_ref()).map(|(model, _)| model)
    }

    /// [`read`](Self::read), with a warning for each shape that was corrected.
    ///
    /// # Errors
    /// Those of [`read`](Self::read).
    pub fn read_with_warnings(path: &Path) -> Result<(Self, Vec<Diagnostic>), Report> {
        Self::checked(import::import(path)?)
    }

    /// Reads a model from memory, with warnings like [`read_with_warnings`](Self::read_with_warnings). `weights` are the
    /// bytes of initializers that state their data in these locations; they are not copied.
    ///
    /// # Errors
    /// `OP110` for every defect that makes it unusable.
    pub fn from_memory(
        message: Bytes,
        weights: BTreeMap<String, LentMemory>,
    ) -> Result<(Self, Vec<Diagnostic>), Report> {
        Self::checked(import::from_memory(message, weights)?)
    }

    /// Checks an imported model, and corrects its recorded shapes.
    fn checked(mut model: Self) -> Result<(Self, Vec<Diagnostic>), Report> {
        // An imported model breaks the rules by its own fault.
        let of_file = |finding| Diagnostic { code: Code::READ_ONNX, ..finding };
        let mut found = validate(&model, &StatedTypes::default());
        let mut corrected = Vec::new();
        if !found.is_empty() {
            corrected = correct_misrecorded(&mut model);
            found = validate(&model, &StatedTypes::default());
        }
        if found.is_empty() {
            let warned = corrected.into_iter().map(|wrong| Diagnostic {
                severity: Severity::Warning,
                ..of_file(wrong)
                    .help("the model has the shape that the node makes; report this to the model's exporter")
            });
            return Ok((model, warned.collect()));
        }
        Err(Report { diagnostics: found.into_iter().map(of_file).collect(), origins: model.origins })
    }
}
