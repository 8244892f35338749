//! Truth values, and choices by them.

use onnxport_sdk::prelude::*;

use crate::shapes::keeps_shape;

rules! {
    #![class = exact]

    /// The opposite of an opposite.
    not_twice: Not(Not(x)) => x;

    /// A conjunction with true, or a disjunction with false, if the shape stays.
    neutral_truth: (And(x, 1) | Or(x, 0) | Xor(x, 0)) if keeps_shape(matched, x) => x;

    /// Something and itself.
    truth_twice: (And(x, x) | Or(x, x)) => x;

    /// The opposite of a comparison of integers; NaN is neither less nor greater.
    not_less: Not(Less(a, b)) if ordered(a) => GreaterOrEqual(a, b);

    /// The same of the other comparison.
    not_greater: Not(Greater(a, b)) if ordered(a) => LessOrEqual(a, b);

    /// The opposite of a comparison of integers that allows equality.
    not_less_or_equal: Not(LessOrEqual(a, b)) if ordered(a) => Greater(a, b);

    /// The same of the other comparison.
    not_greater_or_equal: Not(GreaterOrEqual(a, b)) if ordered(a) => Less(a, b);

    /// A choice by an opposite.
    where_not: Where(Not(mask), a, b) => Where(mask, b, a);

    /// A choice between equals, where the shape stays.
    where_of_equals: Where(_mask, x, x) if keeps_shape(matched, x) => x;

    /// A choice by a mask that is true throughout, where the shape stays.
    where_true: Where(1, x, _other) if keeps_shape(matched, x) => x;

    /// A choice by a mask that is false throughout, where the shape stays.
    where_false: Where(0, _other, x) if keeps_shape(matched, x) => x;

    /// A choice by the same mask as before.
    where_chosen: Where(mask, Where(mask, a, _never), b) if one_shape(matched, mask, a, b) => Where(mask, a, b);
}

/// Whether every two elements of `a` can be ordered.
fn ordered(a: ValueRef<'_>) -> Res<()> {
    match a.dtype() {
        Some(dtype) if dtype.is_int() => Ok(()),
        _ => Err("the operands are not of integers".into()),
    }
}

/// Whether the result has the shape of all of these without the part that goes.
fn one_shape(matched: &Matched<'_>, mask: ValueRef<'_>, a: ValueRef<'_>, b: ValueRef<'_>) -> Res<()> {
    [mask, a, b].into_iter().try_for_each(|x| keeps_shape(matched, x))
}
