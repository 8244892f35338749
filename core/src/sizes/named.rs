//! Dimensions of inputs by the names of their symbols.

use super::fix::ports;
use super::solver::symbols_in;
use crate::onnx::AxisSize;
use crate::program::Program;
use crate::sym::Dim;

/// The names of the symbols in the shapes of inputs, in order.
pub fn symbols_of_inputs(program: &Program) -> Vec<String> {
    let mut found = Vec::new();
    for dim in ports(program).iter().flat_map(|port| port.dims) {
        symbols_in(&program.symbols, *dim, &mut found);
    }
    let mut names: Vec<String> = Vec::new();
    for symbol in found {
        let name = &program.symbols.get(symbol).name;
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    names
}

/// Returns an axis of an input, by the program's name, and its size where the symbol `name` is `size`: an axis that is the
/// symbol, or else one that is linear in it. `None` if there is none.
pub fn of_symbol(program: &Program, name: &str, size: u64) -> Option<AxisSize> {
    let symbols = &program.symbols;
    let symbol = symbols.find(name)?;
    let ports = ports(program);
    let axes: Vec<(&str, usize, Dim)> = ports
        .iter()
        .flat_map(|port| port.dims.iter().enumerate().map(|(axis, dim)| (port.name, axis, *dim)))
        .collect();
    let sized = |input: &str, axis, size| AxisSize { input: input.to_owned(), axis, size };
    if let Some((input, axis, _)) = axes.iter().find(|(.., dim)| symbols.as_symbol(*dim) == Some(symbol)) {
        return Some(sized(input, *axis, size));
    }
    axes.iter().find_map(|(input, axis, dim)| {
        let (factor, _, offset) = symbols.linear(*dim).filter(|(_, found, _)| *found == symbol)?;
        let size = i64::try_from(size).ok()?.checked_mul(factor)?.checked_add(offset)?;
        Some(sized(input, *axis, u64::try_from(size).ok()?))
    })
}
