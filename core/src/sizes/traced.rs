//! The sizes of the inputs with which a program was traced.

use std::collections::BTreeSet;

use super::fix::ports;
use super::solver::symbols_in;
use crate::diagnose::{Code, Diagnostic, Report};
use crate::onnx::AxisSize;
use crate::program::Program;
use crate::sym::{Dim, SymId, Symbols};

const HELP: &str =
    "give the size with `--dim INPUT:AXIS=SIZE`, or export the program again with example inputs";

/// The sizes of all axes of inputs that are symbolic in `program`, one axis per symbol, by the program's names. Sizes come
/// from the hints of `traced`, the same program before anything was specialized, or else from `example`, which returns the
/// size of an input's axis in the example inputs.
///
/// # Errors
/// `OP312` for an axis whose size is unknown.
pub fn traced(
    program: &Program,
    traced: &Symbols,
    example: &dyn Fn(&str, usize) -> Option<u64>,
) -> Result<Vec<AxisSize>, Report> {
    let symbols = &program.symbols;
    let mut found = Vec::new();
    let mut known: BTreeSet<SymId> = BTreeSet::new();
    let mut problems = Vec::new();
    let ports = ports(program);
    let axes = || {
        ports.iter().flat_map(|port| port.dims.iter().enumerate().map(move |(i, dim)| (port.name, i, *dim)))
    };
    // An axis that is a symbol determines it best; next is one that is linear in a symbol.
    let plain = |dim: Dim| symbols.as_symbol(dim);
    let linear = |dim: Dim| symbols.linear(dim).map(|(_, symbol, _)| symbol);
    for determined in [&plain as &dyn Fn(Dim) -> Option<SymId>, &linear] {
        for (input, axis, dim) in axes() {
            let Some(symbol) = determined(dim).filter(|symbol| !known.contains(symbol)) else { continue };
            let hint = symbols.eval(dim, &|symbol| traced.get(symbol).hint);
            let size = hint.and_then(|size| u64::try_from(size).ok()).or_else(|| example(input, axis));
            if let Some(size) = size {
                known.insert(symbol);
                found.push(AxisSize { input: input.to_owned(), axis, size });
            }
        }
    }
    for (input, axis, dim) in axes() {
        let mut inside = Vec::new();
        symbols_in(symbols, dim, &mut inside);
        if inside.iter().any(|symbol| !known.contains(symbol)) {
            let message = format!(
                "the program records no size of `{input}:{axis}` ({}) to freeze it to",
                symbols.display(dim)
            );
            problems.push(Diagnostic::error(Code::LOWER_UNSIZED, message).help(HELP));
        }
    }
    if problems.is_empty() {
        return Ok(found);
    }
    Err(Report { diagnostics: problems, origins: program.origins.clone() })
}
