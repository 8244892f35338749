//! The functional operator that computes what an operator writes.

use super::super::edit::parts;
use crate::registry::{Schema, SchemaType, Schemas};
use crate::tensor::{DType, Kind};

/// How an operator that writes is called functionally.
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
    /// There is none; the operator is called by the convention of [`super::super`].
    Convention,
    /// It cannot be expressed, and why.
    Refused(&'static str),
}

/// Overloads whose twin has another name.
const SPECIAL: &[(&str, &str)] = &[
    ("aten.bernoulli_.float", "aten.bernoulli.p"),
    ("aten.pow_.Scalar", "aten.pow.Tensor_Scalar"),
    ("aten.pow_.Tensor", "aten.pow.Tensor_Tensor"),
    ("aten.float_power_.Scalar", "aten.float_power.Tensor_Scalar"),
    ("aten.float_power_.Tensor", "aten.float_power.Tensor_Tensor"),
    ("aten.floor_divide_.Tensor", "aten.floor_divide.default"),
    ("aten.ldexp_.default", "aten.ldexp.Tensor"),
    ("aten.polygamma_.default", "aten.polygamma.default"),
];

/// The functional counterpart of the operator of `schema`.
pub(super) fn of(schema: &Schema, schemas: &Schemas) -> Twin {
    let target = schema.target.as_str();
    let (namespace, op, overload) = parts(target);
    if namespace == "aten" {
        match op {
            "copy_" => return Twin::Copy,
            "detach_" | "requires_grad_" => return Twin::View("aten.detach.default".to_owned()),
            "transpose_" => return Twin::View("aten.transpose.int".to_owned()),
            "t_" | "squeeze_" | "unsqueeze_" | "swapaxes_" | "swapdims_" | "as_strided_" => {
                return Twin::View(format!("aten.{}.{overload}", op.trim_end_matches('_')));
            }
            "resize_" | "resize_as_" | "resize_as_sparse_" => {
                return Twin::Refused("it changes the extent of the tensor's memory");
            }
            "set_" | "set_data" | "shallow_copy_data_" => {
                return Twin::Refused("it makes the tensor refer to other memory");
            }
            _ => {}
        }
        if let Some((_, twin)) = SPECIAL.iter().find(|(name, _)| *name == target) {
            return Twin::Values((*twin).to_owned());
        }
    }
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

/// Whether the functional operator yields truth values whatever its inputs are.
pub(super) fn yields_bool(target: &str) -> bool {
    let (_, op, _) = parts(target);
    matches!(
        op,
        "eq" | "ne"
            | "lt"
            | "le"
            | "gt"
            | "ge"
            | "not_equal"
            | "less"
            | "less_equal"
            | "greater"
            | "greater_equal"
            | "logical_and"
            | "logical_or"
            | "logical_xor"
            | "logical_not"
    )
}

/// Whether the functional operator computes in the promoted type of its tensors.
pub(super) fn promotes(target: &str) -> bool {
    let (_, op, _) = parts(target);
    matches!(
        op,
        "add"
            | "sub"
            | "subtract"
            | "mul"
            | "multiply"
            | "div"
            | "divide"
            | "true_divide"
            | "floor_divide"
            | "pow"
            | "float_power"
            | "fmod"
            | "remainder"
            | "atan2"
            | "arctan2"
            | "hypot"
            | "addcmul"
            | "addcdiv"
            | "bitwise_and"
            | "bitwise_or"
            | "bitwise_xor"
            | "__and__"
            | "__or__"
            | "__xor__"
            | "xlogy"
            | "gcd"
            | "lcm"
            | "copysign"
            | "nextafter"
            | "clamp"
            | "clip"
            | "clamp_min"
            | "clamp_max"
    )
}

/// The type that two tensors of the same category promote to.
pub(super) fn promote(a: DType, b: DType) -> DType {
    let rank = |d: DType| match d.kind() {
        Kind::Text | Kind::Bool => 0,
        Kind::Int => 1,
        Kind::Float => 2,
        Kind::Complex => 3,
    };
    if a == b || rank(a) > rank(b) {
        return a;
    }
    if rank(b) > rank(a) {
        return b;
    }
    match (a.bits(), b.bits(), a.kind()) {
        (x, y, Kind::Float) if x == y => DType::F32,
        (8, 8, Kind::Int) => DType::I16,
        (x, y, Kind::Int) => {
            // The wider wins, unless the other is unsigned of the same or a wider type.
            let (wide, narrow) = if x >= y { (a, b) } else { (b, a) };
            if narrow == DType::U8 || is_signed(wide) { wide } else { DType::I64 }
        }
        (x, y, _) => {
            if x >= y {
                a
            } else {
                b
            }
        }
    }
}

fn is_signed(dtype: DType) -> bool {
    matches!(dtype, DType::I8 | DType::I16 | DType::I32 | DType::I64)
}
