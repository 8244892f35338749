//! Products of matrices.

use super::super::tensor::{Data, Tensor};
use super::elementwise::{broadcast, expand};
use super::{Evaluated, Inputs};

pub(super) fn eval(inputs: &Inputs<'_>) -> Evaluated {
    Some(match inputs.node.op.as_str() {
        "MatMul" => inputs.get(0).and_then(|a| matmul(a, inputs.get(1)?)).map(|product| vec![product]),
        "Gemm" => gemm(inputs),
        _ => return None,
    })
}

/// The product over the last axis of `a` and the last but one of `b`, as `numpy.matmul`.
fn matmul(a: &Tensor, b: &Tensor) -> Result<Tensor, String> {
    let fail = || format!("{:?} and {:?} do not multiply", a.shape, b.shape);
    if a.shape.is_empty() || b.shape.is_empty() || a.dtype != b.dtype {
        return Err(fail());
    }
    let (mut left, mut right) = (a.shape.clone(), b.shape.clone());
    let (vector_a, vector_b) = (left.len() == 1, right.len() == 1);
    if vector_a {
        left.insert(0, 1);
    }
    if vector_b {
        right.push(1);
    }
    let (batch_a, last_a) = left.split_at(left.len() - 2);
    let (batch_b, last_b) = right.split_at(right.len() - 2);
    let (m, k, n) = (last_a[0], last_a[1], last_b[1]);
    if last_b[0] != k {
        return Err(fail());
    }
    let batch = broadcast(&[batch_a, batch_b])?;
    let a = expand(&a.reshaped(left.clone())?, &[batch.as_slice(), &[m, k]].concat());
    let b = expand(&b.reshaped(right.clone())?, &[batch.as_slice(), &[k, n]].concat());
    let count: usize = batch.iter().product();
    let places =
        (0..count).flat_map(|i| (0..m).flat_map(move |row| (0..n).map(move |column| (i, row, column))));
    let data = match (&a.data, &b.data) {
        (Data::Floats(x), Data::Floats(y)) => {
            let dot = |(i, row, column): (usize, usize, usize)| {
                (0..k).map(|at| x[(i * m + row) * k + at] * y[(i * k + at) * n + column]).sum()
            };
            Data::Floats(places.map(dot).collect())
        }
        (Data::Ints(x), Data::Ints(y)) => {
            let dot = |(i, row, column): (usize, usize, usize)| {
                let terms =
                    (0..k).map(|at| x[(i * m + row) * k + at].wrapping_mul(y[(i * k + at) * n + column]));
                terms.fold(0, i64::wrapping_add)
            };
            Data::Ints(places.map(dot).collect())
        }
        _ => return Err(fail()),
    };
    let mut shape = batch;
    if !vector_a {
        shape.push(m);
    }
    if !vector_b {
        shape.push(n);
    }
    Ok(Tensor { dtype: a.dtype, shape, data })
}

fn gemm(inputs: &Inputs<'_>) -> Result<Vec<Tensor>, String> {
    let side = |index: usize, name: &str| {
        let tensor = inputs.get(index)?;
        let [rows, columns] = tensor.shape[..] else { return Err("it takes matrices".to_owned()) };
        if inputs.node.int(name) != Some(1) {
            return Ok(tensor.clone());
        }
        let places = (0..columns).flat_map(|c| (0..rows).map(move |r| r * columns + c));
        Ok(tensor.pick(vec![columns, rows], places))
    };
    let product = matmul(&side(0, "transA")?, &side(1, "transB")?)?;
    let alpha = inputs.node.float("alpha").unwrap_or(1.0);
    let beta = inputs.node.float("beta").unwrap_or(1.0);
    let bias = inputs.maybe(2).map(|c| expand(c, &product.shape).to_f64());
    let sum = |(index, x): (usize, f64)| alpha * x + bias.as_ref().map_or(0.0, |c| beta * c[index]);
    let data = Data::Floats(product.to_f64().into_iter().enumerate().map(sum).collect());
    Ok(vec![Tensor { data, ..product }])
}
