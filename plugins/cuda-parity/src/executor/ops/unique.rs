//! The different slices of a tensor.

use onnxport_ir::ops::Res;
use onnxport_ir::tensor::{DType, Kind};

use super::norm::cut;
use super::{Line, Output, Pointer, Request, Scratch, Step, Work, volume};
use crate::executor::device::Grid;
use crate::executor::source::{Kernel, tag, unit};

pub(super) const OPS: &[Line] = &[("Unique", &[], unique)];

const FILE: &str = include_str!("../../../kernels/unique.cu");
/// The comparisons of elements beyond which slices are not held against each other.
const COMPARISONS: usize = 1 << 28;

/// Scratch: the first slice that equals each, its index, and the number of different slices.
const FIRSTS: Pointer = Pointer::Scratch(0);
const PLACES: Pointer = Pointer::Scratch(1);
const DIFFERENT: usize = 2;

/// The different elements, or slices along an axis; where each stood first, which one each is, and how often it stands.
fn unique(r: &Request<'_, '_>) -> Res<Option<Work>> {
    let x = r.operand(0)?;
    let (shape, at) = match r.call.attr("axis") {
        Some(_) => (x.shape.clone(), r.call.axis(x.shape.len())?),
        None => (vec![volume(&x.shape)], 0),
    };
    let [outer, extent, inner] = cut(&shape, at);
    let count = shape[at];
    let ordered = matches!(x.dtype.kind(), Kind::Float | Kind::Int | Kind::Bool);
    let (Some(tag), Some(unit)) = (tag(x.dtype).filter(|_| ordered), unit(x.dtype)) else { return Ok(None) };
    if count.saturating_mul(volume(&shape)) > COMPARISONS {
        return Ok(None);
    }
    let file = format!("typedef {unit} UNIT;\n{FILE}");
    let numbers = vec![outer, extent, inner, i64::from(r.call.flag("sorted"))];
    let step = |name, more: &[Pointer]| {
        let places = [Pointer::Input(0), FIRSTS].iter().chain(more).copied().collect();
        Step::new(
            Kernel::new(name, &file, &[("TYPE", tag)]),
            Grid::Each(count as u64),
            places,
            numbers.clone(),
        )
    };
    let different = Pointer::Scratch(DIFFERENT);
    let steps = vec![
        step("first", &[]),
        step("rank", &[PLACES, different, Pointer::Output(1), Pointer::Output(3)]),
        step("pick", &[PLACES, different, Pointer::Output(0), Pointer::Output(2)]),
    ];
    let list = || Output::counted(DType::I64, vec![count], 0, DIFFERENT);
    let made = vec![
        Output::counted(x.dtype, shape, at, DIFFERENT),
        list(),
        Output::new(DType::I64, vec![count]),
        list(),
    ];
    let room = Scratch { bytes: 8 * count as u64, contents: Vec::new() };
    let none = Scratch { bytes: 8, contents: vec![0; 8] };
    Ok(Some(Work { made, scratch: vec![room.clone(), room, none], steps }))
}
