//! Which boxes stay.

use onnxport_ir::ops::Res;
use onnxport_ir::tensor::DType;

use super::layout::invalid;
use super::{Line, Output, Pointer, Request, Scratch, Step, Work};
use crate::executor::device::Grid;
use crate::executor::source::{Kernel, tag};

pub(super) const OPS: &[Line] = &[("NonMaxSuppression", &[2, 3, 4], suppress)];

const FILE: &str = include_str!("../../../kernels/boxes.cu");

/// Scratch memory: candidate boxes, kept boxes, counts per group, and the total.
const LEFT: Pointer = Pointer::Scratch(0);
const KEPT: Pointer = Pointer::Scratch(1);
const COUNTS: Pointer = Pointer::Scratch(2);
const ALL: usize = 3;

/// By falling score, of equal ones the first; a score has to be above the threshold.
fn suppress(r: &Request<'_, '_>) -> Res<Option<Work>> {
    let (boxes, scores) = (r.operand(0)?, r.operand(1)?);
    let (&[batch, count, 4], &[samples, classes, scored]) = (&*boxes.shape, &*scores.shape) else {
        return invalid(format!("{:?} and {:?} are not boxes and scores", boxes.shape, scores.shape));
    };
    if batch != samples || count != scored {
        return invalid(format!("boxes {:?} do not fit scores {:?}", boxes.shape, scores.shape));
    }
    let most = usize::try_from(r.call.long(2)?.unwrap_or(0)).unwrap_or(0).min(count);
    let (limit, threshold) = (r.call.number(3)?.unwrap_or(0.0), r.call.number(4)?);
    let floats = boxes.dtype.is_float() && scores.dtype.is_float();
    let (Some(place), Some(score)) = (tag(boxes.dtype).filter(|_| floats), tag(scores.dtype)) else {
        return Ok(None);
    };
    let groups = batch * classes;
    let kernel = |name| Kernel::new(name, FILE, &[("BOX", place), ("SCORE", score)]);
    let flags = [usize::from(r.call.flag("center_point_box")), usize::from(threshold.is_some())];
    let numbers = [groups, count, classes, most].iter().chain(&flags).map(|n| *n as i64).collect();
    let places = vec![Pointer::Input(0), Pointer::Input(1), LEFT, KEPT, COUNTS];
    let rows = (groups * most) as u64;
    let found = if rows == 0 { 0 } else { groups as u64 };
    let mut stay = Step::new(kernel("suppress"), Grid::Groups(found), places, numbers);
    stay.reals = vec![limit, threshold.unwrap_or(0.0)];
    let places = vec![KEPT, COUNTS, Pointer::Output(0), Pointer::Scratch(ALL)];
    let numbers = [groups, most, classes].map(|n| n as i64).into();
    let list = Step::new(kernel("list"), Grid::Each(rows), places, numbers);
    let room = |bytes: u64| Scratch { bytes, contents: Vec::new() };
    let none = Scratch { bytes: 8, contents: vec![0; 8] };
    let scratch = vec![room((groups * count) as u64), room(8 * rows), room(8 * groups as u64), none];
    let made = Output::counted(DType::I64, vec![groups * most, 3], 0, ALL);
    Ok(Some(Work { made: vec![made], scratch, steps: vec![stay, list] }))
}
