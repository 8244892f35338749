//! Decompositions: programs that stand for calls of an operator, used where nobody lowers it.
//!
//! They are texts: of plugins, beside their schemas, and of users, in files. `docs/decompositions.md` says how they
//! are written. The types of what they compute come from facts about the operators that they call.

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
    /// For calls that nobody lowers.
    #[default]
    Core,
    /// For every call that has one.
    All,
}

/// What the user asks of decompositions.
#[derive(Clone, Debug, Default)]
pub struct DecomposeOptions {
    /// When they are used.
    pub mode: Mode,
    /// The user's own, which go before those of plugins; the last one first.
    pub tables: Vec<Decompositions>,
}

/// What was done.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Decomposed {
    /// How many calls of an operator were replaced.
    pub operators: BTreeMap<String, usize>,
}

/// Replaces calls of the functional `program` by what their operators are made of, for the opset that is emitted.
/// Also returns why a decomposition that fits a call was not used; that call stays.
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

/// The same where a problem ends the conversion.
///
/// # Errors
/// A report of every decomposition that fits a call that nobody lowers, and cannot be used.
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
