//! The elements of small integer values, such as sizes.

use smallvec::SmallVec;

use super::{Graph, ValueId};
use crate::sym::Dim;
use crate::tensor::LazyTensor;

/// The elements of an integer value of rank 0 or 1.
pub type ShapeValue = SmallVec<[Dim; 4]>;

/// Values with more elements than this are not followed.
pub const MAX_CONTENTS: usize = 64;

impl Graph {
    /// The elements of an integer value of rank 0 or 1, when they are known as constants or
    /// expressions over the symbols.
    pub fn shape_value(&self, value: ValueId) -> Option<ShapeValue> {
        if let Some(contents) = self.shape_values.get(&value) {
            return Some(contents.clone());
        }
        small_integers(self.initializer(value).filter(|_| !self.is_weight(value))?)
    }

    /// Records the elements of an integer value, for values that inference cannot
    /// follow but whose builder knows.
    pub fn set_shape_value(&mut self, value: ValueId, contents: ShapeValue) {
        self.shape_values.insert(value, contents);
    }
}

/// The elements of a small integer tensor of rank 0 or 1.
pub(crate) fn small_integers(data: &LazyTensor) -> Option<ShapeValue> {
    use crate::tensor::DType::{I32, I64};
    if data.shape.len() > 1 || !matches!(data.dtype, I32 | I64) || data.elements()? > MAX_CONTENTS as u64 {
        return None;
    }
    let bytes = data.read()?;
    Some(if data.dtype == I64 {
        let (chunks, _) = bytes.as_chunks::<8>();
        chunks.iter().map(|c| Dim::Const(i64::from_le_bytes(*c))).collect()
    } else {
        let (chunks, _) = bytes.as_chunks::<4>();
        chunks.iter().map(|c| Dim::Const(i64::from(i32::from_le_bytes(*c)))).collect()
    })
}
