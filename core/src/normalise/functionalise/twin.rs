//! The functional counterparts of operators that write to their arguments.

use super::super::edit::parts;
use crate::registry::{Schema, SchemaType, Schemas};

/// The functional counterpart of an operator that writes.
#[derive(Debug, PartialEq)]
pub(super) enum Twin {
    /// The target's results are the new values of the written arguments.
    Values(String),
    /// The target's results are the operator's own, then the new value of each written argument.
    Functional(String),
    /// The tensor keeps its memory and only looks different: the view to take.
    View(String),
    /// The source is copied in.
    Copy,
    /// The target's results are copied into the written arguments, which it does not take itself.
    Out(String),
    /// There is none; the operator is called by the convention of [`super::super`].
    Convention,
    /// It cannot be expressed, and why.
    Refused(&'static str),
}

/// Returns the functional counterpart of the operator of `schema`: the fact `twin` if it has one, else by its name.
pub(super) fn of(schema: &Schema, schemas: &Schemas) -> Twin {
    if let Some(twin) = schema.facts.term("twin") {
        return match (twin.name.as_str(), twin.args.as_slice()) {
            ("copy", _) => Twin::Copy,
            ("view", [view]) => Twin::View(view.clone()),
            ("out", [target]) => Twin::Out(target.clone()),
            ("extent", _) => Twin::Refused("it changes the size of the tensor's memory"),
            ("memory", _) => Twin::Refused("it makes the tensor refer to other memory"),
            (target, _) => Twin::Values(target.to_owned()),
        };
    }
    let (namespace, op, overload) = parts(&schema.target);
    let functional = format!("{namespace}.{op}_functional.{overload}");
    if schemas.contains(&functional) {
        return Twin::Functional(functional);
    }
    let plain = match op.strip_prefix("__i") {
        Some(rest) if op.ends_with("__") => format!("__{rest}"),
        _ => op.strip_suffix('_').unwrap_or(op).to_owned(),
    };
    let twin = format!("{namespace}.{plain}.{overload}");
    if plain != op && schemas.get(&twin).is_some_and(|twin| fits(schema, twin)) {
        return Twin::Values(twin);
    }
    Twin::Convention
}

/// Whether `twin` takes the arguments of `schema` and writes none of them.
fn fits(schema: &Schema, twin: &Schema) -> bool {
    let tensor = |s: &Schema| {
        s.args.first().is_some_and(|a| match &a.ty {
            SchemaType::Tensor => true,
            SchemaType::List(inner, _) => **inner == SchemaType::Tensor,
            _ => false,
        })
    };
    let written = schema.args.iter().filter(|a| a.is_written()).count();
    tensor(schema)
        && tensor(twin)
        && !twin.is_mutating()
        && written == twin.returns.len()
        && schema.args.iter().skip(1).all(|a| twin.arg(&a.name).is_some())
}
