//! Recorded types of values agree with the types inferred from their nodes and the types that the program states.

use std::borrow::Cow;
use std::fmt::Write;

use super::{Cx, StatedTypes, describe};
use crate::diagnose::Diagnostic;
use crate::ir::{Graph, NodeId, Shape, Type, ValueId};
use crate::ops::infer;
use crate::sym::{Dim, Symbols};

/// Values of more elements are not shown in messages.
const MAX_SHOWN: usize = 8;

pub(super) fn check(
    cx: &mut Cx<'_>,
    graph: &Graph,
    stated: &StatedTypes,
    nodes: impl Iterator<Item = NodeId>,
) {
    let opset = cx.opset();
    let typed = typed(cx, graph, opset);
    for id in nodes {
        let answer = infer::answer(&typed, &mut cx.symbols, opset, id);
        if let Some(why) = answer.refuted {
            let given = inputs(cx, &typed, id);
            cx.at(graph, id, &format!("{why}{given}"));
        }
        for (value, inferred) in graph.nodes[id].outputs.iter().zip(answer.outputs) {
            let Some(value) = *value else { continue };
            let recorded = &graph.values[value].ty;
            let about = |what: &str| format!("{} {what}", describe(graph, value));
            if let Some((given, follows)) = differs(&mut cx.symbols, recorded, &inferred.ty) {
                let message = format!("is recorded as {given}, but the node makes {follows}");
                cx.at(graph, id, &about(&message));
                continue;
            }
            let Some((dtype, shape)) = stated.get(value).map(|ty| &**ty) else { continue };
            let program = Type::tensor(*dtype, shape.clone());
            for ty in [recorded, &inferred.ty] {
                if let Some((says, found)) = differs(&mut cx.symbols, &program, ty) {
                    let message = format!("is {found}, but the program states {says}");
                    cx.at(graph, id, &about(&message));
                    break;
                }
            }
        }
    }
}

/// Values of the main graph that are recorded with another shape than follows from their nodes, each with the type to record
/// instead and the finding. That type is unknown, except for results of a graph, which are declared as their nodes make them.
pub(super) fn misrecorded(cx: &mut Cx<'_>, graph: &Graph) -> Vec<(ValueId, Type, Diagnostic)> {
    let opset = cx.opset();
    let typed = typed(cx, graph, opset);
    let mut wrong = Vec::new();
    for id in graph.nodes.ids().filter(|id| graph.nodes[*id].block.is_some()) {
        let inferred = infer::answer(&typed, &mut cx.symbols, opset, id).outputs;
        for (value, inferred) in graph.nodes[id].outputs.iter().zip(inferred) {
            let Some(value) = *value else { continue };
            let recorded = &graph.values[value].ty;
            if recorded.dtype().is_none_or(|dtype| inferred.ty.dtype() != Some(dtype)) {
                continue;
            }
            if let Some((given, follows)) = differs(&mut cx.symbols, recorded, &inferred.ty) {
                let name = describe(graph, value);
                cx.at(graph, id, &format!("{name} is recorded as {given}, but the node makes {follows}"));
                let ty = if graph.is_returned(value) { inferred.ty } else { Type::Unknown };
                wrong.extend(cx.found.pop().map(|found| (value, ty, found)));
            }
        }
    }
    wrong
}

/// The graph with the types that follow from its nodes. One that was made here has them; one that was read need not.
fn typed<'a>(cx: &mut Cx<'_>, graph: &'a Graph, opset: i64) -> Cow<'a, Graph> {
    if !cx.model.origin.is_imported() {
        return Cow::Borrowed(graph);
    }
    let mut typed = graph.clone();
    infer::infer_all(&mut typed, &mut cx.symbols, opset);
    Cow::Owned(typed)
}

/// Describes the inputs of a node, with the known part of each type.
fn inputs(cx: &Cx<'_>, graph: &Graph, node: NodeId) -> String {
    let mut out = String::new();
    for value in graph.nodes[node].inputs.iter().flatten() {
        let ty = text(&cx.symbols, &graph.values[*value].ty);
        let separator = if out.is_empty() { "; " } else { ", " };
        let _ = write!(out, "{separator}{} is {ty}", describe(graph, *value));
        if let Some(items) = graph.shape_value(*value).filter(|items| items.len() <= MAX_SHOWN) {
            let items: Vec<String> = items.iter().map(|d| cx.symbols.display(*d)).collect();
            let _ = write!(out, " = [{}]", items.join(", "));
        }
    }
    out
}

/// Requires inputs and outputs of the graph to have types.
pub(super) fn ends(cx: &mut Cx<'_>, graph: &Graph) {
    let main = &graph.blocks[graph.main()];
    let is_function = !std::ptr::eq(graph, &raw const cx.model.graph);
    let ends = main.inputs.iter().map(|v| ("input", *v)).chain(main.outputs().iter().map(|v| ("output", *v)));
    for (side, value) in ends.filter(|_| !is_function) {
        if !graph.values[value].ty.is_stated() {
            cx.report(format!("the type of the {side} {} is unknown", describe(graph, value)));
        }
    }
    for (value, info) in graph.values.iter() {
        if let Some(dim) = negative(info.ty.shape()) {
            cx.report(format!("{} has an axis of size {dim}", describe(graph, value)));
        }
    }
}

fn negative(shape: Option<&Shape>) -> Option<i64> {
    shape?.dims()?.iter().flatten().filter_map(|d| d.as_const()).find(|n| *n < 0)
}

/// The two types as text, when no value can have both.
pub(super) fn differs(symbols: &mut Symbols, a: &Type, b: &Type) -> Option<(String, String)> {
    let clash = match (a, b) {
        (Type::Unknown, _) | (_, Type::Unknown) => false,
        (Type::Tensor { dtype, shape }, Type::Tensor { dtype: other, shape: with }) => {
            dtype.zip(*other).is_some_and(|(x, y)| x != y) || shapes_differ(symbols, shape, with)
        }
        (Type::Sequence(x), Type::Sequence(y)) | (Type::Optional(x), Type::Optional(y)) => {
            return differs(symbols, x, y).map(|_| (text(symbols, a), text(symbols, b)));
        }
        (Type::Map(key, x), Type::Map(other, y)) => key != other || differs(symbols, x, y).is_some(),
        (Type::SparseTensor { dtype, shape }, Type::SparseTensor { dtype: other, shape: with }) => {
            dtype.zip(*other).is_some_and(|(x, y)| x != y) || shapes_differ(symbols, shape, with)
        }
        (Type::Opaque { .. }, Type::Opaque { .. }) => a != b,
        _ => true,
    };
    clash.then(|| (text(symbols, a), text(symbols, b)))
}

fn shapes_differ(symbols: &mut Symbols, a: &Shape, b: &Shape) -> bool {
    match (a, b) {
        (Shape::Ranked(a), Shape::Ranked(b)) => {
            a.len() != b.len()
                || a.iter().zip(b).any(|(a, b)| a.zip(*b).is_some_and(|(a, b)| dims_differ(symbols, a, b)))
        }
        _ => false,
    }
}

/// Whether two sizes are surely different: everywhere, or at the sizes that the program was
/// traced with. Expressions that merely look different may be equal.
pub fn dims_differ(symbols: &mut Symbols, a: Dim, b: Dim) -> bool {
    if a == b {
        return false;
    }
    if let (Dim::Const(a), Dim::Const(b)) = (a, b) {
        return a != b;
    }
    let hint = |dim| symbols.eval(dim, &|sym| symbols.get(sym).hint);
    if let (Some(a), Some(b)) = (hint(a), hint(b)) {
        return a != b;
    }
    let difference = symbols.sub(a, b);
    let range = symbols.range(difference);
    range.min.is_some_and(|n| n > 0) || range.max.is_some_and(|n| n < 0)
}

/// A type as the text form writes it.
fn text(symbols: &Symbols, ty: &Type) -> String {
    match ty {
        Type::Unknown => "unknown".to_owned(),
        Type::Sequence(element) => format!("a sequence of {}", text(symbols, element)),
        Type::Optional(element) => format!("an optional {}", text(symbols, element)),
        Type::Map(key, value) => format!("a map of {key} to {}", text(symbols, value)),
        Type::Opaque { domain, name } => format!("an opaque {domain}::{name}"),
        Type::Tensor { dtype, shape } | Type::SparseTensor { dtype, shape } => {
            let dtype = dtype.map_or("?", crate::tensor::DType::as_str);
            let dims = shape.dims().map(|dims| {
                let dims = dims.iter().map(|d| d.map_or_else(|| "?".to_owned(), |d| symbols.display(d)));
                dims.collect::<Vec<_>>().join(", ")
            });
            dims.map_or_else(|| dtype.to_owned(), |dims| format!("{dtype}[{dims}]"))
        }
    }
}
