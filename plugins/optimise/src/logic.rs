//! Truth values, and choices by them.

use onnxport_sdk::prelude::*;

use crate::shapes::keeps_shape;

rules! {
    #![class = exact]

    /// Removes two consecutive `Not`s.
    not_twice: Not(Not(x)) => x;

    /// Removes an `And` with true and an `Or` or `Xor` with false that keep the shape.
    logic_with_identity: (And(x, 1) | Or(x, 0) | Xor(x, 0)) if keeps_shape(matched, x) => x;

    /// Removes an `And` and an `Or` of equal operands.
    logic_of_equals: (And(x, x) | Or(x, x)) => x;

    /// Replaces a negated `Less` of integers by `GreaterOrEqual`. For floats, NaN is neither less nor greater.
    not_less: Not(Less(a, b)) if ordered(a) => GreaterOrEqual(a, b);

    /// Replaces a negated `Greater` of integers by `LessOrEqual`.
    not_greater: Not(Greater(a, b)) if ordered(a) => LessOrEqual(a, b);

    /// Replaces a negated `LessOrEqual` of integers by `Greater`.
    not_less_or_equal: Not(LessOrEqual(a, b)) if ordered(a) => Greater(a, b);

    /// Replaces a negated `GreaterOrEqual` of integers by `Less`.
    not_greater_or_equal: Not(GreaterOrEqual(a, b)) if ordered(a) => Less(a, b);

    /// Replaces a `Where` with a negated condition by one with swapped operands.
    where_not: Where(Not(mask), a, b) => Where(mask, b, a);

    /// Removes a `Where` with equal operands that keeps the shape.
    where_of_equals: Where(_mask, x, x) if keeps_shape(matched, x) => x;

    /// Removes a `Where` whose condition is true everywhere, if the shape stays.
    where_true: Where(1, x, _other) if keeps_shape(matched, x) => x;

    /// Removes a `Where` whose condition is false everywhere, if the shape stays.
    where_false: Where(0, _other, x) if keeps_shape(matched, x) => x;

    /// Removes a `Where` inside another one with the same condition.
    where_of_where: Where(mask, Where(mask, a, _never), b) if one_shape(matched, mask, a, b) => Where(mask, a, b);
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
