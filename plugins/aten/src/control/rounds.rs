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
    let results = repeat_list(cx, count, &state, |index, held| {
        let held = held.try_into().map_err(|_| "the state of a loop has another length")?;
        let (again, next) = round(index, held)?;
        Ok((again, next.into()))
    })?;
    results.try_into().map_err(|_| "a loop has another number of results".into())
}

/// The same for a state of any length.
pub(crate) fn repeat_list(
    cx: &Lower,
    count: Value,
    state: &[Value],
    round: impl FnOnce(Value, Vec<Value>) -> Res<(Option<Value>, Vec<Value>)>,
) -> Res<Vec<Value>> {
    let types: Vec<_> = state.iter().map(|value| cx.fact(*value)).collect();
    let body = cx.block(|cx| {
        let index = cx.block_input(DType::I64, Some(&[]));
        let going = cx.block_input(DType::Bool, Some(&[]));
        let mut held = Vec::with_capacity(types.len());
        for fact in types {
            let dtype = fact.dtype.ok_or("the element type of the state of a loop is not known")?;
            held.push(cx.block_input(dtype, fact.shape.as_deref()));
        }
        let (again, next) = round(index, held)?;
        let again = again.unwrap_or_else(|| cx.identity(going));
        Ok(std::iter::once(again).chain(next).collect())
    })?;
    let count = cx.squeeze(count, &[0]);
    Ok(cx.op(op::Loop).input(count).maybe(None).inputs(state.iter().copied()).body(body).many(state.len()))
}
