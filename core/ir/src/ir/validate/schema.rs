//! Nodes follow the signatures of their operators.

use rustc_hash::FxHashSet;

use super::Cx;
use crate::ir::infer::formal;
use crate::ir::opset::{self, AttrSchema, FormalKind, FormalType, OpSchema, TypeTag};
use crate::ir::{Function, Graph, Node, NodeId, Type};

pub(super) fn check(cx: &mut Cx<'_>, graph: &Graph, nodes: impl Iterator<Item = NodeId>) {
    let model = cx.model;
    let opset = model.opset();
    let domains: FxHashSet<&str> = model.opsets.iter().map(|o| o.domain.as_str()).collect();
    for id in nodes {
        let node = &graph.nodes[id];
        if !node.domain.is_empty() {
            if !domains.contains(node.domain.as_str()) {
                cx.at(graph, id, "the model does not import the operator's domain");
            }
            call(cx, graph, id);
            continue;
        }
        match opset::lookup(&node.op, opset) {
            Some(schema) => {
                arity(cx, graph, id, schema);
                attributes(cx, graph, id, schema);
                types(cx, graph, id, schema);
            }
            None => cx.at(graph, id, &format!("opset {opset} has no such operator")),
        }
    }
}

/// A call of a local function passes what the function takes. A function calls those before it only, so that
/// none calls itself.
fn call(cx: &mut Cx<'_>, graph: &Graph, id: NodeId) {
    let (model, node) = (cx.model, &graph.nodes[id]);
    let named = |f: &Function| f.domain == node.domain && f.name == node.op;
    let Some(position) = model.functions.iter().position(named) else { return };
    let function = &model.functions[position];
    let inside = model.functions.iter().position(|f| std::ptr::eq(&raw const f.graph, graph));
    if inside.is_some_and(|caller| caller <= position) {
        cx.at(graph, id, "is a function that is not defined before the one that calls it");
    }
    let body = &function.graph.blocks[function.graph.main()];
    if node.inputs.len() != body.inputs.len() {
        let message = format!("takes {} inputs, not {}", body.inputs.len(), node.inputs.len());
        cx.at(graph, id, &message);
    }
    if node.outputs.len() > body.outputs.len() {
        let message = format!("returns {} outputs, not {}", body.outputs.len(), node.outputs.len());
        cx.at(graph, id, &message);
    }
    for attribute in &node.attributes {
        if !function.attributes.contains(&attribute.name) {
            cx.at(graph, id, &format!("has no attribute `{}`", attribute.name));
        }
    }
    for name in &function.attributes {
        if node.attr(name).is_none() {
            cx.at(graph, id, &format!("the attribute `{name}` is missing"));
        }
    }
}

fn arity(cx: &mut Cx<'_>, graph: &Graph, id: NodeId, schema: &'static OpSchema) {
    let node = &graph.nodes[id];
    let bounds = |least: u16, most: u16, count: usize| {
        count >= usize::from(least) && (most == u16::MAX || count <= usize::from(most))
    };
    if !bounds(schema.min_inputs, schema.max_inputs, node.inputs.len()) {
        cx.at(graph, id, &format!("does not take {} inputs", node.inputs.len()));
    }
    if !bounds(schema.min_outputs, schema.max_outputs, node.outputs.len()) {
        cx.at(graph, id, &format!("does not return {} outputs", node.outputs.len()));
    }
    for (index, input) in node.inputs.iter().enumerate() {
        let required = formal(schema.inputs, index).filter(|f| f.kind == FormalKind::Single);
        if let (None, Some(required)) = (input, required) {
            cx.at(graph, id, &format!("the input `{}` is missing", required.name));
        }
    }
}

fn attributes(cx: &mut Cx<'_>, graph: &Graph, id: NodeId, schema: &'static OpSchema) {
    let node = &graph.nodes[id];
    for attribute in &node.attributes {
        match schema.attributes.iter().find(|a| a.name == attribute.name) {
            None => cx.at(graph, id, &format!("has no attribute `{}`", attribute.name)),
            Some(AttrSchema { kind, .. }) if !kind.fits(&attribute.value) => {
                cx.at(graph, id, &format!("the attribute `{}` is not of type {kind:?}", attribute.name));
            }
            Some(_) => {}
        }
    }
    if let Some(pair) = node.attributes.windows(2).find(|pair| pair[0].name >= pair[1].name) {
        cx.at(graph, id, &format!("the attributes are not sorted, or `{}` stands twice", pair[1].name));
    }
    for required in schema.attributes.iter().filter(|a| a.required) {
        if node.attr(required.name).is_none() {
            cx.at(graph, id, &format!("the attribute `{}` is missing", required.name));
        }
    }
}

/// Every known type is one that the operator allows, and a type variable stands for one type.
fn types(cx: &mut Cx<'_>, graph: &Graph, id: NodeId, schema: &'static OpSchema) {
    let node: &Node = &graph.nodes[id];
    let mut bound: Vec<Option<TypeTag>> = vec![None; schema.type_vars.len()];
    let inputs = node.inputs.iter().enumerate().map(|(i, v)| (schema.inputs, "input", i, v));
    let outputs = node.outputs.iter().enumerate().map(|(i, v)| (schema.outputs, "output", i, v));
    for (formals, side, index, value) in inputs.chain(outputs) {
        let (Some(value), Some(formal)) = (value, formal(formals, index)) else { continue };
        let tag = match &graph.values[*value].ty {
            Type::Tensor { dtype: Some(dtype), .. } => TypeTag::Tensor(*dtype),
            Type::Sequence(dtype) => TypeTag::Seq(*dtype),
            _ => continue,
        };
        let allowed = match &formal.ty {
            FormalType::Fixed(allowed) => allowed,
            FormalType::Var(var) => schema.type_vars[usize::from(*var)].allowed,
        };
        if !allowed.contains(&tag) {
            cx.at(graph, id, &format!("{side} `{}` cannot be {}", formal.name, text(tag)));
            continue;
        }
        let FormalType::Var(var) = formal.ty else { continue };
        if formal.kind == FormalKind::VariadicHeterogeneous {
            continue;
        }
        match bound[usize::from(var)] {
            None => bound[usize::from(var)] = Some(tag),
            Some(first) if first != tag => {
                let (name, variable) = (formal.name, schema.type_vars[usize::from(var)].name);
                let (first, tag) = (text(first), text(tag));
                cx.at(graph, id, &format!("{side} `{name}` is {tag}, but `{variable}` is {first}"));
            }
            Some(_) => {}
        }
    }
}

fn text(tag: TypeTag) -> String {
    match tag {
        TypeTag::Tensor(dtype) => dtype.to_string(),
        TypeTag::Seq(dtype) => format!("a sequence of {dtype}"),
        TypeTag::Optional(_) | TypeTag::OptionalSeq(_) | TypeTag::Map => "of another kind".to_owned(),
    }
}
