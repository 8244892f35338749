//! Operators that move elements, and those that make them from shapes.

use super::super::graph::Attr;
use super::super::tensor::{Data, Tensor};
use super::elementwise::{broadcast, expand};
use super::{Evaluated, Inputs, axis, indices, offset, strides};

type Outcome = Result<Vec<Tensor>, String>;

pub(super) fn eval(inputs: &Inputs<'_>) -> Evaluated {
    Some(match inputs.node.op.as_str() {
        "Shape" => shape(inputs),
        "Size" => inputs.get(0).map(|x| vec![Tensor::i64([], [x.len() as i64])]),
        "Reshape" => reshape(inputs),
        "Flatten" => flatten(inputs),
        "Unsqueeze" | "Squeeze" => squeeze(inputs),
        "Transpose" => transpose(inputs),
        "Concat" => concat(inputs),
        "Slice" => slice(inputs),
        "Split" => split(inputs),
        "Gather" => gather(inputs),
        "GatherElements" => gather_elements(inputs),
        "Expand" => expand_to(inputs),
        "Tile" => tile(inputs),
        "Pad" => pad(inputs),
        "Trilu" => trilu(inputs),
        "Constant" => {
            inputs.node.constant().map(|tensor| vec![tensor]).ok_or_else(|| "it has no numbers".to_owned())
        }
        "ConstantOfShape" => constant_of_shape(inputs),
        "Range" => range(inputs),
        _ => return None,
    })
}

fn shape(inputs: &Inputs<'_>) -> Outcome {
    let shape = &inputs.get(0)?.shape;
    let rank = shape.len() as i64;
    let clamp = |n: i64| (if n < 0 { n + rank } else { n }).clamp(0, rank) as usize;
    let start = clamp(inputs.node.int("start").unwrap_or(0));
    let end = clamp(inputs.node.int("end").unwrap_or(rank)).max(start);
    let extents: Vec<i64> = shape[start..end].iter().map(|n| *n as i64).collect();
    Ok(vec![Tensor::i64([extents.len()], extents)])
}

fn extents(ints: &[i64]) -> Result<Vec<usize>, String> {
    let extent = |n: &i64| usize::try_from(*n).map_err(|_| format!("{n} is not an extent"));
    ints.iter().map(extent).collect()
}

fn reshape(inputs: &Inputs<'_>) -> Outcome {
    let (x, mut target) = (inputs.get(0)?, inputs.ints(1)?);
    if inputs.node.int("allowzero") != Some(1) {
        for (index, extent) in target.iter_mut().enumerate().filter(|(_, extent)| **extent == 0) {
            *extent = *x.shape.get(index).ok_or("a 0 copies an axis that is not there")? as i64;
        }
    }
    if let Some(open) = target.iter().position(|n| *n == -1) {
        let rest: i64 = target.iter().filter(|n| **n != -1).product();
        target[open] = (x.len() as i64).checked_div(rest).ok_or("-1 cannot be inferred beside a 0")?;
    }
    Ok(vec![x.reshaped(extents(&target)?)?])
}

fn flatten(inputs: &Inputs<'_>) -> Outcome {
    let x = inputs.get(0)?;
    let at = inputs.node.int("axis").unwrap_or(1);
    let at = (if at < 0 { at + x.shape.len() as i64 } else { at } as usize).min(x.shape.len());
    let (left, right) = x.shape.split_at(at);
    Ok(vec![x.reshaped(vec![left.iter().product(), right.iter().product()])?])
}

fn squeeze(inputs: &Inputs<'_>) -> Outcome {
    let x = inputs.get(0)?;
    let axes = inputs.maybe(1).map(Tensor::to_i64);
    let adds = inputs.node.op == "Unsqueeze";
    let rank = x.shape.len() + if adds { axes.as_ref().map_or(0, Vec::len) } else { 0 };
    let axes = match axes {
        Some(axes) => axes.into_iter().map(|a| axis(a, rank)).collect::<Result<Vec<_>, _>>()?,
        None => (0..rank).filter(|a| x.shape[*a] == 1).collect(),
    };
    let mut rest = x.shape.iter().copied();
    let mut shape = Vec::new();
    for place in 0..rank {
        let listed = axes.contains(&place);
        if adds && listed {
            shape.push(1);
        } else {
            let extent = rest.next().ok_or("an axis is listed twice")?;
            if !listed {
                shape.push(extent);
            } else if extent != 1 {
                return Err(format!("axis {place} has the extent {extent}, not 1"));
            }
        }
    }
    Ok(vec![x.reshaped(shape)?])
}

fn transpose(inputs: &Inputs<'_>) -> Outcome {
    let x = inputs.get(0)?;
    let perm = inputs.node.ints("perm").map(<[i64]>::to_vec);
    let perm = perm.unwrap_or_else(|| (0..x.shape.len() as i64).rev().collect());
    let perm = perm.into_iter().map(|a| axis(a, x.shape.len())).collect::<Result<Vec<_>, _>>()?;
    if perm.len() != x.shape.len() {
        return Err(format!("`perm` has {} axes, the input {}", perm.len(), x.shape.len()));
    }
    let shape: Vec<usize> = perm.iter().map(|a| x.shape[*a]).collect();
    let own = strides(&x.shape);
    let steps: Vec<usize> = perm.iter().map(|a| own[*a]).collect();
    Ok(vec![x.pick(shape.clone(), indices(&shape).map(|index| offset(&index, &steps)))])
}

fn concat(inputs: &Inputs<'_>) -> Outcome {
    let tensors = (0..inputs.tensors.len()).map(|i| inputs.get(i)).collect::<Result<Vec<_>, _>>()?;
    Ok(vec![join(&tensors, inputs.node.int("axis").ok_or("it has no `axis`")?)?])
}

/// The tensors next to each other along `along`.
pub(super) fn join(tensors: &[&Tensor], along: i64) -> Result<Tensor, String> {
    let first = tensors.first().ok_or("it has no inputs")?;
    let at = axis(along, first.shape.len())?;
    let mut shape = first.shape.clone();
    shape[at] = 0;
    for tensor in tensors {
        let fits = tensor.shape.len() == shape.len()
            && tensor.dtype == first.dtype
            && (0..shape.len()).all(|a| a == at || tensor.shape[a] == shape[a]);
        if !fits {
            return Err(format!("{:?} and {:?} do not fit", first.shape, tensor.shape));
        }
        shape[at] += tensor.shape[at];
    }
    let inner: usize = shape[at + 1..].iter().product();
    let outer: usize = shape[..at].iter().product();
    let (mut floats, mut ints) = (Vec::new(), Vec::new());
    for row in 0..outer {
        for tensor in tensors {
            let run = tensor.shape[at] * inner;
            match &tensor.data {
                Data::Floats(data) => floats.extend_from_slice(&data[row * run..(row + 1) * run]),
                Data::Ints(data) => ints.extend_from_slice(&data[row * run..(row + 1) * run]),
            }
        }
    }
    let data = if matches!(first.data, Data::Floats(_)) { Data::Floats(floats) } else { Data::Ints(ints) };
    Ok(Tensor { dtype: first.dtype, shape, data })
}

/// The places that `Slice` takes along an axis of `extent`; `step` is not 0.
pub(in super::super) fn slice_range(
    start: i64,
    end: i64,
    step: i64,
    extent: i64,
) -> impl Iterator<Item = i64> {
    let from_front = |n: i64| if n < 0 { n.saturating_add(extent) } else { n };
    let (low, high) = if step > 0 { (0, extent) } else { (-1, extent - 1) };
    let first = from_front(start).clamp(low.max(0), high.max(low.max(0)));
    // An end far below the front means the front itself, for a step backwards.
    let last = from_front(end).clamp(low, high.max(low));
    let mut place = first;
    std::iter::from_fn(move || {
        let inside = if step > 0 { place < last } else { place > last };
        let found = (inside && (0..extent).contains(&place)).then_some(place);
        place = place.saturating_add(step);
        found
    })
}

fn slice(inputs: &Inputs<'_>) -> Outcome {
    let x = inputs.get(0)?;
    let (starts, ends) = (inputs.ints(1)?, inputs.ints(2)?);
    let count = starts.len();
    let axes = inputs.maybe(3).map_or_else(|| (0..count as i64).collect(), Tensor::to_i64);
    let steps = inputs.maybe(4).map_or_else(|| vec![1; count], Tensor::to_i64);
    if [ends.len(), axes.len(), steps.len()] != [count; 3] || steps.contains(&0) {
        return Err("its bounds, axes and steps do not fit".to_owned());
    }
    let mut places: Vec<Vec<usize>> = x.shape.iter().map(|n| (0..*n).collect()).collect();
    for i in 0..count {
        let at = axis(axes[i], x.shape.len())?;
        let range = slice_range(starts[i], ends[i], steps[i], x.shape[at] as i64);
        places[at] = range.map(|n| n as usize).collect();
    }
    Ok(vec![pick_places(x, &places)])
}

/// The elements at the given places of each axis.
fn pick_places(x: &Tensor, places: &[Vec<usize>]) -> Tensor {
    let shape: Vec<usize> = places.iter().map(Vec::len).collect();
    let own = strides(&x.shape);
    let position = |index: Vec<usize>| {
        let at: Vec<usize> = index.iter().zip(places).map(|(i, list)| list[*i]).collect();
        offset(&at, &own)
    };
    x.pick(shape.clone(), indices(&shape).map(position))
}

fn split(inputs: &Inputs<'_>) -> Outcome {
    let x = inputs.get(0)?;
    let at = inputs.axis(0, x.shape.len())?;
    let count = inputs.node.outputs.len().max(1);
    let sizes = match inputs.maybe(1) {
        Some(sizes) => extents(&sizes.to_i64())?,
        None => {
            let size = x.shape[at].div_ceil(count);
            (0..count).map(|i| x.shape[at].saturating_sub(i * size).min(size)).collect()
        }
    };
    if sizes.iter().sum::<usize>() != x.shape[at] {
        return Err(format!("{sizes:?} does not add up to {}", x.shape[at]));
    }
    let mut start = 0;
    let mut parts = Vec::new();
    for size in sizes {
        let mut places: Vec<Vec<usize>> = x.shape.iter().map(|n| (0..*n).collect()).collect();
        places[at] = (start..start + size).collect();
        start += size;
        parts.push(pick_places(x, &places));
    }
    Ok(parts)
}

/// An index into an axis; negative ones count from the end.
fn place(n: i64, extent: usize) -> Result<usize, String> {
    let positive = if n < 0 { n + extent as i64 } else { n };
    let found = usize::try_from(positive).ok().filter(|p| *p < extent);
    found.ok_or_else(|| format!("the index {n} is out of range for an extent of {extent}"))
}

fn gather(inputs: &Inputs<'_>) -> Outcome {
    let (x, index) = (inputs.get(0)?, inputs.get(1)?);
    let at = inputs.axis(0, x.shape.len())?;
    let wanted = index.to_i64().into_iter().map(|n| place(n, x.shape[at])).collect::<Result<Vec<_>, _>>()?;
    let mut places: Vec<Vec<usize>> = x.shape.iter().map(|n| (0..*n).collect()).collect();
    places[at] = wanted;
    let picked = pick_places(x, &places);
    Ok(vec![picked.reshaped([&x.shape[..at], &index.shape, &x.shape[at + 1..]].concat())?])
}

fn gather_elements(inputs: &Inputs<'_>) -> Outcome {
    let (x, index) = (inputs.get(0)?, inputs.get(1)?);
    let at = inputs.axis(0, x.shape.len())?;
    let own = strides(&x.shape);
    let mut positions = Vec::new();
    for (mut slot, n) in indices(&index.shape).zip(index.to_i64()) {
        slot[at] = place(n, x.shape[at])?;
        positions.push(offset(&slot, &own));
    }
    Ok(vec![x.pick(index.shape.clone(), positions.into_iter())])
}

fn expand_to(inputs: &Inputs<'_>) -> Outcome {
    let x = inputs.get(0)?;
    let target = extents(&inputs.ints(1)?)?;
    let shape = broadcast(&[&x.shape, &target])?;
    Ok(vec![expand(x, &shape)])
}

fn tile(inputs: &Inputs<'_>) -> Outcome {
    let (x, repeats) = (inputs.get(0)?, extents(&inputs.ints(1)?)?);
    if repeats.len() != x.shape.len() {
        return Err("it needs a repeat per axis".to_owned());
    }
    let places: Vec<Vec<usize>> =
        x.shape.iter().zip(repeats).map(|(n, r)| (0..n * r).map(|i| i % n).collect()).collect();
    Ok(vec![pick_places(x, &places)])
}

fn pad(inputs: &Inputs<'_>) -> Outcome {
    let (x, listed) = (inputs.get(0)?, inputs.ints(1)?);
    let rank = x.shape.len();
    if inputs.node.str("mode").is_some_and(|mode| mode != "constant") {
        return Err("the test kit's evaluator pads with a constant only".to_owned());
    }
    let axes = inputs.maybe(3).map_or_else(|| (0..rank as i64).collect(), Tensor::to_i64);
    if listed.len() != 2 * axes.len() {
        return Err("it needs two numbers per axis".to_owned());
    }
    let mut pads = vec![0; 2 * rank];
    for (place, listed_axis) in axes.iter().enumerate() {
        let at = axis(*listed_axis, rank)?;
        (pads[at], pads[at + rank]) = (listed[place], listed[place + axes.len()]);
    }
    let fill = inputs.maybe(2).map_or(0.0, |fill| fill.to_f64().first().copied().unwrap_or(0.0));
    let padded = (0..rank).map(|a| x.shape[a] as i64 + pads[a] + pads[a + rank]).collect::<Vec<_>>();
    let shape = extents(&padded)?;
    let own = strides(&x.shape);
    let source = |index: Vec<usize>| {
        let mut position = 0;
        for a in 0..rank {
            let at = index[a] as i64 - pads[a];
            let inside = usize::try_from(at).ok().filter(|p| *p < x.shape[a])?;
            position += inside * own[a];
        }
        Some(position)
    };
    let sources: Vec<Option<usize>> = indices(&shape).map(source).collect();
    let data = match &x.data {
        Data::Floats(data) => Data::Floats(sources.iter().map(|s| s.map_or(fill, |p| data[p])).collect()),
        Data::Ints(data) => Data::Ints(sources.iter().map(|s| s.map_or(fill as i64, |p| data[p])).collect()),
    };
    Ok(vec![Tensor { dtype: x.dtype, shape, data }])
}

fn trilu(inputs: &Inputs<'_>) -> Outcome {
    let mut x = inputs.get(0)?.clone();
    let k = inputs.maybe(1).map_or(0, |k| k.to_i64().first().copied().unwrap_or(0));
    let upper = inputs.node.int("upper").unwrap_or(1) == 1;
    let [.., _, _] = x.shape.as_slice() else { return Err("it needs two axes".to_owned()) };
    let rank = x.shape.len();
    for (position, index) in indices(&x.shape.clone()).enumerate() {
        let over = index[rank - 1] as i64 - index[rank - 2] as i64;
        if if upper { over < k } else { over > k } {
            match &mut x.data {
                Data::Floats(data) => data[position] = 0.0,
                Data::Ints(data) => data[position] = 0,
            }
        }
    }
    Ok(vec![x])
}

fn constant_of_shape(inputs: &Inputs<'_>) -> Outcome {
    let shape = extents(&inputs.ints(0)?)?;
    let fill = match inputs.node.attribute("value") {
        Some(Attr::Tensor(tensor)) => tensor.clone(),
        _ => Tensor::f32([1], [0.0]),
    };
    Ok(vec![expand(&fill.reshaped(Vec::new())?, &shape)])
}

fn range(inputs: &Inputs<'_>) -> Outcome {
    let (start, limit, delta) = (inputs.get(0)?, inputs.get(1)?, inputs.get(2)?);
    let one = |t: &Tensor| t.to_f64().first().copied().ok_or("a bound is empty");
    let (first, last, step) = (one(start)?, one(limit)?, one(delta)?);
    let count = ((last - first) / step).ceil().max(0.0);
    if !count.is_finite() {
        return Err("it does not end".to_owned());
    }
    let count = count as usize;
    let data = match &start.data {
        Data::Floats(_) => Data::Floats((0..count).map(|i| first + i as f64 * step).collect()),
        Data::Ints(_) => {
            let (first, step) = (start.to_i64()[0], delta.to_i64()[0]);
            Data::Ints((0..count as i64).map(|i| first + i * step).collect())
        }
    };
    Ok(vec![Tensor { dtype: start.dtype, shape: vec![count], data }])
}
