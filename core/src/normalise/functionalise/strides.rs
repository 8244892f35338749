//! Decides from strides whether an operator that may copy returns a view.

use crate::program::TensorType;
use crate::program::text::row_major;
use crate::sym::{Dim, Symbols};

/// The strides of `ty`; a type that does not state them is dense.
pub(super) fn of(symbols: &mut Symbols, ty: &TensorType) -> Vec<Dim> {
    if ty.strides.len() == ty.shape.len() { ty.strides.clone() } else { row_major(symbols, &ty.shape) }
}

/// Whether both are laid out alike.
pub(super) fn same(symbols: &mut Symbols, a: &TensorType, b: &TensorType) -> bool {
    of(symbols, a) == of(symbols, b)
}

/// Whether `ty` is dense and row-major.
pub(super) fn is_row_major(symbols: &mut Symbols, ty: &TensorType) -> bool {
    let (own, dense) = (of(symbols, ty), row_major(symbols, &ty.shape));
    let matters = |i: usize| ty.shape[i] != Dim::Const(1);
    (0..ty.shape.len()).all(|i| !matters(i) || own[i] == dense[i])
}

/// Whether reshaping `from` to `shape` needs no copy (`computeStride` of `ATen`); `None` when that
/// depends on the values of symbols.
///
/// Where sizes leave it open, the sizes of the trace decide: PyTorch took its decision on them.
pub(super) fn reshape_is_view(symbols: &mut Symbols, from: &TensorType, shape: &[Dim]) -> Option<bool> {
    compute(symbols, from, shape).or_else(|| {
        let at_trace = |dims: &[Dim]| -> Option<Vec<Dim>> {
            let hint = |symbol| symbols.get(symbol).hint;
            dims.iter().map(|d| symbols.eval(*d, &hint).map(Dim::Const)).collect()
        };
        let shape = at_trace(shape)?;
        let traced = TensorType {
            dtype: from.dtype,
            shape: at_trace(&from.shape)?,
            strides: at_trace(&from.strides)?,
        };
        compute(symbols, &traced, &shape)
    })
}

fn compute(symbols: &mut Symbols, from: &TensorType, shape: &[Dim]) -> Option<bool> {
    if is_row_major(symbols, from) || from.shape.contains(&Dim::Const(0)) {
        return Some(true);
    }
    let strides = of(symbols, from);
    let mut next = shape.len();
    let mut base = *strides.last()?;
    let (mut own, mut new) = (Dim::Const(1), Dim::Const(1));
    for axis in (0..from.shape.len()).rev() {
        own = symbols.mul(own, from.shape[axis]);
        let is_edge = axis == 0 || {
            let dense = symbols.mul(own, base);
            from.shape[axis - 1] != Dim::Const(1) && !equal(symbols, strides[axis - 1], dense)?
        };
        if !is_edge {
            continue;
        }
        while next > 0 && (shape[next - 1] == Dim::Const(1) || !equal(symbols, new, own)?) {
            if !less(symbols, new, own)? && shape[next - 1] != Dim::Const(1) {
                return Some(false);
            }
            new = symbols.mul(new, shape[next - 1]);
            next -= 1;
        }
        if !equal(symbols, new, own)? {
            return Some(false);
        }
        if axis > 0 {
            base = strides[axis - 1];
            (own, new) = (Dim::Const(1), Dim::Const(1));
        }
    }
    Some(next == 0)
}

fn equal(symbols: &mut Symbols, a: Dim, b: Dim) -> Option<bool> {
    let difference = symbols.sub(a, b);
    let range = symbols.range(difference);
    match difference {
        Dim::Const(n) => Some(n == 0),
        Dim::Expr(_) if range.contains(0) => None,
        Dim::Expr(_) => Some(false),
    }
}

fn less(symbols: &mut Symbols, a: Dim, b: Dim) -> Option<bool> {
    let difference = symbols.sub(a, b);
    let range = symbols.range(difference);
    match (range.min, range.max) {
        (_, Some(max)) if max < 0 => Some(true),
        (Some(min), _) if min >= 0 => Some(false),
        _ => None,
    }
}
