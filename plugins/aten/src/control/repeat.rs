//! Loops.

use onnxport_sdk::prelude::*;

use super::branch::operands;

/// Inputs of a block for values that a nested graph takes.
fn inputs(cx: &Lower, facts: &[onnxport_sdk::ResultFact]) -> Vec<Value> {
    facts.iter().map(|f| cx.block_input(f.dtype, Some(&f.real_shape()))).collect()
}

/// A truth value as `Loop` takes it, without axes.
fn flag(cx: &Lower, value: Value) -> Res<Value> {
    let value = cx.cast(value, DType::Bool);
    if cx.rank(value)? == 0 { Ok(value) } else { Ok(cx.reshape(value, &[])) }
}

/// `while_loop(cond, body, carried, additional)`: the condition is computed before the loop and at the
/// end of every round.
#[lowering("higher_order.while_loop")]
fn while_loop(cx: &Lower) -> Res<Vec<Value>> {
    let (test, body): (GraphArg, GraphArg) = (cx.positional(0)?, cx.positional(1)?);
    let (carried, additional) = (operands(cx, 2)?, operands(cx, 3)?);
    let takes = cx.graph(body)?.0;
    let first = cx.inline(test, &[carried.as_slice(), &additional].concat())?;
    let Some(go) = first.first() else { return Err("the condition of the loop returns nothing".into()) };
    let go = flag(cx, *go)?;
    let round = cx.block(|cx| {
        cx.block_input(DType::I64, Some(&[]));
        cx.block_input(DType::Bool, Some(&[]));
        let state = inputs(cx, takes.get(..carried.len()).unwrap_or_default());
        let next = cx.inline(body, &[state.as_slice(), &additional].concat())?;
        let again = cx.inline(test, &[next.as_slice(), &additional].concat())?;
        let Some(again) = again.first() else {
            return Err("the condition of the loop returns nothing".into());
        };
        Ok(std::iter::once(flag(cx, *again)?).chain(next).collect())
    })?;
    let count = carried.len();
    Ok(cx.op(op::Loop).maybe(None).input(go).inputs(carried).body(round).many(count))
}

/// `scan(combine, init, xs, additional)`: `combine` takes the state and a slice of every `xs` along its
/// first axis, and gives the next state and a slice of every output.
#[lowering("higher_order.scan")]
fn scan(cx: &Lower) -> Res<Vec<Value>> {
    let combine: GraphArg = cx.positional(0)?;
    scanned(cx, combine, &operands(cx, 1)?, &operands(cx, 2)?, &operands(cx, 3)?)
}

/// `map(f, xs, additional)`: `f` of a slice of every `xs` along its first axis.
#[lowering("higher_order.map_impl", "higher_order.map")]
fn map(cx: &Lower) -> Res<Vec<Value>> {
    let body: GraphArg = cx.positional(0)?;
    scanned(cx, body, &[], &operands(cx, 1)?, &operands(cx, 2)?)
}

/// `associative_scan(combine, xs)`: ONNX has no operator that combines slices pairwise.
#[lowering("higher_order.associative_scan")]
fn associative_scan(_cx: &Lower) -> Res<Vec<Value>> {
    Err(Refusal::new("ONNX has no associative scan")
        .help("use `torch.cumsum` or a similar operator, or `torch._higher_order_ops.scan`, if possible"))
}

fn scanned(
    cx: &Lower,
    body: GraphArg,
    init: &[Value],
    slices: &[Value],
    additional: &[Value],
) -> Res<Vec<Value>> {
    let takes = cx.graph(body)?.0;
    let round = cx.block(|cx| {
        let given = inputs(cx, takes.get(..init.len() + slices.len()).unwrap_or_default());
        cx.inline(body, &[given.as_slice(), additional].concat())
    })?;
    let (count, over) = (cx.result_count(), slices.len() as i64);
    let node = cx.op(op::Scan).inputs(init.iter().copied()).inputs(slices.iter().copied());
    Ok(node.num_scan_inputs(over).body(round).many(count))
}
