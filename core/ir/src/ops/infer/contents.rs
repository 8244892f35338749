//! The elements of small integer values: sizes, and the arithmetic that shapes are built with.

use smallvec::{SmallVec, smallvec};

use super::cx::{Cx, axis};
use crate::ir::{Attr, MAX_CONTENTS, ShapeValue, small_integers};
use crate::ops::view::infer::shape_range;
use crate::sym::{Dim, Symbols};
use crate::tensor::DType;

type Outputs = SmallVec<[Option<ShapeValue>; 2]>;

/// The elements of every output of `cx.node`, where they are known.
pub(super) fn contents(cx: &mut Cx<'_>) -> Outputs {
    if cx.node.op == "Split" {
        return split(cx).unwrap_or_default();
    }
    let found = single(cx).filter(|c| c.len() <= MAX_CONTENTS);
    smallvec![found]
}

fn single(cx: &mut Cx<'_>) -> Option<ShapeValue> {
    match cx.node.op.as_str() {
        "Shape" => {
            let dims = cx.dims(0)?;
            let dims = &dims[shape_range(cx, dims.len())];
            // An extent that is not known is still one number, the same wherever this value goes.
            Some(dims.iter().map(|d| d.unwrap_or_else(|| cx.symbols.opaque())).collect())
        }
        "Size" => cx.product(cx.dims(0)?).map(|n| smallvec![n]),
        "Constant" => match &cx.node.attributes.as_slice() {
            [only] => match &only.value {
                Attr::Int(n) => Some(smallvec![Dim::Const(*n)]),
                Attr::Ints(items) => Some(items.iter().map(|n| Dim::Const(*n)).collect()),
                Attr::Tensor(data) => small_integers(data),
                _ => None,
            },
            _ => None,
        },
        "Identity" | "Squeeze" => cx.contents(0),
        // Still of rank 0 or 1 only when a single element gains its first axis.
        "Unsqueeze" => {
            let one_axis = cx.ints(1)?.len() == 1 && cx.dims(0)?.is_empty();
            one_axis.then(|| cx.contents(0))?
        }
        "Reshape" => cx.contents(0).filter(|_| matches!(cx.dims(1), Some([Some(Dim::Const(0 | 1))]))),
        "Cast" => {
            let to = DType::from_onnx(i32::try_from(cx.node.int("to")?).ok()?)?;
            matches!(to, DType::I64 | DType::I32).then(|| cx.contents(0))?
        }
        "Concat" => {
            let mut all = ShapeValue::new();
            for index in 0..cx.node.inputs.len() {
                all.extend(cx.contents(index)?);
                (all.len() <= MAX_CONTENTS).then_some(())?;
            }
            Some(all)
        }
        "Gather" => {
            let (data, picks) = (cx.contents(0)?, cx.ints(1)?);
            picks.iter().map(|p| Some(data[axis(*p, data.len())?])).collect()
        }
        "Slice" => slice(cx),
        "Add" | "Sub" | "Mul" | "Div" | "Mod" | "Max" | "Min" => arithmetic(cx),
        "Neg" => cx.contents(0).map(|c| c.iter().map(|d| cx.symbols.mul(*d, Dim::Const(-1))).collect()),
        "ReduceProd" | "ReduceSum" if cx.int("noop_with_empty_axes", 0) != 0 => None,
        "ReduceProd" => cx.contents(0).map(|c| smallvec![cx.symbols.product(c)]),
        "ReduceSum" => {
            let terms = cx.contents(0)?;
            Some(smallvec![terms.into_iter().fold(Dim::Const(0), |a, b| cx.symbols.add(a, b))])
        }
        "ConstantOfShape" => {
            let [n @ 0..=64] = cx.ints(0)?[..] else { return None };
            let fill = *cx.tensor_attr("value")?.first()?;
            Some(smallvec![fill; n as usize])
        }
        "Expand" => {
            let value = cx.contents(0)?;
            match (&value[..], &cx.ints(1)?[..]) {
                ([one], [n @ 1..=64]) => Some(smallvec![*one; *n as usize]),
                (_, [1] | []) => Some(value),
                _ => None,
            }
        }
        "Range" => {
            let bounds: [i64; 3] = [*cx.ints(0)?.first()?, *cx.ints(1)?.first()?, *cx.ints(2)?.first()?];
            range(bounds)
        }
        _ => None,
    }
}

fn range([start, limit, delta]: [i64; 3]) -> Option<ShapeValue> {
    let mut out = ShapeValue::new();
    let mut at = start;
    while (delta > 0 && at < limit) || (delta < 0 && at > limit) {
        out.push(Dim::Const(at));
        (out.len() <= MAX_CONTENTS).then_some(())?;
        at = at.checked_add(delta)?;
    }
    (delta != 0).then_some(out)
}

fn slice(cx: &mut Cx<'_>) -> Option<ShapeValue> {
    let data = cx.contents(0)?;
    cx.dims(0).filter(|d| d.len() == 1)?;
    let n = data.len() as i64;
    let one = |cx: &Cx<'_>, index: usize| cx.ints(index)?.first().copied();
    let step = if cx.input(4).is_some() { one(cx, 4)? } else { 1 };
    if step < 1 {
        return None;
    }
    let clamp = |at: i64| (if at < 0 { at.saturating_add(n) } else { at }).clamp(0, n) as usize;
    let (start, end) = (clamp(one(cx, 1)?), clamp(one(cx, 2)?));
    Some(data.get(start..end).unwrap_or_default().iter().step_by(step as usize).copied().collect())
}

fn split(cx: &mut Cx<'_>) -> Option<Outputs> {
    let data = cx.contents(0)?;
    let count = cx.node.outputs.len();
    let sizes: SmallVec<[i64; 4]> = if cx.input(1).is_some() {
        cx.ints(1)?
    } else {
        let chunk = data.len().div_ceil(count.max(1));
        (0..count).map(|i| data.len().saturating_sub(i * chunk).min(chunk) as i64).collect()
    };
    let mut rest = data.as_slice();
    let mut out = Outputs::new();
    for size in sizes {
        let (part, next) = rest.split_at_checked(usize::try_from(size).ok()?)?;
        out.push(Some(part.into()));
        rest = next;
    }
    Some(out)
}

fn arithmetic(cx: &mut Cx<'_>) -> Option<ShapeValue> {
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
    let fmod = cx.int("fmod", 0) != 0;
    let op = cx.node.op.as_str();
    (0..length).map(|i| apply(cx.symbols, op, fmod, pick(&a, i), pick(&b, i))).collect()
}

fn apply(symbols: &mut Symbols, op: &str, fmod: bool, a: Dim, b: Dim) -> Option<Dim> {
    Some(match op {
        "Add" => symbols.add(a, b),
        "Sub" => symbols.sub(a, b),
        "Mul" => symbols.mul(a, b),
        "Max" => symbols.max(a, b),
        "Min" => symbols.min(a, b),
        "Div" => {
            if let (Dim::Const(a), Dim::Const(b)) = (a, b) {
                return a.checked_div(b).map(Dim::Const);
            }
            // ONNX rounds towards zero: a floor only where nothing is negative.
            let nonnegative = |d: Dim, least: i64| symbols.range(d).min.is_some_and(|n| n >= least);
            if nonnegative(a, 0) && nonnegative(b, 1) {
                symbols.floor_div(a, b)
            } else {
                symbols.exact_div(a, b)?
            }
        }
        "Mod" if !fmod => {
            let never_zero =
                symbols.range(b).min.is_some_and(|n| n > 0) || b.as_const().is_some_and(|n| n != 0);
            never_zero.then(|| symbols.modulo(a, b))?
        }
        _ => return None,
    })
}
