//! Constraints between the arguments of a call, by the mechanisms that facts name.

use super::cx::{Cx, Meta, Stop, contradiction};
use crate::program::{Arg, TensorType};
use crate::sym::Dim;
use crate::tensor::{DType, Kind};

/// Holds the arguments against the mechanism called `name`.
pub(super) fn check(cx: &mut Cx<'_>, name: &str) -> Meta<()> {
    match name {
        "alike" => alike(cx, |_, _| false),
        // PyTorch computes with half inputs and parameters in single precision.
        "parameters" => {
            alike(cx, |first, other| first.is_float() && first.bits() == 16 && other == DType::F32)
        }
        "integers" => all(cx, "is not of an integer type", |dtype| dtype.kind() == Kind::Int),
        "floats" => {
            all(cx, "is not of a floating-point type", |dtype| dtype.is_float() || dtype.is_complex())
        }
        "complex" => all(cx, "is not of a complex type", DType::is_complex),
        "numbers" => all(cx, "is not of numbers", |dtype| dtype != DType::Bool),
        "ranks" => ranks(cx),
        "mask" => all(cx, "is not a mask", |dtype| matches!(dtype, DType::Bool | DType::U8)),
        "congruent" => congruent(cx),
        "agree" => agree(cx),
        _ => Err(Stop::Unknown),
    }
}

/// Returns the term's tensor arguments, each with its name; those that are `None` are left out.
fn tensors<'a>(cx: &Cx<'a>) -> Vec<(&'a str, &'a TensorType)> {
    let mut found = Vec::new();
    for i in 0..cx.term.len() {
        match cx.arg(i).as_deref() {
            Ok(Arg::None) | Err(_) => {}
            Ok(_) => found.extend(cx.tensors(i).into_iter().flatten().map(|ty| (cx.name(i), ty))),
        }
    }
    found
}

/// `alike(a, b, …)`: of one element type; `or` says which other types may be combined with the first one.
fn alike(cx: &Cx<'_>, or: fn(DType, DType) -> bool) -> Meta<()> {
    let tensors = tensors(cx);
    let Some(((first, ty), rest)) = tensors.split_first() else { return Ok(()) };
    match rest.iter().find(|(_, other)| other.dtype != ty.dtype && !or(ty.dtype, other.dtype)) {
        Some((name, other)) => {
            contradiction(format!("`{first}` is {} and `{name}` is {}", ty.dtype, other.dtype))
        }
        None => Ok(()),
    }
}

fn all(cx: &Cx<'_>, lacks: &str, admits: fn(DType) -> bool) -> Meta<()> {
    match tensors(cx).iter().find(|(_, ty)| !admits(ty.dtype)) {
        Some((name, ty)) => contradiction(format!("`{name}` is {}, which {lacks}", ty.dtype)),
        None => Ok(()),
    }
}

/// `ranks(a, b, …)`: of one rank.
fn ranks(cx: &Cx<'_>) -> Meta<()> {
    let tensors = tensors(cx);
    let Some(((first, ty), rest)) = tensors.split_first() else { return Ok(()) };
    match rest.iter().find(|(_, other)| other.shape.len() != ty.shape.len()) {
        Some((name, other)) => {
            let (a, b) = (ty.shape.len(), other.shape.len());
            contradiction(format!("`{first}` has rank {a} and `{name}` has rank {b}"))
        }
        None => Ok(()),
    }
}

/// `congruent(a, b, …)`: of one shape.
fn congruent(cx: &mut Cx<'_>) -> Meta<()> {
    let tensors = tensors(cx);
    let Some(((first, ty), rest)) = tensors.split_first() else { return Ok(()) };
    for (name, other) in rest {
        if ty.shape.len() != other.shape.len() {
            let (a, b) = (ty.shape.len(), other.shape.len());
            return contradiction(format!("`{first}` has rank {a} and `{name}` has rank {b}"));
        }
        for (a, b) in ty.shape.iter().zip(&other.shape) {
            cx.agree(*a, *b, &format!("sizes of `{first}` and `{name}`"))?;
        }
    }
    Ok(())
}

/// `agree(a:0, b:-1, …)`: sizes that are equal; an axis below 0 counts from the last one.
fn agree(cx: &mut Cx<'_>) -> Meta<()> {
    let mut found: Option<(&str, i64, Dim)> = None;
    for i in 0..cx.term.len() {
        let (name, axis) = cx.name(i).split_once(':').ok_or(Stop::Unknown)?;
        let Ok(ty) = cx.named(name) else { continue };
        let axis: i64 = axis.parse().map_err(|_| Stop::Unknown)?;
        let place = usize::try_from(if axis < 0 { axis.saturating_add(ty.shape.len() as i64) } else { axis });
        let Some(dim) = place.ok().and_then(|place| ty.shape.get(place)) else {
            return contradiction(format!("`{name}` of rank {} has no axis {axis}", ty.shape.len()));
        };
        match found {
            None => found = Some((name, axis, *dim)),
            Some((first, at, other)) => {
                let both = format!("axis {at} of `{first}` and axis {axis} of `{name}`");
                cx.agree(other, *dim, &both)?;
            }
        }
    }
    Ok(())
}
