//! Drops calls that return their argument: aliasing no longer matters, and ONNX has no devices, layouts or
//! gradients. The fact `identity` states which operators do so, and when.

use rustc_hash::FxHashMap;

use super::Context;
use super::edit::{each_nested, substitute};
use crate::arena::Arena;
use crate::program::{Arg, Body, Call, Output, Program, Val, Value};
use crate::registry::{Schemas, Term};

pub(super) fn run(program: &mut Program, cx: &mut Context<'_>) {
    drop_noops(&mut program.body, cx.schemas);
}

fn drop_noops(body: &mut Body, schemas: &Schemas) {
    let mut replaced: FxHashMap<Val, Arg> = FxHashMap::default();
    let uses = second_uses(body, schemas);
    let values = &body.values;
    body.calls.retain_mut(|call| {
        if !replaced.is_empty() {
            call.args.iter_mut().for_each(|a| substitute(&mut a.arg, &replaced));
        }
        each_nested(call, &mut |nested| drop_noops(nested, schemas));
        match term(call, schemas).and_then(|term| identity(call, term, values, &uses)) {
            Some((result, source)) => {
                replaced.insert(result, Arg::Value(source));
                false
            }
            None => true,
        }
    });
    body.outputs.iter_mut().for_each(|output| substitute(output, &replaced));
}

fn term<'s>(call: &Call, schemas: &'s Schemas) -> Option<&'s Term> {
    schemas.get(&call.target)?.facts.term("identity")
}

/// Returns whether the second results are used, for calls that are identities only otherwise (masks of a dropout).
fn second_uses(body: &Body, schemas: &Schemas) -> FxHashMap<Val, bool> {
    let mut seconds = FxHashMap::default();
    for call in &body.calls {
        for arg in &call.args {
            arg.arg.each_value(&mut |v| {
                seconds.entry(v).and_modify(|used| *used = true);
            });
        }
        if let Some(Output::Value(second)) = call.outputs.get(1)
            && term(call, schemas).is_some_and(|term| term.name == "off_alone")
        {
            seconds.insert(*second, false);
        }
    }
    for output in &body.outputs {
        output.each_value(&mut |v| {
            seconds.entry(v).and_modify(|used| *used = true);
        });
    }
    seconds
}

/// Returns the result and the argument that it equals.
fn identity(
    call: &Call,
    term: &Term,
    values: &Arena<Value>,
    seconds: &FxHashMap<Val, bool>,
) -> Option<(Val, Val)> {
    let (Some(Output::Value(result)), source) = (call.outputs.first(), call.args.first()?.arg.as_value()?)
    else {
        return None;
    };
    let to = values.find(*result)?.ty.as_tensor()?;
    let from = values.find(source)?.ty.as_tensor()?;
    if to.dtype != from.dtype || to.shape != from.shape {
        return None;
    }
    let arg = |i: usize| term.args.get(i).and_then(|name| call.arg(name));
    let is_false = |i| matches!(arg(i), Some(Arg::Bool(false)));
    let is_identity = match term.name.as_str() {
        "whole" => true,
        // A slice with step 1 that spans the axis.
        "step" => matches!(arg(0), None | Some(Arg::Int(1))),
        "real" => !from.dtype.is_complex(),
        "off" => matches!(arg(0), Some(Arg::Float(0.0) | Arg::Int(0))) || is_false(1),
        "off_alone" => {
            let used = match call.outputs.get(1) {
                Some(Output::Value(second)) => seconds.get(second).copied().unwrap_or(true),
                _ => true,
            };
            is_false(0) && !used
        }
        _ => false,
    };
    is_identity.then_some((*result, source))
}
