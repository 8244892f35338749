//! Products.

use onnxport_sdk::Weight;
use onnxport_sdk::prelude::*;

use crate::is_float;

rules! {
    /// Replaces an `Einsum` of two tensors that sums along one axis by a `MatMul`, with transposes where the equation
    /// orders axes differently.
    einsum_product (class = bounded(relative = 1e-5, ulps = 4), opset = 13..):
        Einsum(a, b, equation = equation) if is_float(a, 13) => product(cx, a, b, equation);

    /// Merges the products of a value with three weights into one product, which is split. The packed weight is created
    /// when the model is written. It gains nothing by itself, and runs only on request.
    packed_qkv (opset = 13..):
        (MatMul(x, const q: [D, Q]), MatMul(x, const k: [D, K]), MatMul(x, const v: [D, V]))
        if has_three_axes(x)
        => split(cx, cx.matmul(x, Weight::concat(&[q, k, v].map(ValueRef::weight), 1).value()?), [Q, K, V]);

    /// Merges three linear layers of the same value, as `packed_qkv` does. Their weights have a row for each output and
    /// are concatenated.
    packed_linears (opset = 13..):
        (
            MatMul(x, Transpose(const q: [Q, D], perm = [1, 0])),
            MatMul(x, Transpose(const k: [K, D], perm = [1, 0])),
            MatMul(x, Transpose(const v: [V, D], perm = [1, 0]))
        )
        if has_three_axes(x)
        => split(
            cx,
            cx.matmul(x, cx.transpose(Weight::concat(&[q, k, v].map(ValueRef::weight), 0).value()?, &[1, 0])),
            [Q, K, V]
        );
}

/// Whether `x` has three axes.
fn has_three_axes(x: ValueRef<'_>) -> Res<()> {
    if x.rank() == Some(3) { Ok(()) } else { Err("the factor does not have three axes".into()) }
}

/// The parts of `product` along its last axis, `widths` wide.
fn split<'h>(cx: &Rewrite<'h>, product: ValueRef<'h>, widths: [Dim; 3]) -> Res<Vec<ValueRef<'h>>> {
    let widths: Option<Vec<i64>> = widths.into_iter().map(Dim::as_const).collect();
    let widths = widths.ok_or("a weight has a width that is not known")?;
    Ok(cx.op(op::Split).input(product).input(cx.ints(&widths)).axis(-1).many(3))
}

/// The product of matrices that `equation` says.
fn product<'h>(
    cx: &Rewrite<'h>,
    a: ValueRef<'h>,
    b: ValueRef<'h>,
    equation: &Attribute,
) -> Res<ValueRef<'h>> {
    let Attribute::Str(equation) = equation else { return Err("there is no equation".into()) };
    let equation: String = equation.chars().filter(|c| !c.is_whitespace()).collect();
    let [left, right, made] = terms(&equation).ok_or("the equation is of another form")?;
    same_extents(a, b, &left, &right)?;
    let both = |c: &char| left.contains(c) && right.contains(c);
    let stacked: Vec<char> = made.iter().copied().filter(both).collect();
    let rows: Vec<char> = left.iter().copied().filter(|c| !right.contains(c)).collect();
    let columns: Vec<char> = right.iter().copied().filter(|c| !left.contains(c)).collect();
    let summed: Vec<char> = left.iter().copied().filter(|c| both(c) && !made.contains(c)).collect();
    // The axes before the last row are stacked as well; the right side is repeated along it.
    let (Some((row, outer)), true) = (rows.split_last(), summed.len() == 1 && columns.len() == 1) else {
        return Err("it is not one product of matrices".into());
    };
    if rows.iter().chain(&columns).any(|c| !made.contains(c)) {
        return Err("it is not one product of matrices".into());
    }
    let product = cx.matmul(
        ordered(cx, a, &left, &[outer, &stacked[..], &[*row], &summed].concat()),
        ordered(cx, b, &right, &[&stacked[..], &summed, &columns].concat()),
    );
    Ok(ordered(cx, product, &[outer, &stacked[..], &[*row], &columns].concat(), &made))
}

/// The axes of both operands and of the result, none of them twice in one.
fn terms(equation: &str) -> Option<[Vec<char>; 3]> {
    let (operands, made) = equation.split_once("->")?;
    let (left, right) = operands.split_once(',')?;
    let axes = |term: &str| {
        let axes: Vec<char> = term.chars().collect();
        let once = axes.iter().enumerate().all(|(at, c)| !axes.iter().take(at).any(|before| before == c));
        (once && axes.iter().all(char::is_ascii_alphabetic)).then_some(axes)
    };
    let [left, right, made] = [axes(left)?, axes(right)?, axes(made)?];
    let known = made.iter().all(|c| left.contains(c) || right.contains(c));
    known.then_some([left, right, made])
}

/// Whether axes of one name have one extent: none is repeated along another.
fn same_extents(a: ValueRef<'_>, b: ValueRef<'_>, left: &[char], right: &[char]) -> Res<()> {
    let (Some(first), Some(second)) = (a.shape(), b.shape()) else {
        return Err("a shape is not known".into());
    };
    if (first.len(), second.len()) != (left.len(), right.len()) {
        return Err("the equation has other axes".into());
    }
    for (name, extent) in left.iter().zip(&first) {
        let other = right.iter().zip(&second).find(|(other, _)| *other == name);
        if other.is_some_and(|(_, other)| other != extent || *extent == Dim::Unknown) {
            return Err(format!("the sizes of `{name}` may be different").into());
        }
    }
    Ok(())
}

/// `x`, whose axes are called `from`, with its axes in the order `to`.
fn ordered<'h>(cx: &Rewrite<'h>, x: ValueRef<'h>, from: &[char], to: &[char]) -> ValueRef<'h> {
    if from == to {
        return x;
    }
    let places: Vec<usize> = to.iter().filter_map(|c| from.iter().position(|f| f == c)).collect();
    cx.transpose(x, &places)
}
