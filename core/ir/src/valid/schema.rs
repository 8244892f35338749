//! Nodes follow the signatures of their operators.

use rustc_hash::FxHashSet;

use super::Cx;

use crate::ir::opset::{self, AttrSchema, FormalKind, FormalType, OpSchema, TypeTag, formal};
use crate::ir::{Graph, Node, NodeId, Type};

pub(super) fn check(cx: &mut Cx<'_>, graph: &Graph, nodes: impl Iterator<Item = NodeId>) {
    for id in nodes {
        let node = &graph.nodes[id];
        if let Some(callee) = cx.callees.get(&(&*node.domain, &*node.op, &*node.overload)).copied() {
            call(cx, graph, id, callee);
            continue;
        }
        let Some(version) = cx.version(&node.domain) else {
            match node.domain.as_str() {
                "" => cx.at(graph, id, "opset 0 has no such operator"),
                _ => cx.at(graph, id, "the model does not import the operator's domain"),
            }
            continue;
        };
        let lookup = if cx.model.origin.is_imported() { opset::lookup_read } else { opset::lookup_in };
        match lookup(&node.domain, &node.op, version) {
            Ok(Some(schema)) => {
                arity(cx, graph, id, schema);
                attributes(cx, graph, id, schema);
                types(cx, graph, id, schema);
            }
            Ok(None) => cx.at(graph, id, &format!("opset {version} has no such operator")),
            Err(opset::Foreign) => {}
        }
    }
}

/// Checks that a call of a local function matches its signature. A function calls only earlier ones, so there is no
/// recursion.
fn call(cx: &mut Cx<'_>, graph: &Graph, id: NodeId, callee: usize) {
    let (model, node) = (cx.model, &graph.nodes[id]);
    let Some(function) = model.functions.get(callee) else { return };
    if cx.version(&node.domain).is_none() {
        cx.at(graph, id, "the model does not import the operator's domain");
    }
    if cx.function.is_some_and(|caller| caller <= callee) {
        cx.at(graph, id, "is a function that is not defined before the one that calls it");
    }
    let body = &function.graph.blocks[function.graph.main()];
    // A call that was read may leave out the last inputs and any attribute.
    let made_here = !model.origin.is_imported();
    let (given, taken) = (node.inputs.len(), body.inputs.len());
    if given > taken || made_here && given != taken {
        cx.at(graph, id, &format!("takes {taken} inputs, not {given}"));
    }
    if node.outputs.len() > body.outputs().len() {
        let message = format!("returns {} outputs, not {}", body.outputs().len(), node.outputs.len());
        cx.at(graph, id, &message);
    }
    let names: FxHashSet<&str> = function
        .attributes
        .iter()
        .map(String::as_str)
        .chain(function.defaults.iter().map(|a| a.name.as_str()))
        .collect();
    for attribute in &node.attributes {
        if !names.contains(attribute.name.as_str()) {
            cx.at(graph, id, &format!("has no attribute `{}`", attribute.name));
        }
    }
    for name in function.attributes.iter().filter(|_| made_here) {
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
    let mut pairs = node.attributes.iter().zip(node.attributes.iter().skip(1));
    if let Some((_, next)) = pairs.find(|(a, b)| a.name >= b.name) {
        cx.at(graph, id, &format!("the attributes are not sorted, or `{}` occurs twice", next.name));
    }
    for required in schema.attributes.iter().filter(|a| a.required) {
        if node.attr(required.name).is_none() {
            cx.at(graph, id, &format!("the attribute `{}` is missing", required.name));
        }
    }
}

/// Checks that every known type is allowed by the operator, and that a type variable has a single type.
fn types(cx: &mut Cx<'_>, graph: &Graph, id: NodeId, schema: &'static OpSchema) {
    let node: &Node = &graph.nodes[id];
    let mut bound: Vec<Option<TypeTag>> = vec![None; schema.type_vars.len()];
    let inputs = node.inputs.iter().enumerate().map(|(i, v)| (schema.inputs, "input", i, v));
    let outputs = node.outputs.iter().enumerate().map(|(i, v)| (schema.outputs, "output", i, v));
    for (formals, side, index, value) in inputs.chain(outputs) {
        let (Some(value), Some(formal)) = (value, formal(formals, index)) else { continue };
        let Some(tag) = tag(&graph.values[*value].ty) else { continue };
        let allowed = match &formal.ty {
            FormalType::Fixed(allowed) => allowed,
            FormalType::Var(var) => schema.type_vars.get(usize::from(*var)).map_or(&[][..], |v| v.allowed),
        };
        if !allowed.contains(&tag) {
            cx.at(graph, id, &format!("{side} `{}` cannot be {}", formal.name, text(tag)));
            continue;
        }
        let FormalType::Var(var) = formal.ty else { continue };
        if formal.kind == FormalKind::VariadicHeterogeneous {
            continue;
        }
        let var = usize::from(var);
        let (Some(variable), Some(bound)) = (schema.type_vars.get(var), bound.get_mut(var)) else { continue };
        match *bound {
            None => *bound = Some(tag),
            Some(first) if first != tag => {
                let (name, variable) = (formal.name, variable.name);
                let (first, tag) = (text(first), text(tag));
                cx.at(graph, id, &format!("{side} `{name}` is {tag}, but `{variable}` is {first}"));
            }
            Some(_) => {}
        }
    }
}

/// Returns the tag of a type in signatures, if there is one.
fn tag(ty: &Type) -> Option<TypeTag> {
    match ty {
        Type::Tensor { dtype, .. } => dtype.map(TypeTag::Tensor),
        Type::Map(..) => Some(TypeTag::Map),
        Type::Sequence(element) => match tag(element)? {
            TypeTag::Tensor(dtype) => Some(TypeTag::Seq(dtype)),
            TypeTag::Map => Some(TypeTag::Map),
            _ => None,
        },
        Type::Optional(element) => match tag(element)? {
            TypeTag::Tensor(dtype) => Some(TypeTag::Optional(dtype)),
            TypeTag::Seq(dtype) => Some(TypeTag::OptionalSeq(dtype)),
            _ => None,
        },
        Type::Unknown | Type::SparseTensor { .. } | Type::Opaque { .. } => None,
    }
}

fn text(tag: TypeTag) -> String {
    match tag {
        TypeTag::Tensor(dtype) => dtype.to_string(),
        TypeTag::Seq(dtype) => format!("a sequence of {dtype}"),
        TypeTag::Optional(_) | TypeTag::OptionalSeq(_) | TypeTag::Map => "of another kind".to_owned(),
    }
}
