//! Reductions along axes, and pools over all spatial axes, which are some.

use onnxport_ir::ops::Res;
use onnxport_ir::tensor::{DType, Kind};

use super::{Line, Operand, Pointer, Request, Step, Work, dense, longs, volume};
use crate::executor::device::{Grid, NUMBERS};
use crate::executor::source::{Kernel, number, suffix, tag};

pub(super) const OPS: &[Line] = &[
    ("GlobalAveragePool", &[], |r| spatial(r, &MEAN)),
    ("GlobalMaxPool", &[], |r| spatial(r, &MAX)),
    ("ReduceL1", &[1], |r| reduce(r, &Reduction { map: "abs", ..SUM })),
    ("ReduceL2", &[1], |r| reduce(r, &Reduction { map: "square", end: "sqrt", ..SUM })),
    ("ReduceLogSum", &[1], |r| reduce(r, &Reduction { end: "log", ..SUM })),
    ("ReduceLogSumExp", &[1], |r| reduce(r, &Reduction { map: "exp", end: "log", base: true, ..SUM })),
    ("ReduceMax", &[1], |r| reduce(r, &MAX)),
    ("ReduceMean", &[1], |r| reduce(r, &MEAN)),
    ("ReduceMin", &[1], |r| reduce(r, &Reduction { join: "smaller", ..MAX })),
    ("ReduceProd", &[1], |r| reduce(r, &Reduction { join: "times", ..SUM })),
    ("ReduceSum", &[1], |r| reduce(r, &SUM)),
    ("ReduceSumSquare", &[1], |r| reduce(r, &Reduction { map: "square", ..SUM })),
];

const FILE: &str = include_str!("../../../kernels/reduce.cu");

/// The map of each element, the combination of two, and the map of the result.
#[derive(Clone, Copy)]
struct Reduction {
    map: &'static str,
    join: &'static str,
    end: &'static str,
    /// Whether the largest element is taken away before, and added after.
    base: bool,
}

const SUM: Reduction = Reduction { map: "", join: "plus", end: "", base: false };
const MEAN: Reduction = Reduction { end: "mean", ..SUM };
const MAX: Reduction = Reduction { join: "larger", ..SUM };

/// The least value of a type, as C.
pub(super) fn least(dtype: DType) -> String {
    match dtype.kind() {
        Kind::Float => number(dtype, f64::NEG_INFINITY),
        Kind::Int if suffix(dtype) == "i" => {
            // The literal of the least number is none: it is one less than its neighbour.
            format!("({}ll - 1)", -(((1u64 << (dtype.bits() - 1)) - 1) as i64))
        }
        _ => "0".to_owned(),
    }
}

fn most(dtype: DType) -> String {
    match dtype.kind() {
        Kind::Float => number(dtype, f64::INFINITY),
        Kind::Int if suffix(dtype) == "i" => format!("{}ll", ((1u64 << (dtype.bits() - 1)) - 1) as i64),
        Kind::Int => format!("{}ull", u64::MAX >> (64 - dtype.bits())),
        _ => "1".to_owned(),
    }
}

impl Reduction {
    /// The macros of the kernel; `None` where the reduction is not one of such elements.
    fn kernel(&self, dtype: DType) -> Option<Kernel> {
        let (tag, s, float) = (tag(dtype)?, suffix(dtype), dtype.is_float());
        if !float && (self.base || !matches!(self.end, "") || (dtype == DType::Bool && self.join == "plus")) {
            return None;
        }
        let (start, join) = match self.join {
            "plus" => ("0".to_owned(), "((x) + (y))".to_owned()),
            "times" => ("1".to_owned(), "((x) * (y))".to_owned()),
            "larger" => (least(dtype), format!("larger_{s}(x, y)")),
            _ => (most(dtype), format!("smaller_{s}(x, y)")),
        };
        let map = match self.map {
            "abs" if float => format!("abs_{s}(x)"),
            "abs" => "((x) < 0 ? -(x) : (x))".to_owned(),
            "square" => "((x) * (x))".to_owned(),
            "exp" => format!("exp_{s}((x) - base)"),
            _ => "(x)".to_owned(),
        };
        let end = match (self.end, self.base) {
            ("mean", _) => "((x) / (count))".to_owned(),
            ("sqrt", _) => format!("sqrt_{s}(x)"),
            ("log", true) => format!("(base + log_{s}(x))"),
            ("log", false) => format!("log_{s}(x)"),
            _ => "(x)".to_owned(),
        };
        let (largest, low) = (format!("larger_{s}"), least(dtype));
        let mut macros = vec![
            ("TYPE", tag),
            ("START", start.as_str()),
            ("JOIN(x, y)", join.as_str()),
            ("MAP(x)", map.as_str()),
            ("END(x, count)", end.as_str()),
        ];
        if self.base {
            macros.extend([("BASE", largest.as_str()), ("LEAST", low.as_str())]);
        }
        Some(Kernel::new("reduce", FILE, &macros))
    }

    /// The reduction of `x` over `axes`.
    fn work(&self, x: &Operand, axes: &[usize], keep: bool) -> Option<Work> {
        let steps = dense(&x.shape);
        let part = |inside: bool| -> Vec<(i64, i64)> {
            let all = longs(&x.shape).zip(&steps).enumerate();
            let own = all.filter(|(at, (extent, _))| axes.contains(at) == inside && *extent != 1);
            let mut out: Vec<(i64, i64)> = Vec::new();
            for (_, (extent, step)) in own {
                match out.last_mut() {
                    Some((outer, before)) if *before == step * extent => {
                        (*outer, *before) = (*outer * extent, *step);
                    }
                    _ => out.push((extent, *step)),
                }
            }
            out
        };
        let (groups, within) = (part(false), part(true));
        let shape: Vec<usize> = (x.shape.iter().enumerate())
            .filter_map(|(at, extent)| match (axes.contains(&at), keep) {
                (false, _) => Some(*extent),
                (true, true) => Some(1),
                (true, false) => None,
            })
            .collect();
        let size: usize = axes.iter().filter_map(|at| x.shape.get(*at)).product();
        let count = volume(&shape);
        let mut numbers = vec![count as i64, size as i64, groups.len() as i64, within.len() as i64];
        for axes in [&groups, &within] {
            numbers.extend(axes.iter().map(|(extent, _)| *extent).chain(axes.iter().map(|(_, step)| *step)));
        }
        if numbers.len() > NUMBERS {
            return None;
        }
        let places = vec![Pointer::Input(0), Pointer::Output(0)];
        let step = Step::new(self.kernel(x.dtype)?, Grid::Groups(count as u64), places, numbers);
        Some(Work::new(x.dtype, shape, vec![step]))
    }
}

fn reduce(r: &Request<'_, '_>, how: &Reduction) -> Res<Option<Work>> {
    let x = r.operand(0)?;
    let axes = r.call.axes(1, x.shape.len())?.unwrap_or_default();
    let keep = r.call.flag("keepdims");
    if axes.is_empty() && r.call.flag("noop_with_empty_axes") {
        return Ok(None);
    }
    let axes = if axes.is_empty() { (0..x.shape.len()).collect() } else { axes };
    Ok(how.work(x, &axes, keep))
}

fn spatial(r: &Request<'_, '_>, how: &Reduction) -> Res<Option<Work>> {
    let x = r.operand(0)?;
    let axes: Vec<usize> = (2..x.shape.len()).collect();
    let some = !axes.is_empty() && volume(&x.shape) > 0;
    Ok(some.then(|| how.work(x, &axes, true)).flatten())
}
