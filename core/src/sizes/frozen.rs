//! Sizes that depend on values, for which the export took those of the example inputs: draft export does so.

use super::effective::Reason;
use crate::program::{Arg, Program};
use crate::sym::{Range, SymId};

/// The symbols that depend on values and have a single size. No shape mentions them any more.
pub(super) fn find(program: &Program) -> impl Iterator<Item = SymId> {
    let is_frozen = |range: Range| range.min.is_some() && range.min == range.max;
    program
        .symbols
        .iter()
        .filter(move |(_, one)| is_unbacked(&one.name) && is_frozen(one.range))
        .map(|(id, _)| id)
}

/// Whether `name` is that of a size without a hint, such as `u0`.
fn is_unbacked(name: &str) -> bool {
    name.strip_prefix('u')
        .is_some_and(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
}

/// The messages of the assertions about a symbol. Their conditions are constants by now.
pub(super) fn assertions(program: &Program, symbol: &str) -> Vec<Reason> {
    let is_about =
        |text: &str| text.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == symbol);
    let messages = program.body.calls.iter().flat_map(|call| {
        let texts = call.args.iter().filter_map(|arg| match &arg.arg {
            Arg::Str(text) if is_about(text) => Some(text.to_string()),
            _ => None,
        });
        texts.map(|text| Reason { text: expression(&text).to_owned(), origin: Some(call.origin) })
    });
    messages.collect()
}

/// The expression in `Runtime assertion failed for expression Eq(u0, 25) on node 'eq'`.
fn expression(message: &str) -> &str {
    let rest = message.split_once("for expression ").map_or(message, |(_, rest)| rest);
    rest.rsplit_once(" on node ").map_or(rest, |(expression, _)| expression)
}
