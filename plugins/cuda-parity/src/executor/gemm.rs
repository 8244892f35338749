//! A product of matrices as cuBLAS takes it.

use super::device::{Launch, Product};
use crate::device::blas::{Gemm, Matrix};

/// The arguments of cuBLAS for the product that a launch computes. cuBLAS stores matrices column by column, so it computes
/// the transposed product of the transposed matrices. `None` where there is no product, or its sizes do not fit.
pub(crate) fn of(launch: &Launch<'_>) -> Option<Gemm> {
    let Product { dtype, rows, columns, depth, transposed, stack: (count, steps), factor, add } =
        launch.product?;
    let [a, b, c, ..] = launch.args.pointers;
    let int = |n: usize| i32::try_from(n).ok();
    let (m, n, k) = (int(rows)?, int(columns)?, int(depth)?);
    // Row by row, a matrix is its transpose column by column, with its columns as rows.
    let side = |address, transposed: bool, rows: i32, columns: i32, step| Matrix {
        address,
        transposed,
        leading: if transposed { rows } else { columns },
        step,
    };
    Some(Gemm {
        dtype,
        m: n,
        n: m,
        k,
        a: side(b, transposed[1], k, n, steps[1]),
        b: side(a, transposed[0], m, k, steps[0]),
        c: Matrix { address: c, transposed: false, leading: n, step: i64::from(m) * i64::from(n) },
        count: int(count)?,
        alpha: factor,
        beta: f64::from(u8::from(add)),
    })
}
