//! Regions: higher-order operators whose graph runs where the call is.

use crate::arena::Arena;
use crate::program::{Arg, Body, Call, Output, Value, ValueType};

/// The graph of the region `call`, if its inputs have the types of the operands that are passed.
pub(super) fn bound<'c>(call: &'c Call, values: &Arena<Value>) -> Option<&'c Body> {
    let mut graphs = call.args.iter().enumerate().filter_map(|(at, arg)| match &arg.arg {
        Arg::Graph(graph) => Some((at, graph)),
        _ => None,
    });
    let (at, graph) = graphs.next()?;
    let (operands, body) = (call.operands(at), &graph.body);
    let fits = |(operand, input): (&&Arg, &Arg)| alike(operand, values, input, &body.values);
    (operands.len() == body.inputs.len() && operands.iter().zip(&body.inputs).all(fits)).then_some(body)
}

/// Whether the results of the region `call` have the types of the outputs of its graph.
pub(super) fn returns(call: &Call, values: &Arena<Value>, body: &Body) -> bool {
    let fits = |(output, result): (&Output, &Arg)| match (output, result) {
        (Output::None, _) => true,
        (Output::Value(val), result) => alike(&Arg::Value(*val), values, result, &body.values),
        (Output::List(vals), Arg::List(results)) => {
            let fits = |(val, result): (&Option<_>, &Arg)| {
                val.is_none_or(|val| alike(&Arg::Value(val), values, result, &body.values))
            };
            vals.len() == results.len() && vals.iter().zip(results).all(fits)
        }
        (Output::List(_), _) => false,
    };
    call.outputs.len() <= body.outputs.len() && call.outputs.iter().zip(&body.outputs).all(fits)
}

/// Whether two values of different graphs have one type. Strides are not compared.
fn alike(a: &Arg, values: &Arena<Value>, b: &Arg, others: &Arena<Value>) -> bool {
    let ty = |arg: &Arg, values: &Arena<Value>| {
        arg.as_value().and_then(|val| values.find(val)).map(|value| value.ty.clone())
    };
    match (ty(a, values), ty(b, others)) {
        (Some(ValueType::Tensor(a)), Some(ValueType::Tensor(b))) => a.dtype == b.dtype && a.shape == b.shape,
        (Some(a), Some(b)) => a == b,
        _ => false,
    }
}
