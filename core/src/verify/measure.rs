//! The host's side of `measure` of `executor/1`: differences that a runtime measures where its results are.

use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};

use onnxport_abi::compare::{MetricsRecord, SpreadRecord};
use onnxport_abi::executor::Meter;
use onnxport_abi::{Malformed, RSlice, RStr};

use super::executor::Feed;
use crate::compare::{Difference, Spread, Tolerance, extents, stated, text};
use crate::diagnose::{Code, Diagnostic};

/// The receiver of the measurements of one run.
pub(super) struct Measuring<'a> {
    plugin: &'static str,
    expected: &'a [Feed<'a>],
    take: &'a mut dyn FnMut(&str, Difference),
    problem: Option<Diagnostic>,
}

/// A plugin's measurement of a result, borrowed from it.
struct ReportedMetrics<'a> {
    name: &'a str,
    metrics: &'a MetricsRecord,
    spread: Spread,
    first: &'a [u8],
}

impl<'a> Measuring<'a> {
    /// Receives `plugin`'s measurements of its results against `expected`.
    pub(super) fn new(
        plugin: &'static str,
        expected: &'a [Feed<'a>],
        take: &'a mut dyn FnMut(&str, Difference),
    ) -> Self {
        Self { plugin, expected, take, problem: None }
    }

    /// The arguments of the plugin.
    pub(super) fn meter(&mut self) -> Meter {
        Meter { receiver: std::ptr::from_mut(self).cast::<c_void>(), found: on_found }
    }

    /// Whether all that was stated can be.
    ///
    /// # Errors
    /// [`Code::PLUGIN_CONTRACT`] for impossible ones.
    pub(super) fn end(self) -> Result<(), Diagnostic> {
        self.problem.map_or(Ok(()), Err)
    }

    fn found(&mut self, stated_of: &ReportedMetrics<'_>) -> Result<(), Diagnostic> {
        let ReportedMetrics { name, metrics, spread, first } = stated_of;
        let Some(expected) = self.expected.iter().find(|expected| expected.name == *name) else {
            return Err(self.refusal(&format!("measures `{name}`, which was not requested")));
        };
        let shape: Vec<u64> = expected.dims.iter().map(|d| d.unsigned_abs()).collect();
        let texts = |at| [text(expected.dtype, first, 0), text(expected.dtype, expected.bytes, at)];
        let extents = extents(expected.dtype, &shape);
        let found = stated(self.plugin, metrics, Some(spread.clone()), &extents, Tolerance::EXACT, texts)?;
        (self.take)(name, found);
        Ok(())
    }

    fn refusal(&self, what: &str) -> Diagnostic {
        let message = format!("plugin `{}` {what}", self.plugin);
        let mut problem = Diagnostic::error(Code::PLUGIN_CONTRACT, message);
        problem.provider = Some(self.plugin.to_owned());
        problem
    }
}

/// The measurements in the records.
fn read<'a>(
    name: RStr<'a>,
    metrics: &'a MetricsRecord,
    spread: &SpreadRecord,
    lists: [RSlice<'a, u64>; 2],
    first: RSlice<'a, u8>,
) -> Result<ReportedMetrics<'a>, Malformed> {
    let SpreadRecord { mean, nan, infinite, zero, max_ulps } = *spread;
    let (ulps, decades) = (lists[0].list()?.to_vec(), lists[1].list()?.to_vec());
    let spread = Spread { mean, nan, infinite, zero, max_ulps, ulps, decades };
    Ok(ReportedMetrics { name: name.get()?, metrics, spread, first: first.get()? })
}

extern "C" fn on_found(
    receiver: *mut c_void,
    name: RStr<'_>,
    metrics: &MetricsRecord,
    spread: &SpreadRecord,
    ulps: RSlice<'_, u64>,
    decades: RSlice<'_, u64>,
    first: RSlice<'_, u8>,
) {
    // SAFETY: the meter is only alive during the call that it was made for, whose caller holds the measuring exclusively.
    let measuring = unsafe { &mut *receiver.cast::<Measuring<'_>>() };
    // Unwinding into the plugin would end the process.
    let outcome =
        catch_unwind(AssertUnwindSafe(|| match read(name, metrics, spread, [ulps, decades], first) {
            Ok(stated) => measuring.found(&stated),
            Err(malformed) => Err(measuring.refusal(&format!("measures a result with {malformed}"))),
        }));
    let told = outcome.unwrap_or_else(|_| {
        Err(Diagnostic::error(Code::INTERNAL, "taking the comparison of a result panicked"))
    });
    if let Err(problem) = told {
        measuring.problem.get_or_insert(problem);
    }
}
