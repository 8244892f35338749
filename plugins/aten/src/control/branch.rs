//! Branches.

use onnxport_sdk::prelude::*;

/// `cond(pred, true_graph, false_graph, operands)`: both graphs take the operands.
#[lowering("higher_order.cond")]
fn cond(cx: &Lower) -> Res<Vec<Value>> {
    let pred = condition(cx, 0)?;
    let (yes, no): (GraphArg, GraphArg) = (cx.positional(1)?, cx.positional(2)?);
    let operands = operands(cx, 3)?;
    let then = cx.block(|cx| cx.inline(yes, &operands))?;
    let other = cx.block(|cx| cx.inline(no, &operands))?;
    let count = cx.result_count();
    Ok(cx.op(op::If).input(pred).then_branch(then).else_branch(other).many(count))
}

/// The truth value at `index`: a tensor of one element, or a symbolic one.
fn condition(cx: &Lower, index: usize) -> Res<Value> {
    let pred = match cx.positional::<Operand>(index)? {
        Operand::Tensor(value) | Operand::Number(Scalar::Sym(value)) => value,
        Operand::Number(number) => cx.number(&number, DType::Bool),
    };
    let pred = cx.cast(pred, DType::Bool);
    if cx.rank(pred)? == 0 { Ok(pred) } else { Ok(cx.reshape(pred, &[])) }
}

/// The list at `index`: tensors, and numbers as tensors of shape `[1]`. A list that is missing is empty.
pub(super) fn operands(cx: &Lower, index: usize) -> Res<Vec<Value>> {
    let items = cx.positional::<Option<Vec<Operand>>>(index)?.unwrap_or_default();
    let value = |item: &Operand| match item {
        Operand::Tensor(value) | Operand::Number(Scalar::Sym(value)) => *value,
        Operand::Number(number @ Scalar::Float(_)) => cx.filled(number, DType::F64, &[1]),
        Operand::Number(number @ Scalar::Bool(_)) => cx.filled(number, DType::Bool, &[1]),
        Operand::Number(number) => cx.filled(number, DType::I64, &[1]),
    };
    Ok(items.iter().map(value).collect())
}

/// `invoke_subgraph(graph, name, *operands)`: the graph in place.
#[lowering("higher_order.invoke_subgraph")]
fn invoke_subgraph(cx: &Lower) -> Res<Vec<Value>> {
    let graph: GraphArg = cx.positional(0)?;
    let takes = cx.graph(graph)?.0.len();
    let mut inputs = Vec::new();
    for index in 0..takes {
        inputs.push(cx.positional::<Value>(index + 2)?);
    }
    cx.inline(graph, &inputs)
}
