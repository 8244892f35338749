//! Drops calls that return their argument: nothing aliases any more, and ONNX has no devices, layouts
//! or gradients.

use rustc_hash::FxHashMap;

use super::Context;
use super::edit::{each_nested, parts, substitute};
use crate::arena::Arena;
use crate::program::{Arg, Body, Call, Output, Program, Val, Value};

pub(super) fn run(program: &mut Program, _: &mut Context<'_>) {
    drop_noops(&mut program.body);
}

fn drop_noops(body: &mut Body) {
    let mut replaced: FxHashMap<Val, Arg> = FxHashMap::default();
    let uses = mask_uses(body);
    let values = &body.values;
    body.calls.retain_mut(|call| {
        if !replaced.is_empty() {
            call.args.iter_mut().for_each(|a| substitute(&mut a.arg, &replaced));
        }
        each_nested(call, &mut drop_noops);
        match identity(call, values, &uses) {
            Some((result, source)) => {
                replaced.insert(result, Arg::Value(source));
                false
            }
            None => true,
        }
    });
    body.outputs.iter_mut().for_each(|output| substitute(output, &replaced));
}

/// The masks of `native_dropout` that are used.
fn mask_uses(body: &Body) -> FxHashMap<Val, bool> {
    let mut masks = FxHashMap::default();
    for call in &body.calls {
        for arg in &call.args {
            arg.arg.each_value(&mut |v| {
                masks.entry(v).and_modify(|used| *used = true);
            });
        }
        if let (true, Some(Output::Value(mask))) =
            (call.target == "aten.native_dropout.default", call.outputs.get(1))
        {
            masks.insert(*mask, false);
        }
    }
    for output in &body.outputs {
        output.each_value(&mut |v| {
            masks.entry(v).and_modify(|used| *used = true);
        });
    }
    masks
}

/// The result and the argument that it equals.
fn identity(call: &Call, values: &Arena<Value>, masks: &FxHashMap<Val, bool>) -> Option<(Val, Val)> {
    let (namespace, op, _) = parts(&call.target);
    if !matches!(namespace, "aten" | "prims") {
        return None;
    }
    let (Some(Output::Value(result)), source) = (call.outputs.first(), call.args.first()?.arg.as_value()?)
    else {
        return None;
    };
    let to = values.get(*result)?.ty.as_tensor()?;
    let from = values.get(source)?.ty.as_tensor()?;
    if to.dtype != from.dtype || to.shape != from.shape {
        return None;
    }
    let real = !from.dtype.is_complex();
    let is_identity = match op {
        "alias"
        | "detach"
        | "lift_fresh"
        | "lift_fresh_copy"
        | "lift"
        | "contiguous"
        | "clone"
        | "positive"
        | "to"
        | "_to_copy"
        | "type_as"
        | "view_of"
        | "device_put"
        | "expand"
        | "expand_as"
        | "broadcast_to"
        | "view"
        | "reshape"
        | "_unsafe_view"
        | "_reshape_alias"
        | "view_as"
        | "reshape_as"
        | "flatten"
        | "ravel"
        | "unflatten"
        | "squeeze"
        | "expand_copy"
        | "view_copy"
        | "alias_copy"
        | "detach_copy"
        | "convert_element_type"
        | "sum_to_size"
        | "resolve_conj"
        | "resolve_neg"
        | "narrow" => true,
        // A range that spans the axis, in steps of one.
        "slice" => matches!(call.arg("step"), None | Some(Arg::Int(1))),
        "_conj" | "conj" | "conj_physical" | "real" => real,
        "dropout" | "feature_dropout" | "alpha_dropout" | "feature_alpha_dropout" => {
            let off = matches!(call.arg("p"), Some(Arg::Float(0.0) | Arg::Int(0)));
            off || matches!(call.arg("train"), Some(Arg::Bool(false)))
        }
        "native_dropout" => {
            let mask = match call.outputs.get(1) {
                Some(Output::Value(mask)) => masks.get(mask).copied().unwrap_or(true),
                _ => false,
            };
            matches!(call.arg("train"), Some(Arg::Bool(false))) && !mask
        }
        _ => false,
    };
    is_identity.then_some((*result, source))
}
