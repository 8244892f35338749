//! Matrices in batches, and operations that loops over their rows and columns share.

use onnxport_sdk::prelude::*;

use crate::reduce::reduce;

/// A stack of matrices and the indices of its rows and columns.
#[derive(Clone, Copy)]
pub(crate) struct Matrix {
    pub(super) value: Value,
    /// The number of rows, of shape `[1]`.
    pub(super) height: Value,
    /// The number of columns, of shape `[1]`.
    pub(super) width: Value,
    /// The indices of the rows, from 0.
    pub(crate) rows: Value,
    /// The indices of the columns, from 0.
    pub(crate) columns: Value,
    pub(crate) dtype: DType,
}

impl Matrix {
    /// A stack of real matrices.
    pub(crate) fn new(cx: &Lower, value: Value) -> Res<Self> {
        let (dtype, rank) = (cx.dtype(value)?, cx.rank(value)?);
        if dtype.is_complex() {
            return Err("this operator has no lowering of complex matrices".into());
        }
        let Some(rows) = rank.checked_sub(2) else { return Err("a matrix has fewer than two axes".into()) };
        let (height, width) = (cx.extent(value, rows), cx.extent(value, rows + 1));
        Ok(Self { value, height, width, rows: indices(cx, height), columns: indices(cx, width), dtype })
    }

    /// `count`, or no rounds at all for a batch without matrices, which ONNX Runtime's reductions do not take.
    pub(super) fn rounds(&self, cx: &Lower, count: Value) -> Res<Value> {
        let shape = cx.shape(self.value)?;
        let batch = batch_of(&shape, 2)?;
        if batch.iter().any(|d| d.is(0)) {
            return Ok(cx.ints(&[0]));
        }
        if batch.iter().all(|d| cx.dim_range(*d).min > 0) {
            return Ok(count);
        }
        let elements = batch.iter().fold(Dim::Const(1), |n, d| cx.dim_mul(n, *d));
        Ok(count * cx.min(cx.dims_value(&[elements]), cx.ints(&[1])))
    }

    /// The smaller of the numbers of rows and columns.
    pub(crate) fn smaller(&self, cx: &Lower) -> Value {
        if self.height == self.width { self.height } else { cx.min(self.height, self.width) }
    }

    /// One number for each matrix.
    pub(super) fn per_matrix(&self, cx: &Lower, number: &Scalar, dtype: DType) -> Res<Value> {
        let shape = cx.shape(self.value)?;
        let batch = batch_of(&shape, 2)?;
        let known: Option<Vec<i64>> = batch.iter().map(|d| d.as_const()).collect();
        let shape = match known {
            Some(batch) => cx.ints(&batch),
            None => cx.op(op::Shape).input(self.value).end(-2).one(),
        };
        Ok(cx.constant_of_shape(shape, cx.filled(number, dtype, &[1])))
    }

    /// Zeros of the same shape.
    pub(super) fn zeros(&self, cx: &Lower) -> Value {
        let zero = cx.filled(&Scalar::Int(0), self.dtype, &[1]);
        cx.constant_of_shape(cx.shape_value(self.value), zero)
    }
}

/// The indices `0 .. count`.
pub(crate) fn indices(cx: &Lower, count: Value) -> Value {
    cx.range(cx.int(0), cx.squeeze(count, &[0]), cx.int(1))
}

/// A vector as the column of a matrix.
pub(crate) fn as_column(cx: &Lower, vector: Value) -> Value {
    cx.unsqueeze(vector, &[-1])
}

/// A vector as the row of a matrix.
pub(super) fn as_row(cx: &Lower, vector: Value) -> Value {
    cx.unsqueeze(vector, &[-2])
}

/// The product of a column and a row.
pub(super) fn outer(cx: &Lower, column: Value, row: Value) -> Value {
    as_column(cx, column) * as_row(cx, row)
}

/// The sum along an axis.
pub(super) fn sum(cx: &Lower, x: Value, axis: i64) -> Res<Value> {
    reduce(cx, op::ReduceSum, x, &[axis], false)
}

/// Whether a tensor is known to have no elements.
pub(super) fn is_empty(cx: &Lower, x: Value) -> Res<bool> {
    Ok(cx.shape(x)?.iter().any(|d| d.is(0)))
}

/// The rows or columns of matrices at indices of their own, `[..., n]`.
pub(super) fn permuted(cx: &Lower, x: Value, order: Value, axis: i64) -> Res<Value> {
    // ONNX Runtime expands indices to another shape then.
    if is_empty(cx, x)? {
        return Ok(x);
    }
    let order = if axis == -1 { as_row(cx, order) } else { as_column(cx, order) };
    let shape = cx.shape_value(x);
    let order = cx.expand(order, shape);
    Ok(cx.op(op::GatherElements).input(x).input(order).axis(axis).one())
}

/// The entries of vectors at indices of their own.
pub(super) fn picked(cx: &Lower, x: Value, order: Value) -> Value {
    cx.op(op::GatherElements).input(x).input(order).axis(-1).one()
}

/// The identity matrix of this many rows and columns, without a batch.
pub(crate) fn identity(cx: &Lower, rows: Value, columns: Value, dtype: DType) -> Value {
    cx.cast(cx.equal(as_column(cx, rows), columns), dtype)
}

/// `x` with its batch of matrices or vectors, the axes before the last `kept`, expanded to `batch`.
pub(crate) fn with_batch(cx: &Lower, x: Value, batch: &[Dim], kept: usize) -> Res<Value> {
    let shape = cx.shape(x)?;
    let own = shape.len().checked_sub(kept).ok_or("a matrix has too few axes")?;
    if &shape[..own] == batch && !batch.contains(&Dim::Unknown) {
        return Ok(x);
    }
    let target = [batch, &shape[own..]].concat();
    Ok(cx.expand(x, cx.dims_value(&target)))
}

/// The broadcast batch of a result without its last `kept` axes.
pub(crate) fn batch_of(shape: &[Dim], kept: usize) -> Res<&[Dim]> {
    shape.len().checked_sub(kept).map(|n| &shape[..n]).ok_or_else(|| "a result has too few axes".into())
}
