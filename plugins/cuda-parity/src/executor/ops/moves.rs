//! Elements to other positions.

use onnxport_ir::tensor::DType;

use super::{Pointer, Step};
use crate::executor::device::{Grid, NUMBERS};
use crate::executor::source::{Kernel, unit};

const FILE: &str = include_str!("../../../kernels/copy.cu");

/// One side of a move: where the first element lies, and the steps per axis.
#[derive(Clone, Debug)]
pub(super) struct Side {
    pub(super) place: Pointer,
    pub(super) offset: i64,
    pub(super) steps: Vec<i64>,
}

/// A kernel of `copy.cu` for elements of `dtype`; `None` for elements that do not fill bytes.
pub(super) fn kernel(name: &'static str, dtype: DType) -> Option<Kernel> {
    let unit = unit(dtype)?;
    Some(Kernel::new(name, &format!("typedef {unit} UNIT;\n{FILE}"), &[]))
}

/// Axes that are walked together are one axis on both sides; those of size 1 are none.
pub(super) fn collapse(extents: &[usize], sides: [&[i64]; 2]) -> Vec<(i64, [i64; 2])> {
    let mut axes: Vec<(i64, [i64; 2])> = Vec::new();
    for ((extent, from), to) in extents.iter().zip(sides[0]).zip(sides[1]) {
        let extent = *extent as i64;
        match axes.last_mut() {
            _ if extent == 1 => {}
            Some((outer, steps)) if *steps == [from, to].map(|s| s.wrapping_mul(extent)) => {
                (*outer, *steps) = (*outer * extent, [*from, *to]);
            }
            _ => axes.push((extent, [*from, *to])),
        }
    }
    axes
}

/// The elements of `from` to `to`, over these sizes; `None` without a kernel.
pub(super) fn moved(dtype: DType, extents: &[usize], from: &Side, to: &Side) -> Option<Step> {
    let axes = collapse(extents, [&from.steps, &to.steps]);
    let count = super::volume(extents) as i64;
    let mut numbers = vec![count, axes.len() as i64, from.offset, to.offset];
    numbers.extend(axes.iter().map(|(extent, _)| *extent));
    for side in 0..2 {
        numbers.extend(axes.iter().map(|(_, steps)| steps[side]));
    }
    let fits = numbers.len() <= NUMBERS;
    let step = || {
        Some(Step::new(kernel("copy", dtype)?, Grid::Each(count as u64), vec![from.place, to.place], numbers))
    };
    if fits { step() } else { None }
}

/// The elements of an input, spread over the result by these steps.
pub(super) fn picked(dtype: DType, shape: &[usize], offset: i64, steps: Vec<i64>) -> Option<Step> {
    let from = Side { place: Pointer::Input(0), offset, steps };
    let to = Side { place: Pointer::Output(0), offset: 0, steps: super::dense(shape) };
    moved(dtype, shape, &from, &to)
}

#[cfg(test)]
mod tests {
    use super::collapse;

    #[test]
    fn axes_that_are_walked_together_are_one() {
        assert_eq!(collapse(&[2, 3, 1, 4], [&[12, 4, 9, 1], &[12, 4, 4, 1]]), [(24, [1, 1])]);
        // A transposition of the first two axes of three.
        assert_eq!(collapse(&[3, 2, 4], [&[4, 12, 1], &[8, 4, 1]]), [(3, [4, 8]), (2, [12, 4]), (4, [1, 1])]);
        assert_eq!(collapse(&[5, 4], [&[0, 0], &[4, 1]]), [(20, [0, 1])]);
        assert!(collapse(&[1, 1], [&[1, 1], &[1, 1]]).is_empty());
    }
}
