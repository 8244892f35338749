//! Inlines higher-order operators that only set a mode around a nested graph: gradients, autocast, checkpointing,
//! strict mode, hints. The fact `region` marks them. A `cond` whose predicate is a constant is replaced by its branch.

use rustc_hash::FxHashMap;

use super::Context;
use super::autocast::{self, Autocast};
use super::edit::{Editor, each_nested, substitute};
use crate::diagnose::Code;
use crate::program::{Arg, Body, Call, Output, Program, Subgraph, Val};
use crate::registry::{Schema, Term};
use crate::tensor::DType;

pub(super) fn run(program: &mut Program, cx: &mut Context<'_>) {
    inline(&mut program.body, None, cx);
}

/// Inlines the regions of `body`, whose calls run under `mode`.
fn inline(body: &mut Body, mode: Option<Autocast>, cx: &mut Context<'_>) {
    let is_plain = |c: &Call| c.args.iter().all(|a| !matches!(a.arg, Arg::Graph(_)));
    if mode.is_none() && body.calls.iter().all(is_plain) {
        return;
    }
    let (mut editor, calls) = Editor::rewrite(body);
    let mut replaced = FxHashMap::default();
    for mut call in calls {
        for arg in &mut call.args {
            substitute(&mut arg.arg, &replaced);
        }
        if let Some(mut branch) = decided(&call)
            && splice(&mut branch, mode, &mut editor, &mut replaced, cx).is_ok()
        {
            continue;
        }
        let schemas = cx.schemas;
        let schema = schemas.get(&call.target);
        let Some((schema, region)) = schema.and_then(|s| Some((s, s.facts.term("region")?))) else {
            each_nested(&mut call, &mut |nested| inline(nested, mode, cx));
            autocast::cast_inputs(&mut call, mode, &mut editor, cx);
            editor.calls.push(call);
            continue;
        };
        let inner = match region.name.as_str() {
            "autocast" => autocast_of(&call, schema, region).unwrap_or_else(|reason| {
                cx.error(Code::NORMALISE_REGION, reason, call.origin);
                None
            }),
            _ => mode,
        };
        if let Err(reason) = splice(&mut call, inner, &mut editor, &mut replaced, cx) {
            let message = format!("`{}` cannot be inlined: {reason}", call.target);
            cx.error(Code::NORMALISE_REGION, message, call.origin);
            editor.calls.push(call);
        }
    }
    for output in &mut body.outputs {
        substitute(output, &replaced);
    }
    editor.finish(body);
}

/// Returns the branch that `cond(predicate, true_graph, false_graph, operands)` takes, as a region, if its predicate
/// is known.
fn decided(call: &Call) -> Option<Call> {
    let [predicate, then, otherwise, operands] = call.args.as_slice() else { return None };
    let Arg::Bool(holds) = predicate.arg else { return None };
    if call.target != "higher_order.cond" {
        return None;
    }
    let taken = if holds { then } else { otherwise };
    Some(Call { args: vec![taken.clone(), operands.clone()], ..call.clone() })
}

/// Returns the mode of a region with the fact `autocast(device, dtype, enabled)`.
fn autocast_of(call: &Call, schema: &Schema, region: &Term) -> Result<Option<Autocast>, String> {
    let arg = |i: usize| {
        let name = region.args.get(i)?;
        let unnamed = || call.args.get(schema.args.iter().position(|a| a.name == *name)?).map(|a| &a.arg);
        call.arg(name).or_else(unnamed)
    };
    let device = match arg(0) {
        Some(Arg::Str(device) | Arg::Device(device)) => device.as_str(),
        _ => return Err("the autocast region does not state its device".to_owned()),
    };
    if let Some(Arg::Bool(false)) = arg(2) {
        return Ok(None);
    }
    match arg(1) {
        Some(Arg::DType(dtype)) => Ok(Some(Autocast { dtype: *dtype })),
        // PyTorch's defaults.
        Some(Arg::None) => {
            Ok(Some(Autocast { dtype: if device == "cpu" { DType::BF16 } else { DType::F16 } }))
        }
        _ => Err("the autocast region does not state its element type".to_owned()),
    }
}

/// Inlines the nested graph of `call`.
fn splice(
    call: &mut Call,
    mode: Option<Autocast>,
    editor: &mut Editor,
    replaced: &mut FxHashMap<Val, Arg>,
    cx: &mut Context<'_>,
) -> Result<(), String> {
    let mut graphs = call.args.iter_mut().enumerate().filter_map(|(at, a)| match &mut a.arg {
        Arg::Graph(graph) => Some((at, graph)),
        _ => None,
    });
    let Some((at, graph)) = graphs.next() else {
        return Err("it has no nested graph".to_owned());
    };
    let mut body = std::mem::take(&mut graph.body);
    let expected = body.inputs.len();
    let operands: Vec<Arg> = call.operands(at).into_iter().cloned().collect();
    if operands.len() != expected {
        let given = operands.len();
        restore(call, at, body);
        return Err(format!("its graph takes {expected} inputs, but {given} are given"));
    }
    if let Err(reason) = outputs_match(&call.outputs, &body.outputs) {
        restore(call, at, body);
        return Err(reason);
    }
    inline(&mut body, mode, cx);
    let mut inner = FxHashMap::default();
    for (input, operand) in body.inputs.iter().zip(operands) {
        if let Some(val) = input.as_value() {
            inner.insert(val, operand);
        }
    }
    // A result of the graph takes over the outside value, and so its name.
    for (output, result) in call.outputs.iter().zip(&body.outputs) {
        if let (Output::Value(outer), Arg::Value(own)) = (output, result) {
            inner.entry(*own).or_insert(Arg::Value(*outer));
        }
    }
    for (val, value) in body.values.iter() {
        inner.entry(val).or_insert_with(|| Arg::Value(editor.fresh(&value.name, value.ty.clone())));
    }
    for mut nested in body.calls {
        for arg in &mut nested.args {
            substitute(&mut arg.arg, &inner);
        }
        for output in &mut nested.outputs {
            rename(output, &inner);
        }
        editor.calls.push(nested);
    }
    for (output, result) in call.outputs.iter().zip(&body.outputs) {
        let mut result = result.clone();
        substitute(&mut result, &inner);
        bind(output, result, replaced);
    }
    Ok(())
}

fn restore(call: &mut Call, at: usize, body: Body) {
    if let Some(arg) = call.args.get_mut(at) {
        arg.arg = Arg::Graph(Box::new(Subgraph { name: String::new(), body }));
    }
}

fn outputs_match(outputs: &[Output], results: &[Arg]) -> Result<(), String> {
    if outputs.len() > results.len() {
        return Err(format!("it has {} outputs, but its graph has {}", outputs.len(), results.len()));
    }
    let fits = |(output, result): (&Output, &Arg)| match (output, result) {
        (Output::List(outputs), Arg::List(results)) => outputs.len() == results.len(),
        (Output::List(_), _) => false,
        _ => true,
    };
    if outputs.iter().zip(results).all(fits) { Ok(()) } else { Err("its outputs differ in form".to_owned()) }
}

fn bind(output: &Output, result: Arg, replaced: &mut FxHashMap<Val, Arg>) {
    match (output, result) {
        (Output::Value(val), result) if result != Arg::Value(*val) => {
            replaced.insert(*val, result);
        }
        (Output::List(items), Arg::List(results)) => {
            for (item, result) in items.iter().zip(results) {
                if let Some(val) = item {
                    replaced.insert(*val, result);
                }
            }
        }
        _ => {}
    }
}

fn rename(output: &mut Output, names: &FxHashMap<Val, Arg>) {
    let new = |val: Val| names.get(&val).and_then(Arg::as_value).unwrap_or(val);
    match output {
        Output::None => {}
        Output::Value(val) => *val = new(*val),
        Output::List(items) => items.iter_mut().flatten().for_each(|val| *val = new(*val)),
    }
}
