//! `Einsum`.

#![expect(clippy::arithmetic_side_effects, reason = "indices into tensors whose sizes were counted")]

use super::call::{Call, one};
use super::error::invalid;
use super::strides::{Walk, dense, volume};
use super::{Elements, Op, Res, Tensor, Value};

pub(super) const OPS: &[Op] = &[Op::new("Einsum").infer(infer::einsum).eval(einsum)];

/// An axis of the sum: a letter, or one of the axes that `...` stands for, counted from the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Label {
    Dots(usize),
    Letter(char),
}

/// The labels of a term; `...` stands for `dots` axes.
fn labels(term: &str, dots: usize) -> Res<Vec<Label>> {
    let mut out = Vec::new();
    let mut rest = term;
    while let Some(first) = rest.chars().next() {
        if let Some(after) = rest.strip_prefix("...") {
            out.extend((0..dots).rev().map(Label::Dots));
            rest = after;
        } else if first.is_alphabetic() {
            out.push(Label::Letter(first));
            rest = &rest[first.len_utf8()..];
        } else {
            return invalid!("`{term}` is not a term of an equation");
        }
    }
    Ok(out)
}

/// The sum over every label that the result lacks of the product of the inputs.
fn einsum(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let equation: String = c.text("equation")?.chars().filter(|ch| !ch.is_whitespace()).collect();
    let inputs = c.tensors(0)?;
    let (terms, result) = match equation.split_once("->") {
        Some((terms, result)) => (terms, Some(result)),
        None => (equation.as_str(), None),
    };
    let terms: Vec<&str> = terms.split(',').collect();
    if terms.len() != inputs.len() {
        return invalid!("the equation `{equation}` has {} terms for {} inputs", terms.len(), inputs.len());
    }
    let mut axes: Vec<Vec<Label>> = Vec::new();
    for (term, input) in terms.iter().zip(&inputs) {
        let letters = term.replace("...", "").chars().count();
        let dots = if term.contains("...") { input.rank().saturating_sub(letters) } else { 0 };
        let named = labels(term, dots)?;
        if named.len() != input.rank() {
            return invalid!("the term `{term}` does not name the {} axes of its input", input.rank());
        }
        axes.push(named);
    }
    // Every label once, with its size; an axis of size 1 is repeated.
    let mut extents: Vec<(Label, usize)> = Vec::new();
    for (named, input) in axes.iter().zip(&inputs) {
        for (label, extent) in named.iter().zip(input.shape()) {
            match extents.iter_mut().find(|(known, _)| known == label) {
                None => extents.push((*label, *extent)),
                Some((_, known)) if *known == 1 => *known = *extent,
                Some((_, known)) if *extent != 1 && extent != known => {
                    return invalid!("one label of `{equation}` has the sizes {known} and {extent}");
                }
                Some(_) => {}
            }
        }
    }
    let most = extents.iter().filter(|(label, _)| matches!(label, Label::Dots(_))).count();
    let kept = match result {
        Some(result) => labels(result, most)?,
        None => implied(&axes, most),
    };
    let extent = |label: &Label| extents.iter().find(|(known, _)| known == label).map(|(_, e)| *e);
    let Some(shape) = kept.iter().map(extent).collect::<Option<Vec<usize>>>() else {
        return invalid!("the result of `{equation}` has a label that no input has");
    };
    let summed: Vec<Label> = extents.iter().map(|(label, _)| *label).filter(|l| !kept.contains(l)).collect();
    let inner: Vec<usize> = summed.iter().filter_map(extent).collect();
    c.count(&shape)?;
    c.spend((volume(&shape) as u64).saturating_mul(volume(&inner) as u64))?;
    // Where an input's element lies for each step of the result and of the sum.
    let strides = |over: &[Label], named: &[Label], input: &Tensor| -> Vec<isize> {
        let steps = dense(input.shape());
        let step = |label: &Label| {
            let here = named.iter().zip(input.shape()).zip(&steps);
            here.filter(|((l, extent), _)| *l == label && **extent != 1).map(|(_, step)| *step).sum()
        };
        over.iter().map(step).collect()
    };
    let walks: Vec<(Walk, Vec<usize>)> = axes
        .iter()
        .zip(&inputs)
        .map(|(named, input)| {
            let outer = Walk::new(&shape, &strides(&kept, named, input), 0);
            (outer, Walk::new(&inner, &strides(&summed, named, input), 0).collect())
        })
        .collect();
    let dtype = inputs.first().map_or(crate::tensor::DType::F32, |t| t.dtype());
    if dtype.is_int() {
        let items: Vec<Vec<i128>> = inputs.iter().map(|t| t.ints()).collect::<Res<_>>()?;
        let out = contract(&items, walks, volume(&shape), (0, 1), i128::wrapping_mul, i128::wrapping_add);
        return one(Tensor::new(dtype, shape, &Elements::Int(out))?);
    }
    let items: Vec<Vec<f64>> = inputs.iter().map(|t| t.floats()).collect::<Res<_>>()?;
    let out = contract(&items, walks, volume(&shape), (0.0, 1.0), |a, b| a * b, |a, b| a + b);
    one(Tensor::new(dtype, shape, &Elements::Float(out))?)
}

/// Without a result: `...`, and the letters that stand once, in their order.
fn implied(axes: &[Vec<Label>], dots: usize) -> Vec<Label> {
    let mut letters: Vec<Label> =
        axes.iter().flatten().copied().filter(|l| matches!(l, Label::Letter(_))).collect();
    letters.sort_unstable();
    let once = |l: &Label| letters.iter().filter(|other| *other == l).count() == 1;
    let single: Vec<Label> = letters.iter().copied().filter(once).collect();
    (0..dots).rev().map(Label::Dots).chain(single).collect()
}

fn contract<T: Copy>(
    items: &[Vec<T>],
    mut walks: Vec<(Walk, Vec<usize>)>,
    count: usize,
    (zero, unit): (T, T),
    multiply: impl Fn(T, T) -> T,
    add: impl Fn(T, T) -> T,
) -> Vec<T> {
    let steps = walks.first().map_or(0, |(_, inner)| inner.len());
    (0..count)
        .map(|_| {
            let bases: Vec<usize> = walks.iter_mut().map(|(outer, _)| outer.next().unwrap_or(0)).collect();
            (0..steps).fold(zero, |sum, step| {
                let factors =
                    items.iter().zip(&bases).zip(&walks).filter_map(|((items, base), (_, inner))| {
                        items.get(base + inner.get(step)?).copied()
                    });
                add(sum, factors.fold(unit, &multiply))
            })
        })
        .collect()
}

#[deny(clippy::arithmetic_side_effects)]
mod infer {
    //! Shapes.

    use crate::ops::infer::cx::{Cx, Dims, Shapes, either, one};
    use crate::sym::Dim;

    /// `Einsum` without ellipsis.
    pub(super) fn einsum(cx: &mut Cx<'_>) -> Option<Shapes> {
        let equation: String = cx.text("equation")?.chars().filter(|c| !c.is_whitespace()).collect();
        let (terms, result) = match equation.split_once("->") {
            Some((terms, result)) => (terms, Some(result)),
            None => (equation.as_str(), None),
        };
        let terms: Vec<&str> = terms.split(',').collect();
        let inputs = cx.node.inputs.len();
        cx.demand(terms.len() == inputs, || {
            format!("the equation `{equation}` is of {} inputs instead of {inputs}", terms.len())
        })?;
        for term in terms.iter().copied().chain(result) {
            let letters = term.replacen("...", "", 1);
            let odd = letters.chars().find(|c| !c.is_ascii_alphabetic());
            cx.demand(odd.is_none(), || {
                format!("the equation `{equation}` contains `{}`", odd.unwrap_or_default())
            })?;
        }
        let mut extents: Vec<(char, usize, Option<Dim>)> = Vec::new();
        let mut open = false;
        for (index, term) in terms.iter().enumerate() {
            let Some(dims) = cx.dims(index) else {
                open = true;
                continue;
            };
            let (front, back) = term.split_once("...").unwrap_or((term, ""));
            let (named, dotted) = (front.len().saturating_add(back.len()), term.contains("..."));
            let fits = if dotted { named <= dims.len() } else { named == dims.len() };
            cx.demand(fits, || format!("input {index} has {} axes instead of `{term}`", dims.len()))?;
            let own = dims[..front.len()].iter().chain(&dims[dims.len().saturating_sub(back.len())..]);
            for (letter, dim) in front.chars().chain(back.chars()).zip(own) {
                // A size of 1 may broadcast, so that it says nothing about the letter's.
                let dim = dim.filter(|d| cx.symbols.range(*d).min.is_some_and(|n| n > 1));
                let known = extents.iter().find(|(l, ..)| *l == letter).and_then(|e| e.2);
                cx.equal(known, dim, &format!("the sizes of `{letter}` differ"))?;
                match extents.iter_mut().find(|(l, ..)| *l == letter) {
                    Some((_, count, known)) => {
                        (*count, *known) = (count.saturating_add(1), either(*known, dim));
                    }
                    None => extents.push((letter, 1, dim)),
                }
            }
        }
        if let Some(result) = result {
            let mut seen = Vec::new();
            for letter in result.chars().filter(char::is_ascii_alphabetic) {
                let given = terms.iter().any(|term| term.contains(letter));
                cx.demand(given, || format!("`{letter}` is in no input of the equation `{equation}`"))?;
                let again = seen.contains(&letter);
                cx.demand(!again, || {
                    format!("`{letter}` occurs twice in the result of the equation `{equation}`")
                })?;
                seen.push(letter);
            }
        }
        if open || equation.contains('.') {
            return None;
        }
        let once = || {
            let mut letters: Vec<char> = extents.iter().filter(|e| e.1 == 1).map(|e| e.0).collect();
            letters.sort_unstable();
            letters
        };
        let letters: Vec<char> = result.map_or_else(once, |r| r.chars().collect());
        one(letters.iter().map(|l| extents.iter().find(|e| e.0 == *l).and_then(|e| e.2)).collect::<Dims>())
    }
}
