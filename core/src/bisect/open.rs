//! From files to a search.

use std::path::Path;

use super::origins::locate;
use super::{Against, Found, Search, find};
use crate::diagnose::{Code, Diagnostic, Report};
use crate::diff::{Alignment, Diff, diff};
use crate::ir::Model;
use crate::ir::import::import;
use crate::onnx::Signature;
use crate::ops::infer::infer_all;
use crate::pt2;
use crate::run::{Computed, Draw, Given, Sizes, inputs, inputs_or_drawn};
use crate::taps::{self, MEMORY, ModelSide, Recorded, Side, Taps};
use crate::verify::Runtime;

/// The reference of a model in a file.
pub enum Reference<'r> {
    /// Another runtime, which runs the same model.
    Runtime(&'r Runtime),
    /// Another model, and its runtime.
    Model(&'r Path, &'r Runtime),
    /// A recording.
    Recording {
        /// Its file.
        values: &'r Path,
        /// The archive that was recorded; if it is not named, the one beside the file.
        program: Option<&'r Path>,
    },
}

/// The user's options for a search.
#[derive(Clone, Debug)]
pub struct Options {
    /// Values for inputs. The other inputs are taken from the recording, or drawn.
    pub given: Given,
    /// Sizes of dynamic dimensions of inputs that are drawn.
    pub sizes: Sizes,
    /// The seed for drawn inputs.
    pub seed: u64,
    /// The memory limit for the values of a round, in bytes.
    pub memory: u64,
    /// Compare every value, also those after a fault.
    pub whole: bool,
    /// Have the runtime compare the model's values in place, if it can.
    pub in_place: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            given: Given::default(),
            sizes: Sizes::default(),
            seed: 0,
            memory: MEMORY,
            whole: false,
            in_place: false,
        }
    }
}

/// Finds the first node of the model at `path`, run by `runtime`, that diverges from the reference.
///
/// # Errors
/// Errors of reading the files, `OP710` for inputs that do not fit, and errors of the runtimes.
pub fn bisect(
    path: &Path,
    runtime: &Runtime,
    reference: &Reference<'_>,
    options: &Options,
) -> Result<Found, Report> {
    let recorded = match reference {
        Reference::Recording { values, .. } => Some(Recorded::open(values)?),
        _ => None,
    };
    let (model, signature, fed) = open(path, recorded.as_ref(), options)?;
    let mut ours = side(runtime, path, fed.clone(), &signature);
    ours.in_place = options.in_place;
    let ours = Side::Model(ours);
    let other = match reference {
        Reference::Model(path, _) => Some(read(path)?),
        _ => None,
    };
    let (theirs, against) = match (reference, recorded, &other) {
        (Reference::Runtime(other), ..) => {
            (Side::Model(side(other, path, fed, &signature)), Against::Executor)
        }
        (Reference::Model(path, runtime), _, Some(other)) => {
            (Side::Model(other_side(path, runtime, &fed)?), Against::Model(other))
        }
        (_, Some(recorded), _) => (Side::Recorded(recorded), Against::Recording),
        _ => return Err(Diagnostic::error(Code::INTERNAL, "there is nothing to compare with").into()),
    };
    let search =
        Search { model: &model, ours, theirs, against, memory: options.memory, whole: options.whole };
    let mut found = find(&search)?;
    if let Reference::Recording { values, program } = reference
        && let Some(archive) = program.map(Path::to_owned).or_else(|| Recorded::archive(values))
    {
        locate(&mut found, &pt2::read(&archive)?.program);
    }
    Ok(found)
}

/// Compares the models at two paths: their structure, and with a runtime also their values.
///
/// # Errors
/// Errors of reading the files, and with a runtime its errors.
pub fn compare(
    a: &Path,
    b: &Path,
    runtime: Option<&Runtime>,
    options: &Options,
) -> Result<(Diff, Option<taps::Report>), Report> {
    let (ours, theirs) = (read(a)?, read(b)?);
    let alignment = Alignment::between(&ours, &theirs);
    let found = diff(&ours, &theirs, &alignment);
    let Some(runtime) = runtime else { return Ok((found, None)) };
    let (_, signature, fed) = open(a, None, options)?;
    let left = Side::Model(side(runtime, a, fed.clone(), &signature));
    let right = Side::Model(other_side(b, runtime, &fed)?);
    let taps = Taps::aligned(&ours, &theirs, &alignment);
    let values = taps::compare(&taps, &left, &right, &fed, options.memory)?;
    Ok((found, Some(values)))
}

/// Reads a model and infers the types of its values as far as possible.
fn read(path: &Path) -> Result<Model, Diagnostic> {
    let mut model = import(path)?;
    let opset = model.opset();
    infer_all(&mut model.graph, &mut model.symbols, opset);
    Ok(model)
}

/// Opens the model at `path`, with its ports and its inputs.
fn open(
    path: &Path,
    recorded: Option<&Recorded>,
    options: &Options,
) -> Result<(Model, Signature, Vec<Computed>), Report> {
    let model = read(path)?;
    let mut given = options.given.clone();
    if let Some(recorded) = recorded {
        fill(&mut given, recorded, &Signature::read(path)?);
    }
    // Values of a recording belong to its inputs: none is drawn.
    let draw = recorded.is_none().then_some(Draw { seed: options.seed });
    let (signature, fed) = inputs_or_drawn(path, &given, &options.sizes, draw)?;
    Ok((model, signature, fed))
}

/// Sets inputs of a model that have no value from those of a recording.
pub(super) fn fill(given: &mut Given, recorded: &Recorded, signature: &Signature) {
    for (at, (name, tensor)) in recorded.inputs().into_iter().enumerate() {
        // A renamed input keeps its position.
        let named = signature.inputs.iter().find(|port| port.name == name);
        if let Some(port) = named.or(signature.inputs.get(at))
            && given.get(&port.name).is_none()
        {
            given.insert(port.name.clone(), tensor);
        }
    }
}

fn side<'r>(runtime: &'r Runtime, path: &Path, fed: Vec<Computed>, signature: &Signature) -> ModelSide<'r> {
    let outputs = signature.outputs.iter().map(|port| port.name.clone()).collect();
    ModelSide::new(runtime, path, fed, outputs)
}

/// Creates the side of another model on the same values: matched by the names of its inputs, or by position if no
/// name matches.
fn other_side<'r>(path: &Path, runtime: &'r Runtime, fed: &[Computed]) -> Result<ModelSide<'r>, Diagnostic> {
    let signature = Signature::read(path)?;
    let has = |name: &str| signature.inputs.iter().any(|port| port.name == name);
    let by_name = fed.iter().any(|input| has(&input.name));
    let mut given = Given::default();
    for (at, input) in fed.iter().enumerate() {
        let port = if by_name { Some(&input.name) } else { signature.inputs.get(at).map(|port| &port.name) };
        if let Some(name) = port.filter(|name| has(name)) {
            let (dtype, shape) = (input.dtype, input.shape.clone());
            given.insert(name.clone(), crate::tensor::LazyTensor::inline(dtype, shape, input.bytes.clone()));
        }
    }
    let (signature, fed) = inputs(path, &given, &Sizes::default(), None)?;
    Ok(side(runtime, path, fed, &signature))
}
