//! The contents of a plugin's table `weights/1`, listed once.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use onnxport_abi::weights::{QuantiserEntry, TensorEntry, TransformEntry, WeightsTable};

use super::{Validated, listing};

/// The weight functions of a plugin, and whether one panicked: it is not called again then.
#[derive(Clone)]
pub struct WeightsPlugin {
    pub(crate) table: WeightsTable,
    pub(crate) quantisers: &'static [QuantiserEntry],
    pub(crate) panicked: Arc<AtomicBool>,
}

impl WeightsPlugin {
    /// Lists the contents of the table.
    ///
    /// # Errors
    /// The defect of the table, phrased to follow the name of the plugin.
    pub(crate) fn new(table: WeightsTable) -> Result<Self, String> {
        listing::weights(&table).map_err(|malformed| format!("lists weights with {malformed}"))?;
        let quantisers = table.quantisers.map_or(&[][..], |list| list().validated());
        if !quantisers.is_empty() && table.quantise.is_none() {
            return Err("lists quantisers and has no function `quantise`".to_owned());
        }
        Ok(Self { table, quantisers, panicked: Arc::default() })
    }

    /// Returns the names of the tensors that it provides.
    pub fn tensors(&self) -> impl Iterator<Item = &'static str> {
        let entries: &'static [TensorEntry] = self.table.tensors.validated();
        entries.iter().map(|entry| entry.name.validated())
    }

    /// The names of its transforms.
    pub fn transforms(&self) -> impl Iterator<Item = &'static str> {
        let entries: &'static [TransformEntry] = self.table.transforms.validated();
        entries.iter().map(|entry| entry.name.validated())
    }

    /// Its quantisers, each with a one-line description, which may be empty.
    pub fn quantisers(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        self.quantisers.iter().map(|entry| (entry.name.validated(), entry.doc.validated()))
    }

    /// The table.
    pub fn table(&self) -> &WeightsTable {
        &self.table
    }

    /// The same, with its panics forgotten.
    #[must_use]
    pub fn forgiven(&self) -> Self {
        Self { panicked: Arc::default(), ..self.clone() }
    }
}
