//! Shapes of operators of lists of tensors, and of operators that return lists.

use super::{Cx, Extent, Meta, Shapes, Stop, contradiction, extents, join, traced};
use crate::program::Arg;
use crate::sym::Dim;

fn shapes(cx: &Cx<'_>, i: usize) -> Meta<Vec<Vec<Dim>>> {
    Ok(cx.tensors(i)?.into_iter().map(|ty| ty.shape.clone()).collect())
}

/// `each(tensors)`: the shapes of the items.
pub(super) fn each(cx: &mut Cx<'_>) -> Meta<Vec<Vec<Extent>>> {
    Ok(cx.tensors(0)?.into_iter().map(|ty| extents(&ty.shape)).collect())
}

/// `item(tensors, i)`: the shape of one item.
pub(super) fn item(cx: &mut Cx<'_>) -> Meta<Vec<Extent>> {
    let at = usize::try_from(cx.int(1)?).map_err(|_| Stop::Unknown)?;
    cx.tensors(0)?.get(at).map(|ty| extents(&ty.shape)).ok_or(Stop::Unknown)
}

/// `broadcast_each(tensors)`: every item gets the broadcast shape.
pub(super) fn broadcast_each(cx: &mut Cx<'_>) -> Meta<Vec<Vec<Extent>>> {
    let shapes = shapes(cx, 0)?;
    let all: Vec<&[Dim]> = shapes.iter().map(Vec::as_slice).collect();
    let broadcast = extents(&join::of_all(cx, &all)?);
    Ok(vec![broadcast; shapes.len()])
}

/// The number of elements of a vector; a scalar counts as one.
fn length(shape: &[Dim]) -> Meta<Dim> {
    match shape {
        [] => Ok(Dim::Const(1)),
        [n] => Ok(*n),
        other => contradiction(format!("a tensor of rank {} is not a vector", other.len())),
    }
}

/// `meshgrid(tensors, indexing)`: an axis for each vector; `xy` swaps the first two.
pub(super) fn meshgrid(cx: &mut Cx<'_>) -> Meta<Vec<Vec<Extent>>> {
    let shapes = shapes(cx, 0)?;
    let mut grid: Vec<Dim> = shapes.iter().map(|shape| length(shape)).collect::<Meta<_>>()?;
    let swaps = cx.arg(1).is_ok_and(|arg| matches!(arg.as_ref(), Arg::Str(text) if text == "xy"));
    if swaps && grid.len() > 1 {
        grid.swap(0, 1);
    }
    Ok(vec![extents(&grid); shapes.len()])
}

/// `cartesian(tensors)`: a row for each combination of elements; a single vector stays as it is.
pub(super) fn cartesian(cx: &mut Cx<'_>) -> Meta<Vec<Extent>> {
    let lengths: Vec<Dim> = shapes(cx, 0)?.iter().map(|shape| length(shape)).collect::<Meta<_>>()?;
    let rows = cx.judge.symbols.product(lengths.iter().copied());
    Ok(match lengths.len() {
        1 => extents(&[rows]),
        count => extents(&[rows, Dim::Const(count as i64)]),
    })
}

/// `combinations(x, r, with_replacement)`: a row for each choice of `r` elements of a vector.
pub(super) fn combinations(cx: &mut Cx<'_>) -> Meta<Vec<Extent>> {
    let (shape, chosen, repeats) = (&cx.tensor(0)?.shape, cx.int(1)?, cx.flag(2));
    let [count] = shape.as_slice() else {
        return contradiction(format!("a tensor of rank {} is not a vector", shape.len()));
    };
    let rows = traced(cx.judge, [*count], |[n]| {
        choices(if repeats { n.checked_add(chosen)?.checked_sub(1)? } else { n }, chosen)
    });
    Ok(vec![rows, Extent::Dim(Dim::Const(chosen))])
}

/// Returns the number of ways to choose `chosen` of `count` elements.
fn choices(count: i64, chosen: i64) -> Option<i64> {
    // Programs state every row; more than this many steps would overflow anyway, or end at 0.
    if !(0..=64).contains(&chosen) {
        return None;
    }
    (0..chosen).try_fold(1i64, |ways, step| {
        ways.checked_mul(count.checked_sub(step)?.max(0))?.checked_div(step.checked_add(1)?)
    })
}

/// `pairs(x)`: an element for each pair of rows of a matrix.
pub(super) fn pairs(cx: &mut Cx<'_>) -> Meta<Vec<Extent>> {
    match cx.tensor(0)?.shape.as_slice() {
        [rows, _] => Ok(vec![traced(cx.judge, [*rows], |[n]| choices(n, 2))]),
        other => contradiction(format!("a tensor of rank {} is not a matrix", other.len())),
    }
}

/// Returns the shape with at least `rank` axes, as `atleast_1d` and its siblings make it.
fn padded(shape: &[Dim], rank: usize) -> Vec<Dim> {
    let one = Dim::Const(1);
    match (rank, shape) {
        (3, [n]) => vec![one, *n, one],
        (3, [m, n]) => vec![*m, *n, one],
        (2, [n]) => vec![one, *n],
        (_, []) => vec![one; rank],
        (_, enough) => enough.to_vec(),
    }
}

/// `atleast(n, x)`: of a tensor or of each of a list.
pub(super) fn atleast(cx: &mut Cx<'_>) -> Meta<Shapes> {
    let rank = usize::try_from(cx.int(0)?).ok().filter(|n| *n <= 3).ok_or(Stop::Unknown)?;
    let padded = |shape: &Vec<Dim>| extents(&padded(shape, rank));
    Ok(match cx.arg(1)?.as_ref() {
        Arg::List(_) => Shapes::List(shapes(cx, 1)?.iter().map(padded).collect()),
        _ => Shapes::One(padded(&cx.tensor(1)?.shape)),
    })
}

/// The tensors of rank at least `rank`, joined along the axis that `axis` chooses for the rank of the first one.
fn stacked(cx: &mut Cx<'_>, rank: usize, axis: fn(usize) -> usize) -> Meta<Vec<Extent>> {
    let parts: Vec<Vec<Dim>> = shapes(cx, 0)?.iter().map(|shape| padded(shape, rank)).collect();
    let first = parts.first().map(Vec::len).ok_or(Stop::Unknown)?;
    // A vector without elements joins anything.
    if parts.iter().any(|part| part.len() != first && part.len() == 1)
        || first == 1 && parts.iter().any(|p| p.len() > 1)
    {
        return Err(Stop::Unknown);
    }
    join::joined(cx, parts, axis(first))
}

/// `hstack(tensors)`: along the second axis, vectors along their only one.
pub(super) fn hstack(cx: &mut Cx<'_>) -> Meta<Vec<Extent>> {
    stacked(cx, 1, |rank| usize::from(rank > 1))
}

/// `vstack(tensors)`: along the first axis; vectors are rows.
pub(super) fn vstack(cx: &mut Cx<'_>) -> Meta<Vec<Extent>> {
    stacked(cx, 2, |_| 0)
}

/// `dstack(tensors)`: along the third axis.
pub(super) fn dstack(cx: &mut Cx<'_>) -> Meta<Vec<Extent>> {
    stacked(cx, 3, |_| 2)
}

/// `column_stack(tensors)`: along the second axis; vectors are columns.
pub(super) fn column_stack(cx: &mut Cx<'_>) -> Meta<Vec<Extent>> {
    let column = |shape: Vec<Dim>| match shape.as_slice() {
        [] => vec![Dim::Const(1); 2],
        [n] => vec![*n, Dim::Const(1)],
        _ => shape,
    };
    let parts: Vec<Vec<Dim>> = shapes(cx, 0)?.into_iter().map(column).collect();
    join::joined(cx, parts, 1)
}

/// `block_diag(tensors)`: rows and columns add up; a vector is a row.
pub(super) fn block_diag(cx: &mut Cx<'_>) -> Meta<Vec<Extent>> {
    let mut sides = [Dim::Const(0); 2];
    for shape in shapes(cx, 0)? {
        let [rows, columns] = match shape.as_slice() {
            [] => [Dim::Const(1); 2],
            [n] => [Dim::Const(1), *n],
            [m, n] => [*m, *n],
            other => return contradiction(format!("a tensor of rank {} is not a block", other.len())),
        };
        sides = [cx.judge.symbols.add(sides[0], rows), cx.judge.symbols.add(sides[1], columns)];
    }
    Ok(extents(&sides))
}

/// `positions(x)`: a row for each element that is found, with an index for each axis.
pub(super) fn positions(cx: &mut Cx<'_>) -> Meta<Vec<Extent>> {
    let rank = cx.tensor(0)?.shape.len();
    Ok(vec![Extent::Unknown, Extent::Dim(Dim::Const(rank as i64))])
}

/// `positions_by_axis(x)`: a vector for each axis; a scalar has one.
pub(super) fn positions_by_axis(cx: &mut Cx<'_>) -> Meta<Vec<Vec<Extent>>> {
    let rank = cx.tensor(0)?.shape.len();
    Ok(vec![vec![Extent::Unknown]; rank.max(1)])
}
