//! The different slices of a tensor.

use onnxport_ir::ops::Res;
use onnxport_ir::tensor::{DType, Kind};

use super::norm::cut;
use super::{Line, Made, Place, Request, Scratch, Step, Work, volume};
use crate::executor::device::Grid;
use crate::executor::source::{Kernel, tag, unit};

pub(super) const OPS: &[Line] = &[("Unique", &[], unique)];

const FILE: &str = include_str!("../../../kernels/unique.cu");
/// The comparisons of elements beyond which slices are not held against each other.
const COMPARISONS: usize = 1 << 28;

/// What is scratch: the first slice that equals each, where that comes, how many different ones there are.
const FIRSTS: Place = Place::Scratch(0);
const PLACES: Place = Place::Scratch(1);
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
    let step = |name, more: &[Place]| {
        let places = [Place::Input(0), FIRSTS].iter().chain(more).copied().collect();
        Step::new(
            Kernel::new(name, &file, &[("TYPE", tag)]),
            Grid::Each(count as u64),
            places,
            numbers.clone(),
        )
    };
    let different = Place::Scratch(DIFFERENT);
    let steps = vec![
        step("first", &[]),
        step("rank", &[PLACES, different, Place::Output(1), Place::Output(3)]),
        step("pick", &[PLACES, different, Place::Output(0), Place::Output(2)]),
    ];
    let list = || Made::counted(DType::I64, vec![count], 0, DIFFERENT);
    let made = vec![
        Made::counted(x.dtype, shape, at, DIFFERENT),
        list(),
        Made::new(DType::I64, vec![count]),
        list(),
    ];
    let room = Scratch { bytes: 8 * count as u64, contents: Vec::new() };
    let none = Scratch { bytes: 8, contents: vec![0; 8] };
    Ok(Some(Work { made, scratch: vec![room.clone(), room, none], steps }))
}
