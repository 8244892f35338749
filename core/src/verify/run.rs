//! Feeds every case to the model and checks each output as the runtime hands it over.

use std::borrow::Cow;
use std::cell::LazyCell;
use std::path::Path;
use std::time::Instant;

use rustc_hash::FxHashMap;

use super::branches::Branches;
use super::codes::Steps;
use super::executor::{Feed, Output, Runtime, Session};
use super::expected::{Against, Case};
use super::report::{CaseReport, OutputReport, TensorReport, Verification};
use super::samples::tile;
use super::{Extent, Port, Signature};
use crate::compare::{Comparer, Difference, Tolerance, compare};
use crate::diagnose::{Code, Diagnostic};
use crate::ir::import::check_calls;
use crate::onnx::{AxisSize, CHANGED_KEY, OnnxFile};
use crate::sym::{SymId, Symbols};
use crate::tensor::LazyTensor;

/// What the user chose.
#[derive(Clone, Copy, Default)]
pub struct Options<'c> {
    /// Replaces the relative tolerance of floating-point outputs.
    pub rtol: Option<f64>,
    /// Replaces the absolute tolerance of floating-point outputs.
    pub atol: Option<f64>,
    /// The plugin that compares; without one, the host does.
    pub comparer: Option<&'c Comparer>,
    /// The weights are not those that the expected values were computed with: how far values are from
    /// them is found out, and is no mistake.
    pub measure: bool,
}

/// Runs the model at `path` on every case. `progress` is told the case that starts.
///
/// A mismatch is part of the result; an error means that nothing could be verified.
pub fn verify(
    runtime: &Runtime,
    path: &Path,
    against: &Against,
    options: &Options<'_>,
    progress: &mut dyn FnMut(&Case),
) -> Result<Verification, Diagnostic> {
    let start = Instant::now();
    let file = OnnxFile::open(path)?;
    // A runtime may crash on data that is not there.
    file.check_data()?;
    check_calls(&file.proto)?;
    let signature = Signature::of(&file)?;
    signature.check_states()?;
    // Who states a tolerance wants values to be judged.
    let is_changed = file.metadata(CHANGED_KEY).is_some() && options.rtol.is_none() && options.atol.is_none();
    let options = &Options { measure: options.measure || is_changed, ..*options };
    let mut branches = Branches::of(&file, &against.branches);
    drop(file);
    let executor = runtime.describe()?;
    let fixed = signature.fixed.as_slice();
    // Where nothing that was recorded is of the sizes that the model was made for, it is repeated to them.
    let made = match against.cases.first() {
        Some(first) if against.cases.iter().all(|case| other_size(fixed, case).is_some()) => {
            Some(at_declared_sizes(&signature, first)?)
        }
        _ => None,
    };
    let mut session = load(runtime, path, &signature, &mut branches)?;
    let steps = LazyCell::new(|| Steps::read(path));
    let step = |name: &str| steps.of(name);
    let mut cases = Vec::with_capacity(against.cases.len());
    for case in against.cases.iter().chain(&made) {
        if let Some(why) = other_size(fixed, case) {
            cases.push(CaseReport::not_applicable(case, why));
            continue;
        }
        if case.trial && case.expected.is_none() {
            // Nothing shows that the program takes it; that is not even worth telling.
            continue;
        }
        if case.refused.is_some() {
            // What the program does not take says nothing about the model.
            cases.push(CaseReport::refused(case));
            continue;
        }
        progress(case);
        let inputs = bind(&signature, case)?;
        let feeds = feeds(&inputs)?;
        branches.fed(&feeds);
        let mut judge = Judge::new(&signature, case, &inputs, options, &step);
        let mut left = signature.outputs.len();
        let outcome = session.run(&feeds, &mut |output| {
            branches.output(&output);
            // Conditions come after the outputs.
            if let Some(less) = left.checked_sub(1) {
                left = less;
                judge.output(&output);
            }
        });
        let error = match outcome {
            Ok(()) => judge.missing().or_else(|| judge.disordered()),
            Err(d) if d.code == Code::VERIFY_EXECUTOR => Some(d.message),
            Err(d) => return Err(d),
        };
        let fed = feeds.iter().map(|f| report(f.name, &f.dtype, &f.dims)).collect();
        cases.push(CaseReport {
            name: case.name.clone(),
            inputs: fed,
            outputs: judge.outputs,
            error,
            drawn: case.drawn,
            not_applicable: None,
            expected: case.source,
            random: case.is_random(),
            refused: None,
        });
    }
    let seconds = start.elapsed().as_secs_f64();
    let ran = |case: &&Case| other_size(fixed, case).is_none();
    let values_compared =
        against.cases.iter().filter(ran).any(|case| case.expected.is_some() && !case.is_random());
    let (measured, made) = (options.measure, against.made);
    let (torch, not_entered) = (against.torch.clone(), branches.not_entered());
    Ok(Verification { executor, torch, values_compared, measured, made, cases, not_entered, seconds })
}

/// Loads the model so that the conditions of its branches come out as well, where the executor can do that.
fn load<'r>(
    runtime: &'r Runtime,
    path: &Path,
    signature: &Signature,
    branches: &mut Branches,
) -> Result<Session<'r>, Diagnostic> {
    let ports: Vec<&str> =
        signature.inputs.iter().chain(&signature.outputs).map(|port| port.name.as_str()).collect();
    let taps = branches.taps(&ports);
    if taps.is_empty() {
        return runtime.load(path);
    }
    if let Ok(session) = runtime.load_with(path, &taps) {
        return Ok(session);
    }
    branches.give_up();
    runtime.load(path)
}

/// Why `case` is none for a model of the sizes `fixed`.
fn other_size(fixed: &[AxisSize], case: &Case) -> Option<String> {
    fixed.iter().find_map(|AxisSize { input, axis, size }| {
        let (_, tensor) = case.inputs.iter().find(|(name, _)| name == input)?;
        let found = tensor.shape.get(*axis).filter(|found| *found != size)?;
        Some(format!("{input} has {found} along axis {axis}, and the model is one for {size}"))
    })
}

/// The inputs of `case`, repeated or cut to what the model declares.
fn at_declared_sizes(signature: &Signature, case: &Case) -> Result<Case, Diagnostic> {
    let resized = |bound: Bound<'_>, (name, tensor): &(String, LazyTensor)| {
        let dims = bound.port.dims.as_deref().unwrap_or_default();
        let shape = tensor.shape.iter().zip(dims).map(|(found, declared)| match declared {
            Extent::Known(n) => u64::try_from(*n).unwrap_or(*found),
            _ => *found,
        });
        let shape: Vec<u64> = shape.collect();
        let tensor = if shape.len() == tensor.shape.len() { tile(tensor, &shape) } else { None };
        Ok((name.clone(), tensor.ok_or_else(|| unreadable(name))?))
    };
    let inputs = bind(signature, case)?.into_iter().zip(&case.inputs);
    let inputs = inputs.map(|(bound, input)| resized(bound, input)).collect::<Result<_, Diagnostic>>()?;
    Ok(Case { drawn: true, ..Case::new("fixed", inputs) })
}

struct Bound<'a> {
    port: &'a Port,
    tensor: &'a LazyTensor,
    bytes: Cow<'a, [u8]>,
}

/// Pairs the case's inputs with the model's: by name, else by position, as the user may have renamed.
fn bind<'a>(signature: &'a Signature, case: &'a Case) -> Result<Vec<Bound<'a>>, Diagnostic> {
    let ports: Vec<&Port> = signature.user_inputs().collect();
    let named = |name: &str| ports.iter().copied().find(|port| port.name == name);
    let by_name: Option<Vec<&Port>> = case.inputs.iter().map(|(name, _)| named(name)).collect();
    let required = ports.iter().filter(|port| !port.optional).count();
    let chosen = match by_name {
        Some(found) if found.len() >= required => found,
        _ if ports.len() == case.inputs.len() => ports,
        _ => {
            let model: Vec<&str> = ports.iter().map(|p| p.name.as_str()).collect();
            let recorded: Vec<&str> = case.inputs.iter().map(|(name, _)| name.as_str()).collect();
            return Err(Diagnostic::error(
                Code::VERIFY_EXPECTED,
                "the recorded inputs do not belong to the model",
            )
            .note(format!("the model takes {}", model.join(", ")))
            .note(format!("recorded are {}", recorded.join(", "))));
        }
    };
    chosen
        .into_iter()
        .zip(&case.inputs)
        .map(|(port, (name, tensor))| {
            let bytes = tensor.read().ok_or_else(|| unreadable(name))?;
            Ok(Bound { port, tensor, bytes })
        })
        .collect()
}

fn unreadable(name: &str) -> Diagnostic {
    Diagnostic::error(Code::VERIFY_EXPECTED, format!("the recorded tensor {name} is shorter than its shape"))
}

fn feeds<'a>(inputs: &'a [Bound<'a>]) -> Result<Vec<Feed<'a>>, Diagnostic> {
    inputs
        .iter()
        .map(|input| {
            Ok(Feed {
                name: &input.port.name,
                dtype: input.tensor.dtype,
                dims: signed(&input.tensor.shape).ok_or_else(|| unreadable(&input.port.name))?,
                bytes: &input.bytes,
            })
        })
        .collect()
}

/// Checks the outputs of one call, in the order in which they arrive.
struct Judge<'a> {
    signature: &'a Signature,
    case: &'a Case,
    options: &'a Options<'a>,
    /// The distance of neighbouring codes of an output that is coded.
    step: &'a dyn Fn(&str) -> Option<f64>,
    symbols: Symbols,
    sizes: FxHashMap<SymId, i64>,
    /// User outputs seen so far.
    position: usize,
    outputs: Vec<OutputReport>,
}

impl<'a> Judge<'a> {
    fn new(
        signature: &'a Signature,
        case: &'a Case,
        inputs: &[Bound<'_>],
        options: &'a Options<'a>,
        step: &'a dyn Fn(&str) -> Option<f64>,
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
        Self { signature, case, options, step, symbols, sizes, position: 0, outputs: Vec::new() }
    }

    fn output(&mut self, output: &Output<'_>) {
        let state = self.signature.state_of(output.name).map(|s| s.name.clone());
        let expected = self.expected(state.as_deref());
        let mut entry = OutputReport {
            tensor: report(output.name, &output.dtype.map_or("unknown", |d| d.as_str()), output.dims),
            problem: None,
            difference: None,
            codes: None,
            state,
        };
        match expected {
            Ok(Some(expected)) => self.compare(output, expected, &mut entry),
            Ok(None) => {}
            Err(problem) => entry.problem = Some(problem),
        }
        if entry.problem.is_none() {
            entry.problem = self.undeclared(output);
        }
        self.outputs.push(entry);
    }

    /// The expected value of the next output, if the case has values.
    fn expected(&mut self, state: Option<&str>) -> Result<Option<&'a LazyTensor>, String> {
        let Some(expected) = &self.case.expected else { return Ok(None) };
        if let Some(name) = state {
            let found = expected.states.iter().find(|(known, _)| known == name).map(|(_, t)| t);
            return found.map(Some).ok_or(format!("no expected value was recorded for the state {name}"));
        }
        self.position += 1;
        let found = expected.outputs.get(self.position - 1);
        found.map(Some).ok_or("the program has no such output".to_owned())
    }

    fn compare(&self, output: &Output<'_>, expected: &LazyTensor, entry: &mut OutputReport) {
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
        let default = Tolerance::of(expected.dtype);
        let tolerance = if default == Tolerance::EXACT {
            default
        } else {
            Tolerance {
                rtol: self.options.rtol.unwrap_or(default.rtol),
                atol: self.options.atol.unwrap_or(default.atol),
            }
        };
        let (dtype, shape) = (expected.dtype, &expected.shape);
        let found = match self.options.comparer {
            None => compare(dtype, shape, output.bytes, &bytes, tolerance),
            Some(plugin) => {
                match plugin.compare(output.name, dtype, shape, output.bytes, &bytes, tolerance) {
                    Ok(found) => found,
                    Err(problem) => {
                        entry.problem = Some(format!("was not compared: {}", problem.message));
                        return;
                    }
                }
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

    /// The distance of neighbouring codes, if no result is further than that from the expected one. Who states a
    /// tolerance, or compares by a plugin, wants nothing else.
    fn neighbours(&self, name: &str, found: &Difference) -> Option<f64> {
        let Options { rtol, atol, comparer, .. } = self.options;
        if rtol.is_some() || atol.is_some() || comparer.is_some() || found.not_finite > 0 {
            return None;
        }
        let step = (self.step)(name)?;
        let rounding = found.allowed.atol + found.allowed.rtol * found.largest;
        (found.max_abs <= step + rounding).then_some(step)
    }

    /// What disagrees with the model's own declaration of the output.
    fn undeclared(&mut self, output: &Output<'_>) -> Option<String> {
        let port = self.signature.outputs.iter().find(|port| port.name == output.name)?;
        if port.dtype.is_some() && port.dtype != output.dtype {
            return Some(format!("the model declares another element type, {}", port.dtype?));
        }
        let dims = port.dims.as_ref()?;
        let fits = dims.len() == output.dims.len()
            && dims.iter().zip(output.dims).all(|(extent, size)| self.fits(extent, *size));
        (!fits).then(|| {
            let declared: Vec<String> = dims.iter().map(ToString::to_string).collect();
            format!("shape {:?} does not fit the declared [{}]", output.dims, declared.join(", "))
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

    /// Whether outputs are wrong because they are the program's in another order.
    fn disordered(&self) -> Option<String> {
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

    /// What the program gives and the model does not.
    fn missing(&self) -> Option<String> {
        let expected = self.case.expected.as_ref()?;
        let lost = |name: &&str| !self.outputs.iter().any(|o| o.state.as_deref() == Some(*name));
        let lost: Vec<&str> = expected.states.iter().map(|(name, _)| name.as_str()).filter(lost).collect();
        if !lost.is_empty() {
            return Some(format!("the program changes {}, the model does not", lost.join(", ")));
        }
        let outputs = expected.outputs.len();
        (self.position < outputs)
            .then(|| format!("{} outputs came out where the program has {outputs}", self.position))
    }
}

fn signed(shape: &[u64]) -> Option<Vec<i64>> {
    shape.iter().map(|d| i64::try_from(*d).ok()).collect()
}

fn report(name: &str, dtype: &dyn ToString, dims: &[i64]) -> TensorReport {
    TensorReport { name: name.to_owned(), dtype: dtype.to_string(), shape: dims.to_vec() }
}
