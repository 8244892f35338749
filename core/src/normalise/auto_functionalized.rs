//! `auto_functionalized(op, …)` and its second version become a direct call of the operator, which
//! then returns its own results and the new value of each written argument.
//!
//! The second version passes the written tensors as views of bases: `_all_bases`, and per argument
//! `_x_base_index` with nothing more (the base itself), `_x_alias`, `_x_slice_*` or `_x_size`,
//! `_x_stride` and `_x_storage_offset`. It returns the new bases.

use smallvec::smallvec;

use super::Context;
use super::edit::{Editor, each_nested, named};
use crate::diagnose::Code;
use crate::program::{Arg, Body, Call, NamedArg, Output, Program, TensorType, Val};
use crate::registry::SchemaType;
use crate::sym::Dim;

pub(super) fn run(program: &mut Program, cx: &mut Context<'_>) {
    unwrap(&mut program.body, cx);
}

fn is_wrapper(call: &Call) -> bool {
    matches!(call.target.as_str(), "higher_order.auto_functionalized" | "higher_order.auto_functionalized_v2")
}

fn unwrap(body: &mut Body, cx: &mut Context<'_>) {
    for call in &mut body.calls {
        each_nested(call, &mut |nested| unwrap(nested, cx));
    }
    if !body.calls.iter().any(is_wrapper) {
        return;
    }
    let (mut editor, calls) = Editor::rewrite(body);
    for call in calls {
        if !is_wrapper(&call) {
            editor.calls.push(call);
            continue;
        }
        let origin = call.origin;
        if let Err(reason) = direct(call, &mut editor, cx) {
            let message = format!("an automatically functionalised operator cannot be called: {reason}");
            cx.error(Code::NORMALISE_REGION, message, origin);
        }
    }
    editor.finish(body);
}

fn direct(mut call: Call, editor: &mut Editor, cx: &Context<'_>) -> Result<(), String> {
    let is_second = call.target.ends_with("_v2");
    let mut args = std::mem::take(&mut call.args).into_iter();
    let Some(NamedArg { arg: Arg::Operator(op), .. }) = args.next() else {
        return Err("it is not named".to_owned());
    };
    call.target = op;
    let args: Vec<NamedArg> = args.collect();
    if !is_second {
        call.outputs.retain(|o| *o != Output::None);
        call.args = args;
        editor.calls.push(call);
        return Ok(());
    }
    second(call, &args, editor, cx)
}

/// A written argument: which base it looks at, and how.
struct Written {
    name: String,
    /// Its elements, more than one or none for a list.
    looks: Vec<Look>,
    is_list: bool,
}

struct Look {
    base: usize,
    kind: Kind,
}

enum Kind {
    Base,
    Slice { dim: Arg, start: Arg, end: Arg },
    Strided { size: Arg, stride: Arg, offset: Arg },
}

fn second(mut call: Call, args: &[NamedArg], editor: &mut Editor, cx: &Context<'_>) -> Result<(), String> {
    let find = |name: &str| args.iter().find(|a| a.name == name).map(|a| &a.arg);
    let mut bases: Vec<Val> = Vec::new();
    find("_all_bases").ok_or("it has no bases")?.each_value(&mut |v| bases.push(v));
    let written = written(args)?;
    let own = call.outputs.len().saturating_sub(bases.len());
    let new_bases: Vec<Output> = call.outputs.drain(own..).collect();
    // An operator without results is recorded with the result `None`.
    call.outputs.retain(|o| *o != Output::None);
    let mut looks = Vec::new();
    for arg in &written {
        let mut vals = Vec::with_capacity(arg.looks.len());
        let mut news = Vec::with_capacity(arg.looks.len());
        for look in &arg.looks {
            let base = *bases.get(look.base).ok_or("a base is missing")?;
            let val = see(base, &look.kind, editor, &call)?;
            let value = editor.values[val].clone();
            let new = editor.fresh(&value.name, value.ty);
            vals.push(Arg::Value(val));
            news.push(new);
            looks.push((look, new));
        }
        let arg_value =
            if arg.is_list { Arg::List(vals) } else { vals.into_iter().next().unwrap_or(Arg::None) };
        call.args.push(NamedArg { name: arg.name.as_str().into(), arg: arg_value });
        call.outputs.push(match news.as_slice() {
            _ if arg.is_list => Output::List(news.into_iter().map(Some).collect()),
            [] => Output::None,
            [new, ..] => Output::Value(*new),
        });
    }
    let plain = args.iter().filter(|a| !a.name.starts_with('_') || is_plain(&a.name, &call.target, cx));
    call.args.extend(plain.cloned());
    if let Some(schema) = cx.schemas.get(&call.target) {
        let place = |name: &str| schema.args.iter().position(|a| a.name == name);
        call.args.sort_by_key(|a| place(&a.name));
    }
    // The recorded new base is the new argument itself if nothing else writes to that base.
    let at = editor.calls.len();
    let origin = call.origin;
    editor.calls.push(call);
    for (i, output) in new_bases.iter().enumerate() {
        let Output::Value(result) = output else { continue };
        let mut writes = looks.iter().filter(|(look, _)| look.base == i).peekable();
        let Some(mut value) = bases.get(i).copied() else { continue };
        while let Some((look, new)) = writes.next() {
            let target = if writes.peek().is_none() { Some(*result) } else { None };
            match (&look.kind, target) {
                (Kind::Base, Some(result)) => {
                    if let Some(call) = editor.calls.get_mut(at) {
                        rename(call, *new, result);
                    }
                }
                (Kind::Base, None) => value = *new,
                (kind, target) => {
                    let (name, mut args) = match kind {
                        Kind::Slice { dim, start, end } => (
                            "aten.slice_scatter.default",
                            vec![
                                named("dim", dim.clone()),
                                named("start", start.clone()),
                                named("end", end.clone()),
                            ],
                        ),
                        Kind::Strided { size, stride, offset } => (
                            "aten.as_strided_scatter.default",
                            vec![
                                named("size", size.clone()),
                                named("stride", stride.clone()),
                                named("storage_offset", offset.clone()),
                            ],
                        ),
                        Kind::Base => continue,
                    };
                    args.splice(0..0, [named("self", value), named("src", *new)]);
                    let ty = editor.ty(value).clone();
                    value = target.unwrap_or_else(|| editor.fresh("base", ty));
                    let outputs = smallvec![Output::Value(value)];
                    editor.calls.push(Call { target: name.into(), args, outputs, origin });
                }
            }
        }
    }
    Ok(())
}

/// Whether an argument whose name starts with `_` belongs to the operator.
fn is_plain(name: &str, target: &str, cx: &Context<'_>) -> bool {
    cx.schemas
        .get(target)
        .is_some_and(|s| s.arg(name).is_some_and(|a| !a.is_written() && a.ty != SchemaType::Generator))
}

fn written(args: &[NamedArg]) -> Result<Vec<Written>, String> {
    let find = |name: &str| args.iter().find(|a| a.name == name).map(|a| &a.arg);
    let look = |prefix: &str| -> Result<Option<Look>, String> {
        let base = match find(&format!("{prefix}_base_index")) {
            Some(Arg::Int(base)) => usize::try_from(*base).map_err(|_| "a base is missing")?,
            _ => return Ok(None),
        };
        let part = |name: &str| find(&format!("{prefix}_{name}")).cloned();
        let kind = match (part("slice_dim"), part("size")) {
            (Some(dim), _) => Kind::Slice {
                dim,
                start: part("slice_start").unwrap_or(Arg::None),
                end: part("slice_end").unwrap_or(Arg::None),
            },
            (_, Some(size)) => Kind::Strided {
                size,
                stride: part("stride").ok_or("a view has no strides")?,
                offset: part("storage_offset").unwrap_or(Arg::Int(0)),
            },
            _ => Kind::Base,
        };
        Ok(Some(Look { base, kind }))
    };
    let mut all = Vec::new();
    for arg in args {
        if let Some(name) = arg.name.strip_prefix('_').and_then(|n| n.strip_suffix("_length")) {
            let count = arg.arg.as_int().unwrap_or(0);
            let looks = (0..count.clamp(0, args.len() as i64)).map(|i| look(&format!("_{name}_{i}")));
            let looks = looks.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect();
            all.push(Written { name: name.to_owned(), looks, is_list: true });
        } else if let Some(name) = arg.name.strip_prefix('_').and_then(|n| n.strip_suffix("_base_index")) {
            let is_element = name.rsplit_once('_').is_some_and(|(list, i)| {
                i.parse::<u32>().is_ok() && find(&format!("_{list}_length")).is_some()
            });
            if !is_element {
                let looks = look(&format!("_{name}"))?.into_iter().collect();
                all.push(Written { name: name.to_owned(), looks, is_list: false });
            }
        }
    }
    Ok(all)
}

/// Returns the view of `base` to pass.
fn see(base: Val, kind: &Kind, editor: &mut Editor, call: &Call) -> Result<Val, String> {
    let tensor = editor.ty(base).as_tensor().cloned().ok_or("a base is not a tensor")?;
    match kind {
        Kind::Base => Ok(base),
        Kind::Slice { dim, start, end } => {
            let (Some(axis), Some(start_at), Some(end_at)) = (dim.as_int(), start.as_int(), end.as_int())
            else {
                return Err("a view's bounds are not constant".to_owned());
            };
            let mut shape = tensor.shape.clone();
            let extent = usize::try_from(axis)
                .ok()
                .and_then(|a| shape.get_mut(a))
                .ok_or("a view's axis is out of range")?;
            *extent = Dim::Const(end_at.saturating_sub(start_at));
            let ty = TensorType { shape, ..tensor }.into();
            let args = vec![
                named("self", base),
                named("dim", axis),
                named("start", start.clone()),
                named("end", end.clone()),
            ];
            Ok(editor.emit("aten.slice.Tensor", args, ty, call.origin))
        }
        Kind::Strided { size, stride, offset } => {
            let list = |arg: &Arg| match arg {
                Arg::List(items) => {
                    items.iter().map(|i| i.as_int().map(Dim::Const)).collect::<Option<Vec<_>>>()
                }
                _ => None,
            };
            let (Some(shape), Some(strides)) = (list(size), list(stride)) else {
                return Err("a view's sizes are not constant".to_owned());
            };
            let ty = TensorType { dtype: tensor.dtype, shape, strides }.into();
            let args = vec![
                named("self", base),
                named("size", size.clone()),
                named("stride", stride.clone()),
                named("storage_offset", offset.clone()),
            ];
            Ok(editor.emit("aten.as_strided.default", args, ty, call.origin))
        }
    }
}

fn rename(call: &mut Call, from: Val, to: Val) {
    for output in &mut call.outputs {
        match output {
            Output::Value(val) if *val == from => *val = to,
            Output::None | Output::Value(_) => {}
            Output::List(items) => {
                items.iter_mut().flatten().filter(|v| **v == from).for_each(|val| *val = to);
            }
        }
    }
}
