//! The memory of a view is that of its base: `as_strided` counts from its start, wherever the view begins.
//!
//! Without the storage, only the base of a view is known to begin where its memory does. A call on a view becomes a call
//! on the base, and is refused if that is not possible.

use rustc_hash::{FxHashMap, FxHashSet};

use super::super::Context;
use super::alias::{Share, View, share};
use crate::diagnose::{Code, Diagnostic};
use crate::program::{Arg, Body, Call, Val};
use crate::registry::Schema;
use crate::sym::Symbols;

/// Operators that count from the start of the memory of their first argument, and return a tensor laid over it.
const READS: &[&str] = &["aten.as_strided.default", "aten.as_strided_copy.default"];

/// The same, except that their result or their argument has the memory of the argument as it is.
const WRITES: &[&str] = &["aten.as_strided_.default", "aten.as_strided_scatter.default"];

/// The base of a view.
#[derive(Clone, Copy)]
struct Base {
    val: Val,
    /// Whether the view begins where the base does.
    starts: bool,
}

/// Moves `as_strided` from views to their bases.
pub(super) fn rebase(body: &mut Body, symbols: &mut Symbols, cx: &mut Context<'_>) {
    let is_strided = |call: &Call| READS.iter().chain(WRITES).any(|target| call.target == *target);
    if !body.calls.iter().any(is_strided) {
        return;
    }
    let Body { calls, values, .. } = body;
    let mut bases: FxHashMap<Val, Base> = FxHashMap::default();
    let mut unclear: FxHashSet<Val> = FxHashSet::default();
    for call in calls {
        let schema = cx.schemas.get(&call.target);
        let source = call.args.first().and_then(|first| first.arg.as_value());
        let shared = match schema.filter(|schema| schema.is_mutating()) {
            Some(schema) => written(call, schema, source),
            None => share(call, schema, values, symbols),
        };
        if is_strided(call)
            && let Some(source) = source
            && let Err(why) = onto_base(call, source, &bases, &unclear)
        {
            let message = format!("`{}` refers to the memory of a view: {why}", call.target);
            let help = "index or reshape the tensor instead of laying strides over its storage";
            let problem = Diagnostic::error(Code::NORMALISE_MUTATION, message).at(call.origin).help(help);
            cx.diagnostics.push(problem);
        }
        match shared {
            Share::Nothing => {}
            Share::Views { source, views } => {
                let base = bases.get(&source).copied().unwrap_or(Base { val: source, starts: true });
                for (val, view) in views {
                    match starts(&view) {
                        Some(starts) if !unclear.contains(&source) => {
                            bases.insert(val, Base { starts: base.starts && starts, ..base });
                        }
                        _ => {
                            unclear.insert(val);
                        }
                    }
                }
            }
            Share::Unclear { results, .. } => unclear.extend(results),
        }
    }
}

/// The results of a call that writes to its first argument: the argument itself.
fn written(call: &Call, schema: &Schema, source: Option<Val>) -> Share {
    let Some(source) = source else { return Share::Nothing };
    let mut views = Vec::new();
    for (output, ret) in call.outputs.iter().zip(&schema.returns) {
        if ret.alias.is_some() {
            output.each_value(&mut |val| views.push((val, View::Same)));
        }
    }
    Share::Views { source, views }
}

/// Whether a view begins where its source does; `None` if it has another element type, or is not understood.
fn starts(view: &View) -> Option<bool> {
    match view {
        View::Same | View::Reshape | View::Permute(_) | View::Unsqueeze(_) | View::Squeeze(_) => Some(true),
        View::Select { .. }
        | View::Slice { .. }
        | View::Narrow { .. }
        | View::Part { .. }
        | View::Diagonal { .. }
        | View::AsStrided { .. } => Some(false),
        View::AsReal | View::AsComplex | View::Real | View::Imag | View::Conj | View::ReadOnly(_) => None,
    }
}

fn onto_base(
    call: &mut Call,
    source: Val,
    bases: &FxHashMap<Val, Base>,
    unclear: &FxHashSet<Val>,
) -> Result<(), &'static str> {
    if unclear.contains(&source) {
        return Err("its position in the memory is not known");
    }
    let Some(base) = bases.get(&source) else { return Ok(()) };
    let reads = READS.iter().any(|target| call.target == *target);
    let offset = call.arg("storage_offset").is_some_and(|arg| *arg != Arg::None);
    if base.starts && !reads {
        return Ok(());
    }
    if !reads || !base.starts && !offset {
        return Err("it does not begin where its memory does");
    }
    if let Some(first) = call.args.first_mut() {
        first.arg = Arg::Value(base.val);
    }
    Ok(())
}
