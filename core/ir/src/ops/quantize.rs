//! Quantised numbers.

#![expect(clippy::arithmetic_side_effects, reason = "indices into tensors whose sizes were counted")]

use super::call::{Call, axis, one};
use super::conv::{Plan as Convolution, centred};
use super::error::{invalid, unsupported};
use super::matmul::{self, Plan as Product};
use super::reduce::limits;
use super::strides::Cut;
use super::{Op, Res, Tensor, Value};
use crate::tensor::DType;

pub(super) const OPS: &[Op] = &[
    Op::new("DequantizeLinear").quantizes().dtypes(infer::value_type).infer(infer::scaled).eval(dequantize),
    Op::new("DynamicQuantizeLinear").quantizes().discontinuous().infer(infer::dynamic_quantize).eval(dynamic),
    Op::new("QLinearConv").typed().infer(|cx| super::conv::infer::conv(cx, 3)).eval(convolution),
    Op::new("QLinearMatMul").typed().infer(|cx| super::matmul::infer::matmul(cx, 0, 3)).eval(product),
    Op::new("QuantizeLinear")
        .quantizes()
        .discontinuous()
        .dtypes(infer::code_type)
        .infer(infer::scaled)
        .eval(quantize),
];

/// Which scale and zero point belong to which element.
struct Grid {
    cut: Cut,
    /// Sizes along the axis that share one scale; 0 where all elements do.
    block: usize,
    /// Scales along the axis.
    entries: usize,
}

impl Grid {
    fn from_call(c: &Call<'_>, x: &Tensor, scale: &Tensor) -> Res<Self> {
        if scale.len() == 1 && scale.rank() <= 1 {
            return Ok(Self { cut: Cut::at(x.shape(), 0), block: 0, entries: 1 });
        }
        let at = axis(c.int("axis")?, x.rank())?;
        let cut = Cut::at(x.shape(), at);
        let block = usize::try_from(c.int("block_size")?).unwrap_or(0);
        if block == 0 {
            if scale.len() != cut.extent {
                return invalid!("{} scales are given for the size {}", scale.len(), cut.extent);
            }
            return Ok(Self { cut: Cut { outer: 1, ..cut }, block: 1, entries: cut.extent });
        }
        let mut shape = x.shape().to_vec();
        shape[at] = cut.extent.div_ceil(block);
        if scale.shape() != shape {
            return invalid!(
                "scales of shape {:?} do not fit blocks of {block} of {:?}",
                scale.shape(),
                x.shape()
            );
        }
        Ok(Self { cut, block, entries: shape[at] })
    }

    fn place(&self, at: usize) -> usize {
        if self.block == 0 {
            return 0;
        }
        let along = at / self.cut.inner % self.cut.extent / self.block;
        if self.cut.outer == 1 && self.block == 1 {
            return along;
        }
        let (outer, inner) = (at / self.cut.inner / self.cut.extent, at % self.cut.inner);
        (outer * self.entries + along) * self.cut.inner + inner
    }
}

fn points(zero: Option<&Tensor>) -> Res<Option<Vec<f64>>> {
    zero.map(Tensor::floats).transpose()
}

/// Rounded to even and held inside the type.
fn code(dtype: DType, x: f64, zero: f64) -> f64 {
    let (low, high) = limits(dtype);
    (x.round_ties_even() + zero).clamp(low as f64, high as f64)
}

fn quantize(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let (x, scale, zero) = (c.tensor(0)?, c.tensor(1)?, c.optional(2)?);
    c.count(x.shape())?;
    let to = match zero {
        Some(zero) => zero.dtype(),
        None => c.dtype_or("output_dtype", DType::U8)?,
    };
    let precision = c.dtype_or("precision", scale.dtype())?;
    let (grid, scales, points) = (Grid::from_call(c, x, scale)?, scale.floats()?, points(zero)?);
    let quotient = |(at, x): (usize, f64)| {
        let place = grid.place(at);
        let scale = scales.get(place).copied().unwrap_or(f64::NAN);
        (x / scale, points.as_ref().and_then(|p| p.get(place).copied()).unwrap_or(0.0))
    };
    let (items, zeros): (Vec<f64>, Vec<f64>) = x.floats()?.into_iter().enumerate().map(quotient).unzip();
    // The quotient is taken in the precision of the scale, not exactly.
    let rounded =
        |dtype: DType, items: Vec<f64>| Tensor::of_floats(dtype, x.shape().to_vec(), items)?.floats();
    let items = if precision.is_float() { rounded(precision, items)? } else { items };
    if to.is_float() {
        let sums: Vec<f64> = items.iter().zip(&zeros).map(|(x, zero)| x + zero).collect();
        return one(Tensor::rounded(to, x.shape().to_vec(), &sums, c.flag("saturate"))?);
    }
    let codes = items.into_iter().zip(zeros).map(|(x, zero)| code(to, x, zero)).collect();
    one(Tensor::of_numbers(to, x.shape().to_vec(), codes)?)
}

fn dequantize(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let (x, scale) = (c.tensor(0)?, c.tensor(1)?);
    c.count(x.shape())?;
    let to = c.dtype_or("output_dtype", scale.dtype())?;
    let (grid, scales, points) = (Grid::from_call(c, x, scale)?, scale.floats()?, points(c.optional(2)?)?);
    let out = x.floats()?.into_iter().enumerate().map(|(at, x)| {
        let place = grid.place(at);
        let zero = points.as_ref().and_then(|p| p.get(place).copied()).unwrap_or(0.0);
        (x - zero) * scales.get(place).copied().unwrap_or(f64::NAN)
    });
    one(Tensor::of_floats(to, x.shape().to_vec(), out.collect())?)
}

/// 8 bits over the range of the elements and zero.
fn dynamic(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let x = c.tensor(0)?;
    c.count(x.shape())?;
    let items = x.floats()?;
    let (low, high) = items.iter().fold((0.0f64, 0.0f64), |(low, high), x| (low.min(*x), high.max(*x)));
    // Rounded where the graph that defines the operator has a value of its own.
    let scale = f64::from(((high - low) as f32) / 255.0);
    let zero = if scale == 0.0 { 0.0 } else { code(DType::U8, f64::from((-low / scale) as f32), 0.0) };
    let quotient = |x: f64| if scale == 0.0 { 0.0 } else { f64::from((x / scale) as f32) };
    let codes = items.into_iter().map(|x| code(DType::U8, quotient(x), zero)).collect();
    Ok(vec![
        Tensor::of_numbers(DType::U8, x.shape().to_vec(), codes)?.into(),
        Tensor::of_floats(DType::F32, Vec::new(), vec![scale])?.into(),
        Tensor::of_numbers(DType::U8, Vec::new(), vec![zero])?.into(),
    ])
}

/// Sums of products back in 8 bits. `scale` gives the factor of a place.
fn requantised(
    c: &Call<'_>,
    zero: usize,
    shape: Vec<usize>,
    sums: &[i128],
    scale: impl Fn(usize) -> f64,
) -> Res<Vec<Value>> {
    let zero = c.tensor(zero)?;
    let point = zero.floats()?.first().copied().unwrap_or(0.0);
    let codes =
        sums.iter().enumerate().map(|(at, sum)| code(zero.dtype(), *sum as f64 * scale(at), point)).collect();
    one(Tensor::of_numbers(zero.dtype(), shape, codes)?)
}

fn convolution(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let (x, weight) = (c.tensor(0)?, c.tensor(3)?);
    let plan = Convolution::new(c, x.shape(), weight.shape())?;
    let (a, b) = (centred(x, Some(c.tensor(2)?))?, centred(weight, Some(c.tensor(5)?))?);
    let mut sums = plan.convolve(&a, &b, 0, |sum, x, w| sum + x * w);
    if let Some(bias) = c.optional(8)?.map(Tensor::ints).transpose()? {
        for (at, sum) in sums.iter_mut().enumerate() {
            *sum += bias.get(plan.filter(at)).copied().unwrap_or(0);
        }
    }
    let number = |index: usize| Ok(c.number(index)?.unwrap_or(1.0));
    let (input, output, weights) = (number(1)?, number(6)?, c.tensor(4)?.floats()?);
    let scale = |at: usize| match weights.as_slice() {
        [only] => input * only / output,
        many => input * many.get(plan.filter(at)).copied().unwrap_or(f64::NAN) / output,
    };
    requantised(c, 7, plan.shape.clone(), &sums, scale)
}

fn product(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let (a, b) = (c.tensor(0)?, c.tensor(3)?);
    let plan = Product::new(c, a.shape(), b.shape())?;
    let (x, y) = (matmul::centred(a, c.optional(2)?, true)?, matmul::centred(b, c.optional(5)?, false)?);
    let sums = plan.multiply(&x, &y, 0, |sum, x, y| sum + x * y);
    let [left, right, output] = [c.number(1), c.number(4), c.number(6)];
    let (Some(left), Some(right), Some(output)) = (left?, right?, output?) else {
        return unsupported!("scales of rows and columns");
    };
    requantised(c, 7, plan.shape.clone(), &sums, |_| left * right / output)
}

#[deny(clippy::arithmetic_side_effects)]
mod infer {
    //! Types and shapes.

    use smallvec::smallvec;

    use crate::ir::Shape;
    use crate::ops::infer::broadcast::{same, shape_of};
    use crate::ops::infer::cx::{Cx, Dtypes, Shapes};
    use crate::sym::Dim;
    use crate::tensor::DType;

    /// `QuantizeLinear`: the type of the zero point, else the attribute.
    pub(super) fn code_type(cx: &Cx<'_>) -> Dtypes {
        smallvec![match cx.input(2) {
            Some(_) => cx.dtype(2),
            None => cx.dtype_attr("output_dtype", || Some(DType::U8)),
        }]
    }

    /// `DequantizeLinear`: the attribute, else the type of the scale.
    pub(super) fn value_type(cx: &Cx<'_>) -> Dtypes {
        smallvec![cx.dtype_attr("output_dtype", || cx.dtype(1))]
    }

    /// `QuantizeLinear` and `DequantizeLinear`: one scale, one for each position of an axis, or one for each block.
    pub(super) fn scaled(cx: &mut Cx<'_>) -> Option<Shapes> {
        let dims = cx.dims(0)?;
        if let (Some(scales), true) = (cx.dims(1), !cx.flag("block_size")?) {
            cx.demand(scales.len() < 2, || format!("the scale has {} axes without blocks", scales.len()))?;
            if let [Some(count)] = scales
                && *count != Dim::Const(1)
            {
                let at = cx.axis(dims.len())?;
                cx.equal(Some(*count), dims[at], "the number of scales differs from the size of their axis")?;
            }
        }
        // One zero point may have an axis of its own.
        if let (Some(scales), Some(zeros)) = (cx.dims(1), cx.dims(2))
            && scales.len() == zeros.len()
        {
            for (a, b) in scales.iter().zip(zeros) {
                cx.equal(*a, *b, "scale and zero point differ")?;
            }
        }
        same(cx)
    }

    /// `DynamicQuantizeLinear`.
    #[expect(clippy::unnecessary_wraps, reason = "what a rule returns")]
    pub(super) fn dynamic_quantize(cx: &mut Cx<'_>) -> Option<Shapes> {
        Some(smallvec![shape_of(cx, 0), Shape::of([]), Shape::of([])])
    }
}
