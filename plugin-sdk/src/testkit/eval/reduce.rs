//! Reductions, and what is computed along an axis.

use super::super::infer::REDUCE;
use super::super::tensor::{Data, Tensor};
use super::{Evaluated, Inputs, axis, indices, offset, strides};
use crate::DType;

type Outcome = Result<Vec<Tensor>, String>;

pub(super) fn eval(inputs: &Inputs<'_>) -> Evaluated {
    let op = inputs.node.op.as_str();
    Some(match op {
        _ if REDUCE.contains(&op) => reduce(inputs),
        "ArgMax" | "ArgMin" => extreme(inputs),
        "Softmax" | "LogSoftmax" => softmax(inputs),
        "CumSum" => cumulative(inputs),
        _ => return None,
    })
}

fn reduce(inputs: &Inputs<'_>) -> Outcome {
    let x = inputs.get(0)?;
    let rank = x.shape.len();
    let listed = inputs.maybe(1).map(Tensor::to_i64).unwrap_or_default();
    if listed.is_empty() && inputs.node.int("noop_with_empty_axes") == Some(1) {
        return Ok(vec![x.clone()]);
    }
    let axes = listed.into_iter().map(|a| axis(a, rank)).collect::<Result<Vec<_>, _>>()?;
    let axes = if axes.is_empty() { (0..rank).collect() } else { axes };
    let groups = groups(x, &axes);
    let keep = inputs.node.int("keepdims").unwrap_or(1) == 1;
    let shape = x.shape.iter().enumerate().filter_map(|(a, n)| match (axes.contains(&a), keep) {
        (false, _) => Some(*n),
        (true, true) => Some(1),
        (true, false) => None,
    });
    let shape = shape.collect();
    let op = inputs.node.op.as_str();
    let data = match &x.data {
        Data::Floats(data) => {
            let of = |group: &Vec<usize>| floats(op, group.iter().map(|p| data[*p]));
            Data::Floats(groups.iter().map(of).collect::<Result<_, _>>()?)
        }
        Data::Ints(data) => {
            let of = |group: &Vec<usize>| ints(op, group.iter().map(|p| data[*p]));
            Data::Ints(groups.iter().map(of).collect::<Result<_, _>>()?)
        }
    };
    Ok(vec![Tensor { dtype: x.dtype, shape, data }])
}

/// The positions that each place of the other axes sees along `axes`.
fn groups(x: &Tensor, axes: &[usize]) -> Vec<Vec<usize>> {
    let outer: Vec<usize> =
        x.shape.iter().enumerate().map(|(a, n)| if axes.contains(&a) { 1 } else { *n }).collect();
    let steps = strides(&outer);
    let mut groups = vec![Vec::new(); outer.iter().product()];
    for (position, mut index) in indices(&x.shape).enumerate() {
        for axis in axes {
            index[*axis] = 0;
        }
        groups[offset(&index, &steps)].push(position);
    }
    groups
}

fn floats(op: &str, items: impl Iterator<Item = f64> + Clone) -> Result<f64, String> {
    let count = items.clone().count();
    let sum = |items: &mut dyn Iterator<Item = f64>| items.sum::<f64>();
    let nan = items.clone().any(f64::is_nan);
    Ok(match op {
        "ReduceSum" => sum(&mut items.clone()),
        "ReduceMean" => sum(&mut items.clone()) / count as f64,
        "ReduceProd" => items.product(),
        "ReduceL1" => sum(&mut items.map(f64::abs)),
        "ReduceL2" => sum(&mut items.map(|x| x * x)).sqrt(),
        "ReduceSumSquare" => sum(&mut items.map(|x| x * x)),
        "ReduceMax" if nan => f64::NAN,
        "ReduceMin" if nan => f64::NAN,
        "ReduceMax" => items.fold(f64::NEG_INFINITY, f64::max),
        "ReduceMin" => items.fold(f64::INFINITY, f64::min),
        "ReduceLogSumExp" => {
            let largest = items.clone().fold(f64::NEG_INFINITY, f64::max);
            if largest.is_finite() {
                largest + sum(&mut items.map(|x| (x - largest).exp())).ln()
            } else {
                largest
            }
        }
        _ => return Err("it does not take floats".to_owned()),
    })
}

fn ints(op: &str, items: impl Iterator<Item = i64> + Clone) -> Result<i64, String> {
    let count = items.clone().count() as i64;
    Ok(match op {
        "ReduceSum" => items.fold(0, i64::wrapping_add),
        "ReduceMean" if count > 0 => items.fold(0, i64::wrapping_add) / count,
        "ReduceProd" => items.fold(1, i64::wrapping_mul),
        "ReduceL1" => items.fold(0, |sum, n| sum.wrapping_add(n.wrapping_abs())),
        "ReduceSumSquare" => items.fold(0, |sum, n| sum.wrapping_add(n.wrapping_mul(n))),
        "ReduceMax" => items.max().ok_or("there is nothing to reduce")?,
        "ReduceMin" => items.min().ok_or("there is nothing to reduce")?,
        _ => return Err("it does not take integers".to_owned()),
    })
}

fn extreme(inputs: &Inputs<'_>) -> Outcome {
    let x = inputs.get(0)?;
    let at = inputs.axis(0, x.shape.len())?;
    let last = inputs.node.int("select_last_index") == Some(1);
    let largest = inputs.node.op == "ArgMax";
    let values = x.to_f64();
    let mut found = Vec::new();
    for group in groups(x, &[at]) {
        let mut best: Option<usize> = None;
        for (place, position) in group.iter().enumerate() {
            let better = best.is_none_or(|b| {
                let (new, old) = (values[*position], values[group[b]]);
                (if largest { new > old } else { new < old }) || (last && new == old)
            });
            if better {
                best = Some(place);
            }
        }
        found.push(best.ok_or("there is nothing to choose from")? as i64);
    }
    let mut shape = x.shape.clone();
    if inputs.node.int("keepdims").unwrap_or(1) == 1 {
        shape[at] = 1;
    } else {
        shape.remove(at);
    }
    Ok(vec![Tensor { dtype: DType::I64, shape, data: Data::Ints(found) }])
}

fn softmax(inputs: &Inputs<'_>) -> Outcome {
    let x = inputs.get(0)?;
    let at = inputs.axis(-1, x.shape.len())?;
    let mut values = x.to_f64();
    for group in groups(x, &[at]) {
        let largest = group.iter().map(|p| values[*p]).fold(f64::NEG_INFINITY, f64::max);
        let total: f64 = group.iter().map(|p| (values[*p] - largest).exp()).sum();
        for position in group {
            let shifted = values[position] - largest;
            values[position] =
                if inputs.node.op == "Softmax" { shifted.exp() / total } else { shifted - total.ln() };
        }
    }
    Ok(vec![Tensor { data: Data::Floats(values), ..x.clone() }])
}

fn cumulative(inputs: &Inputs<'_>) -> Outcome {
    let mut x = inputs.get(0)?.clone();
    let at = inputs.ints(1)?.first().copied().ok_or("its axis is empty")?;
    let at = axis(at, x.shape.len())?;
    if inputs.node.int("exclusive") == Some(1) || inputs.node.int("reverse") == Some(1) {
        return Err("the test kit's evaluator knows neither `exclusive` nor `reverse`".to_owned());
    }
    for group in groups(&x, &[at]) {
        for pair in group.windows(2) {
            match &mut x.data {
                Data::Floats(data) => data[pair[1]] += data[pair[0]],
                Data::Ints(data) => data[pair[1]] = data[pair[1]].wrapping_add(data[pair[0]]),
            }
        }
    }
    Ok(vec![x])
}
