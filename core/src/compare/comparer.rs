//! The host's side of `compare/1`: safe handles over a plugin's table.

use onnxport_abi::compare::{CompareTable, MetricsRecord, NOWHERE, PairRecord, SpreadRecord};
use onnxport_abi::executor::{Handle, OptionRecord};
use onnxport_abi::{RSlice, RSliceMut, RStr, status};

use super::comparison::{extents, unravel};
use super::difference::{DECADES, Difference, Spread, ULPS, Wrong};
use super::element::text;
use super::tolerance::{SCALE, Tolerance};
use crate::diagnose::{Code, Diagnostic};
use crate::host::{Call, Host, Output, Plugin, Site, Validated, cross};
use crate::tensor::DType;

/// Bytes per chunk: enough for a device to be worth it, little for memory. A multiple of every size, and of
/// three bytes for types with less than a byte.
const CHUNK: usize = 6 << 20;

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
    /// [`Code::VERIFY_COMPARER`] if there is no such plugin, or it cannot be used here.
    pub fn open(host: &Host, id: &str, options: &[(&str, &str)]) -> Result<Self, Diagnostic> {
        let comparers = || host.plugins.iter().filter(|plugin| plugin.comparer.is_some());
        let find = |plugin: &&Plugin| plugin.id == id;
        let Some((id, table)) = comparers().find(find).and_then(|p| Some((p.id, p.comparer?))) else {
            let known: Vec<&str> = comparers().map(|plugin| plugin.id).collect();
            let is_absent = host.absent.iter().any(|absent| absent.id == id);
            let help = if known.is_empty() && !is_absent {
                "no plugin compares; without --comparer the host does".to_owned()
            } else {
                host.instead_of(id, &known)
            };
            let message = format!("no plugin `{id}` compares tensors");
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
        self.table.name.validated()
    }

    fn call(
        &self,
        task: &'static str,
        call: impl FnOnce(&onnxport_abi::executor::Sink) -> u32,
    ) -> Result<(), Diagnostic> {
        let site = Site { plugin: self.id, task, subject: "" };
        let mut ignore = |_: Output<'_>| {};
        let mut record = Call::new(self.id, self.table.name.validated(), &mut ignore);
        record.run(Code::VERIFY_COMPARER, |sink| cross(site, || call(sink)))
    }

    /// Compares tensors as [`compare`](super::compare) does.
    ///
    /// # Errors
    /// The plugin's errors, or [`Code::PLUGIN_CONTRACT`] if it states an impossible result.
    pub fn compare(
        &self,
        name: &str,
        dtype: DType,
        shape: &[u64],
        got: &[u8],
        expected: &[u8],
        tolerance: Tolerance,
    ) -> Result<Difference, Diagnostic> {
        let comparison = self.begin(name, dtype, shape, tolerance)?;
        for chunk in expected.chunks(CHUNK) {
            comparison.scan(chunk)?;
        }
        for (got, expected) in got.chunks(CHUNK).zip(expected.chunks(CHUNK)) {
            comparison.chunk(got, expected)?;
        }
        comparison.finish(|position| [got, expected].map(|bytes| text(dtype, bytes, position)))
    }

    /// Begins a comparison of tensors that arrive in chunks, as in [`Comparison`](super::Comparison).
    ///
    /// # Errors
    /// The plugin's errors.
    pub fn begin(
        &self,
        name: &str,
        dtype: DType,
        shape: &[u64],
        tolerance: Tolerance,
    ) -> Result<Begun<'_>, Diagnostic> {
        let pair = PairRecord {
            name: RStr::from_str(name),
            dtype: dtype.onnx(),
            dims: RSlice::from_slice(shape),
            rtol: tolerance.rtol,
            atol: tolerance.atol,
            scale_min: SCALE.0,
            scale_max: SCALE.1,
        };
        let mut begun =
            Begun { comparer: self, handle: Handle::NULL, extents: extents(dtype, shape), tolerance };
        let mut handle = Handle::NULL;
        self.call("comparing", |sink| (self.table.begin)(self.handle, &pair, &mut handle, sink))?;
        begun.handle = handle;
        Ok(begun)
    }
}

impl Drop for Comparer {
    fn drop(&mut self) {
        (self.table.close)(self.handle);
    }
}

/// An ongoing comparison by a plugin.
pub struct Begun<'c> {
    comparer: &'c Comparer,
    handle: Handle,
    extents: Vec<u64>,
    tolerance: Tolerance,
}

impl Begun<'_> {
    /// Scans the next elements of the expected tensor; all of them come before the first [`Begun::chunk`].
    ///
    /// # Errors
    /// The plugin's errors.
    pub fn scan(&self, expected: &[u8]) -> Result<(), Diagnostic> {
        let scan = self.comparer.table.scan;
        self.comparer.call("comparing", |sink| scan(self.handle, RSlice::from_slice(expected), sink))
    }

    /// Compares the next elements: whole elements, and the same number from both tensors.
    ///
    /// # Errors
    /// The plugin's errors.
    pub fn chunk(&self, got: &[u8], expected: &[u8]) -> Result<(), Diagnostic> {
        let chunk = self.comparer.table.chunk;
        let (got, expected) = (RSlice::from_slice(got), RSlice::from_slice(expected));
        self.comparer.call("comparing", |sink| chunk(self.handle, got, expected, sink))
    }

    /// Returns the result; `texts` formats the elements at a position, got and expected.
    ///
    /// # Errors
    /// The plugin's errors, or [`Code::PLUGIN_CONTRACT`] if it states an impossible result.
    pub fn finish(self, texts: impl FnOnce(u64) -> [String; 2]) -> Result<Difference, Diagnostic> {
        let Self { comparer, handle, .. } = self;
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
        comparer.call("comparing", |sink| (comparer.table.finish)(handle, &mut found, sink))?;
        let spread = self.spread()?;
        stated(comparer.id, &found, spread, &self.extents, self.tolerance, texts)
    }

    /// Returns the distribution of the differences, if the plugin states it.
    fn spread(&self) -> Result<Option<Spread>, Diagnostic> {
        let Some(spread) = self.comparer.table.spread else { return Ok(None) };
        let (mut ulps, mut decades) = (vec![0; ULPS], vec![0; DECADES]);
        let mut found = SpreadRecord { mean: 0.0, nan: 0, infinite: 0, zero: 0, max_ulps: 0 };
        let mut lacking = false;
        let told = self.comparer.call("comparing", |sink| {
            let (ulps, decades) =
                (RSliceMut::from_mut_slice(&mut ulps), RSliceMut::from_mut_slice(&mut decades));
            let answer = spread(self.handle, &mut found, ulps, decades, sink);
            lacking = answer == status::UNSUPPORTED;
            answer
        });
        if lacking {
            return Ok(None);
        }
        told?;
        let SpreadRecord { mean, nan, infinite, zero, max_ulps } = found;
        Ok(Some(Spread { mean, nan, infinite, zero, max_ulps, ulps, decades }))
    }
}

impl Drop for Begun<'_> {
    fn drop(&mut self) {
        (self.comparer.table.end)(self.handle);
    }
}

/// Returns the difference that the plugin `id` states for tensors of these sizes; `texts` formats the elements at a
/// position.
///
/// # Errors
/// [`Code::PLUGIN_CONTRACT`] if the plugin states an impossible result.
pub(crate) fn stated(
    id: &str,
    found: &MetricsRecord,
    spread: Option<Spread>,
    extents: &[u64],
    tolerance: Tolerance,
    texts: impl FnOnce(u64) -> [String; 2],
) -> Result<Difference, Diagnostic> {
    let elements = extents.iter().fold(1, |count: u64, extent| count.saturating_mul(*extent));
    if let Some(what) = impossible(found, spread.as_ref(), elements) {
        let message = format!("plugin `{id}` {what}");
        let mut problem = Diagnostic::error(Code::PLUGIN_CONTRACT, message);
        problem.provider = Some(id.to_owned());
        return Err(problem);
    }
    let allowed = tolerance.scaled(found.largest);
    let first = (found.wrong > 0).then(|| {
        let [got, expected] = texts(found.first);
        Wrong { index: unravel(found.first, extents), got, expected }
    });
    let MetricsRecord { elements, wrong, max_abs, max_rel, largest, rms, cosine, .. } = *found;
    let not_finite = spread.as_ref().map_or(0, |spread| spread.nan + spread.infinite);
    Ok(Difference {
        max_abs,
        max_rel,
        wrong,
        not_finite,
        elements,
        largest,
        rms,
        cosine,
        first,
        spread,
        allowed,
    })
}

/// Returns the contradiction in a plugin's result, if there is one.
fn impossible(found: &MetricsRecord, spread: Option<&Spread>, elements: u64) -> Option<String> {
    let MetricsRecord { wrong, first, max_abs, max_rel, largest, rms, cosine, .. } = *found;
    if found.elements != elements || wrong > elements {
        let compared = found.elements;
        return Some(format!("compared {compared} elements of {elements} and found {wrong} wrong ones"));
    }
    if (wrong == 0) != (first == NOWHERE) || wrong > 0 && first >= elements {
        return Some(format!("states {wrong} wrong elements, the first at {first}"));
    }
    // A NaN is not in a range.
    let measures = [max_abs, max_rel, largest, rms].into_iter().chain(spread.map(|spread| spread.mean));
    if let Some(odd) = measures.into_iter().find(|number| !(0.0..=f64::INFINITY).contains(number)) {
        return Some(format!("states a difference of {odd}"));
    }
    if !(-1.000_000_1..=1.000_000_1).contains(&cosine) {
        return Some(format!("states a cosine of {cosine}"));
    }
    let spread = spread?;
    let apart = spread.nan.checked_add(spread.infinite).filter(|apart| *apart <= wrong);
    let total = |buckets: &[u64]| buckets.iter().try_fold(0_u64, |sum, count| sum.checked_add(*count));
    let counted = apart.map(|apart| elements - apart);
    let whole = [&spread.ulps, &spread.decades].into_iter().all(|buckets| total(buckets) == counted);
    (counted.is_none() || !whole || spread.zero > elements).then(|| {
        let Spread { nan, infinite, .. } = spread;
        format!(
            "spreads {elements} elements, {nan} of them NaN and {infinite} infinite, so that some are lost"
        )
    })
}
