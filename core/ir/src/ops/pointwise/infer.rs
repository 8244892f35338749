//! Elements of small integers.

use smallvec::SmallVec;

use crate::ir::ShapeValue;
use crate::ops::infer::cx::{Contents, Cx, held};
use crate::sym::{Dim, Symbols};
use crate::tensor::DType;

/// `Neg`.
pub(super) fn neg(cx: &mut Cx<'_>) -> Option<Contents> {
    let items = cx.contents(0)?;
    held(items.iter().map(|d| cx.symbols.mul(*d, Dim::Const(-1))).collect())
}

/// `Add`.
pub(super) fn add(cx: &mut Cx<'_>) -> Option<Contents> {
    pairs(cx, |s, a, b| Some(s.add(a, b)))
}

/// `Sub`.
pub(super) fn sub(cx: &mut Cx<'_>) -> Option<Contents> {
    pairs(cx, |s, a, b| Some(s.sub(a, b)))
}

/// `Mul`.
pub(super) fn mul(cx: &mut Cx<'_>) -> Option<Contents> {
    pairs(cx, |s, a, b| Some(s.mul(a, b)))
}

/// `Max` of two.
pub(super) fn max(cx: &mut Cx<'_>) -> Option<Contents> {
    pairs(cx, |s, a, b| Some(s.max(a, b)))
}

/// `Min` of two.
pub(super) fn min(cx: &mut Cx<'_>) -> Option<Contents> {
    pairs(cx, |s, a, b| Some(s.min(a, b)))
}

/// `Div`.
pub(super) fn div(cx: &mut Cx<'_>) -> Option<Contents> {
    pairs(cx, |symbols, a, b| {
        if let (Dim::Const(a), Dim::Const(b)) = (a, b) {
            return a.checked_div(b).map(Dim::Const);
        }
        // ONNX rounds towards zero: a floor only where nothing is negative.
        let from = |d: Dim, least: i64| symbols.range(d).min.is_some_and(|n| n >= least);
        if from(a, 0) && from(b, 1) { Some(symbols.floor_div(a, b)) } else { symbols.exact_div(a, b) }
    })
}

/// `Mod` with the sign of the divisor.
pub(super) fn modulo(cx: &mut Cx<'_>) -> Option<Contents> {
    if cx.flag("fmod")? {
        return None;
    }
    pairs(cx, |symbols, a, b| {
        let never_zero = symbols.range(b).min.is_some_and(|n| n > 0) || b.as_const().is_some_and(|n| n != 0);
        never_zero.then(|| symbols.modulo(a, b))
    })
}

/// `f` of the elements of two lists of one length; one element goes with each of the other's.
fn pairs(cx: &mut Cx<'_>, f: impl Fn(&mut Symbols, Dim, Dim) -> Option<Dim>) -> Option<Contents> {
    let (a, b) = (cx.contents(0)?, cx.contents(1)?);
    if cx.node.inputs.len() != 2 || !matches!(cx.dtype(0), Some(DType::I64 | DType::I32)) {
        return None;
    }
    let length = match (a.len(), b.len()) {
        (x, y) if x == y => x,
        (1, n) | (n, 1) => n,
        _ => return None,
    };
    let pick = |v: &ShapeValue, i: usize| if v.len() == 1 { v[0] } else { v[i] };
    let out: Option<SmallVec<_>> = (0..length).map(|i| f(cx.symbols, pick(&a, i), pick(&b, i))).collect();
    held(out?)
}
