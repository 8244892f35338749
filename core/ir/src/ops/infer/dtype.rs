//! Element types of outputs, from the type variables of the operator's schema.

use smallvec::{SmallVec, smallvec};

use super::cx::Cx;
use crate::ir::opset::{self, Formal, FormalKind, FormalType, OpSchema, TypeTag, formal};
use crate::ir::{Attr, Type};
use crate::tensor::DType;

/// The type of an output, its shape left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    Tensor(DType),
    Sequence(DType),
    Unknown,
}

/// The types of every output of `cx.node` at `opset`.
pub(super) fn dtypes(cx: &Cx<'_>, opset: i64) -> SmallVec<[Found; 2]> {
    let count = cx.node.outputs.len();
    let mut found: SmallVec<[Found; 2]> = match opset::lookup(&cx.node.op, opset) {
        Some(schema) => by_schema(cx, schema),
        None => smallvec![Found::Unknown; count],
    };
    let known = stated(cx).filter(|f| *f != Found::Unknown);
    if let (Some(first), Some(known)) = (found.first_mut(), known) {
        *first = known;
    }
    if cx.node.op == "LayerNormalization" {
        // The statistics have a type of their own.
        let stash = i32::try_from(cx.int("stash_type", 1)).ok().and_then(DType::from_onnx);
        found.iter_mut().skip(1).for_each(|f| *f = stash.map_or(Found::Unknown, Found::Tensor));
    }
    found
}

fn by_schema(cx: &Cx<'_>, schema: &'static OpSchema) -> SmallVec<[Found; 2]> {
    let mut bound: SmallVec<[Found; 6]> = smallvec![Found::Unknown; schema.type_vars.len()];
    for index in 0..cx.node.inputs.len() {
        let (Some(formal), Some(ty)) = (formal(schema.inputs, index), cx.ty(index)) else { continue };
        let (FormalType::Var(var), false) = (&formal.ty, formal.kind == FormalKind::VariadicHeterogeneous)
        else {
            continue;
        };
        let slot = &mut bound[usize::from(*var)];
        if *slot == Found::Unknown {
            *slot = match ty {
                Type::Tensor { dtype: Some(dtype), .. } => Found::Tensor(*dtype),
                Type::Sequence(element) => match **element {
                    Type::Tensor { dtype: Some(dtype), .. } => Found::Sequence(dtype),
                    _ => Found::Unknown,
                },
                _ => Found::Unknown,
            };
        }
    }
    let only = |allowed: &[TypeTag]| match allowed {
        [TypeTag::Tensor(dtype)] => Found::Tensor(*dtype),
        [TypeTag::Seq(dtype)] => Found::Sequence(*dtype),
        _ => Found::Unknown,
    };
    (0..cx.node.outputs.len())
        .map(|index| match formal(schema.outputs, index) {
            None => Found::Unknown,
            Some(f) if f.kind == FormalKind::VariadicHeterogeneous => Found::Unknown,
            Some(Formal { ty: FormalType::Fixed(allowed), .. }) => only(allowed),
            Some(Formal { ty: FormalType::Var(var), .. }) => match bound[usize::from(*var)] {
                Found::Unknown => only(schema.type_vars[usize::from(*var)].allowed),
                known => known,
            },
        })
        .collect()
}

/// The type of the first output, for operators where the schema's variables do not give it.
fn stated(cx: &Cx<'_>) -> Option<Found> {
    let attr = |name: &str| -> Option<Found> {
        let code = i32::try_from(cx.node.int(name)?).ok()?;
        (code != 0).then(|| DType::from_onnx(code).map_or(Found::Unknown, Found::Tensor))
    };
    let input = |index: usize| cx.dtype(index).map(Found::Tensor);
    match cx.node.op.as_str() {
        "Cast" => attr("to"),
        "Constant" => constant(cx),
        "ConstantOfShape" => match cx.node.attr("value") {
            Some(Attr::Tensor(data)) => Some(Found::Tensor(data.dtype)),
            _ => Some(Found::Tensor(DType::F32)),
        },
        "EyeLike" | "RandomNormalLike" | "RandomUniformLike" | "Bernoulli" => {
            attr("dtype").or_else(|| input(0))
        }
        "RandomNormal" | "RandomUniform" => attr("dtype").or(Some(Found::Tensor(DType::F32))),
        "Multinomial" => attr("dtype").or(Some(Found::Tensor(DType::I32))),
        "BlackmanWindow" | "HammingWindow" | "HannWindow" | "MelWeightMatrix" => {
            attr("output_datatype").or(Some(Found::Tensor(DType::F32)))
        }
        "QuantizeLinear" => {
            let by_zero_point = || cx.input(2).map(|_| input(2).unwrap_or(Found::Unknown));
            by_zero_point().or_else(|| attr("output_dtype")).or(Some(Found::Tensor(DType::U8)))
        }
        "DequantizeLinear" => attr("output_dtype").or_else(|| input(1)),
        "SequenceEmpty" => {
            let code = cx.node.int("dtype").and_then(|c| i32::try_from(c).ok()).unwrap_or(1);
            DType::from_onnx(code).map(Found::Sequence)
        }
        // The element type of what goes in or comes out of a sequence.
        "SequenceConstruct" | "SplitToSequence" => cx.dtype(0).map(Found::Sequence),
        "SequenceAt" | "ConcatFromSequence" => input(0),
        _ => None,
    }
}

fn constant(cx: &Cx<'_>) -> Option<Found> {
    let [attribute] = cx.node.attributes.as_slice() else { return None };
    Some(match &attribute.value {
        Attr::Tensor(data) => Found::Tensor(data.dtype),
        Attr::Int(_) | Attr::Ints(_) => Found::Tensor(DType::I64),
        Attr::Float(_) | Attr::Floats(_) => Found::Tensor(DType::F32),
        Attr::Str(_) | Attr::Strs(_) => Found::Tensor(DType::String),
        Attr::Bytes(_) | Attr::BytesList(_) | Attr::Text(_) => Found::Tensor(DType::String),
        Attr::Sparse(sparse) => Found::Tensor(sparse.values.dtype),
        _ => return None,
    })
}
