//! Types of outputs, from the type variables of the operator's signature.

use smallvec::{SmallVec, smallvec};

use super::cx::{Cx, Types};
use crate::ir::opset::{self, Formal, FormalKind, FormalType, OpSchema, TypeTag, formal};
use crate::ir::{Shape, Type};
use crate::op::microsoft;

/// The types of every output of `cx.node`, without shapes.
pub(super) fn types(cx: &Cx<'_>) -> Types {
    // A graph does not state the version of the smaller domains: the newest is used.
    let version = if cx.node.domain.is_empty() { cx.opset } else { i64::MAX };
    let schema = match cx.node.domain.as_str() {
        microsoft::DOMAIN => opset::runtime(&cx.node.op),
        domain => opset::lookup_read(domain, &cx.node.op, version).ok().flatten(),
    };
    match schema {
        Some(schema) => by_schema(cx, schema),
        None => smallvec![Type::Unknown; cx.node.outputs.len()],
    }
}

fn by_schema(cx: &Cx<'_>, schema: &'static OpSchema) -> Types {
    let mut bound: SmallVec<[Type; 6]> = smallvec![Type::Unknown; schema.type_vars.len()];
    for index in 0..cx.node.inputs.len() {
        let (Some(formal), Some(ty)) = (formal(schema.inputs, index), cx.ty(index)) else { continue };
        let (FormalType::Var(var), false) = (&formal.ty, formal.kind == FormalKind::VariadicHeterogeneous)
        else {
            continue;
        };
        let slot = &mut bound[usize::from(*var)];
        if *slot == Type::Unknown {
            *slot = unshaped(ty);
        }
    }
    let only = |allowed: &[TypeTag]| match allowed {
        [TypeTag::Tensor(dtype)] => Type::tensor(*dtype, Shape::Unranked),
        [TypeTag::Seq(dtype)] => Type::sequence(*dtype),
        _ => Type::Unknown,
    };
    (0..cx.node.outputs.len())
        .map(|index| match formal(schema.outputs, index) {
            None => Type::Unknown,
            Some(f) if f.kind == FormalKind::VariadicHeterogeneous => Type::Unknown,
            Some(Formal { ty: FormalType::Fixed(allowed), .. }) => only(allowed),
            Some(Formal { ty: FormalType::Var(var), .. }) => match &bound[usize::from(*var)] {
                Type::Unknown => only(schema.type_vars[usize::from(*var)].allowed),
                known => known.clone(),
            },
        })
        .collect()
}

/// The type that a type variable stands for: everything but the shapes of tensors.
fn unshaped(ty: &Type) -> Type {
    match ty {
        Type::Tensor { dtype: Some(dtype), .. } => Type::tensor(*dtype, Shape::Unranked),
        Type::Sequence(element) => match unshaped(element) {
            Type::Unknown => Type::Unknown,
            element => Type::Sequence(Box::new(element)),
        },
        Type::Optional(element) => match unshaped(element) {
            Type::Unknown => Type::Unknown,
            element => Type::Optional(Box::new(element)),
        },
        _ => Type::Unknown,
    }
}
