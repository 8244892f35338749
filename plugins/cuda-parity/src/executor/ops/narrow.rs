//! Casts to elements of less than a byte.

use onnxport_ir::tensor::{DType, Kind};

use super::{Line, Operand, Pointer, Step, Work, volume};
use crate::executor::device::Grid;
use crate::executor::source::{Kernel, stored};

pub(super) const OPS: &[Line] = &[
    ("Cast", &[], |r| Ok(cast(r.operand(0)?, r.call.dtype("to")?))),
    ("CastLike", &[], |r| Ok(cast(r.operand(0)?, r.operand(1)?.dtype))),
];

const FILE: &str = include_str!("../../../kernels/narrow.cu");

/// The code of an element `x` of a wide type; `None` for types that no kernel packs.
fn code(from: DType, to: DType) -> Option<String> {
    let float = |mantissas: u32, bias: u32| Some(format!("small_code((double)(x), {mantissas}, {bias})"));
    match to {
        DType::F4E2M1 => float(1, 1),
        DType::F6E2M3 => float(3, 1),
        DType::F6E3M2 => float(2, 3),
        // Bits that do not fit are cut off; floats are rounded before that.
        DType::I4 | DType::U4 | DType::I2 | DType::U2 if from.kind() == Kind::Float => {
            Some("whole(rint((double)(x)))".to_owned())
        }
        DType::I4 | DType::U4 | DType::I2 | DType::U2 => Some("(x)".to_owned()),
        _ => None,
    }
}

fn cast(x: &Operand, to: DType) -> Option<Work> {
    let (tag, code, bits) = (stored(x.dtype)?, code(x.dtype, to)?, to.bits().to_string());
    let kernel = Kernel::new("narrow", FILE, &[("TYPE", tag), ("BITS", &bits), ("CODE(x)", &code)]);
    let count = volume(&x.shape) as u64;
    let places = vec![Pointer::Input(0), Pointer::Output(0)];
    let step = Step::new(kernel, Grid::Each(count.div_ceil(8)), places, vec![count as i64]);
    Some(Work::new(to, x.shape.clone(), vec![step]))
}
