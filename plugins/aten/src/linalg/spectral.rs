//! Eigenvalues of symmetric matrices, singular values, and what follows from them.

use onnxport_sdk::prelude::*;

use super::elimination::inv_ex;
use super::entries::Entries;
use super::jacobi::{Singular, eigen, epsilon, singular};
use super::matrix::{Matrix, as_column, as_row, is_empty, sum};
use crate::reduce::{matrix_norm, named_matrix_norm};
use crate::support::full;

/// The eigenvalues, the smallest first, and the eigenvectors, from one triangle.
#[lowering("aten._linalg_eigh.default", "aten.linalg_eigh.default", "aten.linalg_eigvalsh.default", complex)]
fn eigh(cx: &Lower) -> Res<(Value, Value)> {
    let triangle: Str = cx.argument("UPLO")?;
    let (values, vectors) = eigen(cx, Entries::argument(cx, "a")?, triangle.0.eq_ignore_ascii_case("L"))?;
    Ok((values, vectors.value(cx)))
}

/// `U`, the singular values, the largest first, and the adjoint `V`.
#[lowering("aten._linalg_svd.default", "aten.linalg_svd.default", complex)]
fn svd(cx: &Lower, full_matrices: bool, compute_uv: Option<bool>) -> Res<Vec<Option<Value>>> {
    let Singular { u, values, v } = singular(cx, Entries::argument(cx, "a")?, full_matrices)?;
    if compute_uv == Some(false) {
        return Ok(vec![None, Some(values), None]);
    }
    Ok(vec![Some(u.value(cx)), Some(values), Some(v.adjoint(cx)?.value(cx))])
}

/// `U`, the singular values and `V`.
#[lowering("aten.svd.default", complex)]
fn svd_untransposed(cx: &Lower, some: bool, compute_uv: bool) -> Res<Vec<Option<Value>>> {
    if !compute_uv {
        return Err("zeros instead of the factors are not supported: use `torch.linalg.svdvals`".into());
    }
    let Singular { u, values, v } = singular(cx, Entries::argument(cx, "a")?, !some)?;
    Ok([u.value(cx), values, v.value(cx)].map(Some).into())
}

/// `A = U H`, with orthonormal columns of `U` and a positive semidefinite `H`: `W V'` and `V diag(values) V'` of
/// `A = W diag(values) V'`.
#[lowering("aten.linalg_polar.default", complex)]
fn polar(cx: &Lower) -> Res<(Value, Value)> {
    let Singular { u, values, v } = singular(cx, Entries::argument(cx, "a")?, false)?;
    let (scaled, adjoint) = (v.map(|part| part * as_row(cx, values)), v.adjoint(cx)?);
    Ok((u.matmul(cx, adjoint).value(cx), scaled.matmul(cx, adjoint).value(cx)))
}

/// The square root of a positive definite matrix, from its lower triangle: `V diag(sqrt(values)) V'`.
#[lowering("aten.linalg_matrix_sqrth.default", complex)]
fn matrix_sqrth(cx: &Lower) -> Res<Value> {
    let (values, vectors) = eigen(cx, Entries::argument(cx, "a")?, true)?;
    // As in PyTorch, negative eigenvalues count as 0.
    let roots = as_row(cx, cx.sqrt(cx.max(values, 0.0)));
    Ok(vectors.map(|part| part * roots).matmul(cx, vectors.adjoint(cx)?).value(cx))
}

/// The singular values, the largest first.
#[lowering("aten.linalg_svdvals.default", complex)]
fn svdvals(cx: &Lower) -> Res<Value> {
    singular_values(cx, Entries::argument(cx, "a")?)
}

/// The singular values of stacks of matrices, the largest first.
pub(crate) fn singular_values(cx: &Lower, a: Entries) -> Res<Value> {
    Ok(singular(cx, a, false)?.values)
}

/// The largest singular value over the smallest, or the reverse; for other orders, the product of the norms of a matrix
/// and of its inverse, and infinity without one.
#[lowering("aten.linalg_cond.default")]
fn cond(cx: &Lower, a: Value, p: Option<f64>) -> Res<Value> {
    let order = p.unwrap_or(2.0);
    if order.abs() != 2.0 {
        return by_inverse(cx, a, |x, axes| matrix_norm(cx, x, order, axes, false));
    }
    let values = singular_values(cx, a.into())?;
    let largest = cx.reduce(op::ReduceMax, values, &[-1], false);
    let smallest = cx.reduce(op::ReduceMin, values, &[-1], false);
    Ok(if order > 0.0 { largest / smallest } else { smallest / largest })
}

/// The condition number by a named norm.
#[lowering("aten.linalg_cond.p_str")]
fn named_cond(cx: &Lower, a: Value, p: Str) -> Res<Value> {
    by_inverse(cx, a, |x, axes| named_matrix_norm(cx, x, p.0, axes, false))
}

fn by_inverse(cx: &Lower, a: Value, norm: impl Fn(Value, &[i64]) -> Res<Value>) -> Res<Value> {
    let (inverse, info) = inv_ex(cx, a)?;
    let rank = cx.rank(a)? as i64;
    let axes = [rank - 2, rank - 1];
    let product = norm(a, &axes)? * norm(inverse, &axes)?;
    let singular = cx.not(cx.equal(info, 0));
    Ok(cx.select(singular, f64::INFINITY, product))
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
#[lowering("aten.linalg_pinv.atol_rtol_tensor", "aten.linalg_pinv.atol_rtol_float", complex)]
fn pinv(cx: &Lower, atol: Option<Operand>, rtol: Option<Operand>, hermitian: bool) -> Res<Value> {
    let a = Entries::argument(cx, "a")?;
    if is_empty(cx, a.re)? {
        let result = cx.result(0)?;
        return Ok(full(cx, &result.real_shape(), &Scalar::Int(0), result.dtype.real()));
    }
    let m = Matrix::new(cx, a.re)?;
    let Singular { u, values, v } = if hermitian {
        let (values, vectors) = eigen(cx, a, true)?;
        Singular { u: vectors, values, v: vectors }
    } else {
        singular(cx, a, false)?
    };
    let magnitudes = cx.abs(values);
    let kept = cx.greater(magnitudes, negligible(cx, &m, magnitudes, atol, rtol));
    let inverse = as_row(cx, cx.select(kept, cx.reciprocal(values), 0.0));
    Ok(v.map(|part| part * inverse).matmul(cx, u.adjoint(cx)?).value(cx))
}

/// The same with `rcond` for `rtol`.
#[lowering("aten.linalg_pinv.default", "aten.linalg_pinv.rcond_tensor", "aten.pinverse.default", complex)]
fn pinv_of_condition(cx: &Lower, rcond: Operand, hermitian: Option<bool>) -> Res<Value> {
    pinv(cx, None, Some(rcond), hermitian.unwrap_or(false))
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
    let values = if hermitian { eigen(cx, a.into(), true)?.0 } else { singular_values(cx, a.into())? };
    let magnitudes = cx.abs(values);
    let kept = cx.greater(magnitudes, negligible(cx, &m, magnitudes, atol, rtol));
    sum(cx, cx.cast(kept, DType::I64), -1)
}

/// The same with an absolute tolerance.
#[lowering("aten.linalg_matrix_rank.default", "aten.linalg_matrix_rank.tol_tensor")]
fn matrix_rank_above(cx: &Lower, a: Value, tol: Operand, hermitian: bool) -> Res<Value> {
    matrix_rank(cx, a, Some(tol), Some(Operand::Number(Scalar::Float(0.0))), hermitian)
}
