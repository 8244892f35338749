//! Preparation of features, by element and by row.

#![expect(clippy::arithmetic_side_effects, reason = "indices into tensors whose sizes were counted")]

use super::{Rows, infer, op};
use crate::ops::call::{Call, one, sizes};
use crate::ops::error::invalid;
use crate::ops::infer::broadcast;
use crate::ops::{Elements, Op, Res, Tensor, Value};
use crate::tensor::DType;

pub(in crate::ops) const OPS: &[Op] = &[
    op("Binarizer").dtypes(infer::first).infer(broadcast::same).eval(binarizer),
    op("FeatureVectorizer").dtypes(infer::floats).infer(shapes::vectorizer).eval(vectorizer),
    op("Imputer").dtypes(infer::first).infer(broadcast::same).eval(imputer),
    op("Normalizer").dtypes(infer::floats).infer(broadcast::same).eval(normalizer),
    op("Scaler").dtypes(infer::floats).infer(broadcast::same).eval(scaler),
];

/// 1 above the threshold, else 0.
fn binarizer(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let (x, threshold) = (c.tensor(0)?, c.float("threshold")?);
    c.count(x.shape())?;
    let above = |x: f64| f64::from(u8::from(x > threshold));
    one(Tensor::of_numbers(x.dtype(), x.shape().to_vec(), x.floats()?.into_iter().map(above).collect())?)
}

/// Which entry of a list of `count` belongs to the element at `at`: one for all, or one for each feature.
fn entry(count: usize, width: usize, at: usize) -> usize {
    if count == 1 { 0 } else { at % width.max(1) }
}

/// `(x - offset) * scale`.
fn scaler(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let x = c.tensor(0)?;
    let width = x.shape().last().copied().unwrap_or(1);
    let (offset, scale) =
        (c.floats("offset").unwrap_or_else(|| vec![0.0]), c.floats("scale").unwrap_or_else(|| vec![1.0]));
    for (name, list) in [("offset", &offset), ("scale", &scale)] {
        if list.len() != 1 && list.len() != width {
            return invalid!("`{name}` has {} elements for {width} features", list.len());
        }
    }
    c.count(x.shape())?;
    let scaled = |(at, x): (usize, f64)| {
        (x - offset[entry(offset.len(), width, at)]) * scale[entry(scale.len(), width, at)]
    };
    let items = x.floats()?.into_iter().enumerate().map(scaled).collect();
    one(Tensor::of_floats(DType::F32, x.shape().to_vec(), items)?)
}

/// Each row divided by its norm; a row of norm 0 stays.
fn normalizer(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let x = c.tensor(0)?;
    let norm: fn(&[f64]) -> f64 = match c.text("norm")? {
        "MAX" => |row| row.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        "L1" => |row| row.iter().map(|x| x.abs()).sum(),
        "L2" => |row| row.iter().map(|x| x * x).sum::<f64>().sqrt(),
        other => return invalid!("unknown norm `{other}`"),
    };
    c.count(x.shape())?;
    let rows = Rows::from_call(c, x)?;
    let mut out = Vec::with_capacity(rows.items.len());
    for row in rows.iter() {
        let norm = norm(row);
        out.extend(row.iter().map(|x| if norm == 0.0 { *x } else { x / norm }));
    }
    one(Tensor::of_floats(DType::F32, x.shape().to_vec(), out)?)
}

/// Another value in place of one, which may be NaN.
fn imputer(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let x = c.tensor(0)?;
    let width = x.shape().last().copied().unwrap_or(1);
    let check = |count: usize| {
        if count == 1 || count == width { Ok(()) } else { invalid!("{count} values for {width} features") }
    };
    c.count(x.shape())?;
    if let Elements::Int(items) = x.elements() {
        let (old, new) = (c.int("replaced_value_int64")?, c.ints("imputed_value_int64s").unwrap_or_default());
        check(new.len())?;
        let put = |(at, n): (usize, i128)| {
            if n == i128::from(old) { new[entry(new.len(), width, at)].into() } else { n }
        };
        let out = items.into_iter().enumerate().map(put).collect();
        return one(Tensor::of_ints(x.dtype(), x.shape().to_vec(), out)?);
    }
    let (old, new) = (c.float("replaced_value_float")?, c.floats("imputed_value_floats").unwrap_or_default());
    check(new.len())?;
    let same = |x: f64| if old.is_nan() { x.is_nan() } else { x == old };
    let put = |(at, x): (usize, f64)| if same(x) { new[entry(new.len(), width, at)] } else { x };
    one(Tensor::of_floats(
        x.dtype(),
        x.shape().to_vec(),
        x.floats()?.into_iter().enumerate().map(put).collect(),
    )?)
}

/// The inputs side by side, each cut or filled with zeros to the width that is stated.
fn vectorizer(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let inputs: Vec<Rows> = c.tensors(0)?.into_iter().map(|x| Rows::from_call(c, x)).collect::<Res<_>>()?;
    let widths = match c.ints("inputdimensions") {
        Some(given) => sizes(given)?,
        None => inputs.iter().map(|rows| rows.width).collect(),
    };
    let count = inputs.first().map_or(0, |rows| rows.count);
    if widths.len() != inputs.len() || inputs.iter().any(|rows| rows.count != count) {
        return invalid!("{} inputs do not fit {} widths, or each other", inputs.len(), widths.len());
    }
    let total = widths.iter().fold(0usize, |sum, width| sum.saturating_add(*width));
    let mut out = Vec::with_capacity(c.count(&[count, total])?);
    for row in 0..count {
        for (rows, width) in inputs.iter().zip(&widths) {
            let own = rows.items.get(row * rows.width..(row + 1) * rows.width).unwrap_or_default();
            out.extend((0..*width).map(|at| own.get(at).copied().unwrap_or(0.0)));
        }
    }
    one(Tensor::of_floats(DType::F32, vec![count, total], out)?)
}

#[deny(clippy::arithmetic_side_effects)]
mod shapes {
    //! Shapes.

    use crate::ops::infer::cx::{Cx, Shapes, one};
    use crate::ops::ml::infer::rows;
    use crate::sym::Dim;

    /// `FeatureVectorizer`: widths add up.
    pub(super) fn vectorizer(cx: &mut Cx<'_>) -> Option<Shapes> {
        let widths = cx.node.ints("inputdimensions")?;
        let total = widths.iter().try_fold(0i64, |sum, width| sum.checked_add(*width));
        one(rows(cx, &[total.map(Dim::Const)])?)
    }
}
