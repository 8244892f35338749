//! The comparer that the user chose, with the host as an optional fallback.

use std::cell::RefCell;

use super::comparer::Comparer;
use super::comparison::compare;
use super::difference::Difference;
use super::tolerance::Tolerance;
use crate::diagnose::{Code, Diagnostic, Severity};
use crate::host::Host;
use crate::tensor::DType;

/// A comparer plugin. With a fallback, the host makes the comparisons that the plugin refuses, and records the
/// reason.
pub struct Chosen {
    /// `None` if it could not be opened.
    plugin: Option<Comparer>,
    falls_back: bool,
    /// Why the host compared, each reason once.
    reasons: RefCell<Vec<Diagnostic>>,
}

impl Chosen {
    /// Opens the comparer of the plugin `id`.
    ///
    /// # Errors
    /// [`Code::VERIFY_COMPARER`] if there is no such plugin; without a fallback also if it cannot be used here.
    pub fn open(
        host: &Host,
        id: &str,
        options: &[(&str, &str)],
        falls_back: bool,
    ) -> Result<Self, Diagnostic> {
        let is_known = host.plugins.iter().any(|plugin| plugin.id == id && plugin.comparer.is_some());
        let mut chosen = Self { plugin: None, falls_back, reasons: RefCell::default() };
        match Comparer::open(host, id, options) {
            Ok(plugin) => chosen.plugin = Some(plugin),
            Err(problem) if is_known && chosen.replaces(&problem) => chosen.tell(problem),
            Err(problem) => return Err(problem),
        }
        Ok(chosen)
    }

    /// Compares tensors as [`compare`] does.
    ///
    /// # Errors
    /// The plugin's errors, unless the host compares in its place; [`Code::PLUGIN_CONTRACT`] in any case if the
    /// plugin states an impossible result.
    pub fn compare(
        &self,
        name: &str,
        dtype: DType,
        shape: &[u64],
        got: &[u8],
        expected: &[u8],
        tolerance: Tolerance,
    ) -> Result<Difference, Diagnostic> {
        if let Some(plugin) = &self.plugin {
            match plugin.compare(name, dtype, shape, got, expected, tolerance) {
                Err(problem) if self.replaces(&problem) => self.tell(problem),
                done => return done,
            }
        }
        Ok(compare(dtype, shape, got, expected, tolerance))
    }

    /// Returns the reasons why the host compared in the plugin's place, as warnings.
    pub fn reasons(self) -> Vec<Diagnostic> {
        self.reasons.into_inner()
    }

    fn replaces(&self, problem: &Diagnostic) -> bool {
        // A plugin that does not know an element type answers with the second code.
        self.falls_back && [Code::VERIFY_COMPARER, Code::VERIFY_NO_EXECUTOR].contains(&problem.code)
    }

    fn tell(&self, mut problem: Diagnostic) {
        (problem.severity, problem.code) = (Severity::Warning, Code::VERIFY_COMPARER);
        let mut reasons = self.reasons.borrow_mut();
        if !reasons.iter().any(|known| known.message == problem.message) {
            reasons.push(problem.note("onnxport compared the outputs instead"));
        }
    }
}
