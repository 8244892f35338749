//! Products of matrices and convolutions, fused with their neighbours or with packed weights.

#![expect(clippy::arithmetic_side_effects, reason = "indices into tensors whose sizes were counted")]

use super::activations::{biased, each, fused, only};
use super::op;
use crate::op::microsoft;
use crate::ops::call::{Call, one};
use crate::ops::error::{invalid, unsupported};
use crate::ops::view::permuted;
use crate::ops::{Elements, Op, Res, Tensor, Value, conv, matmul};
use crate::tensor::DType;

pub(in crate::ops) const OPS: &[Op] = &[
    op(microsoft::FusedConv).infer(|cx| conv::infer::conv(cx, 1)).eval(fused_conv),
    op(microsoft::FusedGemm).infer(matmul::infer::gemm).eval(fused_gemm),
    op(microsoft::FusedMatMul).infer(infer::fused).eval(fused_product),
    op(microsoft::MatMulNBits).infer(infer::packed).eval(packed_product),
];

fn fused_conv(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let y = only(conv::conv(c)?)?;
    let parameters = c.floats("activation_params").unwrap_or_default();
    let function = fused(c, [parameters.first().copied(), parameters.get(1).copied()])?;
    one(each(&biased(c, y, 3)?, function)?)
}

fn fused_gemm(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let y = only(matmul::gemm(c)?)?;
    one(each(&y, fused(c, ["activation_alpha", "activation_beta"].map(|name| c.float_if_any(name)))?)?)
}

/// The attributes of an operand of `FusedMatMul`.
const OPERANDS: [(&str, &str); 2] = [("transA", "transBatchA"), ("transB", "transBatchB")];

/// The order in which `FusedMatMul` takes the axes of an operand: `batch` has the rows in the axis 0, `last` swaps the last two.
/// Both do nothing to a vector.
fn order(rank: usize, batch: bool, last: bool) -> Vec<usize> {
    let mut order: Vec<usize> = (0..rank).collect();
    if batch && let Some((_, ahead)) = order.split_last_mut() {
        ahead.rotate_left(usize::from(!ahead.is_empty()));
    }
    if last && let [.., a, b] = order.as_mut_slice() {
        std::mem::swap(a, b);
    }
    order
}

fn fused_product(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let operand = |index: usize| -> Res<Tensor> {
        let (last, batch) = OPERANDS[index];
        let x = c.tensor(index)?;
        permuted(c, x, &order(x.rank(), c.flag(batch), c.flag(last)))
    };
    let y = matmul::matmul(c, &operand(0)?, &operand(1)?)?;
    let alpha = c.float("alpha")?;
    one(each(&y, |x| x * alpha)?)
}

/// The positive integer attribute `name`.
fn size(c: &Call<'_>, name: &str) -> Res<usize> {
    match usize::try_from(c.int(name)?) {
        Ok(n) if n > 0 => Ok(n),
        _ => invalid!("`{name}` is {}", c.int(name)?),
    }
}

/// `A` times the transpose of a matrix of `N` rows of `K` numbers. Each row has blocks of codes, the first in the lowest bits of
/// a byte; a code is a number of one scale and zero point for each block.
fn packed_product(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let (depth, rows, block) = (size(c, "K")?, size(c, "N")?, size(c, "block_size")?);
    let bits = match c.int("bits")? {
        bits @ (2 | 4 | 8) => bits as usize,
        bits => return unsupported!("weights of {bits} bits"),
    };
    if c.optional(4)?.is_some() {
        return unsupported!("`g_idx`");
    }
    let a = c.tensor(0)?;
    let (blocks, per_byte) = (depth.div_ceil(block), 8 / bits);
    let (Elements::Int(codes), scales) = (c.tensor(1)?.elements(), c.tensor(2)?.floats()?) else {
        return unsupported!("weights of {}", c.tensor(1)?.dtype());
    };
    c.count(&[rows, depth])?;
    let bytes = block.div_ceil(per_byte);
    let fits = |one: usize, found: usize| {
        rows.checked_mul(blocks).and_then(|n| n.checked_mul(one)).is_some_and(|n| n == found)
    };
    if !fits(bytes, codes.len()) || !fits(1, scales.len()) {
        return invalid!(
            "{} bytes and {} scales for {rows} rows of {depth} numbers",
            codes.len(),
            scales.len()
        );
    }
    let zeros = zero_points(c, bits, rows, blocks)?;
    let mask = (1i128 << bits) - 1;
    let mut weights = Vec::with_capacity(rows * depth);
    for row in 0..rows {
        for at in 0..depth {
            let (group, within) = (row * blocks + at / block, at % block);
            let byte = group * bytes + within / per_byte;
            let code = (codes.get(byte).copied().unwrap_or(0) >> (within % per_byte * bits)) & mask;
            let (zero, scale) = (zeros.get(group).copied(), scales.get(group).copied());
            weights.push((code as f64 - zero.unwrap_or(0.0)) * scale.unwrap_or(0.0));
        }
    }
    let weights = Tensor::of_floats(DType::F64, vec![rows, depth], weights)?;
    let left = Tensor::of_floats(DType::F64, a.shape().to_vec(), a.floats()?)?;
    let y = matmul::matmul(c, &left, &permuted(c, &weights, &[1, 0])?)?;
    let y = Tensor::of_floats(a.dtype(), y.shape().to_vec(), y.floats()?)?;
    one(biased(c, y, 5)?)
}

/// The zero point of each block: packed like the codes, each row from a byte of its own; numbers; or the middle of the codes.
fn zero_points(c: &Call<'_>, bits: usize, rows: usize, blocks: usize) -> Res<Vec<f64>> {
    let Some(zeros) = c.optional(3)? else {
        let middle = 1u32 << (bits - 1);
        return Ok(vec![f64::from(middle); rows * blocks]);
    };
    if zeros.dtype() != DType::U8 {
        return zeros.floats();
    }
    let (packed, per_byte) = (zeros.ints()?, 8 / bits);
    let bytes = blocks.div_ceil(per_byte);
    if rows.checked_mul(bytes) != Some(packed.len()) {
        return invalid!("{} bytes of zero points for {rows} rows of {blocks} blocks", packed.len());
    }
    let mask = (1i128 << bits) - 1;
    let one = |row: usize, at: usize| {
        let byte = packed.get(row * bytes + at / per_byte).copied().unwrap_or(0);
        ((byte >> (at % per_byte * bits)) & mask) as f64
    };
    Ok((0..rows).flat_map(|row| (0..blocks).map(move |at| (row, at))).map(|(row, at)| one(row, at)).collect())
}

#[deny(clippy::arithmetic_side_effects)]
mod infer {
    //! Shapes.

    use super::{OPERANDS, order};
    use crate::ops::infer::cx::{Cx, Dims, Shapes, one};
    use crate::ops::matmul::infer::product;
    use crate::sym::Dim;

    pub(super) fn fused(cx: &mut Cx<'_>) -> Option<Shapes> {
        let operand = |cx: &Cx<'_>, index: usize| -> Option<Dims> {
            let (last, batch) = OPERANDS[index];
            let dims = cx.dims(index)?;
            Some(order(dims.len(), cx.flag(batch)?, cx.flag(last)?).into_iter().map(|at| dims[at]).collect())
        };
        let (a, b) = (operand(cx, 0)?, operand(cx, 1)?);
        product(cx, &a, &b)
    }

    pub(super) fn packed(cx: &mut Cx<'_>) -> Option<Shapes> {
        let [outer @ .., depth] = cx.dims(0)? else { return cx.refute("input 0 has no axes") };
        let stated = cx.int("K").map(Dim::Const);
        cx.equal(*depth, stated, "the last axis of input 0 differs from `K`")?;
        one(outer.iter().copied().chain([Some(Dim::Const(cx.int("N")?))]))
    }
}
