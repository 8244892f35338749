//! Runs an ONNX model on the user's values, and on drawn ones for the rest.

mod answers;
mod bind;
mod draw;
mod given;
mod save;
mod summary;

#[cfg(test)]
mod tests;

use std::path::Path;
use std::time::Instant;

use bytes::Bytes;
use schemars::JsonSchema;
use serde::Serialize;

use crate::diagnose::{Code, Diagnostic};
use crate::ir::import::check_calls;
use crate::onnx::{Extent, OnnxFile, Signature};
use crate::tensor::{DType, LazyTensor};
use crate::verify::{Against, Drawing, Feed, Runtime};

pub use draw::Draw;
pub use given::{Given, Sizes};
pub use summary::{Number, Summary};

/// The result of a run.
#[derive(Debug, JsonSchema, Serialize)]
pub struct Run {
    /// The executor.
    pub executor: String,
    /// The inputs, in the model's order.
    pub inputs: Vec<Summary>,
    /// The outputs, in the model's order.
    pub outputs: Vec<Summary>,
    /// Wall-clock seconds, loading included.
    pub seconds: f64,
    /// The outputs themselves.
    #[serde(skip)]
    pub tensors: Vec<Computed>,
    /// The shapes of the inputs, where their dynamic dimensions were given sizes that nobody stated.
    #[serde(skip)]
    pub chosen_sizes: Option<String>,
}

/// An input or output value.
#[derive(Clone, Debug)]
pub struct Computed {
    /// The name in the model.
    pub name: String,
    /// Element type.
    pub dtype: DType,
    /// The extents.
    pub shape: Vec<u64>,
    /// The elements, little-endian, row-major.
    pub bytes: Bytes,
}

/// Runs the model at `path`. Inputs that are not given, and have no default, are drawn as `draw` says. Where no value
/// and no size is given, dynamic dimensions have the sizes of the first call that verification draws.
///
/// # Errors
/// `OP710` for a value that is missing or does not fit; `OP702` if the runtime lacks an operator or a budget that the
/// model needs; `OP703` if it fails; `OP709` if its outputs are not those that the model declares.
pub fn run(
    runtime: &Runtime,
    path: &Path,
    given: &Given,
    sizes: &Sizes,
    draw: Option<Draw>,
) -> Result<Run, Diagnostic> {
    let start = Instant::now();
    let (signature, inputs) = inputs_or_drawn(path, given, sizes, draw)?;
    let is_chosen = draw.is_some() && given.is_empty() && sizes.is_empty();
    let chosen_sizes = is_chosen.then(|| dynamic_shapes(&signature, &inputs)).flatten();
    let feeds = inputs.iter().map(Computed::feed).collect::<Result<Vec<Feed<'_>>, Diagnostic>>()?;
    let executor = runtime.describe()?;
    let mut session = runtime.load(path)?;
    let mut outputs: Vec<Result<Computed, Diagnostic>> = Vec::new();
    session.run(&feeds, &mut |output| {
        let shape: Option<Vec<u64>> = output.dims.iter().map(|d| u64::try_from(*d).ok()).collect();
        let found = output.dtype.zip(shape).ok_or_else(|| {
            let message = format!("the output `{}` has a type that is not known here", output.name);
            Diagnostic::error(Code::VERIFY_EXECUTOR, message)
        });
        outputs.push(found.map(|(dtype, shape)| Computed {
            name: output.name.to_owned(),
            dtype,
            shape,
            bytes: Bytes::copy_from_slice(output.bytes),
        }));
    })?;
    let tensors: Vec<Computed> = outputs.into_iter().collect::<Result<_, _>>()?;
    answers::check(runtime.name(), &signature.outputs, &tensors)?;
    let seconds = start.elapsed().as_secs_f64();
    let of = |all: &[Computed]| all.iter().map(Summary::from_tensor).collect::<Result<Vec<_>, Diagnostic>>();
    Ok(Run { executor, inputs: of(&inputs)?, outputs: of(&tensors)?, seconds, tensors, chosen_sizes })
}

/// The shapes of `inputs`, such as `x[4, 8]`; `None` where the model fixes all of them.
pub fn dynamic_shapes(signature: &Signature, inputs: &[Computed]) -> Option<String> {
    let extents = signature.inputs.iter().flat_map(|port| port.dims.iter().flatten());
    let is_dynamic = extents.into_iter().any(|extent| !matches!(extent, Extent::Known(_)));
    let shapes = inputs.iter().map(|input| format!("{}{:?}", input.name, input.shape));
    is_dynamic.then(|| shapes.collect::<Vec<_>>().join(", "))
}

/// Returns the ports of the model at `path`, and the value of every input that has one: given, or drawn as `draw` says.
///
/// # Errors
/// `OP710` for a value that is missing or does not fit, and errors of reading the model.
pub fn inputs(
    path: &Path,
    given: &Given,
    sizes: &Sizes,
    draw: Option<Draw>,
) -> Result<(Signature, Vec<Computed>), Diagnostic> {
    let file = OnnxFile::open(path)?;
    // A runtime may crash on missing data.
    file.check_data()?;
    check_calls(&file.proto)?;
    let signature = Signature::of(&file)?;
    drop(file);
    let bound = bind::bind(&signature, given, sizes, draw)?;
    let read = |(name, tensor): &(String, LazyTensor)| {
        let bytes = tensor.read().map(|bytes| Bytes::from(bytes.into_owned()));
        let bytes = bytes.ok_or_else(|| wrong(format!("the value of the input `{name}` cannot be read")))?;
        Ok(Computed { name: name.clone(), dtype: tensor.dtype, shape: tensor.shape.clone(), bytes })
    };
    let inputs = bound.iter().map(read).collect::<Result<_, Diagnostic>>()?;
    Ok((signature, inputs))
}

/// Like [`inputs`]; if the user states no size and gives no value, and the model has dynamic dimensions, returns the
/// sizes and values of the first call that verification draws.
///
/// # Errors
/// Those of [`inputs`].
pub fn inputs_or_drawn(
    path: &Path,
    given: &Given,
    sizes: &Sizes,
    draw: Option<Draw>,
) -> Result<(Signature, Vec<Computed>), Diagnostic> {
    inputs(path, given, sizes, draw).or_else(|problem| {
        let Some(draw) = draw.filter(|_| given.is_empty() && sizes.is_empty()) else { return Err(problem) };
        let drawing = Drawing { seed: Some(draw.seed), ..Drawing::default() };
        let Ok(against) = Against::of_model(path, &drawing) else { return Err(problem) };
        let mut given = Given::default();
        for (name, tensor) in against.first_call(&Signature::read(path)?)? {
            given.insert(name, tensor);
        }
        inputs(path, &given, sizes, Some(draw))
    })
}

impl Computed {
    /// The value as an input.
    ///
    /// # Errors
    /// `OP710` for a size beyond 64 bits.
    pub fn feed(&self) -> Result<Feed<'_>, Diagnostic> {
        let dims: Option<Vec<i64>> = self.shape.iter().map(|d| i64::try_from(*d).ok()).collect();
        let dims = dims.ok_or_else(|| wrong(format!("the input `{}` is too large", self.name)))?;
        Ok(Feed { name: &self.name, dtype: self.dtype, dims, bytes: &self.bytes })
    }
}

fn wrong(message: String) -> Diagnostic {
    Diagnostic::error(Code::RUN_INPUT, message)
}
