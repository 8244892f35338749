//! Makes a program functional: programs from `torch.export.save` still write to tensors, contain
//! assertions, and nest regions that only set a mode.
//!
//! The steps run in the order of [`STEPS`]; each descends into nested graphs itself. After all of them no
//! call writes to an argument. An operator that writes to its arguments and has no functional twin keeps
//! its name: its outputs are then the returns that do not alias a written argument, followed by the new
//! value of each written argument in the order of its schema.

mod auto_functionalized;
mod autocast;
mod bookkeeping;
mod dead;
pub(crate) mod edit;
pub(crate) mod expand;
mod functionalise;
mod hidden;
mod noops;
mod regions;

use crate::diagnose::{Code, Diagnostic, OriginId, Report};
use crate::program::Program;
use crate::registry::Schemas;
use crate::sym::Symbols;

/// A step: its name and its function.
pub struct Step {
    /// The name.
    pub name: &'static str,
    run: fn(&mut Program, &mut Context<'_>),
}

/// Every step, in order.
pub const STEPS: &[Step] = &[
    Step { name: "regions", run: regions::run },
    Step { name: "hidden", run: hidden::run },
    Step { name: "functionalise", run: functionalise::run },
    Step { name: "auto_functionalized", run: auto_functionalized::run },
    Step { name: "bookkeeping", run: bookkeeping::run },
    Step { name: "noops", run: noops::run },
    Step { name: "dead", run: dead::run },
];

/// The state that the steps share.
struct Context<'a> {
    schemas: &'a Schemas,
    diagnostics: Vec<Diagnostic>,
}

impl Context<'_> {
    fn error(&mut self, code: Code, message: impl Into<String>, origin: OriginId) {
        self.diagnostics.push(Diagnostic::error(code, message).at(origin));
    }
}

/// Runs every step.
///
/// # Errors
/// A report of every write and region that cannot be expressed.
pub fn normalise(program: Program, schemas: &Schemas) -> Result<Program, Report> {
    run_steps(program, schemas, |_| true)
}

/// Runs the steps that `wanted` names, in their order.
///
/// # Errors
/// As [`normalise`].
pub fn run_steps(
    program: Program,
    schemas: &Schemas,
    wanted: impl Fn(&str) -> bool,
) -> Result<Program, Report> {
    let (program, diagnostics) = attempt(program, schemas, wanted);
    if diagnostics.is_empty() {
        return Ok(program);
    }
    Err(Report { diagnostics, origins: program.origins })
}

/// Runs steps and returns the resulting program together with every problem. If there are problems, the
/// program is only good for finding more of them.
pub fn attempt(
    mut program: Program,
    schemas: &Schemas,
    wanted: impl Fn(&str) -> bool,
) -> (Program, Vec<Diagnostic>) {
    let mut context = Context { schemas, diagnostics: Vec::new() };
    for step in STEPS.iter().filter(|s| wanted(s.name)) {
        (step.run)(&mut program, &mut context);
    }
    (program, context.diagnostics)
}

/// Runs `edit` on the program's body with its symbols at hand.
fn with_symbols(program: &mut Program, edit: impl FnOnce(&mut crate::program::Body, &mut Symbols)) {
    let mut body = std::mem::take(&mut program.body);
    edit(&mut body, &mut program.symbols);
    program.body = body;
}
