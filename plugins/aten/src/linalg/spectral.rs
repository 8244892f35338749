//! Eigenvalues of symmetric matrices, singular values, and what follows from them.

use onnxport_sdk::prelude::*;

use super::jacobi::{Singular, eigen, epsilon, singular};
use super::matrix::{Matrix, as_column, as_row, is_empty, sum};
use crate::matmul::swap_last;
use crate::support::{empty, full};

/// The eigenvalues, the smallest first, and the eigenvectors, from one triangle.
#[lowering("aten._linalg_eigh.default", "aten.linalg_eigh.default")]
fn eigh(cx: &Lower, a: Value) -> Res<(Value, Value)> {
    let triangle: Str = cx.argument("UPLO")?;
    eigen(cx, a, triangle.0.eq_ignore_ascii_case("L"))
}

/// The eigenvalues alone.
#[lowering("aten.linalg_eigvalsh.default")]
fn eigvalsh(cx: &Lower, a: Value) -> Res<Value> {
    Ok(eigh(cx, a)?.0)
}

/// `U`, the singular values, the largest first, and the transposed `V`.
#[lowering("aten._linalg_svd.default", "aten.linalg_svd.default")]
fn svd(cx: &Lower, a: Value, full_matrices: bool, compute_uv: Option<bool>) -> Res<Vec<Option<Value>>> {
    let Singular { u, values, v } = singular(cx, a, full_matrices)?;
    if compute_uv == Some(false) {
        return Ok(vec![None, Some(values), None]);
    }
    Ok(vec![Some(u), Some(values), Some(swap_last(cx, v)?)])
}

/// `U`, the singular values and `V`.
#[lowering("aten.svd.default")]
fn svd_untransposed(cx: &Lower, a: Value, some: bool, compute_uv: bool) -> Res<Vec<Option<Value>>> {
    if !compute_uv {
        return Err("zeros instead of the factors are not supported: use `torch.linalg.svdvals`".into());
    }
    let Singular { u, values, v } = singular(cx, a, !some)?;
    Ok([u, values, v].map(Some).into())
}

/// The singular values, the largest first.
#[lowering("aten.linalg_svdvals.default")]
fn svdvals(cx: &Lower, a: Value) -> Res<Value> {
    singular_values(cx, a)
}

/// The singular values of stacks of matrices, the largest first.
pub(crate) fn singular_values(cx: &Lower, a: Value) -> Res<Value> {
    Ok(singular(cx, a, false)?.values)
}

/// The largest singular value over the smallest, or the reverse.
#[lowering("aten.linalg_cond.default")]
fn cond(cx: &Lower, a: Value, p: Option<f64>) -> Res<Value> {
    let order = p.unwrap_or(2.0);
    if order.abs() != 2.0 {
        return Err(Refusal::new(format!("the condition number of order {order} is not supported"))
            .help("use `torch.linalg.matrix_norm` of the matrix and of its inverse"));
    }
    let values = singular_values(cx, a)?;
    let largest = cx.reduce(op::ReduceMax, values, &[-1], false);
    let smallest = cx.reduce(op::ReduceMin, values, &[-1], false);
    Ok(if order > 0.0 { largest / smallest } else { smallest / largest })
}

/// The magnitudes that count as zero, from those of every matrix: at most `atol`, or `rtol` times the largest.
///
/// Unless it is given, `rtol` is the larger number of rows and columns times the distance of 1 from the next number, and
/// 0 where `atol` is positive.
pub(crate) fn negligible(
    cx: &Lower,
    m: &Matrix,
    magnitudes: Value,
    atol: Option<Operand>,
    rtol: Option<Operand>,
) -> Value {
    let atol = atol.map_or_else(|| cx.float(0.0, m.dtype), |atol| cx.operand(&atol, m.dtype));
    let rtol = rtol.map_or_else(
        || {
            let longer = cx.cast(cx.squeeze(cx.max(m.height, m.width), &[0]), m.dtype);
            cx.select(cx.greater(atol, 0.0), 0.0, longer * epsilon(m.dtype))
        },
        |rtol| cx.operand(&rtol, m.dtype),
    );
    let column = |x: Value| if cx.rank(x).is_ok_and(|rank| rank > 0) { as_column(cx, x) } else { x };
    let largest = cx.reduce(op::ReduceMax, magnitudes, &[-1], true);
    cx.max(column(atol), column(rtol) * largest)
}

/// The Moore-Penrose inverse: `V diag(1 / values) U'` of the values that are not negligible.
#[lowering("aten.linalg_pinv.atol_rtol_tensor", "aten.linalg_pinv.atol_rtol_float")]
fn pinv(cx: &Lower, a: Value, atol: Option<Operand>, rtol: Option<Operand>, hermitian: bool) -> Res<Value> {
    if let Some(empty) = empty(cx)? {
        return Ok(empty);
    }
    let m = Matrix::new(cx, a)?;
    pseudoinverse(cx, a, hermitian, |magnitudes| negligible(cx, &m, magnitudes, atol, rtol))
}

/// The inverse but for singular values, or magnitudes of eigenvalues, that are at most `negligible` of them.
pub(crate) fn pseudoinverse(
    cx: &Lower,
    a: Value,
    hermitian: bool,
    negligible: impl FnOnce(Value) -> Value,
) -> Res<Value> {
    let Singular { u, values, v } = if hermitian {
        let (values, vectors) = eigen(cx, a, true)?;
        Singular { u: vectors, values, v: vectors }
    } else {
        singular(cx, a, false)?
    };
    let magnitudes = cx.abs(values);
    let kept = cx.greater(magnitudes, negligible(magnitudes));
    let inverse = cx.select(kept, cx.reciprocal(values), 0.0);
    Ok(cx.matmul(v * as_row(cx, inverse), swap_last(cx, u)?))
}

/// The same with `rcond` for `rtol`.
#[lowering("aten.linalg_pinv.default", "aten.linalg_pinv.rcond_tensor", "aten.pinverse.default")]
fn pinv_of_condition(cx: &Lower, a: Value, rcond: Operand, hermitian: Option<bool>) -> Res<Value> {
    pinv(cx, a, None, Some(rcond), hermitian.unwrap_or(false))
}

/// The number of singular values, or magnitudes of eigenvalues, that are not negligible.
#[lowering("aten.linalg_matrix_rank.atol_rtol_tensor", "aten.linalg_matrix_rank.atol_rtol_float")]
fn matrix_rank(
    cx: &Lower,
    a: Value,
    atol: Option<Operand>,
    rtol: Option<Operand>,
    hermitian: bool,
) -> Res<Value> {
    let m = Matrix::new(cx, a)?;
    if is_empty(cx, a)? {
        return Ok(full(cx, &cx.result(0)?.shape, &Scalar::Int(0), DType::I64));
    }
    let values = if hermitian { eigen(cx, a, true)?.0 } else { singular_values(cx, a)? };
    let magnitudes = cx.abs(values);
    let kept = cx.greater(magnitudes, negligible(cx, &m, magnitudes, atol, rtol));
    sum(cx, cx.cast(kept, DType::I64), -1)
}

/// The same with an absolute tolerance.
#[lowering("aten.linalg_matrix_rank.default", "aten.linalg_matrix_rank.tol_tensor")]
fn matrix_rank_above(cx: &Lower, a: Value, tol: Operand, hermitian: bool) -> Res<Value> {
    matrix_rank(cx, a, Some(tol), Some(Operand::Number(Scalar::Float(0.0))), hermitian)
}
