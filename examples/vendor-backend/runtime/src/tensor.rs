//! Tensors in memory, row-major.

use std::borrow::Cow;

/// The elements of a tensor, borrowed from ONNX Runtime or made by an instruction.
#[derive(Clone, Debug, PartialEq)]
pub enum Data<'a> {
    /// The numbers to compute with.
    Floats(Cow<'a, [f32]>),
    /// Shapes.
    Ints(Cow<'a, [i64]>),
}

/// A tensor; the number of elements is the product of the extents.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor<'a> {
    /// The extents.
    pub dims: Vec<usize>,
    /// The elements.
    pub data: Data<'a>,
}

impl<'a> Tensor<'a> {
    /// A tensor of floats.
    pub fn floats(dims: Vec<usize>, elements: impl Into<Cow<'a, [f32]>>) -> Self {
        Self { dims, data: Data::Floats(elements.into()) }
    }

    /// The elements, where they are floats.
    pub fn as_floats(&self) -> Result<&[f32], String> {
        match &self.data {
            Data::Floats(elements) => Ok(elements),
            Data::Ints(_) => Err("a tensor of integers where floats are needed".to_owned()),
        }
    }

    /// The elements, where they are integers.
    pub fn as_ints(&self) -> Result<&[i64], String> {
        match &self.data {
            Data::Ints(elements) => Ok(elements),
            Data::Floats(_) => Err("a tensor of floats where integers are needed".to_owned()),
        }
    }
}

/// The product of extents.
pub fn count(dims: &[usize]) -> Result<usize, String> {
    dims.iter().try_fold(1_usize, |n, d| n.checked_mul(*d)).ok_or_else(|| format!("{dims:?} is too large"))
}

/// Returns the row-major strides, in elements.
pub fn strides(dims: &[usize]) -> Vec<usize> {
    let mut strides = vec![1; dims.len()];
    for axis in (0..dims.len().saturating_sub(1)).rev() {
        strides[axis] = strides[axis + 1] * dims[axis + 1];
    }
    strides
}

/// The sizes of two operands broadcast against each other.
pub fn broadcast(a: &[usize], b: &[usize]) -> Result<Vec<usize>, String> {
    let rank = a.len().max(b.len());
    let at = |dims: &[usize], axis: usize| (axis + dims.len()).checked_sub(rank).map_or(1, |i| dims[i]);
    (0..rank)
        .map(|axis| match (at(a, axis), at(b, axis)) {
            (x, y) if x == y || y == 1 => Ok(x),
            (1, y) => Ok(y),
            _ => Err(format!("{a:?} and {b:?} do not broadcast")),
        })
        .collect()
}

/// The strides with which an operand of sizes `dims` is read as one of sizes `wanted`.
pub fn broadcast_strides(dims: &[usize], wanted: &[usize]) -> Vec<usize> {
    let own = strides(dims);
    let skipped = wanted.len() - dims.len();
    let at = |axis: usize| if dims[axis] == 1 { 0 } else { own[axis] };
    (0..wanted.len()).map(|axis| axis.checked_sub(skipped).map_or(0, at)).collect()
}

/// Calls `visit` with the offset of every element in row-major order, for each list of strides.
pub fn each<const N: usize>(dims: &[usize], strides: [&[usize]; N], mut visit: impl FnMut([usize; N])) {
    if dims.contains(&0) {
        return;
    }
    let mut index = vec![0; dims.len()];
    let mut offsets = [0; N];
    loop {
        visit(offsets);
        let mut axis = dims.len();
        loop {
            if axis == 0 {
                return;
            }
            axis -= 1;
            index[axis] += 1;
            for (offset, strides) in offsets.iter_mut().zip(strides) {
                *offset += strides[axis];
            }
            if index[axis] < dims[axis] {
                break;
            }
            for (offset, strides) in offsets.iter_mut().zip(strides) {
                *offset -= strides[axis] * dims[axis];
            }
            index[axis] = 0;
        }
    }
}
