//! Operators on quantized numbers.

use smallvec::smallvec;

use super::op;
use crate::op::microsoft;
use crate::ops::infer::broadcast::{same, together};
use crate::ops::infer::cx::{Cx, Dims, Dtypes, Shapes, one};
use crate::ops::{Op, matmul, pool};
use crate::sym::Dim;
use crate::tensor::DType;

pub(in crate::ops) const OPS: &[Op] = &[
    op(microsoft::DynamicQuantizeMatMul).typed().infer(|cx| matmul::infer::matmul(cx, 0, 1)),
    op(microsoft::GatherBlockQuantized).typed().infer(gathered),
    op(microsoft::MatMulIntegerToFloat).typed().infer(|cx| matmul::infer::matmul(cx, 0, 1)),
    op(microsoft::QGemm).typed().dtypes(product_type).infer(product),
    op(microsoft::QLinearAdd).typed().infer(|cx| pair(cx, 0, 3)),
    op(microsoft::QLinearAveragePool).typed().infer(|cx| channels_first(cx, pool::infer::pool)),
    op(microsoft::QLinearConcat).typed().infer(joined),
    op(microsoft::QLinearGlobalAveragePool).typed().infer(|cx| channels_first(cx, pool::infer::global_pool)),
    op(microsoft::QLinearLeakyRelu).typed().infer(same),
    op(microsoft::QLinearMul).typed().infer(|cx| pair(cx, 0, 3)),
    op(microsoft::QLinearSigmoid).typed().infer(same),
    op(microsoft::QLinearSoftmax).typed().infer(same),
];

/// Two inputs, broadcast.
fn pair(cx: &mut Cx<'_>, a: usize, b: usize) -> Option<Shapes> {
    let (a, b) = (cx.dims(a)?, cx.dims(b)?);
    one(together(cx, a, b)?)
}

/// `rule`, where the channels are the axis 1.
fn channels_first(cx: &mut Cx<'_>, rule: fn(&mut Cx<'_>) -> Option<Shapes>) -> Option<Shapes> {
    if cx.flag("channels_last")? {
        return None;
    }
    let mut found = rule(cx)?;
    found.truncate(1);
    Some(found)
}

/// Tensors with a scale and a zero point each, behind those of the result.
fn joined(cx: &mut Cx<'_>) -> Option<Shapes> {
    let mut out: Dims = cx.dims(2)?.into();
    let at = cx.axis(out.len())?;
    for index in (5..cx.node.inputs.len()).step_by(3) {
        let dims = cx.dims(index)?;
        cx.demand(dims.len() == out.len(), || format!("input {index} has {} axes", dims.len()))?;
        for (axis, (sum, dim)) in out.iter_mut().zip(dims).enumerate() {
            if axis == at {
                *sum = sum.zip(*dim).map(|(a, b)| cx.symbols.add(a, b));
            } else {
                cx.equal(*sum, *dim, "inputs differ beside the axis that joins them")?;
            }
        }
    }
    one(out)
}

/// Codes with a zero point, or floats.
fn product_type(cx: &Cx<'_>) -> Dtypes {
    smallvec![if cx.input(8).is_some() { cx.dtype(8) } else { Some(DType::F32) }]
}

fn product(cx: &mut Cx<'_>) -> Option<Shapes> {
    cx.rank(0, 2)?;
    cx.rank(3, 2)?;
    let ([a0, a1], [b0, b1]) = (cx.dims(0)?, cx.dims(3)?) else { return None };
    let (rows, depth) = if cx.flag("transA")? { (a1, a0) } else { (a0, a1) };
    let (other, columns) = if cx.flag("transB")? { (b1, b0) } else { (b0, b1) };
    cx.equal(*depth, *other, "the extents that are summed over differ")?;
    one([*rows, *columns])
}

/// Rows of a table of codes; a byte holds several, along the last axis.
fn gathered(cx: &mut Cx<'_>) -> Option<Shapes> {
    let (data, indices) = (cx.dims(0)?, cx.dims(1)?);
    let at = cx.exists(cx.int("gather_axis")?, data.len())?;
    let mut table: Dims = data.into();
    if cx.dtype(0)? == DType::U8 {
        let per_byte = 8i64.checked_div(cx.int("bits")?)?;
        let last = table.last_mut()?;
        *last = last.map(|dim| cx.symbols.mul(dim, Dim::Const(per_byte)));
    }
    one(table[..at].iter().chain(indices).chain(table.get(at.checked_add(1)?..)?).copied())
}
