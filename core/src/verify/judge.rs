//! Judges the outputs of a call.

use rustc_hash::FxHashMap;

use super::bind::{Bound, signed};
use super::executor::Output;
use super::expected::Case;
use super::floor::Floor;
use super::nature::{Nature, remarks};
use super::report::{OutputReport, TensorReport};
use super::run::Options;
use super::selections::Selection;
use super::ties;
use super::values::numbers;
use super::written::Written;
use super::{Extent, Signature};
use crate::compare::{Difference, Tolerance, compare};
use crate::sym::{SymId, Symbols};
use crate::tensor::{DType, Kind, LazyTensor};

/// An expected value and its noise.
type Wanted<'a> = (&'a LazyTensor, Option<Floor>);

/// An output whose integers differ from the expected ones.
struct Doubtful<'a> {
    /// The position of the output in the model.
    place: usize,
    got: Vec<u8>,
    /// The keys of the program's output, if it holds indices.
    selection: Option<&'a Selection>,
}

/// Checks the outputs of one call, in the order in which they arrive.
pub(super) struct Judge<'a> {
    signature: &'a Signature,
    case: &'a Case,
    options: &'a Options<'a>,
    written: &'a Written<'a>,
    symbols: Symbols,
    sizes: FxHashMap<SymId, i64>,
    /// User outputs seen so far.
    position: usize,
    /// Integers that differ, which may be indices of equal elements.
    doubtful: Vec<Doubtful<'a>>,
    /// The expectation for each output.
    wanted: Vec<Option<&'a LazyTensor>>,
    pub(super) outputs: Vec<OutputReport>,
    /// Whether the model's own check refuses the sizes.
    refused: bool,
}

impl<'a> Judge<'a> {
    pub(super) fn new(
        signature: &'a Signature,
        case: &'a Case,
        inputs: &[Bound<'_>],
        options: &'a Options<'a>,
        written: &'a Written<'a>,
    ) -> Self {
        let mut symbols = Symbols::default();
        let mut sizes = FxHashMap::default();
        for input in inputs {
            for (extent, size) in input.port.dims.iter().flatten().zip(&input.tensor.shape) {
                if let Extent::Named(text) = extent
                    && let Ok(dim) = symbols.parse(text)
                    && let Some(symbol) = symbols.as_symbol(dim)
                {
                    sizes.entry(symbol).or_insert(*size as i64);
                }
            }
        }
        Self {
            signature,
            case,
            options,
            written,
            symbols,
            sizes,
            position: 0,
            doubtful: Vec::new(),
            wanted: Vec::new(),
            outputs: Vec::new(),
            refused: false,
        }
    }

    /// Why the sizes are not ones of the model, by its own check.
    pub(super) fn refused(&self) -> Option<String> {
        let guard = self.signature.guard.as_ref().filter(|_| self.refused)?;
        Some(format!("`{}` is false: the model states that it does not take these sizes", guard.output))
    }

    pub(super) fn output(&mut self, output: &Output<'_>) {
        if self.signature.is_guard(output.name) {
            self.refused = output.bytes != [1];
            return;
        }
        let state = self.signature.state_of(output.name).map(|s| s.name.clone());
        let expected = self.expected(state.as_deref());
        let got = output.dtype.map_or_else(Nature::default, |dtype| Nature::of(dtype, output.bytes));
        let mut entry = OutputReport {
            tensor: report(output.name, &output.dtype.map_or("unknown", |d| d.as_str()), output.dims),
            problem: None,
            difference: None,
            codes: None,
            floor: None,
            got,
            wanted: None,
            remarks: Vec::new(),
            state,
        };
        self.wanted.push(expected.as_ref().ok().and_then(|wanted| wanted.map(|(expected, _)| expected)));
        match expected {
            Ok(Some((expected, floor))) => {
                self.compare(output, expected, floor, &mut entry);
                let differs = entry.problem.is_some() && entry.difference.is_some();
                if differs && expected.dtype.kind() == Kind::Int {
                    let selection = if entry.state.is_none() { self.selection() } else { None };
                    let (place, got) = (self.outputs.len(), output.bytes.to_vec());
                    self.doubtful.push(Doubtful { place, got, selection });
                }
            }
            Ok(None) => {}
            Err(problem) => entry.problem = Some(problem),
        }
        entry.remarks = remarks(&entry.got, entry.wanted.as_ref());
        if entry.problem.is_none() {
            entry.problem = self.undeclared(output.name, output.dtype, output.dims);
        }
        self.outputs.push(entry);
    }

    /// The expected value of the next output, if the case has values, and its noise, if that is known.
    fn expected(&mut self, state: Option<&str>) -> Result<Option<Wanted<'a>>, String> {
        let Some(expected) = &self.case.expected else { return Ok(None) };
        let floors = expected.floors.as_ref();
        if let Some(name) = state {
            let found = expected.states.iter().find(|(known, _)| known == name).map(|(_, t)| t);
            let found = found.ok_or(format!("no expected value was recorded for the state {name}"))?;
            let floor = floors.and_then(|all| all.states.iter().find(|(known, _)| known == name)?.1);
            return Ok(Some((found, floor)));
        }
        let place = self.position;
        self.position += 1;
        let found = expected.outputs.get(place).ok_or("the program has no such output")?;
        Ok(Some((found, floors.and_then(|all| *all.outputs.get(place)?))))
    }

    /// The keys of the program's output that was seen last.
    fn selection(&self) -> Option<&'a Selection> {
        let output = self.position.checked_sub(1)?;
        self.case.expected.as_ref()?.selections.iter().find(|selection| selection.output == output)
    }

    fn compare(
        &self,
        output: &Output<'_>,
        expected: &LazyTensor,
        floor: Option<Floor>,
        entry: &mut OutputReport,
    ) {
        if output.dtype != Some(expected.dtype) {
            entry.problem = Some(format!("element type {}, expected {}", entry.tensor.dtype, expected.dtype));
            return;
        }
        if signed(&expected.shape).as_deref() != Some(output.dims) {
            entry.problem = Some(format!("shape {:?}, expected {:?}", output.dims, expected.shape));
            return;
        }
        if self.case.is_random() {
            return;
        }
        let Some(bytes) = expected.read().filter(|bytes| bytes.len() == output.bytes.len()) else {
            entry.problem = Some(format!("{} bytes do not fit the shape", output.bytes.len()));
            return;
        };
        entry.wanted = Some(Nature::of(expected.dtype, &bytes));
        if self.options.auto {
            entry.floor = floor;
        }
        let tolerance = self.tolerance(expected, entry.floor);
        let (dtype, shape) = (expected.dtype, &expected.shape);
        let held = |tolerance: Tolerance| match self.options.comparer {
            None => Ok(compare(dtype, shape, output.bytes, &bytes, tolerance)),
            Some(plugin) => plugin.compare(output.name, dtype, shape, output.bytes, &bytes, tolerance),
        };
        let found =
            held(tolerance).and_then(|found| match self.wider(output.name, &found, tolerance, entry.floor) {
                Some(wider) => held(wider),
                None => Ok(found),
            });
        let found = found.and_then(|found| match floor.filter(|_| found.wrong > 0 && self.is_default()) {
            Some(floor) => {
                let explained = held(floor.explained(dtype, found.largest))?;
                let is_explained = explained.wrong == 0;
                entry.floor = is_explained.then_some(floor);
                Ok(if is_explained { explained } else { found })
            }
            None => Ok(found),
        });
        let found = match found {
            Ok(found) => found,
            Err(problem) => {
                entry.problem = Some(format!("was not compared: {}", problem.message));
                return;
            }
        };
        if found.wrong > 0 && !self.options.measure {
            entry.codes = self.neighbours(output.name, &found);
        }
        let judged = !self.options.measure && entry.codes.is_none();
        if let Some(first) = found.first.as_ref().filter(|_| judged) {
            entry.problem = Some(format!(
                "{} of {} elements differ; first at {:?}: {}, expected {}; max abs {:.3e}, max rel {:.3e}",
                found.wrong,
                found.elements,
                first.index,
                first.got,
                first.expected,
                found.max_abs,
                found.max_rel
            ));
        }
        entry.difference = Some(found);
    }

    /// How far an output may be from the expected value.
    fn tolerance(&self, expected: &LazyTensor, floor: Option<Floor>) -> Tolerance {
        let default = Tolerance::of(expected.dtype);
        if default == Tolerance::EXACT {
            return default;
        }
        if let Some(floor) = floor {
            let largest = numbers(expected).unwrap_or_default().into_iter().filter(|x| x.is_finite());
            return floor.tolerance(largest.fold(0.0, |largest, x| x.abs().max(largest)));
        }
        let Options { rtol, atol, .. } = self.options;
        Tolerance { rtol: rtol.unwrap_or(default.rtol), atol: atol.unwrap_or(default.atol) }
    }

    /// Whether the tolerance follows from element types.
    fn is_default(&self) -> bool {
        let Options { rtol, atol, auto, .. } = self.options;
        !auto && rtol.is_none() && atol.is_none()
    }

    /// The tolerance of a narrower type that the output `name` was rounded to on its way, if it differs by the tolerance of
    /// its own type. A stated tolerance, and a measured noise, hold as they are.
    fn wider(
        &self,
        name: &str,
        found: &Difference,
        tolerance: Tolerance,
        floor: Option<Floor>,
    ) -> Option<Tolerance> {
        let Options { rtol, atol, .. } = self.options;
        if found.wrong == 0 || floor.is_some() || rtol.is_some() || atol.is_some() {
            return None;
        }
        let wider = tolerance.or_wider(Tolerance::of(self.written.narrowest(name)?));
        (wider != tolerance).then_some(wider)
    }

    /// The distance of neighbouring codes, if no result is further than that from the expected one. Who states a
    /// tolerance, or compares by a plugin, wants nothing else.
    fn neighbours(&self, name: &str, found: &Difference) -> Option<f64> {
        let Options { rtol, atol, comparer, .. } = self.options;
        if rtol.is_some() || atol.is_some() || comparer.is_some() || found.not_finite > 0 {
            return None;
        }
        let step = self.written.step(name)?;
        let rounding = found.allowed.atol + found.allowed.rtol * found.largest;
        (found.max_abs <= step + rounding).then_some(step)
    }

    /// The contradiction of the model's own declaration of the output.
    fn undeclared(&mut self, name: &str, dtype: Option<DType>, shape: &[i64]) -> Option<String> {
        let port = self.signature.outputs.iter().find(|port| port.name == name)?;
        if port.dtype.is_some() && port.dtype != dtype {
            return Some(format!("the model declares another element type, {}", port.dtype?));
        }
        let dims = port.dims.as_ref()?;
        let fits = dims.len() == shape.len()
            && dims.iter().zip(shape).all(|(extent, size)| self.fits(extent, *size));
        (!fits).then(|| {
            let declared: Vec<String> = dims.iter().map(ToString::to_string).collect();
            format!("shape {shape:?} does not fit the declared [{}]", declared.join(", "))
        })
    }

    fn fits(&mut self, extent: &Extent, size: i64) -> bool {
        match extent {
            Extent::Known(n) => *n == size,
            Extent::Unknown => true,
            Extent::Named(text) => {
                let Ok(dim) = self.symbols.parse(text) else { return true };
                let sizes = &self.sizes;
                self.symbols.eval(dim, &|id| sizes.get(&id).copied()).is_none_or(|n| n == size)
            }
        }
    }

    /// Accepts indices that differ among equal elements only, once all outputs are here.
    pub(super) fn accept_ties(&mut self) {
        for doubtful in std::mem::take(&mut self.doubtful) {
            let wanted = self.wanted.get(doubtful.place).copied().flatten();
            let Some((indices, entry)) = wanted.zip(self.outputs.get(doubtful.place)) else { continue };
            let apart = if self.selects_equal_keys(&doubtful, indices, &entry.tensor.name) {
                0.0
            } else if let Some(selection) = doubtful.selection
                && let allowed = selection.allowed(self.options.rtol)
                && let Some(apart) = selection.accepts(indices, &doubtful.got, allowed)
            {
                apart
            } else {
                continue;
            };
            let TensorReport { name, shape, .. } = entry.tensor.clone();
            let problem = self.undeclared(&name, Some(indices.dtype), &shape);
            if let Some(entry) = self.outputs.get_mut(doubtful.place) {
                entry.problem = problem;
                let count = entry.difference.as_ref().map_or(0, |found| found.wrong);
                let equal = match apart {
                    0.0 => "equal elements".to_owned(),
                    apart => {
                        format!("elements that are equal but for rounding (relative difference {apart:.1e})")
                    }
                };
                let all = entry.got.elements;
                entry.remarks.push(format!(
                    "{count} of {all} indices differ from the expected ones, and select {equal}"
                ));
            }
        }
    }

    /// Whether the program returns the values of the sort whose indices the output `name` has, and the indices select them.
    fn selects_equal_keys(&self, doubtful: &Doubtful<'_>, indices: &LazyTensor, name: &str) -> bool {
        let Some((values, axis)) = self.written.sorted(name) else { return false };
        let beside = self.outputs.iter().position(|output| output.tensor.name == values);
        let values = beside.and_then(|place| self.wanted.get(place).copied().flatten());
        let equal = |values| ties::select_equal_keys(values, indices, &doubtful.got, axis);
        values.and_then(equal) == Some(true)
    }

    /// Whether outputs are wrong because they are the program's in another order.
    pub(super) fn disordered(&self) -> Option<String> {
        let names = &self.case.expected.as_ref()?.names;
        let outputs: Vec<&OutputReport> = self.outputs.iter().filter(|o| o.state.is_none()).collect();
        let got: Vec<&str> = outputs.iter().map(|output| output.tensor.name.as_str()).collect();
        let is_wrong = outputs.iter().any(|output| output.problem.is_some());
        let wanted: Vec<&str> = names.iter().map(String::as_str).collect();
        let (mut some, mut others) = (got.clone(), wanted.clone());
        some.sort_unstable();
        others.sort_unstable();
        let moved = is_wrong && got != wanted && some == others;
        moved.then(|| {
            let (got, wanted) = (got.join(", "), wanted.join(", "));
            format!("the model's outputs are in another order than the program's: {got} instead of {wanted}")
        })
    }

    /// The outputs of the program that the model lacks.
    pub(super) fn missing(&self) -> Option<String> {
        let expected = self.case.expected.as_ref()?;
        let dropped = |name: &str| self.signature.dropped.iter().any(|state| state.name == name);
        let lost =
            |name: &&str| !dropped(name) && !self.outputs.iter().any(|o| o.state.as_deref() == Some(*name));
        let lost: Vec<&str> = expected.states.iter().map(|(name, _)| name.as_str()).filter(lost).collect();
        if !lost.is_empty() {
            return Some(format!("the program changes {}, the model does not", lost.join(", ")));
        }
        let outputs = expected.outputs.len();
        (self.position < outputs)
            .then(|| format!("{} outputs returned, but the program has {outputs}", self.position))
    }
}

pub(super) fn report(name: &str, dtype: &dyn ToString, dims: &[i64]) -> TensorReport {
    TensorReport { name: name.to_owned(), dtype: dtype.to_string(), shape: dims.to_vec() }
}
