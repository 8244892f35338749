//! Drops assertions and effect tokens; the bounds that an assertion states for a symbol go into its range.
//! The fact `assertion` marks the operators.

use rustc_hash::FxHashMap;

use super::edit::{each_nested, named, substitute};
use super::{Context, with_symbols};
use crate::diagnose::Code;
use crate::program::{Arg, Body, Call, InputKind, NamedArg, Output, OutputKind, Program, Val, ValueType};
use crate::registry::Term;
use crate::sym::Symbols;

pub(super) fn run(program: &mut Program, cx: &mut Context<'_>) {
    with_symbols(program, |body, symbols| drop_assertions(body, symbols, cx));
    drop_tokens(program);
}

fn drop_assertions(body: &mut Body, symbols: &mut Symbols, cx: &mut Context<'_>) {
    let mut replaced: FxHashMap<Val, Arg> = FxHashMap::default();
    for mut call in std::mem::take(&mut body.calls) {
        each_nested(&mut call, &mut |nested| drop_assertions(nested, symbols, cx));
        if !replaced.is_empty() {
            call.args.iter_mut().for_each(|a| substitute(&mut a.arg, &replaced));
        }
        if call.target == "higher_order.with_effects" {
            replaced.extend(unwrap_effect(&mut call, cx));
        }
        let schema = cx.schemas.get(&call.target);
        let Some(assertion) = schema.and_then(|s| s.facts.term("assertion")) else {
            body.calls.push(call);
            continue;
        };
        narrow_range(&call, assertion, body, symbols);
        // The functional forms pass on a token that only orders them.
        let token = call.arg("dep_token").cloned().unwrap_or(Arg::None);
        for output in &call.outputs {
            output.each_value(&mut |v| _ = replaced.insert(v, token.clone()));
        }
    }
    body.outputs.iter_mut().for_each(|output| substitute(output, &replaced));
}

/// `range(size, min, max)`: the symbol lies within the bounds; `range_of_size`: it is also at least 0.
fn narrow_range(call: &Call, assertion: &Term, body: &Body, symbols: &mut Symbols) {
    let for_size = match assertion.name.as_str() {
        "range" => None,
        "range_of_size" => Some(0),
        _ => return,
    };
    let arg = |i: usize| assertion.args.get(i).and_then(|name| call.arg(name));
    let size = arg(0).and_then(Arg::as_value).and_then(|v| body.values.find(v));
    let Some(ValueType::SymInt(dim)) = size.map(|v| &v.ty) else { return };
    let Some(id) = symbols.as_symbol(*dim) else { return };
    let bound = |i| arg(i).and_then(Arg::as_int);
    let range = &mut symbols.get_mut(id).range;
    range.min = [range.min, bound(1), for_size].into_iter().flatten().max();
    range.max = [range.max, bound(2)].into_iter().flatten().min();
}

/// Replaces `with_effects(token, op, …)` by the call of `op`; returns the replacement of the new token.
fn unwrap_effect(call: &mut Call, cx: &mut Context<'_>) -> Option<(Val, Arg)> {
    let mut args = std::mem::take(&mut call.args).into_iter();
    let (token, op) = (args.next(), args.next());
    let (Some(token), Some(NamedArg { arg: Arg::Operator(op), .. })) = (token, op) else {
        let message = "`higher_order.with_effects` does not name its operator";
        cx.error(Code::NORMALISE_REGION, message, call.origin);
        return None;
    };
    let schema = cx.schemas.get(&op);
    call.args = args
        .enumerate()
        .map(|(i, arg)| match schema.and_then(|s| s.args.get(i)) {
            Some(known) if arg.name.is_empty() => named(&known.name, arg.arg),
            _ => arg,
        })
        .collect();
    call.target = op;
    let first = if call.outputs.is_empty() { Output::None } else { call.outputs.remove(0) };
    match first {
        Output::Value(val) => Some((val, token.arg)),
        _ => None,
    }
}

/// Removes the tokens from the inputs and outputs of the program.
fn drop_tokens(program: &mut Program) {
    let Program { body, signature, .. } = program;
    let inputs: Vec<bool> = signature.inputs.iter().map(|s| s.kind != InputKind::Token).collect();
    let outputs: Vec<bool> = signature.outputs.iter().map(|s| s.kind != OutputKind::Token).collect();
    keep(&mut signature.inputs, &inputs);
    keep(&mut body.inputs, &inputs);
    keep(&mut signature.outputs, &outputs);
    keep(&mut body.outputs, &outputs);
}

fn keep<T>(items: &mut Vec<T>, wanted: &[bool]) {
    let mut at = 0;
    items.retain(|_| {
        at += 1;
        wanted.get(at - 1).copied().unwrap_or(true)
    });
}
