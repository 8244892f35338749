//! The instructions, with the semantics of ONNX's operators.

use npu_program::{Instruction, Opcode};

use crate::tensor::{Tensor, broadcast, broadcast_strides, count, each, strides};

type Operands<'o, 'a> = [Option<&'o Tensor<'a>>];

/// Runs one instruction.
pub(crate) fn run<'a>(instruction: &Instruction, operands: &Operands<'_, 'a>) -> Result<Tensor<'a>, String> {
    let operand = |index: usize| operands.get(index).copied().flatten().ok_or("an operand is missing");
    let x = operand(0)?;
    let ints = instruction.ints.as_slice();
    match instruction.opcode {
        Opcode::MatMul => matmul(x, operand(1)?),
        Opcode::Gemm => gemm(instruction, x, operand(1)?, operands.get(2).copied().flatten()),
        Opcode::Add => binary(x, operand(1)?, |a, b| a + b),
        Opcode::Sub => binary(x, operand(1)?, |a, b| a - b),
        Opcode::Mul => binary(x, operand(1)?, |a, b| a * b),
        Opcode::Div => binary(x, operand(1)?, |a, b| a / b),
        Opcode::Relu => unary(x, |a| if a < 0.0 { 0.0 } else { a }),
        Opcode::Gelu if ints == [1] => unary(x, gelu_tanh),
        Opcode::Gelu => unary(x, |a| 0.5 * a * (1.0 + libm::erff(a * std::f32::consts::FRAC_1_SQRT_2))),
        Opcode::Tanh => unary(x, f32::tanh),
        Opcode::Sigmoid => unary(x, |a| 1.0 / (1.0 + (-a).exp())),
        Opcode::Softmax => softmax(x, ints),
        Opcode::Reshape => reshape(x, operand(1)?.as_ints()?),
        Opcode::Transpose => transpose(x, ints),
        Opcode::Squeeze => squeeze(x, ints),
        Opcode::Unsqueeze => unsqueeze(x, ints),
        Opcode::Select => select(x, ints),
    }
}

fn gelu_tanh(x: f32) -> f32 {
    let inner = (2.0 / std::f32::consts::PI).sqrt() * (x + 0.044_715 * x * x * x);
    0.5 * x * (1.0 + inner.tanh())
}

fn unary<'a>(x: &Tensor<'_>, f: impl Fn(f32) -> f32) -> Result<Tensor<'a>, String> {
    let elements: Vec<f32> = x.as_floats()?.iter().map(|a| f(*a)).collect();
    Ok(Tensor::floats(x.dims.clone(), elements))
}

fn binary<'a>(x: &Tensor<'_>, y: &Tensor<'_>, f: impl Fn(f32, f32) -> f32) -> Result<Tensor<'a>, String> {
    let dims = broadcast(&x.dims, &y.dims)?;
    let (a, b) = (x.as_floats()?, y.as_floats()?);
    let mut elements = Vec::with_capacity(count(&dims)?);
    let strides = [&broadcast_strides(&x.dims, &dims)[..], &broadcast_strides(&y.dims, &dims)[..]];
    each(&dims, strides, |[i, j]| elements.push(f(a[i], b[j])));
    Ok(Tensor::floats(dims, elements))
}

/// `out[m, n] += a[m, k] * b[k, n]`; strides are those of rows and columns.
fn product(
    out: &mut [f32],
    (m, k, n): (usize, usize, usize),
    (a, row_a, column_a): (&[f32], usize, usize),
    (b, row_b, column_b): (&[f32], usize, usize),
) {
    for i in 0..m {
        let row = &mut out[i * n..(i + 1) * n];
        for l in 0..k {
            let factor = a[i * row_a + l * column_a];
            for (j, sum) in row.iter_mut().enumerate() {
                *sum += factor * b[l * row_b + j * column_b];
            }
        }
    }
}

fn matmul<'a>(x: &Tensor<'_>, y: &Tensor<'_>) -> Result<Tensor<'a>, String> {
    // A vector is a row on the left and a column on the right; the axis that this adds goes again.
    let left = if x.dims.len() == 1 { vec![1, x.dims[0]] } else { x.dims.clone() };
    let right = if y.dims.len() == 1 { vec![y.dims[0], 1] } else { y.dims.clone() };
    let (Some((outer, [m, k])), Some((other, [l, n]))) =
        (left.split_last_chunk::<2>(), right.split_last_chunk::<2>())
    else {
        return Err("a scalar has no matrix".to_owned());
    };
    if k != l {
        return Err(format!("{:?} and {:?} cannot be multiplied", x.dims, y.dims));
    }
    let batch = broadcast(outer, other)?;
    let (a, b) = (x.as_floats()?, y.as_floats()?);
    let (size, step) = ([m * k, k * n], m * n);
    let mut elements = vec![0.0; count(&batch)?.checked_mul(step).ok_or("the result is too large")?];
    let scaled = |dims: &[usize], size: usize| -> Vec<usize> {
        broadcast_strides(dims, &batch).into_iter().map(|stride| stride * size).collect()
    };
    let mut place = 0;
    each(&batch, [&scaled(outer, size[0])[..], &scaled(other, size[1])[..]], |[i, j]| {
        let out = &mut elements[place..place + step];
        product(out, (*m, *k, *n), (&a[i..i + size[0]], *k, 1), (&b[j..j + size[1]], *n, 1));
        place += step;
    });
    let mut dims = batch;
    dims.extend((x.dims.len() > 1).then_some(*m));
    dims.extend((y.dims.len() > 1).then_some(*n));
    Ok(Tensor::floats(dims, elements))
}

fn gemm<'a>(
    instruction: &Instruction,
    x: &Tensor<'_>,
    y: &Tensor<'_>,
    z: Option<&Tensor<'_>>,
) -> Result<Tensor<'a>, String> {
    let (&[trans_a, trans_b], &[alpha, beta]) = (instruction.ints.as_slice(), instruction.floats.as_slice())
    else {
        return Err("its numbers are missing".to_owned());
    };
    let (&[rows, columns], &[other_rows, other_columns]) = (x.dims.as_slice(), y.dims.as_slice()) else {
        return Err("an operand is not a matrix".to_owned());
    };
    let (m, k, a) = if trans_a == 0 { (rows, columns, (columns, 1)) } else { (columns, rows, (1, columns)) };
    let (l, n, b) = if trans_b == 0 {
        (other_rows, other_columns, (other_columns, 1))
    } else {
        (other_columns, other_rows, (1, other_columns))
    };
    if k != l {
        return Err(format!("{:?} and {:?} cannot be multiplied", x.dims, y.dims));
    }
    let mut elements = vec![0.0; count(&[m, n])?];
    product(&mut elements, (m, k, n), (x.as_floats()?, a.0, a.1), (y.as_floats()?, b.0, b.1));
    elements.iter_mut().for_each(|sum| *sum *= alpha);
    let result = Tensor::floats(vec![m, n], elements);
    let Some(z) = z else { return Ok(result) };
    let sum = binary(&result, z, |a, c| a + beta * c)?;
    if sum.dims == [m, n] { Ok(sum) } else { Err(format!("{:?} does not broadcast to {:?}", z.dims, [m, n])) }
}

fn softmax<'a>(x: &Tensor<'_>, ints: &[i64]) -> Result<Tensor<'a>, String> {
    let axis = axis(ints.first().copied().unwrap_or(-1), x.dims.len())?;
    let (length, inner) = (x.dims[axis], count(&x.dims[axis + 1..])?);
    let mut elements = x.as_floats()?.to_vec();
    for block in elements.chunks_mut((length * inner).max(1)) {
        for at in 0..inner {
            let places = || (0..length).map(|i| i * inner + at);
            let largest = places().map(|i| block[i]).fold(f32::NEG_INFINITY, f32::max);
            places().for_each(|i| block[i] = (block[i] - largest).exp());
            let sum: f32 = places().map(|i| block[i]).sum();
            places().for_each(|i| block[i] /= sum);
        }
    }
    Ok(Tensor::floats(x.dims.clone(), elements))
}

fn reshape<'a>(x: &Tensor<'a>, shape: &[i64]) -> Result<Tensor<'a>, String> {
    let mut dims = Vec::with_capacity(shape.len());
    let mut inferred = None;
    for (axis, extent) in shape.iter().enumerate() {
        dims.push(match *extent {
            0 => *x.dims.get(axis).ok_or("a kept size does not exist")?,
            -1 if inferred.replace(axis).is_none() => 1,
            extent => usize::try_from(extent).map_err(|_| format!("{shape:?} is not a shape"))?,
        });
    }
    let total = count(&x.dims)?;
    let known = count(&dims)?;
    if let Some(axis) = inferred {
        if known == 0 || !total.is_multiple_of(known) {
            return Err(format!("{:?} cannot become {shape:?}", x.dims));
        }
        dims[axis] = total / known;
    } else if known != total {
        return Err(format!("{:?} cannot become {shape:?}", x.dims));
    }
    Ok(Tensor { dims, data: x.data.clone() })
}

fn transpose<'a>(x: &Tensor<'_>, perm: &[i64]) -> Result<Tensor<'a>, String> {
    let rank = x.dims.len();
    let axes: Vec<usize> = perm.iter().map(|a| axis(*a, rank)).collect::<Result<_, _>>()?;
    if axes.len() != rank || (0..rank).any(|axis| !axes.contains(&axis)) {
        return Err(format!("{perm:?} is not a permutation of {rank} axes"));
    }
    let own = strides(&x.dims);
    let dims: Vec<usize> = axes.iter().map(|axis| x.dims[*axis]).collect();
    let strides: Vec<usize> = axes.iter().map(|axis| own[*axis]).collect();
    let elements = x.as_floats()?;
    let mut out = Vec::with_capacity(elements.len());
    each(&dims, [&strides], |[i]| out.push(elements[i]));
    Ok(Tensor::floats(dims, out))
}

fn squeeze<'a>(x: &Tensor<'a>, ints: &[i64]) -> Result<Tensor<'a>, String> {
    let axes: Vec<usize> = ints.iter().map(|a| axis(*a, x.dims.len())).collect::<Result<_, _>>()?;
    if axes.iter().any(|axis| x.dims[*axis] != 1) {
        return Err(format!("{:?} has an axis among {ints:?} whose size is not 1", x.dims));
    }
    let dims = x.dims.iter().enumerate().filter(|(i, _)| !axes.contains(i)).map(|(_, d)| *d).collect();
    Ok(Tensor { dims, data: x.data.clone() })
}

fn unsqueeze<'a>(x: &Tensor<'a>, ints: &[i64]) -> Result<Tensor<'a>, String> {
    let rank = x.dims.len() + ints.len();
    let axes: Vec<usize> = ints.iter().map(|a| axis(*a, rank)).collect::<Result<_, _>>()?;
    let mut rest = x.dims.iter();
    let extent = |axis| if axes.contains(&axis) { Some(1) } else { rest.next().copied() };
    let dims: Option<Vec<usize>> = (0..rank).map(extent).collect();
    let dims = dims.filter(|_| rest.next().is_none()).ok_or("an axis stands twice")?;
    Ok(Tensor { dims, data: x.data.clone() })
}

fn select<'a>(x: &Tensor<'_>, ints: &[i64]) -> Result<Tensor<'a>, String> {
    let &[along, index] = ints else { return Err("its numbers are missing".to_owned()) };
    let along = axis(along, x.dims.len())?;
    let extent = x.dims[along];
    let index = if index < 0 { index + extent as i64 } else { index };
    let index = usize::try_from(index).ok().filter(|i| *i < extent).ok_or("the index is out of range")?;
    let inner = count(&x.dims[along + 1..])?;
    let elements = x.as_floats()?;
    let mut dims = x.dims.clone();
    dims.remove(along);
    let blocks = elements.chunks((extent * inner).max(1));
    let out: Vec<f32> =
        blocks.flat_map(|block| block[index * inner..(index + 1) * inner].iter().copied()).collect();
    Ok(Tensor::floats(dims, out))
}

fn axis(axis: i64, rank: usize) -> Result<usize, String> {
    let positive = if axis < 0 { axis + rank as i64 } else { axis };
    usize::try_from(positive)
        .ok()
        .filter(|a| *a < rank)
        .ok_or_else(|| format!("axis {axis} is out of range for rank {rank}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tensor(dims: &[usize]) -> Tensor<'static> {
        let elements: Vec<f32> = (0..dims.iter().product()).map(|n: usize| n as f32).collect();
        Tensor::floats(dims.to_vec(), elements)
    }

    #[test]
    fn products_broadcast_and_take_vectors() {
        let result = matmul(&tensor(&[2, 1, 2, 3]), &tensor(&[4, 3, 2])).unwrap();
        assert_eq!(result.dims, [2, 4, 2, 2]);
        assert_eq!(result.as_floats().unwrap()[..4], [10.0, 13.0, 28.0, 40.0]);
        assert_eq!(matmul(&tensor(&[3]), &tensor(&[3])).unwrap(), Tensor::floats(vec![], vec![5.0]));
        assert_eq!(matmul(&tensor(&[0, 3]), &tensor(&[3, 2])).unwrap().dims, [0, 2]);
        assert!(matmul(&tensor(&[2, 3]), &tensor(&[2, 3])).is_err());
        assert!(matmul(&tensor(&[]), &tensor(&[2, 3])).is_err());
    }

    #[test]
    fn views_move_elements_and_refuse_what_does_not_fit() {
        let x = tensor(&[2, 3]);
        assert_eq!(transpose(&x, &[1, 0]).unwrap().as_floats().unwrap(), [0.0, 3.0, 1.0, 4.0, 2.0, 5.0]);
        assert!(transpose(&x, &[1, 1]).is_err());
        assert_eq!(reshape(&x, &[0, -1, 1]).unwrap().dims, [2, 3, 1]);
        for wrong in [&[4][..], &[-1, -1], &[-1, 4], &[2, 3, 0], &[-2]] {
            assert!(reshape(&x, wrong).is_err(), "{wrong:?}");
        }
        assert_eq!(select(&x, &[0, -1]).unwrap().as_floats().unwrap(), [3.0, 4.0, 5.0]);
        assert_eq!(select(&x, &[1, 1]).unwrap().as_floats().unwrap(), [1.0, 4.0]);
        assert!(select(&x, &[0, 2]).is_err());
        assert_eq!(unsqueeze(&x, &[0, -1]).unwrap().dims, [1, 2, 3, 1]);
        assert!(unsqueeze(&x, &[0, 0]).is_err());
        assert!(squeeze(&x, &[0]).is_err());
    }

    #[test]
    fn softmax_sums_to_one_along_its_axis() {
        let x = softmax(&tensor(&[2, 3]), &[0]).unwrap();
        let floats = x.as_floats().unwrap();
        assert!((0..3).all(|i| (floats[i] + floats[i + 3] - 1.0).abs() < 1e-6));
    }
}
