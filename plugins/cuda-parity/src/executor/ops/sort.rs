//! Operators along lines: extremes, running sums, the first elements in order.

use onnxport_ir::ops::{Error, Res};
use onnxport_ir::tensor::{DType, Kind};

use super::layout::front;
use super::norm::cut;
use super::{Line, Operand, Output, Pointer, Request, Step, Work, volume};
use crate::executor::device::Grid;
use crate::executor::source::{Kernel, tag};

pub(super) const OPS: &[Line] = &[
    ("ArgMax", &[], |r| extreme(r, true)),
    ("ArgMin", &[], |r| extreme(r, false)),
    ("CumProd", &[1], |r| running(r, "1", "((x) * (y))")),
    ("CumSum", &[1], |r| running(r, "0", "((x) + (y))")),
    ("TopK", &[1], top),
];

const FILE: &str = include_str!("../../../kernels/lines.cu");
/// The comparisons of one line beyond which the first elements are not searched for one by one.
const SEARCHES: usize = 1 << 26;

/// A kernel over the lines of `x`, which are numbers.
fn step(
    name: &'static str,
    x: &Operand,
    cut: [i64; 3],
    more: &[i64],
    places: Vec<Pointer>,
    how: [&str; 2],
) -> Option<Step> {
    let tag = tag(x.dtype).filter(|_| matches!(x.dtype.kind(), Kind::Float | Kind::Int))?;
    let kernel = Kernel::new(name, FILE, &[("TYPE", tag), ("START", how[0]), ("JOIN(x, y)", how[1])]);
    let numbers = cut.iter().chain(more).copied().collect();
    Some(Step::new(kernel, Grid::Each((cut[0] * cut[2]) as u64), places, numbers))
}

const NO_JOIN: [&str; 2] = ["0", "(x)"];

fn extreme(r: &Request<'_, '_>, largest: bool) -> Res<Option<Work>> {
    let x = r.operand(0)?;
    let at = r.call.axis(x.shape.len())?;
    let cut = cut(&x.shape, at);
    if cut[1] == 0 {
        return Err(Error::invalid(format!("axis {at} has no elements")));
    }
    let more = [i64::from(largest), i64::from(r.call.flag("select_last_index"))];
    let mut shape = x.shape.clone();
    if r.call.flag("keepdims") {
        shape[at] = 1;
    } else {
        shape.remove(at);
    }
    let step = step("extreme", x, cut, &more, vec![Pointer::Input(0), Pointer::Output(0)], NO_JOIN);
    Ok(step.map(|step| Work::new(DType::I64, shape, vec![step])))
}

fn running(r: &Request<'_, '_>, start: &str, join: &str) -> Res<Option<Work>> {
    let x = r.operand(0)?;
    let Some(axis) = r.call.long(1)? else { return Err(Error::invalid("the axis is missing")) };
    let cut = cut(&x.shape, front(axis, x.shape.len())?);
    let more = [i64::from(r.call.flag("exclusive")), i64::from(r.call.flag("reverse"))];
    let step = step("running", x, cut, &more, vec![Pointer::Input(0), Pointer::Output(0)], [start, join]);
    Ok(step.map(|step| Work::new(x.dtype, x.shape.clone(), vec![step])))
}

fn top(r: &Request<'_, '_>) -> Res<Option<Work>> {
    let x = r.operand(0)?;
    let at = r.call.axis(x.shape.len())?;
    let k = r.call.long(1)?.map_or_else(|| r.call.int("k"), Ok)?;
    let cut = cut(&x.shape, at);
    let Some(count) = usize::try_from(k).ok().filter(|_| k <= cut[1]) else {
        return Err(Error::invalid(format!("{k} elements cannot be picked out of {}", cut[1])));
    };
    if count.saturating_mul(cut[1] as usize) > SEARCHES {
        return Ok(None);
    }
    let mut shape = x.shape.clone();
    shape[at] = count;
    let more = [k, r.call.int("largest")?];
    let places = vec![Pointer::Input(0), Pointer::Output(0), Pointer::Output(1)];
    let Some(mut step) = step("top", x, cut, &more, places, NO_JOIN) else { return Ok(None) };
    if volume(&shape) == 0 {
        step.grid = Grid::Each(0);
    }
    let mut work = Work::new(x.dtype, shape.clone(), vec![step]);
    work.made.push(Output::new(DType::I64, shape));
    Ok(Some(work))
}
