//! Spells out writes that a schema does not show, and in-place operators without a functional twin, by
//! operators that the functionaliser knows.

use super::edit::{Editor, each_nested, ints, named};
use super::{Context, with_symbols};
use crate::diagnose::OriginId;
use crate::program::{Arg, Body, Call, NamedArg, Output, Program, TensorType, Val, ValueType};
use crate::sym::{Dim, Symbols};

pub(super) fn run(program: &mut Program, _: &mut Context<'_>) {
    with_symbols(program, spell);
}

fn is_hidden(call: &Call) -> bool {
    match call.target.as_str() {
        "aten.batch_norm.default" | "aten.native_batch_norm.default" => {
            is_true(call, "training") && has_stats(call)
        }
        "aten.instance_norm.default" => is_true(call, "use_input_stats") && has_stats(call),
        "aten.fill_diagonal_.default" => !is_true(call, "wrap"),
        "aten.normal_.default" => true,
        _ => false,
    }
}

fn is_true(call: &Call, name: &str) -> bool {
    matches!(call.arg(name), Some(Arg::Bool(true)))
}

fn has_stats(call: &Call) -> bool {
    let given = |name| call.arg(name).is_some_and(|a| a.as_value().is_some());
    given("running_mean") && given("running_var")
}

fn spell(body: &mut Body, symbols: &mut Symbols) {
    for call in &mut body.calls {
        each_nested(call, &mut |nested| spell(nested, symbols));
    }
    if !body.calls.iter().any(is_hidden) {
        return;
    }
    let calls = std::mem::take(&mut body.calls);
    let mut editor = Editor::new(body);
    for call in calls {
        if !is_hidden(&call) {
            editor.calls.push(call);
            continue;
        }
        let spelled = match call.target.as_str() {
            "aten.instance_norm.default" => instance_norm(&call, &mut editor),
            "aten.fill_diagonal_.default" => fill_diagonal(&call, &mut editor, symbols),
            "aten.normal_.default" => normal(&call, &mut editor),
            _ => {
                editor.calls.push(batch_norm(&call));
                Some(())
            }
        };
        if spelled.is_none() {
            editor.calls.push(call);
        }
    }
    editor.finish(body);
}

fn arg(call: &Call, name: &str, default: Arg) -> NamedArg {
    NamedArg { name: name.into(), arg: call.arg(name).cloned().unwrap_or(default) }
}

fn val(call: &Call, name: &str) -> Option<Val> {
    call.arg(name).and_then(Arg::as_value)
}

fn float(call: &Call, name: &str, default: f64) -> f64 {
    match call.arg(name) {
        Some(Arg::Float(x)) => *x,
        Some(Arg::Int(n)) => *n as f64,
        _ => default,
    }
}

/// Adds `aten.copy_(to, from)`, whose result nobody uses.
fn write(editor: &mut Editor, to: Val, from: Val, origin: OriginId) {
    let ty = editor.ty(to).clone();
    editor.emit("aten.copy_.default", vec![named("self", to), named("src", from)], ty, origin);
}

/// Training: the running statistics are written, which the schema of this overload says.
fn batch_norm(call: &Call) -> Call {
    let mut outputs = call.outputs.clone();
    // `batch_norm` itself returns no statistics of the batch.
    outputs.resize(3, Output::None);
    let args = vec![
        arg(call, "input", Arg::None),
        arg(call, "weight", Arg::None),
        arg(call, "bias", Arg::None),
        arg(call, "running_mean", Arg::None),
        arg(call, "running_var", Arg::None),
        named("training", true),
        named("momentum", float(call, "momentum", 0.1)),
        named("eps", float(call, "eps", 1e-5)),
    ];
    Call { target: "aten._native_batch_norm_legit.default".into(), args, outputs, origin: call.origin }
}

/// The running statistics take the mean over the batch of each instance's mean and unbiased variance.
fn instance_norm(call: &Call, editor: &mut Editor) -> Option<()> {
    let (mean, var) = (val(call, "running_mean")?, val(call, "running_var")?);
    let input = val(call, "input")?;
    let ty = editor.ty(input).as_tensor()?.clone();
    let origin = call.origin;
    let mut plain = call.clone();
    for arg in &mut plain.args {
        if matches!(arg.name.as_str(), "running_mean" | "running_var") {
            arg.arg = Arg::None;
        }
    }
    editor.calls.push(plain);
    let channels = vec![*ty.shape.get(1)?];
    let per_channel = ValueType::Tensor(TensorType { strides: vec![Dim::Const(1)], shape: channels, ..ty });
    let per_instance = ValueType::Tensor(TensorType::dense(ty.dtype, ty.shape.get(..2)?.to_vec()));
    let spatial = 2..ty.shape.len() as i64;
    let over = |dims: Arg, of: Val| vec![named("self", of), named("dim", dims)];
    let means = ints([0].into_iter().chain(spatial.clone()));
    let batch_mean = editor.emit("aten.mean.dim", over(means, input), per_channel.clone(), origin);
    let mut args = over(ints(spatial), input);
    args.push(named("correction", 1));
    let variances = editor.emit("aten.var.correction", args, per_instance, origin);
    let batch_var = editor.emit("aten.mean.dim", over(ints([0]), variances), per_channel, origin);
    let momentum = float(call, "momentum", 0.1);
    for (running, batch) in [(mean, batch_mean), (var, batch_var)] {
        let ty = editor.ty(running).clone();
        let scaled = |by: f64, val: Val| vec![named("self", val), named("other", by)];
        let old = editor.emit("aten.mul.Tensor", scaled(1.0 - momentum, running), ty.clone(), origin);
        let new = editor.emit("aten.mul.Tensor", scaled(momentum, batch), ty.clone(), origin);
        let sum = editor.emit("aten.add.Tensor", vec![named("self", old), named("other", new)], ty, origin);
        write(editor, running, sum, origin);
    }
    Some(())
}

/// A matrix whose diagonal is filled; without `wrap`, or with at least as many columns as rows.
fn fill_diagonal(call: &Call, editor: &mut Editor, symbols: &mut Symbols) -> Option<()> {
    let matrix = val(call, "self")?;
    let ty = editor.ty(matrix).as_tensor()?.clone();
    let [rows, columns] = ty.shape.as_slice() else { return None };
    let [down, right] = ty.strides.as_slice() else { return None };
    let shape = vec![symbols.min(*rows, *columns)];
    let strides = vec![symbols.add(*down, *right)];
    let diagonal = ValueType::Tensor(TensorType { dtype: ty.dtype, shape, strides });
    let view =
        editor.emit("aten.diagonal.default", vec![named("self", matrix)], diagonal.clone(), call.origin);
    let args = vec![named("self", view), arg_as(call, "fill_value", "value")];
    editor.emit("aten.fill_.Scalar", args, diagonal, call.origin);
    // The result is the matrix itself.
    let args = vec![named("self", matrix)];
    let (target, outputs) = ("aten.detach_.default".into(), call.outputs.clone());
    editor.calls.push(Call { target, args, outputs, origin: call.origin });
    Some(())
}

fn arg_as(call: &Call, name: &str, new: &str) -> NamedArg {
    NamedArg { name: new.into(), ..arg(call, name, Arg::Int(0)) }
}

fn normal(call: &Call, editor: &mut Editor) -> Option<()> {
    let own = val(call, "self")?;
    let ty = editor.ty(own).clone();
    let args = vec![
        named("self", own),
        named("mean", float(call, "mean", 0.0)),
        named("std", float(call, "std", 1.0)),
    ];
    let drawn = editor.emit("aten.normal_functional.default", args, ty, call.origin);
    let args = vec![named("self", own), named("src", drawn)];
    let (target, outputs) = ("aten.copy_.default".into(), call.outputs.clone());
    editor.calls.push(Call { target, args, outputs, origin: call.origin });
    Some(())
}
