//! Buffers, parameters and inputs that a program writes to.
//!
//! A functional program returns the values that a call leaves behind as outputs of their own ([`OutputKind::State`]). The
//! model has them as states, pairs of an input and an output, unless the user chose otherwise.

use rustc_hash::FxHashMap;

use crate::diagnose::{Code, Diagnostic, OriginId, Report};
use crate::onnx::DroppedState;
use crate::program::{OutputKind, Program, Val};

/// How a model treats what the program writes to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StateChoice {
    /// As an input with the value before the call, and an output with the value after it.
    #[default]
    Pairs,
    /// The program is refused.
    Refuse,
    /// Every call starts from the first value, and the value after it is not returned.
    Drop,
}

/// The states that were dropped, and a warning for each.
#[derive(Debug, Default)]
pub struct Dropped {
    /// The states.
    pub states: Vec<DroppedState>,
    /// The warnings.
    pub diagnostics: Vec<Diagnostic>,
}

/// Applies the choice to a functional program.
///
/// # Errors
/// `OP313` for each state, if they are refused.
pub fn apply(program: &mut Program, choice: StateChoice) -> Result<Dropped, Report> {
    match choice {
        StateChoice::Pairs => Ok(Dropped::default()),
        StateChoice::Refuse => {
            let diagnostics: Vec<Diagnostic> =
                written(program).into_iter().map(|(state, origin)| refused(&state, origin)).collect();
            if diagnostics.is_empty() {
                return Ok(Dropped::default());
            }
            Err(Report { diagnostics, origins: program.origins.clone() })
        }
        StateChoice::Drop => {
            let written = written(program);
            remove(program);
            let diagnostics = written.iter().map(|(state, origin)| dropped(state, *origin)).collect();
            Ok(Dropped { states: written.into_iter().map(|(state, _)| state).collect(), diagnostics })
        }
    }
}

fn refused(state: &DroppedState, origin: Option<OriginId>) -> Diagnostic {
    let message = format!("`--state refuse`: the program writes to the {} `{}`", state.kind, state.name);
    let found = Diagnostic::error(Code::STATE_REFUSED, message);
    Diagnostic { origin, ..found }
        .help("return the new value from `forward` instead, or convert with `--state io` or `--state drop`")
}

fn dropped(state: &DroppedState, origin: Option<OriginId>) -> Diagnostic {
    let message = format!(
        "`--state drop`: every call of the model starts from the first value of the {} `{}`, which the program changes",
        state.kind, state.name
    );
    let message = if state.kind == "input" {
        format!(
            "`--state drop`: the model does not return the value that the program writes to the input `{}`",
            state.name
        )
    } else {
        message
    };
    let found = Diagnostic::warning(Code::STATE_DROPPED, message);
    Diagnostic { origin, ..found }.help("with `--state io`, each call returns the value for the next one")
}

/// The values that the program writes to, each with the call that computes its final value.
fn written(program: &Program) -> Vec<(DroppedState, Option<OriginId>)> {
    let mut makers: FxHashMap<Val, OriginId> = FxHashMap::default();
    for call in &program.body.calls {
        for output in &call.outputs {
            output.each_value(&mut |value| {
                makers.insert(value, call.origin);
            });
        }
    }
    let outputs = program.signature.outputs.iter().zip(&program.body.outputs);
    let states = outputs.filter_map(|(spec, arg)| match &spec.kind {
        OutputKind::State { kind, name, .. } => {
            let state = DroppedState { kind: kind.as_str().to_owned(), name: name.clone() };
            Some((state, arg.as_value().and_then(|value| makers.get(&value).copied())))
        }
        _ => None,
    });
    states.collect()
}

/// Removes the outputs of states.
fn remove(program: &mut Program) {
    let specs = std::mem::take(&mut program.signature.outputs);
    let outputs = std::mem::take(&mut program.body.outputs);
    let kept = specs.into_iter().zip(outputs);
    let kept = kept.filter(|(spec, _)| !matches!(spec.kind, OutputKind::State { .. }));
    (program.signature.outputs, program.body.outputs) = kept.unzip();
}
