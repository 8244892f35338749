//! Shapes of matrix products.

use std::collections::BTreeMap;

use super::join::{of_all, widest};
use super::{Cx, Extent, Meta, Stop, contradiction, extents};
use crate::sym::Dim;

/// `matmul(a, b)`: a vector is a row on the left and a column on the right; other axes broadcast.
pub(super) fn matmul(cx: &mut Cx<'_>) -> Meta<Vec<Extent>> {
    let (a, b) = (&cx.tensor(0)?.shape, &cx.tensor(1)?.shape);
    let (rows, inner_a, batch_a) = match a.as_slice() {
        [] => return contradiction("a number is multiplied as a matrix"),
        [k] => (None, *k, &[] as &[Dim]),
        [batch @ .., m, k] => (Some(*m), *k, batch),
    };
    let (inner_b, columns, batch_b) = match b.as_slice() {
        [] => return contradiction("a number is multiplied as a matrix"),
        [k] => (*k, None, &[] as &[Dim]),
        [batch @ .., k, n] => (*k, Some(*n), batch),
    };
    cx.agree(inner_a, inner_b, "the inner sizes of a matrix product")?;
    let batch = of_all(cx, &[batch_a, batch_b])?;
    let all: Vec<Dim> = batch.into_iter().chain(rows).chain(columns).collect();
    Ok(extents(&all))
}

/// `outer(a, b)`.
pub(super) fn outer(cx: &mut Cx<'_>) -> Meta<Vec<Extent>> {
    match (cx.tensor(0)?.shape.as_slice(), cx.tensor(1)?.shape.as_slice()) {
        ([m], [n]) => Ok(extents(&[*m, *n])),
        _ => contradiction("its operands are not vectors"),
    }
}

/// `linear(input, weight, bias)`.
pub(super) fn linear(cx: &mut Cx<'_>) -> Meta<Vec<Extent>> {
    let (input, weight) = (&cx.tensor(0)?.shape, &cx.tensor(1)?.shape);
    let ([rest @ .., features], [outputs @ .., inner]) = (input.as_slice(), weight.as_slice()) else {
        return contradiction("a number is multiplied as a matrix");
    };
    if outputs.len() > 1 {
        return contradiction(format!("its weight has {} axes", weight.len()));
    }
    cx.agree(*features, *inner, "the features of the input and of the weight")?;
    let all: Vec<Dim> = rest.iter().chain(outputs).copied().collect();
    if !cx.is_none(2) {
        let bias = &cx.tensor(2)?.shape;
        if bias.len() > all.len() {
            return contradiction(format!("its bias has {} axes", bias.len()));
        }
        for (dim, place) in bias.iter().rev().zip(all.iter().rev()) {
            if *dim != Dim::Const(1) {
                cx.agree(*dim, *place, "sizes of the bias and of the result")?;
            }
        }
    }
    Ok(extents(&all))
}

/// `attention(query, key, value, grouped)`: a row of values for each query. Batches broadcast; of grouped heads there are
/// as many as queries have.
pub(super) fn attention(cx: &mut Cx<'_>) -> Meta<Vec<Extent>> {
    let (query, key, value) = (&cx.tensor(0)?.shape, &cx.tensor(1)?.shape, &cx.tensor(2)?.shape);
    let ([batch @ .., rows, width], [key_batch @ .., keys, key_width], [value_batch @ .., values, columns]) =
        (query.as_slice(), key.as_slice(), value.as_slice())
    else {
        return contradiction("its operands are not matrices");
    };
    cx.agree(*width, *key_width, "the widths of queries and keys")?;
    cx.agree(*keys, *values, "the numbers of keys and values")?;
    let grouped = cx.flag(3);
    if grouped {
        if batch.len() != key_batch.len() || batch.len() != value_batch.len() {
            return Err(Stop::Unknown);
        }
        for heads in [key_batch.last(), value_batch.last()] {
            let sizes = batch.last().zip(heads).map(|(a, b)| (cx.judge.traced(*a), cx.judge.traced(*b)));
            if let Some((Some(queries), Some(heads))) = sizes
                && queries.checked_rem(heads) != Some(0)
            {
                return contradiction(format!("{queries} heads of queries are not a multiple of {heads}"));
            }
        }
    }
    let rank = batch.len().max(key_batch.len()).max(value_batch.len());
    let mut result = Vec::with_capacity(rank.saturating_add(2));
    for place in (0..rank).rev() {
        let at = |shape: &[Dim]| shape.iter().rev().nth(place).copied();
        let sizes: Vec<Dim> = [batch, key_batch, value_batch].into_iter().filter_map(at).collect();
        result.push(match at(batch) {
            Some(heads) if grouped && place == 0 => Extent::Dim(heads),
            _ => match widest(cx, &sizes) {
                Err(Stop::Unknown) => Extent::Unknown,
                known => Extent::Dim(known?),
            },
        });
    }
    result.extend(extents(&[*rows, *columns]));
    Ok(result)
}

/// `cdist(a, b)`: the distance of every row to every other.
pub(super) fn cdist(cx: &mut Cx<'_>) -> Meta<Vec<Extent>> {
    let (a, b) = (&cx.tensor(0)?.shape, &cx.tensor(1)?.shape);
    let ([batch_a @ .., rows, width_a], [batch_b @ .., columns, width_b]) = (a.as_slice(), b.as_slice())
    else {
        return contradiction("its operands are not matrices");
    };
    cx.agree(*width_a, *width_b, "the widths of rows")?;
    let batch = of_all(cx, &[batch_a, batch_b])?;
    let all: Vec<Dim> = batch.into_iter().chain([*rows, *columns]).collect();
    Ok(extents(&all))
}

/// `einsum(equation, tensors)`; unknown for an ellipsis.
pub(super) fn einsum(cx: &mut Cx<'_>) -> Meta<Vec<Extent>> {
    let equation = match cx.arg(0)?.as_ref() {
        crate::program::Arg::Str(text) => text.as_str().replace(' ', ""),
        _ => return Err(Stop::Unknown),
    };
    if equation.contains('.') {
        return Err(Stop::Unknown);
    }
    let (inputs, output) = match equation.split_once("->") {
        Some((inputs, output)) => (inputs, Some(output)),
        None => (equation.as_str(), None),
    };
    let operands = cx.tensors(1)?;
    let labels: Vec<&str> = inputs.split(',').collect();
    if labels.len() != operands.len() {
        return contradiction(format!(
            "`{equation}` is of {} tensors, not of {}",
            labels.len(),
            operands.len()
        ));
    }
    let mut sizes: BTreeMap<char, (Dim, u32)> = BTreeMap::new();
    for (labels, operand) in labels.iter().zip(operands) {
        if labels.chars().count() != operand.shape.len() {
            let rank = operand.shape.len();
            return contradiction(format!("`{labels}` of `{equation}` names the axes of a tensor of {rank}"));
        }
        for (label, dim) in labels.chars().zip(&operand.shape) {
            let (size, uses) = sizes.entry(label).or_insert((Dim::Const(1), 0));
            *uses = uses.saturating_add(1);
            *size = of_all(cx, &[&[*size], &[*dim]])?.pop().ok_or(Stop::Unknown)?;
        }
    }
    let written: String = match output {
        Some(output) => output.to_owned(),
        None => sizes.iter().filter(|(_, (_, uses))| *uses == 1).map(|(label, _)| *label).collect(),
    };
    let size = |label: char| match sizes.get(&label) {
        Some((dim, _)) => Ok(Extent::Dim(*dim)),
        None => contradiction(format!("`{label}` of `{equation}` is in no operand")),
    };
    written.chars().map(size).collect()
}

/// `inner(a, b)`: products of rows; a scalar multiplies.
pub(super) fn inner(cx: &mut Cx<'_>) -> Meta<Vec<Extent>> {
    let (a, b) = (&cx.tensor(0)?.shape, &cx.tensor(1)?.shape);
    let ([rows @ .., left], [columns @ .., right]) = (a.as_slice(), b.as_slice()) else {
        return Ok(extents(&of_all(cx, &[a, b])?));
    };
    cx.agree(*left, *right, "the inner sizes of a product")?;
    Ok(extents(rows).into_iter().chain(extents(columns)).collect())
}

/// `tensordot(a, b, axes of a, axes of b)`: the other axes of both.
pub(super) fn tensordot(cx: &mut Cx<'_>) -> Meta<Vec<Extent>> {
    let (mut result, mut sums) = (Vec::new(), Vec::new());
    for (operand, axes) in [(0, 2), (1, 3)] {
        let shape = &cx.tensor(operand)?.shape;
        let summed = if shape.is_empty() { Vec::new() } else { cx.axes(axes, shape.len())? };
        let kept = shape.iter().enumerate().filter(|(axis, _)| !summed.contains(axis));
        result.extend(kept.map(|(_, dim)| Extent::Dim(*dim)));
        sums.push(summed.iter().map(|axis| super::extent_of(shape, *axis)).collect::<Vec<_>>());
    }
    if let [left, right] = sums.as_slice() {
        if left.len() != right.len() {
            return contradiction(format!("it sums over {} and {} axes", left.len(), right.len()));
        }
        // A size of 1 is summed over alone.
        for (a, b) in left.iter().zip(right) {
            if cx.judge.traced(*a) != Some(1) && cx.judge.traced(*b) != Some(1) {
                cx.agree(*a, *b, "the inner sizes of a product")?;
            }
        }
    }
    Ok(result)
}

/// `chain(tensors)`: a product of matrices; the first and the last may be vectors.
pub(super) fn chain(cx: &mut Cx<'_>) -> Meta<Vec<Extent>> {
    let matrices = cx.tensors(0)?;
    if let Some(other) = matrices.iter().find(|ty| !(1..=2).contains(&ty.shape.len())) {
        return contradiction(format!("a tensor of rank {} is not a matrix", other.shape.len()));
    }
    for pair in matrices.windows(2) {
        if let [left, right] = pair
            && let (Some(a), Some(b)) = (left.shape.last(), right.shape.first())
        {
            cx.agree(*a, *b, "the inner sizes of a matrix product")?;
        }
    }
    let ends = matrices.first().zip(matrices.last()).ok_or(Stop::Unknown)?;
    if matrices.len() == 1 {
        return Ok(extents(&ends.0.shape));
    }
    let rows = ends.0.shape.iter().rev().nth(1);
    let columns = ends.1.shape.get(1);
    Ok(rows.into_iter().chain(columns).map(|dim| Extent::Dim(*dim)).collect())
}

/// `kron(a, b)`: a block of `b` for each element of `a`.
pub(super) fn kron(cx: &mut Cx<'_>) -> Meta<Vec<Extent>> {
    let (a, b) = (&cx.tensor(0)?.shape, &cx.tensor(1)?.shape);
    let mut result = vec![Dim::Const(1); a.len().max(b.len())];
    for shape in [a, b] {
        for (place, dim) in result.iter_mut().rev().zip(shape.iter().rev()) {
            *place = cx.judge.symbols.mul(*place, *dim);
        }
    }
    Ok(extents(&result))
}

/// `grouped_matmul(a, b, offsets)`: products of groups of rows, columns or inner sizes, or a batch of products.
pub(super) fn grouped(cx: &mut Cx<'_>) -> Meta<Vec<Extent>> {
    let (a, b) = (&cx.tensor(0)?.shape, &cx.tensor(1)?.shape);
    match (a.as_slice(), b.as_slice()) {
        ([rows, _], [_, columns]) => {
            let groups = cx.tensor(2)?.shape.first().copied().ok_or(Stop::Unknown)?;
            Ok(extents(&[groups, *rows, *columns]))
        }
        ([rows, left], [_, right, columns]) => {
            cx.agree(*left, *right, "the inner sizes of a matrix product")?;
            Ok(extents(&[*rows, *columns]))
        }
        ([_, rows, left], [right, columns]) => {
            cx.agree(*left, *right, "the inner sizes of a matrix product")?;
            Ok(extents(&[*rows, *columns]))
        }
        ([groups, rows, left], [others, right, columns]) => {
            cx.agree(*groups, *others, "the numbers of groups")?;
            cx.agree(*left, *right, "the inner sizes of a matrix product")?;
            Ok(extents(&[*groups, *rows, *columns]))
        }
        _ => contradiction(format!("matrices of ranks {} and {}", a.len(), b.len())),
    }
}
