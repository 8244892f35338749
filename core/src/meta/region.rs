//! Regions: higher-order operators whose graph runs where the call is.

use super::judge::Judge;
use crate::arena::Arena;
use crate::program::{Arg, Body, Call, Output, TensorType, Value, ValueType};

/// The graph of the region `call`, and the operands that are passed to it.
fn graph(call: &Call) -> Option<(Vec<&Arg>, &Body)> {
    let mut graphs = call.args.iter().enumerate().filter_map(|(at, arg)| match &arg.arg {
        Arg::Graph(graph) => Some((at, graph)),
        _ => None,
    });
    let (at, graph) = graphs.next()?;
    Some((call.operands(at), &graph.body))
}

/// The first contradiction between the types of a region's operands and results and those of its graph, in words.
pub(super) fn contradiction(call: &Call, values: &Arena<Value>, judge: &mut Judge) -> Option<String> {
    let (operands, body) = graph(call)?;
    if operands.len() != body.inputs.len() {
        return Some(format!(
            "its graph has {} inputs, and {} are passed",
            body.inputs.len(),
            operands.len()
        ));
    }
    let inputs = operands.into_iter().zip(&body.inputs);
    for (operand, input) in inputs {
        let outside = operand.as_value().and_then(|val| values.find(val));
        let inside = input.as_value().and_then(|val| body.values.find(val));
        if let (Some(outside), Some(inside)) = (outside, inside)
            && let Some(problem) = differ(outside, inside, judge)
        {
            return Some(format!(
                "`{}` is passed as `{}` of its graph, but {problem}",
                outside.name, inside.name
            ));
        }
    }
    for (output, result) in call.outputs.iter().zip(&body.outputs) {
        let pairs: Vec<_> = match (output, result) {
            (Output::Value(val), result) => vec![(*val, result)],
            (Output::List(vals), Arg::List(results)) => {
                vals.iter().zip(results).filter_map(|(val, result)| Some(((*val)?, result))).collect()
            }
            _ => continue,
        };
        for (val, result) in pairs {
            let inside = result.as_value().and_then(|val| body.values.find(val));
            if let (Some(outside), Some(inside)) = (values.find(val), inside)
                && let Some(problem) = differ(outside, inside, judge)
            {
                return Some(format!(
                    "`{}` is the result `{}` of its graph, but {problem}",
                    outside.name, inside.name
                ));
            }
        }
    }
    None
}

/// The difference between the types of two tensors, in words; `None` if they may be the same.
fn differ(outside: &Value, inside: &Value, judge: &mut Judge) -> Option<String> {
    let (a, b): (&TensorType, &TensorType) = (outside.ty.as_tensor()?, inside.ty.as_tensor()?);
    if a.dtype != b.dtype {
        return Some(format!("one is {} and the other {}", a.dtype, b.dtype));
    }
    if a.shape.len() != b.shape.len() {
        return Some(format!("one has rank {} and the other {}", a.shape.len(), b.shape.len()));
    }
    let axis = a.shape.iter().zip(&b.shape).position(|(x, y)| judge.distinct(*x, *y))?;
    Some(format!("they have different sizes along axis {axis}"))
}

/// The graph of the region `call`, if its inputs have the types of the operands that are passed.
pub(super) fn bound<'c>(call: &'c Call, values: &Arena<Value>) -> Option<&'c Body> {
    let (operands, body) = graph(call)?;
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
