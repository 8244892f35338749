//! Decides from strides whether an operator that may copy returns a view.

use crate::program::TensorType;
use crate::program::text::row_major;
use crate::sym::{Dim, Symbols};
use crate::tensor::strides::regroup;

/// Returns the strides of `ty`; a type that does not state them is dense.
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
    let mut axes = ty.shape.iter().zip(own.iter().zip(&dense));
    axes.all(|(extent, (own, dense))| *extent == Dim::Const(1) || own == dense)
}

/// Whether reshaping `from` to `shape` needs no copy (`computeStride` of `ATen`); `None` if that depends on
/// the values of symbols.
///
/// If the expressions leave it open, the traced sizes decide, as they did in PyTorch.
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
    let axes: Vec<(Dim, Dim)> = from.shape.iter().copied().zip(strides).collect();
    regroup(symbols, &axes, shape).map(|strides| strides.is_some())
}
