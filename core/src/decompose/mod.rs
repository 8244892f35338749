//! Decompositions: programs that replace calls of an operator that has no lowering.
//!
//! They are texts: of plugins, beside their schemas, and of users, in files. `docs/decompositions.md` describes
//! their format. The types of their values come from facts about the operators that they call.

mod apply;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

pub use crate::registry::Decompositions;

use self::apply::Work;
use crate::diagnose::{Diagnostic, Report};
use crate::host::Host;
use crate::program::Program;

/// When decompositions are used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Never.
    None,
    /// For calls without a lowering.
    #[default]
    Core,
    /// For every call that has a decomposition.
    All,
}

/// The user's options for decompositions.
#[derive(Clone, Debug, Default)]
pub struct DecomposeOptions {
    /// When they are used.
    pub mode: Mode,
    /// The user's own, which go before those of plugins; the last one first.
    pub tables: Vec<Decompositions>,
}

/// The record of decompositions.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Decomposed {
    /// The number of replaced calls of each operator.
    pub operators: BTreeMap<String, usize>,
}

/// Replaces calls of the functional `program` with the decompositions of their operators, for the opset of the
/// model. Also returns why a decomposition that fits a call was not used; that call stays.
pub fn decompose(
    host: &Host,
    mut program: Program,
    opset: i64,
    options: &DecomposeOptions,
) -> (Program, Decomposed, Vec<Diagnostic>) {
    let mut work = Work::new(host, opset, options, &mut program.symbols);
    if options.mode != Mode::None && !work.is_idle() {
        work.body(&mut program.body, 0);
    }
    let (done, problems) = work.finish();
    (program, done, problems)
}

/// The same, but a problem ends the conversion.
///
/// # Errors
/// A report of every decomposition that cannot be used for a call without a lowering.
pub fn run(
    host: &Host,
    program: Program,
    opset: i64,
    options: &DecomposeOptions,
) -> Result<(Program, Decomposed), Report> {
    let (program, done, diagnostics) = decompose(host, program, opset, options);
    if diagnostics.is_empty() {
        return Ok((program, done));
    }
    Err(Report { diagnostics, origins: program.origins })
}
