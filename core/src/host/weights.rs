//! What a plugin has in its table `weights/1`, listed once.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use onnxport_abi::abi_stable::std_types::RStr;
use onnxport_abi::weights::{QuantiserEntry, TensorEntry, TransformEntry, WeightsTable};

/// What a plugin has to do with weights, and whether it panicked over it: it is not called again then.
#[derive(Clone)]
pub struct WeightsPlugin {
    pub(crate) table: WeightsTable,
    pub(crate) quantisers: &'static [QuantiserEntry],
    pub(crate) panicked: Arc<AtomicBool>,
}

impl WeightsPlugin {
    /// Lists what the table has. The error says what is wrong with that, behind the name of the plugin;
    /// `readable` tells texts from other bytes.
    pub(crate) fn new(table: WeightsTable, readable: fn(&RStr<'_>) -> bool) -> Result<Self, &'static str> {
        let quantisers = table.quantisers.map_or(&[][..], |list| list().as_slice());
        let tensors = table.tensors.iter().map(|entry| &entry.name);
        let transforms = table.transforms.iter().map(|entry| &entry.name);
        let texts = quantisers.iter().flat_map(|entry| [&entry.name, &entry.doc]);
        if !tensors.chain(transforms).chain(texts).all(readable) {
            return Err("lists weights in texts that are not UTF-8");
        }
        if !quantisers.is_empty() && table.quantise.is_none() {
            return Err("lists quantisers and has no function `quantise`");
        }
        Ok(Self { table, quantisers, panicked: Arc::default() })
    }

    /// The names of the tensors that it makes.
    pub fn tensors(&self) -> impl Iterator<Item = &'static str> {
        let entries: &'static [TensorEntry] = self.table.tensors.as_slice();
        entries.iter().map(|entry| entry.name.as_str())
    }

    /// The names of its transforms.
    pub fn transforms(&self) -> impl Iterator<Item = &'static str> {
        let entries: &'static [TransformEntry] = self.table.transforms.as_slice();
        entries.iter().map(|entry| entry.name.as_str())
    }

    /// Its quantisers, each with a line on what it does, which may be empty.
    pub fn quantisers(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        self.quantisers.iter().map(|entry| (entry.name.as_str(), entry.doc.as_str()))
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
