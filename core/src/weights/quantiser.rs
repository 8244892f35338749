//! Quantisers of plugins: they choose scales, zero points and codes of weights.

use std::str::FromStr;

use onnxport_abi::executor::Sink;
use onnxport_abi::weights::{QuantiserEntry, RectangleRecord, quantiser_granule};
use onnxport_abi::{RSlice, RSliceMut, RStr};

use super::plugin::{Table, plugin_error};
use crate::diagnose::{Code, Diagnostic};
use crate::host::Host;
use crate::host::Validated;
use crate::tensor::Error;
use crate::tensor::transform::{QuantisedMut, Quantiser, QuantiserGranule, Rectangle, SharedQuantiser};

/// A quantiser of a plugin, found and not yet given a weight.
#[derive(Clone)]
pub struct Found {
    table: Table,
    index: u32,
    entry: &'static QuantiserEntry,
    granule: QuantiserGranule,
    quantise: Quantise,
}

type Quantise = extern "C" fn(
    u32,
    &RectangleRecord<'_>,
    RSliceMut<'_, f32>,
    RSliceMut<'_, i32>,
    RSliceMut<'_, i32>,
    &Sink,
) -> u32;

/// A quantiser of a plugin: `mylib/clip`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuantiserName {
    /// The id of the plugin.
    pub plugin: String,
    /// Its name in the plugin.
    pub name: String,
}

impl FromStr for QuantiserName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('/') {
            Some((plugin, name)) if !plugin.is_empty() && !name.is_empty() => {
                Ok(Self { plugin: plugin.to_owned(), name: name.to_owned() })
            }
            _ => Err(format!("{text:?} is not PLUGIN/NAME, a quantiser of a plugin")),
        }
    }
}

/// Finds the quantiser that `wanted` names.
///
/// # Errors
/// `OP662` if there is no such plugin or quantiser, `OP804` if this host is older than the plugin.
pub fn quantiser(host: &Host, wanted: &QuantiserName) -> Result<Found, Diagnostic> {
    let table = Table::for_plugin(host, &wanted.plugin)?;
    let QuantiserName { plugin, name } = wanted;
    let refuse = |message, help| {
        let mut problem = Diagnostic::error(Code::PLUGIN_VERSION, message).help(help);
        problem.provider = Some(table.plugin.to_owned());
        Err(problem)
    };
    let Some(quantise) = table.table.quantise else {
        return Err(table.lacks("quantiser", name, &[]));
    };
    let entries = table.quantisers;
    let Some((index, entry)) = (0..).zip(entries).find(|(_, entry)| entry.name.validated() == name) else {
        let known: Vec<&str> = entries.iter().map(|entry| entry.name.validated()).collect();
        return Err(table.lacks("quantiser", name, &known));
    };
    let granule = match entry.granule {
        quantiser_granule::BLOCK => QuantiserGranule::Block,
        quantiser_granule::ROW => QuantiserGranule::Row,
        other => {
            return refuse(
                format!(
                    "the quantizer `{name}` of plugin `{plugin}` needs a granule that this host does not support ({other})"
                ),
                "use a newer onnxport",
            );
        }
    };
    Ok(Found { table, index, entry, granule, quantise })
}

impl Found {
    /// The quantiser for one weight: its name, and the sizes of it as a matrix, outputs first.
    pub fn of(&self, weight: &str, [rows, columns]: [u64; 2]) -> SharedQuantiser {
        let name = format!("{}/{}", self.table.plugin, self.entry.name.validated());
        SharedQuantiser::new(Choosing { found: self.clone(), name, weight: weight.to_owned(), rows, columns })
    }
}

struct Choosing {
    found: Found,
    /// `plugin/name`.
    name: String,
    weight: String,
    rows: u64,
    columns: u64,
}

impl Quantiser for Choosing {
    fn name(&self) -> &str {
        &self.name
    }

    fn provider(&self) -> Option<&str> {
        Some(self.found.table.plugin)
    }

    fn granule(&self) -> QuantiserGranule {
        self.found.granule
    }

    fn quantise(&self, at: &Rectangle, values: &[f32], made: &mut QuantisedMut<'_>) -> Result<(), Error> {
        let QuantisedMut { scales, zeros, codes } = made;
        scales.fill(0.0);
        zeros.fill(0);
        codes.fill(0);
        let record = RectangleRecord {
            name: RStr::from_str(&self.weight),
            dtype: at.dtype.onnx(),
            bits: at.bits.count(),
            symmetric: u32::from(at.symmetric),
            block: at.block,
            rows: self.rows,
            columns: self.columns,
            first_row: at.rows.start,
            end_row: at.rows.end,
            first_column: at.columns.start,
            end_column: at.columns.end,
            values: RSlice::from_slice(values),
        };
        let Found { table, index, entry, quantise, .. } = &self.found;
        let call = |sink: &Sink| {
            let [zeros, codes] = [zeros, codes].map(|places| RSliceMut::from_mut_slice(places));
            quantise(*index, &record, RSliceMut::from_mut_slice(scales), zeros, codes, sink)
        };
        table.call(("quantising a weight", entry.name.validated()), &mut |_| {}, call).map_err(plugin_error)
    }
}
