//! Writes through views: the new value of a source from the new value of one of its views.

use smallvec::smallvec;

use super::super::edit::{Editor, ints, named};
use super::alias::View;
use crate::diagnose::OriginId;
use crate::program::{Arg, Call, Output, TensorType, Val, ValueType};
use crate::sym::{Dim, Symbols};

/// A write through a view.
pub(super) struct Write<'a> {
    /// The view of its source.
    pub view: &'a View,
    /// The call that created it and its siblings.
    pub call: &'a Call,
    /// Which of the call's results it is.
    pub member: usize,
    /// The source's value before the write.
    pub base: Val,
    /// The view's new value.
    pub new: Val,
    /// The call that writes.
    pub origin: OriginId,
}

/// The source's value after the write.
pub(super) fn scatter(write: &Write<'_>, editor: &mut Editor, symbols: &mut Symbols) -> Result<Val, String> {
    let Write { view, base, new, origin, .. } = *write;
    let ty = editor.ty(base).clone();
    let Some(tensor) = ty.as_tensor().cloned() else { return Err("its source is not a tensor".to_owned()) };
    let mut emit = |target: &str, args| Ok(editor.emit(target, args, ty.clone(), origin));
    let onto = |rest: Vec<_>| {
        let mut args = vec![named("self", base), named("src", new)];
        args.extend(rest);
        args
    };
    match view {
        View::Same => Ok(new),
        View::ReadOnly(reason) => Err((*reason).to_owned()),
        View::Reshape => reshape(new, base, &tensor, editor, origin),
        View::Permute(axes) => {
            let mut inverse = vec![0; axes.len()];
            for (i, axis) in axes.iter().enumerate() {
                match inverse.get_mut(*axis as usize) {
                    Some(at) => *at = i as i64,
                    None => return Err("its axes are out of range".to_owned()),
                }
            }
            emit("aten.permute.default", vec![named("self", new), named("dims", ints(inverse))])
        }
        View::Unsqueeze(dim) => emit("aten.squeeze.dim", vec![named("self", new), named("dim", *dim)]),
        View::Squeeze(dim) => emit("aten.unsqueeze.default", vec![named("self", new), named("dim", *dim)]),
        View::Select { dim, index } => {
            emit("aten.select_scatter.default", onto(vec![named("dim", *dim), named("index", index.clone())]))
        }
        View::Slice { dim, start, end, step } => {
            let rest = [("start", start), ("end", end), ("step", step)];
            let rest =
                rest.into_iter().filter(|(_, arg)| **arg != Arg::None).map(|(n, a)| named(n, a.clone()));
            let args = onto([named("dim", *dim)].into_iter().chain(rest).collect());
            emit("aten.slice_scatter.default", args)
        }
        View::Narrow { dim, start, length } => {
            let end = end_of(start, length, &tensor, *dim, editor, symbols, origin)?;
            let rest = vec![named("dim", *dim), named("start", start.clone()), named("end", end)];
            Ok(editor.emit("aten.slice_scatter.default", onto(rest), ty.clone(), origin))
        }
        View::Part { dim } => part(write, *dim, editor),
        View::Diagonal { offset, dim1, dim2 } => {
            let rest = vec![named("offset", *offset), named("dim1", *dim1), named("dim2", *dim2)];
            emit("aten.diagonal_scatter.default", onto(rest))
        }
        View::AsStrided { size, stride, offset } => {
            if !super::strides::is_row_major(symbols, &tensor) {
                return Err("its strides refer to the storage of a tensor that is not dense".to_owned());
            }
            if repeats(size, stride) {
                return Err("it may show elements more than once".to_owned());
            }
            let rest = vec![
                named("size", size.clone()),
                named("stride", stride.clone()),
                named("storage_offset", offset.clone()),
            ];
            emit("aten.as_strided_scatter.default", onto(rest))
        }
        View::AsReal => emit("aten.view_as_complex.default", vec![named("self", new)]),
        View::AsComplex => emit("aten.view_as_real.default", vec![named("self", new)]),
        View::Conj => emit("aten.conj.default", vec![named("self", new)]),
        View::Real | View::Imag => {
            let is_real = matches!(view, View::Real);
            let (other, names) = if is_real {
                ("aten.imag.default", ["real", "imag"])
            } else {
                ("aten.real.default", ["imag", "real"])
            };
            let part = editor.ty(new).clone();
            let kept = editor.emit(other, vec![named("self", base)], part, origin);
            let mut args = vec![named(names[0], new), named(names[1], kept)];
            args.sort_by(|a, b| b.name.cmp(&a.name));
            Ok(editor.emit("aten.complex.default", args, ty.clone(), origin))
        }
    }
}

/// Whether a view of these sizes and strides may show an element twice: it does not if each stride is longer than all
/// that the shorter ones reach. Those that are not numbers have no lowering.
fn repeats(size: &Arg, stride: &Arg) -> bool {
    let (Arg::List(sizes), Arg::List(strides)) = (size, stride) else { return false };
    let axes = strides.iter().zip(sizes).map(|(stride, size)| Some((stride.as_int()?, size.as_int()?)));
    let Some(mut axes) = axes.collect::<Option<Vec<_>>>() else { return false };
    axes.retain(|(_, size)| *size > 1);
    axes.sort_unstable();
    let mut reach = 0i64;
    axes.into_iter().any(|(stride, size)| {
        let repeated = stride <= reach;
        reach = reach.saturating_add(stride.saturating_mul(size.saturating_sub(1)));
        repeated
    })
}

/// `new` in the shape of `base`.
fn reshape(
    new: Val,
    base: Val,
    ty: &TensorType,
    editor: &mut Editor,
    origin: OriginId,
) -> Result<Val, String> {
    let ty = ValueType::from(ty.clone());
    let Some(tensor) = ty.as_tensor() else { return Err("its source is not a tensor".to_owned()) };
    let unknown = tensor.shape.iter().filter(|d| d.as_const().is_none()).count();
    let empty = tensor.shape.contains(&Dim::Const(0));
    if unknown > 1 || (unknown == 1 && empty) {
        let args = vec![named("self", new), named("other", base)];
        return Ok(editor.emit("aten.reshape_as.default", args, ty, origin));
    }
    let shape = ints(tensor.shape.iter().map(|d| d.as_const().unwrap_or(-1)));
    Ok(editor.emit("aten.reshape.default", vec![named("self", new), named("shape", shape)], ty, origin))
}

/// `start + length`, where a negative start counts from the end of the axis.
fn end_of(
    start: &Arg,
    length: &Arg,
    ty: &TensorType,
    dim: i64,
    editor: &mut Editor,
    symbols: &mut Symbols,
    origin: OriginId,
) -> Result<Arg, String> {
    if let (Arg::Int(start), Arg::Int(length)) = (start, length) {
        if *start >= 0 {
            return Ok(Arg::Int(start.saturating_add(*length)));
        }
        let Some(extent) = ty.shape.get(dim as usize).and_then(|d| d.as_const()) else {
            return Err("its start counts from the end of an axis of unknown size".to_owned());
        };
        return Ok(Arg::Int(extent.saturating_add(*start).saturating_add(*length)));
    }
    let mut dim_of = |arg: &Arg| match arg {
        Arg::Int(n) => Dim::Const(*n),
        Arg::Value(val) => match editor.ty(*val) {
            ValueType::SymInt(dim) => *dim,
            _ => symbols.opaque(),
        },
        _ => symbols.opaque(),
    };
    let (a, b) = (dim_of(start), dim_of(length));
    let sum = ValueType::SymInt(symbols.add(a, b));
    let args = vec![named("a", start.clone()), named("b", length.clone())];
    Ok(Arg::Value(editor.emit("_operator.add", args, sum, origin)))
}

/// Writes one of the consecutive parts of an axis: by position if that is known, else by joining all.
fn part(write: &Write<'_>, dim: usize, editor: &mut Editor) -> Result<Val, String> {
    let Write { call, member, base, new, origin, .. } = *write;
    let ty = editor.ty(base).clone();
    let mut parts = Vec::new();
    call.outputs.iter().for_each(|o| o.each_value(&mut |v| parts.push(v)));
    let extent = |val: &Val| editor.ty(*val).as_tensor().and_then(|t| t.shape.get(dim)?.as_const());
    let start = parts.iter().take(member).try_fold(0i64, |sum, v| sum.checked_add(extent(v)?));
    let end = start.zip(parts.get(member).and_then(extent)).and_then(|(start, n)| start.checked_add(n));
    if let Some((start, end)) = start.zip(end) {
        let args = vec![
            named("self", base),
            named("src", new),
            named("dim", dim as i64),
            named("start", start),
            named("end", end),
        ];
        return Ok(editor.emit("aten.slice_scatter.default", args, ty, origin));
    }
    let mut again = call.clone();
    let Some(first) = again.args.first_mut() else { return Err("it has no source".to_owned()) };
    first.arg = Arg::Value(base);
    let mut joined = Vec::with_capacity(parts.len());
    let mut fresh = Vec::with_capacity(parts.len());
    for (i, val) in parts.iter().enumerate() {
        let value = editor.values[*val].clone();
        let copy = editor.fresh(&value.name, value.ty);
        fresh.push(Some(copy));
        joined.push(Arg::Value(if i == member { new } else { copy }));
    }
    again.outputs = smallvec![Output::List(fresh)];
    editor.calls.push(again);
    let args = vec![named("tensors", Arg::List(joined)), named("dim", dim as i64)];
    Ok(editor.emit("aten.cat.default", args, ty, origin))
}
