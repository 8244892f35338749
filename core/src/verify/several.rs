//! Several executors on one model, against each other and against the program.

use std::path::Path;

use onnxport_proto::NodeProto;

use super::Signature;
use super::branches::inner;
use super::executor::{Output, Runtime};
use super::expected::{Against, Case, Expected, Source};
use super::report::Verification;
use super::run::{self, Options};
use crate::diagnose::Diagnostic;
use crate::onnx::OnnxFile;
use crate::op;
use crate::ops::{Traits, traits_of};
use crate::tensor::LazyTensor;

impl Against {
    /// Runs the model at `path` on every call, whose outputs are expected where a call has no expected values.
    ///
    /// Returns the findings about `runtime` itself where values were expected.
    ///
    /// # Errors
    /// As [`verify`](super::verify).
    pub fn consult(
        &mut self,
        runtime: &Runtime,
        path: &Path,
        options: &Options<'_>,
        progress: &mut dyn FnMut(&Case),
    ) -> Result<Verification, Diagnostic> {
        let mut kept = Vec::new();
        let mut found = run::run(runtime, path, self, options, Some(&mut kept), progress)?;
        let mut taken = false;
        for (number, values) in kept {
            if let Some(case) = self.cases.get_mut(number).filter(|case| case.expected.is_none()) {
                (case.expected, case.source) = (Some(values), Source::Executor);
                taken = true;
            }
        }
        if taken {
            self.oracle = Some(found.executor.clone());
            found.oracle.clone_from(&self.oracle);
        }
        Ok(found)
    }

    /// Whether some call has no expected values.
    pub fn lacks_values(&self) -> bool {
        self.cases.iter().any(|case| case.expected.is_none() && case.refused.is_none())
    }

    /// Adds two further steps after the first call, if the model of `signature` keeps states: they go on from what the
    /// step before left.
    pub fn step(&mut self, signature: &Signature) {
        if signature.states.is_empty() || self.cases.iter().any(|case| case.continues) {
            return;
        }
        let Some(first) = self.cases.first() else { return };
        let step = |number: usize| Case {
            drawn: true,
            continues: true,
            ..Case::new(format!("{}-step-{number}", first.name), first.inputs.clone())
        };
        let further: Vec<Case> = (2..=STEPS).map(step).collect();
        self.cases.splice(1..1, further);
    }
}

/// How often a call is made of a model that keeps states.
const STEPS: usize = 3;

/// Whether a node of the model may draw random numbers, so that no other run gives its values.
pub(super) fn draws(file: &OnnxFile) -> bool {
    let is_random = |node: &NodeProto| {
        // A dropout draws in training only.
        let idle = node.op_type() == op::Dropout && node.input.get(2).is_none_or(String::is_empty);
        !idle && traits_of(node.domain(), node.op_type()).has(Traits::RANDOM)
    };
    let main = file.graph().into_iter().flat_map(|graph| &graph.node);
    main.chain(inner(file)).any(is_random)
}

/// The outputs of a call, as the expected values of others.
#[derive(Default)]
pub(super) struct Recorder {
    /// Whether random numbers may have been drawn.
    random: bool,
    outputs: Vec<LazyTensor>,
    names: Vec<String>,
    states: Vec<(String, LazyTensor)>,
}

impl Recorder {
    pub(super) fn new(random: bool) -> Self {
        Self { random, ..Self::default() }
    }

    pub(super) fn record(&mut self, signature: &Signature, output: &Output<'_>) {
        if signature.is_guard(output.name) {
            return;
        }
        let shape: Option<Vec<u64>> = output.dims.iter().map(|extent| u64::try_from(*extent).ok()).collect();
        let Some((dtype, shape)) = output.dtype.zip(shape) else { return };
        let tensor = LazyTensor::inline(dtype, shape, output.bytes.to_vec());
        match signature.state_of(output.name) {
            Some(state) => self.states.push((state.name.clone(), tensor)),
            None => {
                self.outputs.push(tensor);
                self.names.push(output.name.to_owned());
            }
        }
    }

    pub(super) fn expected(self) -> Expected {
        let Self { outputs, names, states, random } = self;
        Expected { outputs, names, states, random, ..Expected::default() }
    }
}
