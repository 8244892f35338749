//! Axes that the user requires to be dynamic.

use std::fmt;

use super::effective::{Effective, Restriction, explained};
use super::solver::symbols_in;
use crate::diagnose::{Code, Diagnostic, Report};
use crate::program::Program;
use crate::sym::Dim;

/// An axis of an input: `x:0`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputAxis {
    /// The name of the input.
    pub input: String,
    /// The axis, from 0.
    pub axis: usize,
}

impl fmt::Display for InputAxis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.input, self.axis)
    }
}

/// Checks that axes are dynamic, and take every size that was declared. Inputs are given by the program's names.
///
/// # Errors
/// `OP307` for an axis that does not exist; `OP311` for one that has a fixed size or fewer sizes than were declared.
pub fn require(program: &Program, effective: &Effective, axes: &[InputAxis]) -> Result<(), Report> {
    let diagnostics: Vec<Diagnostic> =
        axes.iter().filter_map(|axis| problem(program, effective, axis)).collect();
    if diagnostics.is_empty() {
        return Ok(());
    }
    Err(Report { diagnostics, origins: program.origins.clone() })
}

fn problem(program: &Program, effective: &Effective, asked: &InputAxis) -> Option<Diagnostic> {
    let ports = super::fix::ports(program);
    let port = ports.iter().find(|port| port.name == asked.input);
    let Some(dim) = port.and_then(|port| port.dims.get(asked.axis).copied()) else {
        let message = format!("no input `{}` with an axis {}", asked.input, asked.axis);
        let help = "`onnxport inspect` lists the inputs and their shapes";
        return Some(Diagnostic::error(Code::LOWER_NAME, message).help(help));
    };
    let error = |message: String| Diagnostic::error(Code::LOWER_DYNAMIC, message);
    if let Dim::Const(size) = dim {
        let message = format!("`{asked}` is required to be dynamic, but it is always {size}");
        let help = "export the program again with `dynamic_shapes` in which this axis is dynamic";
        return Some(error(message).help(help));
    }
    let mut symbols = Vec::new();
    symbols_in(&program.symbols, dim, &mut symbols);
    let help = "change the code that restricts it, or export with a `Dim` that declares the range";
    if let Some(narrowed) = effective
        .narrowed
        .iter()
        .find(|n| !n.is_minor && n.symbol.is_some_and(|symbol| symbols.contains(&symbol)))
    {
        let message =
            format!("`{asked}` is required to be dynamic, but its size is restricted: {}", narrowed.range);
        return Some(explained(error(message), &narrowed.reasons).help(help));
    }
    let related = effective.related.iter().filter(|related| related.restriction == Restriction::Bounded);
    if let Some(related) = related.clone().find(|r| r.symbols.iter().any(|symbol| symbols.contains(symbol))) {
        let message = format!(
            "`{asked}` is required to be dynamic, but its size is restricted: {}",
            related.expression
        );
        return Some(explained(error(message), std::slice::from_ref(&related.reason)).help(help));
    }
    let is_given = |symbol| {
        let mut dims = ports.iter().flat_map(|port| port.dims);
        dims.any(|dim| program.symbols.as_symbol(*dim) == Some(symbol))
    };
    if !symbols.iter().all(|symbol| is_given(*symbol)) {
        let size = program.symbols.display(dim);
        let message =
            format!("`{asked}` is required to be dynamic, but its size is restricted to those of {size}");
        return Some(error(message).help(help));
    }
    effective.empty.then(|| {
        let message =
            format!("`{asked}` is required to be dynamic, but no sizes satisfy the program's conditions");
        explained(error(message), &effective.unread).help(help)
    })
}
