//! The host's side of `compare/1`: safe handles over a plugin's table.

use onnxport_abi::compare::{CompareTable, MetricsRecord, NOWHERE, PairRecord};
use onnxport_abi::executor::{Handle, OptionRecord};
use onnxport_abi::{RSlice, RStr};

use super::compare::{Difference, SCALE, Tolerance, element, unravel};
use super::executor::Call;
use crate::diagnose::{Code, Diagnostic};
use crate::host::Known;
use crate::host::{Host, Plugin, Site, cross};
use crate::tensor::DType;

/// Bytes per chunk: enough for a device to be worth it, little for memory. A multiple of every size.
const CHUNK: usize = 8 << 20;

/// An open comparer of a plugin.
pub struct Comparer {
    id: &'static str,
    table: CompareTable,
    handle: Handle,
}

impl Comparer {
    /// Opens the comparer of the plugin `id` with options such as `device` = a number.
    ///
    /// # Errors
    /// [`Code::VERIFY_COMPARER`] when there is no such plugin, or it cannot be used here.
    pub fn open(host: &Host, id: &str, options: &[(&str, &str)]) -> Result<Self, Diagnostic> {
        let comparers = || host.plugins.iter().filter(|plugin| plugin.comparer.is_some());
        let find = |plugin: &&Plugin| plugin.id == id;
        let Some((id, table)) = comparers().find(find).and_then(|p| Some((p.id, p.comparer?))) else {
            let known: Vec<&str> = comparers().map(|plugin| plugin.id).collect();
            let help = if known.is_empty() {
                "no plugin compares; without --comparer the host does".to_owned()
            } else {
                format!("there are {}", known.join(", "))
            };
            let message = format!("there is no plugin `{id}` that compares tensors");
            return Err(Diagnostic::error(Code::VERIFY_COMPARER, message).help(help));
        };
        let records: Vec<OptionRecord<'_>> = options
            .iter()
            .map(|(name, value)| OptionRecord { name: RStr::from_str(name), value: RStr::from_str(value) })
            .collect();
        let mut comparer = Self { id, table, handle: Handle::NULL };
        let mut handle = Handle::NULL;
        comparer.call("opening", |sink| (table.open)(RSlice::from_slice(&records), &mut handle, sink))?;
        comparer.handle = handle;
        Ok(comparer)
    }

    /// The name to show, `CUDA`.
    pub fn name(&self) -> &'static str {
        self.table.name.known()
    }

    fn call(
        &self,
        task: &'static str,
        call: impl FnOnce(&onnxport_abi::executor::Sink) -> u32,
    ) -> Result<(), Diagnostic> {
        let site = Site { plugin: self.id, task, subject: "" };
        let mut ignore = |_: super::Output<'_>| {};
        let mut record = Call::new(self.id, self.table.name.known(), &mut ignore);
        record.run(Code::VERIFY_COMPARER, |sink| cross(site, || call(sink)))
    }

    /// Compares tensors as [`compare`](super::compare::compare) does.
    ///
    /// # Errors
    /// What the plugin reports, or [`Code::PLUGIN_CONTRACT`] when it states what cannot be.
    pub fn compare(
        &self,
        name: &str,
        dtype: DType,
        shape: &[u64],
        got: &[u8],
        expected: &[u8],
        tolerance: Tolerance,
    ) -> Result<Difference, Diagnostic> {
        let pair = PairRecord {
            name: RStr::from_str(name),
            dtype: dtype.onnx(),
            dims: RSlice::from_slice(shape),
            rtol: tolerance.rtol,
            atol: tolerance.atol,
            scale_min: SCALE.0,
            scale_max: SCALE.1,
        };
        let table = &self.table;
        let mut comparison = Comparison { comparer: self, handle: Handle::NULL };
        let mut handle = Handle::NULL;
        self.call("comparing", |sink| (table.begin)(self.handle, &pair, &mut handle, sink))?;
        comparison.handle = handle;
        for chunk in expected.chunks(CHUNK) {
            self.call("comparing", |sink| (table.scan)(handle, RSlice::from_slice(chunk), sink))?;
        }
        for (got, expected) in got.chunks(CHUNK).zip(expected.chunks(CHUNK)) {
            let (got, expected) = (RSlice::from_slice(got), RSlice::from_slice(expected));
            self.call("comparing", |sink| (table.chunk)(handle, got, expected, sink))?;
        }
        let mut found = MetricsRecord {
            elements: 0,
            wrong: 0,
            first: NOWHERE,
            max_abs: 0.0,
            max_rel: 0.0,
            largest: 0.0,
            rms: 0.0,
            cosine: 0.0,
        };
        self.call("comparing", |sink| (table.finish)(handle, &mut found, sink))?;
        self.judge(found, dtype, shape, got, expected, tolerance)
    }

    /// What the plugin stated, if it can be.
    fn judge(
        &self,
        found: MetricsRecord,
        dtype: DType,
        shape: &[u64],
        got: &[u8],
        expected: &[u8],
        tolerance: Tolerance,
    ) -> Result<Difference, Diagnostic> {
        let size = u64::from(dtype.bits()) / 8 / if dtype.is_complex() { 2 } else { 1 };
        let elements = (expected.len() as u64).checked_div(size).unwrap_or(expected.len() as u64);
        let impossible = |what: String| {
            let message = format!("plugin `{}` {what}", self.id);
            let mut problem = Diagnostic::error(Code::PLUGIN_CONTRACT, message);
            problem.provider = Some(self.id.to_owned());
            Err(problem)
        };
        if found.elements != elements || found.wrong > elements {
            return impossible(format!(
                "compared {} elements of {elements} and found {} wrong ones",
                found.elements, found.wrong
            ));
        }
        if (found.wrong == 0) != (found.first == NOWHERE) || found.wrong > 0 && found.first >= elements {
            return impossible(format!(
                "states {} wrong elements, the first at {}",
                found.wrong, found.first
            ));
        }
        let pair = dtype.is_complex().then_some(2);
        let extents: Vec<u64> = shape.iter().copied().chain(pair).collect();
        let allowed = if tolerance == Tolerance::EXACT { tolerance } else { tolerance.scaled(found.largest) };
        let first = (found.wrong > 0).then(|| super::Wrong {
            index: unravel(found.first, &extents),
            got: element(dtype, got, found.first),
            expected: element(dtype, expected, found.first),
        });
        let MetricsRecord { elements, wrong, max_abs, max_rel, largest, rms, cosine, .. } = found;
        Ok(Difference {
            max_abs,
            max_rel,
            wrong,
            not_finite: 0,
            elements,
            largest,
            rms,
            cosine,
            first,
            allowed,
        })
    }
}

impl Drop for Comparer {
    fn drop(&mut self) {
        (self.table.close)(self.handle);
    }
}

/// A comparison that was begun.
struct Comparison<'c> {
    comparer: &'c Comparer,
    handle: Handle,
}

impl Drop for Comparison<'_> {
    fn drop(&mut self) {
        (self.comparer.table.end)(self.handle);
    }
}
