//! States that recurrent layers begin with.

use onnxport_sdk::Literal;
use onnxport_sdk::prelude::*;

use crate::rewriting::made;

/// How many operators that only choose and arrange elements are looked through.
const DEPTH: usize = 8;

/// Where a recurrent layer takes the state and the cell that it begins with.
const STATES: [usize; 2] = [5, 6];

rules! {
    #![class = exact]

    /// Removes the initial states of a recurrent layer that are zero, which is the default.
    zero_state: (LSTM(_x, _w, _r, ..) | GRU(_x, _w, _r, ..) | RNN(_x, _w, _r, ..)) => without(cx);
}

/// The root without states of zeros.
fn without<'h>(cx: &Rewrite<'h>) -> Res<Vec<ValueRef<'h>>> {
    let root = cx.matched().root();
    let mut inputs = root.inputs();
    let mut found = false;
    for place in STATES {
        if let Some(state) = inputs.get_mut(place)
            && state.is_some_and(|state| is_zeros(state, DEPTH))
        {
            *state = None;
            found = true;
        }
    }
    if !found {
        return Err("it begins with no state of zeros".into());
    }
    let (op, attributes) = (root.op(), root.attributes_but(&[]));
    let node = inputs.into_iter().fold(cx.op(op::Named::new(&op)), onnxport_sdk::NodeBuilder::maybe);
    let node = attributes.iter().fold(node, |node, (name, value)| node.set(name, value.clone()));
    Ok(node.many(root.outputs().len()))
}

/// Whether all elements of `value` are known to be 0, and not -0.
fn is_zeros(value: ValueRef<'_>, depth: usize) -> bool {
    let zeros = |literal: &Literal| {
        literal.floats().is_some_and(|numbers| numbers.iter().all(|number| number.to_bits() == 0))
    };
    if let Some(literal) = value.constant() {
        return zeros(&literal);
    }
    let Ok(node) = made(Some(value)) else { return false };
    if node.is(op::ConstantOfShape) {
        return match node.attribute("value") {
            Attribute::None => true,
            Attribute::Tensor(literal) => zeros(&literal),
            _ => false,
        };
    }
    depth > 0 && node.traits().has(Traits::MOVES) && node.input(0).is_some_and(|x| is_zeros(x, depth - 1))
}
