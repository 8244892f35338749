//! Which values the inputs of a model have in a call.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::executor::{Feed, Output};
use super::expected::{Against, Case};
use super::samples::tile;
use super::{Extent, Port, Signature};
use crate::diagnose::{Code, Diagnostic};
use crate::onnx::AxisSize;
use crate::tensor::{DType, LazyTensor};

/// Why `case` is none for a model of the sizes `fixed`.
pub(super) fn other_size(fixed: &[AxisSize], case: &Case) -> Option<String> {
    fixed.iter().find_map(|AxisSize { input, axis, size }| {
        let (_, tensor) = case.inputs.iter().find(|(name, _)| name == input)?;
        let found = tensor.shape.get(*axis).filter(|found| *found != size)?;
        Some(format!("{input} has {found} along axis {axis}, and the model is one for {size}"))
    })
}

/// The inputs of `case`, repeated or cut to the declared shapes.
pub(super) fn at_declared_sizes(signature: &Signature, case: &Case) -> Result<Case, Diagnostic> {
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

/// An input of the model and its value.
pub(super) struct Bound<'a> {
    pub port: &'a Port,
    pub tensor: &'a LazyTensor,
    bytes: Cow<'a, [u8]>,
}

/// Pairs the case's inputs with the model's: by name, else by position, as the user may have renamed.
pub(super) fn bind<'a>(signature: &'a Signature, case: &'a Case) -> Result<Vec<Bound<'a>>, Diagnostic> {
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

impl Against {
    /// Adds the first call at the sizes that the model has for good, where no call has them, so that a reference can say what
    /// it must give.
    ///
    /// # Errors
    /// `OP704` when its inputs are not the model's.
    pub fn fit(&mut self, signature: &Signature) -> Result<(), Diagnostic> {
        let is_other = |case: &Case| other_size(&signature.fixed, case).is_some();
        if let Some(first) = self.cases.first().filter(|_| self.cases.iter().all(is_other)) {
            let fitting = at_declared_sizes(signature, first)?;
            self.cases.push(fitting);
        }
        Ok(())
    }

    /// The values of inputs in the first call that is one for a model with `signature`, by the model's names; nothing
    /// where there is no such call.
    ///
    /// # Errors
    /// `OP704` when the inputs are not the model's.
    pub fn first_call(&self, signature: &Signature) -> Result<Vec<(String, LazyTensor)>, Diagnostic> {
        let takes = |case: &&Case| case.refused.is_none() && other_size(&signature.fixed, case).is_none();
        let Some(case) = self.cases.iter().find(takes) else { return Ok(Vec::new()) };
        let bound = bind(signature, case)?;
        Ok(bound.into_iter().map(|input| (input.port.name.clone(), input.tensor.clone())).collect())
    }
}

fn unreadable(name: &str) -> Diagnostic {
    Diagnostic::error(Code::VERIFY_EXPECTED, format!("the recorded tensor {name} is shorter than its shape"))
}

/// The inputs: the values of a call, and in a later step the states that the step before left.
pub(super) fn feeds<'a>(inputs: &'a [Bound<'a>], kept: &'a States) -> Result<Vec<Feed<'a>>, Diagnostic> {
    let feed = |input: &'a Bound<'a>| {
        let name = input.port.name.as_str();
        if let Some(feed) = kept.feed(name) {
            return Ok(feed);
        }
        let dims = signed(&input.tensor.shape).ok_or_else(|| unreadable(name))?;
        Ok(Feed { name, dtype: input.tensor.dtype, dims, bytes: &input.bytes })
    };
    let mut all = inputs.iter().map(feed).collect::<Result<Vec<Feed<'a>>, Diagnostic>>()?;
    let others = kept.0.keys().filter(|name| !inputs.iter().any(|input| input.port.name == **name));
    all.extend(others.filter_map(|name| kept.feed(name)));
    Ok(all)
}

/// The states that a call leaves, by the names of the inputs that take them.
#[derive(Default)]
pub(super) struct States(BTreeMap<String, (DType, Vec<i64>, Vec<u8>)>);

impl States {
    /// Keeps an output if it is the next value of a state.
    pub(super) fn keep(&mut self, signature: &Signature, output: &Output<'_>) {
        if let Some((state, dtype)) = signature.state_of(output.name).zip(output.dtype) {
            self.0.insert(state.input.clone(), (dtype, output.dims.to_vec(), output.bytes.to_vec()));
        }
    }

    fn feed(&self, input: &str) -> Option<Feed<'_>> {
        let (name, (dtype, dims, bytes)) = self.0.get_key_value(input)?;
        Some(Feed { name, dtype: *dtype, dims: dims.clone(), bytes })
    }
}

/// Sizes as executors have them.
pub(super) fn signed(shape: &[u64]) -> Option<Vec<i64>> {
    shape.iter().map(|d| i64::try_from(*d).ok()).collect()
}
