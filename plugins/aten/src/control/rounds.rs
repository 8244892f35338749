//! Loops that lowerings make.

use onnxport_sdk::prelude::*;

/// Runs `round` `count` times, an i64 of shape `[1]`. It takes its index, a 0-d i64, and the state; it returns the next
/// state.
pub(crate) fn repeat<const N: usize>(
    cx: &Lower,
    count: Value,
    state: [Value; N],
    round: impl FnOnce(Value, [Value; N]) -> Res<[Value; N]>,
) -> Res<[Value; N]> {
    repeat_while(cx, count, state, |index, state| Ok((None, round(index, state)?)))
}

/// The same, while the 0-d truth value holds that the rounds return beside the state.
pub(crate) fn repeat_while<const N: usize>(
    cx: &Lower,
    count: Value,
    state: [Value; N],
    round: impl FnOnce(Value, [Value; N]) -> Res<(Option<Value>, [Value; N])>,
) -> Res<[Value; N]> {
    let types = state.map(|value| cx.fact(value));
    let body = cx.block(|cx| {
        let index = cx.block_input(DType::I64, Some(&[]));
        let going = cx.block_input(DType::Bool, Some(&[]));
        let mut held = Vec::with_capacity(N);
        for fact in types {
            let dtype = fact.dtype.ok_or("the element type of the state of a loop is not known")?;
            held.push(cx.block_input(dtype, fact.shape.as_deref()));
        }
        let held: [Value; N] = held.try_into().map_err(|_| "the state of a loop has another length")?;
        let (again, next) = round(index, held)?;
        let again = again.unwrap_or_else(|| cx.identity(going));
        Ok(std::iter::once(again).chain(next).collect())
    })?;
    let count = cx.squeeze(count, &[0]);
    let results = cx.op(op::Loop).input(count).maybe(None).inputs(state).body(body).many(N);
    results.try_into().map_err(|_| "a loop has another number of results".into())
}
