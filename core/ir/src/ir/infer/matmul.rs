//! Products of matrices.

use smallvec::smallvec;

use super::broadcast::together;
use super::cx::{Cx, Dims, Shapes, either, one};
use crate::ir::Shape;
use crate::sym::Dim;

/// `MatMul` of the inputs at `left` and `right`, with NumPy's rules.
pub(super) fn matmul(cx: &mut Cx<'_>, left: usize, right: usize) -> Option<Shapes> {
    let (a, b) = (cx.dims(left)?, cx.dims(right)?);
    let (a_batch, rows) = match a {
        [] => return None,
        [_] => (&a[..0], None),
        [batch @ .., m, _] => (batch, Some(*m)),
    };
    let (b_batch, columns) = match b {
        [] => return None,
        [_] => (&b[..0], None),
        [batch @ .., _, n] => (batch, Some(*n)),
    };
    let mut dims = together(cx.symbols, a_batch, b_batch)?;
    dims.extend(rows);
    dims.extend(columns);
    one(dims)
}

/// `Gemm`.
pub(super) fn gemm(cx: &mut Cx<'_>) -> Option<Shapes> {
    let at = |turned: bool, first: usize| usize::from(turned) ^ first;
    let (a, b) = (cx.dims(0)?, cx.dims(1)?);
    if a.len() != 2 || b.len() != 2 {
        return None;
    }
    one([a[at(cx.int("transA", 0) != 0, 0)], b[at(cx.int("transB", 0) != 0, 1)]])
}

/// `Det`: the matrices at the end become numbers.
pub(super) fn det(cx: &mut Cx<'_>) -> Option<Shapes> {
    let [batch @ .., _, _] = cx.dims(0)? else { return None };
    one(batch.iter().copied())
}

/// `Einsum` without ellipsis.
pub(super) fn einsum(cx: &mut Cx<'_>) -> Option<Shapes> {
    let equation: String = cx.text("equation")?.chars().filter(|c| !c.is_whitespace()).collect();
    if equation.contains('.') {
        return None;
    }
    let (terms, result) = match equation.split_once("->") {
        Some((terms, result)) => (terms, Some(result)),
        None => (equation.as_str(), None),
    };
    let mut extents: Vec<(char, usize, Option<Dim>)> = Vec::new();
    for (index, term) in terms.split(',').enumerate() {
        let dims = cx.dims(index)?;
        if term.chars().count() != dims.len() {
            return None;
        }
        for (letter, dim) in term.chars().zip(dims) {
            // An extent of 1 may broadcast, so that it says nothing about the letter's.
            let dim = dim.filter(|d| *d != Dim::Const(1));
            match extents.iter_mut().find(|(l, ..)| *l == letter) {
                Some((_, count, known)) => (*count, *known) = (*count + 1, either(*known, dim)),
                None => extents.push((letter, 1, dim)),
            }
        }
    }
    let once = || {
        let mut letters: Vec<char> = extents.iter().filter(|e| e.1 == 1).map(|e| e.0).collect();
        letters.sort_unstable();
        letters
    };
    let letters: Vec<char> = result.map_or_else(once, |r| r.chars().collect());
    one(letters.iter().map(|l| extents.iter().find(|e| e.0 == *l).and_then(|e| e.2)).collect::<Dims>())
}

/// `Attention`.
pub(super) fn attention(cx: &mut Cx<'_>) -> Option<Shapes> {
    let (q, k, v) = (cx.dims(0)?, cx.dims(1)?, cx.dims(2)?);
    let total = |cx: &mut Cx<'_>, sequence: Option<Dim>| match cx.dims(4) {
        Some(past) => Some(cx.symbols.add(past.get(2).copied().flatten()?, sequence?)),
        None if cx.input(4).is_none() => sequence,
        None => None,
    };
    match (q, k, v) {
        ([b, heads, length, head], [_, k_heads, k_length, _], [_, v_heads, v_length, v_head]) => {
            let (k_length, v_length) = (total(cx, *k_length), total(cx, *v_length));
            Some(smallvec![
                Shape::Ranked(smallvec![*b, *heads, *length, *v_head]),
                Shape::Ranked(smallvec![*b, *k_heads, k_length, *head]),
                Shape::Ranked(smallvec![*b, *v_heads, v_length, *v_head]),
                Shape::Ranked(smallvec![*b, *heads, *length, k_length]),
            ])
        }
        ([b, length, _], [_, k_length, k_hidden], [_, v_length, v_hidden]) => {
            let (heads, kv_heads) = (cx.node.int("q_num_heads")?, cx.node.int("kv_num_heads")?);
            let (heads_dim, kv) = (Some(Dim::Const(heads)), Dim::Const(kv_heads));
            let mut per_head = |hidden: Option<Dim>| Some(cx.symbols.floor_div(hidden?, kv));
            let (k_head, v_head) = (per_head(*k_hidden), per_head(*v_hidden));
            let (k_length, v_length) = (total(cx, *k_length), total(cx, *v_length));
            let hidden = v_head.map(|h| cx.symbols.mul(h, Dim::Const(heads)));
            Some(smallvec![
                Shape::Ranked(smallvec![*b, *length, hidden]),
                Shape::Ranked(smallvec![*b, Some(kv), k_length, k_head]),
                Shape::Ranked(smallvec![*b, Some(kv), v_length, v_head]),
                Shape::Ranked(smallvec![*b, heads_dim, *length, k_length]),
            ])
        }
        _ => None,
    }
}
