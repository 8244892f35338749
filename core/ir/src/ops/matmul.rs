//! Products of matrices.

#![expect(clippy::arithmetic_side_effects, reason = "indices into tensors whose sizes were counted")]

use super::call::{Call, one};
use super::error::{invalid, unsupported};
use super::map::pairs;
use super::strides::{broadcast, expand, volume};
use super::{Elements, Op, Res, Tensor, Value};
use crate::tensor::{DType, Kind};

pub(super) const OPS: &[Op] = &[
    Op::new("Det").infer(infer::det).eval(determinant),
    Op::new("Gemm").infer(infer::gemm).eval(gemm),
    Op::new("MatMul")
        .infer(|cx| infer::matmul(cx, 0, 1))
        .eval(|c| one(matmul(c, c.tensor(0)?, c.tensor(1)?)?)),
    Op::new("MatMulInteger").typed().infer(|cx| infer::matmul(cx, 0, 1)).eval(matmul_integer),
];

/// The sizes of a product of stacks of matrices, by NumPy's rules.
pub(super) struct Plan {
    a: Vec<usize>,
    b: Vec<usize>,
    stack: Vec<usize>,
    rows: usize,
    depth: usize,
    columns: usize,
    /// The shape of the result.
    pub(super) shape: Vec<usize>,
}

impl Plan {
    /// The product of tensors of these shapes; a vector is a row on the left and a column on the right.
    pub(super) fn new(c: &Call<'_>, a: &[usize], b: &[usize]) -> Res<Self> {
        let (a_stack, rows, depth) = match *a {
            [] => return invalid!("a scalar is not a matrix"),
            [k] => (&a[..0], None, k),
            [ref stack @ .., m, k] => (stack, Some(m), k),
        };
        let (b_stack, other, columns) = match *b {
            [] => return invalid!("a scalar is not a matrix"),
            [k] => (&b[..0], k, None),
            [ref stack @ .., k, n] => (stack, k, Some(n)),
        };
        if depth != other {
            return invalid!("matrices of shapes {a:?} and {b:?} have no product");
        }
        let stack = broadcast([a_stack, b_stack])?;
        let shape: Vec<usize> = stack.iter().copied().chain(rows).chain(columns).collect();
        c.count(&shape)?;
        c.spend((volume(&shape) as u64).saturating_mul(depth as u64))?;
        Ok(Self {
            a: a_stack.to_vec(),
            b: b_stack.to_vec(),
            stack,
            rows: rows.unwrap_or(1),
            depth,
            columns: columns.unwrap_or(1),
            shape,
        })
    }

    /// The elements of the result, from those of both sides.
    pub(super) fn multiply<T: Copy>(&self, a: &[T], b: &[T], zero: T, step: impl Fn(T, T, T) -> T) -> Vec<T> {
        let (m, k, n) = (self.rows, self.depth, self.columns);
        let mut out = vec![zero; volume(&self.shape)];
        let pairs = expand(&self.a, &self.stack).zip(expand(&self.b, &self.stack));
        for ((left, right), block) in pairs.zip(out.chunks_mut((m * n).max(1))) {
            let (left, right) =
                (a.get(left * m * k..).unwrap_or_default(), b.get(right * k * n..).unwrap_or_default());
            for (row, line) in left.chunks(k.max(1)).zip(block.chunks_mut(n.max(1))) {
                for (x, other) in row.iter().zip(right.chunks(n.max(1))) {
                    for (sum, y) in line.iter_mut().zip(other) {
                        *sum = step(*sum, *x, *y);
                    }
                }
            }
        }
        out
    }
}

/// The product of two tensors of one type.
pub(super) fn matmul(c: &Call<'_>, a: &Tensor, b: &Tensor) -> Res<Tensor> {
    let plan = Plan::new(c, a.shape(), b.shape())?;
    match (a.elements(), b.elements()) {
        (Elements::Float(x), Elements::Float(y)) => {
            let out = plan.multiply(&x, &y, 0.0, |sum, x, y| sum + x * y);
            Tensor::of_floats(a.dtype(), plan.shape, out)
        }
        (Elements::Int(x), Elements::Int(y)) => {
            let out = plan.multiply(&x, &y, 0, |sum, x, y| sum.wrapping_add(x.wrapping_mul(y)));
            Tensor::of_ints(a.dtype(), plan.shape, out)
        }
        _ => unsupported!("{} and {} have no product", a.dtype(), b.dtype()),
    }
}

/// The elements of a quantised matrix without its zero point, which is one number, or one for each row or column.
pub(super) fn centred(x: &Tensor, zero: Option<&Tensor>, rows: bool) -> Res<Vec<i128>> {
    let items = x.ints()?;
    let Some(zero) = zero else { return Ok(items) };
    let points = match zero.shape() {
        // One for each row stands beside the rows.
        [n] if rows && *n > 1 => zero.reshaped(vec![*n, 1])?,
        _ => zero.clone(),
    };
    pairs(x.shape(), (&items, x.shape()), (&points.ints()?, points.shape()), &|x, zero| Ok(x - zero))
}

fn matmul_integer(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let (a, b) = (c.tensor(0)?, c.tensor(1)?);
    let plan = Plan::new(c, a.shape(), b.shape())?;
    let (x, y) = (centred(a, c.optional(2)?, true)?, centred(b, c.optional(3)?, false)?);
    let out = plan.multiply(&x, &y, 0, |sum, x, y| sum + x * y);
    one(Tensor::of_ints(DType::I32, plan.shape, out)?)
}

/// `alpha · A · B + beta · C`.
pub(super) fn gemm(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let transposed = |index: usize, name: &str| -> Res<Tensor> {
        let x = c.tensor(index)?;
        match (x.rank(), c.flag(name)) {
            (2, true) => super::view::permuted(c, x, &[1, 0]),
            (2, false) => Ok(x.clone()),
            (rank, _) => invalid!("input {index} has {rank} axes, not 2"),
        }
    };
    let (a, b) = (transposed(0, "transA")?, transposed(1, "transB")?);
    let plan = Plan::new(c, a.shape(), b.shape())?;
    let (alpha, beta) = (c.float("alpha")?, c.float("beta")?);
    let (dtype, shape) = (a.dtype(), plan.shape.clone());
    let added = c.optional(2)?;
    if dtype.kind() == Kind::Int && alpha.fract() == 0.0 && beta.fract() == 0.0 {
        let out = plan.multiply(&a.ints()?, &b.ints()?, 0, |sum, x, y| sum.wrapping_add(x.wrapping_mul(y)));
        let mut out: Vec<i128> = out.into_iter().map(|n| n.wrapping_mul(alpha as i128)).collect();
        if let Some(added) = added {
            let join = |n: i128, m: i128| Ok(n.wrapping_add(m.wrapping_mul(beta as i128)));
            out = pairs(&shape, (&out, &shape), (&added.ints()?, added.shape()), &join)?;
        }
        return one(Tensor::of_ints(dtype, shape, out)?);
    }
    let out = plan.multiply(&a.floats()?, &b.floats()?, 0.0, |sum, x, y| sum + x * y);
    let mut out: Vec<f64> = out.into_iter().map(|x| x * alpha).collect();
    if let Some(added) = added {
        out = pairs(&shape, (&out, &shape), (&added.floats()?, added.shape()), &|x, y| Ok(x + beta * y))?;
    }
    one(Tensor::of_numbers(dtype, shape, out)?)
}

fn determinant(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let x = c.tensor(0)?;
    let [ref stack @ .., n, m] = *x.shape() else { return invalid!("there is no matrix") };
    if n != m {
        return invalid!("a matrix of {n} rows and {m} columns has no determinant");
    }
    c.count(stack)?;
    c.spend((x.len() as u64).saturating_mul(n as u64))?;
    let mut items = x.floats()?;
    let out = match n {
        0 => vec![1.0; volume(stack)],
        _ => items.chunks_mut(n * n).map(|matrix| eliminate(matrix, n)).collect(),
    };
    one(Tensor::of_floats(x.dtype(), stack.to_vec(), out)?)
}

/// Gauss's elimination with partial pivots.
fn eliminate(matrix: &mut [f64], n: usize) -> f64 {
    let mut product = 1.0;
    for column in 0..n {
        let below = column..n;
        let pivot =
            below.max_by(|a, b| matrix[a * n + column].abs().total_cmp(&matrix[b * n + column].abs()));
        let Some(pivot) = pivot else { return product };
        if pivot != column {
            (0..n).for_each(|k| matrix.swap(pivot * n + k, column * n + k));
            product = -product;
        }
        let head = matrix[column * n + column];
        product *= head;
        if head == 0.0 {
            return 0.0;
        }
        for row in column + 1..n {
            let factor = matrix[row * n + column] / head;
            for k in column..n {
                matrix[row * n + k] -= factor * matrix[column * n + k];
            }
        }
    }
    product
}

#[deny(clippy::arithmetic_side_effects)]
pub(super) mod infer {
    //! Shapes.

    use crate::ops::infer::broadcast::{onto, together};
    use crate::ops::infer::cx::{Cx, Shapes, one};
    use crate::sym::Dim;

    /// `MatMul` of the inputs at `left` and `right`, with NumPy's rules.
    pub(in crate::ops) fn matmul(cx: &mut Cx<'_>, left: usize, right: usize) -> Option<Shapes> {
        cx.rank_from(left, 1)?;
        cx.rank_from(right, 1)?;
        product(cx, cx.dims(left)?, cx.dims(right)?)
    }

    /// The product of matrices of these extents, or stacks of them, with NumPy's rules.
    pub(in crate::ops) fn product(cx: &mut Cx<'_>, a: &[Option<Dim>], b: &[Option<Dim>]) -> Option<Shapes> {
        let (a_batch, rows, inner) = match a {
            [] => return None,
            [n] => (&a[..0], None, *n),
            [batch @ .., m, n] => (batch, Some(*m), *n),
        };
        let (b_batch, columns, other) = match b {
            [] => return None,
            [n] => (&b[..0], None, *n),
            [batch @ .., m, n] => (batch, Some(*n), *m),
        };
        cx.equal(inner, other, "the sizes that are summed over differ")?;
        let mut dims = together(cx, a_batch, b_batch)?;
        dims.extend(rows);
        dims.extend(columns);
        one(dims)
    }

    /// `Gemm`.
    pub(in crate::ops) fn gemm(cx: &mut Cx<'_>) -> Option<Shapes> {
        cx.rank(0, 2)?;
        cx.rank(1, 2)?;
        let at = |transposed: bool, first: usize| usize::from(transposed) ^ first;
        let (a, b) = (cx.dims(0)?, cx.dims(1)?);
        let (turn_a, turn_b) = (cx.flag("transA")?, cx.flag("transB")?);
        cx.equal(a[at(turn_a, 1)], b[at(turn_b, 0)], "the sizes that are summed over differ")?;
        let out = [a[at(turn_a, 0)], b[at(turn_b, 1)]];
        onto(cx, 2, &out)?;
        one(out)
    }

    /// `Det`: the matrices at the end become numbers.
    pub(super) fn det(cx: &mut Cx<'_>) -> Option<Shapes> {
        cx.rank_from(0, 2)?;
        let [batch @ .., n, m] = cx.dims(0)? else { return None };
        cx.equal(*n, *m, "a matrix that is not square has no determinant")?;
        one(batch.iter().copied())
    }
}
