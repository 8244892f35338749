//! The sizes of values in bytes, with numbers for unknown extents.

use crate::ir::{Type, ValueInfo};
use crate::sym::{Dim, Symbols};

/// How often sizes are assigned.
pub(crate) const TIMES: usize = 2;

/// Bytes at each assignment.
pub(crate) type Bytes = [u64; TIMES];

/// The size assumed for unknown sizes at each assignment.
const OPEN: [i64; TIMES] = [16, 256];

/// By how much a size is more, at each assignment, than when the program was traced.
const TRACED: [i64; TIMES] = [1, 8];

/// The numbers of all expressions of a model.
pub(crate) struct Sizes {
    values: [Vec<Option<i64>>; TIMES],
    /// The number of values whose rank or element type is unknown.
    pub(super) unknown: usize,
}

impl Sizes {
    pub(crate) fn from_symbols(symbols: &Symbols) -> Self {
        let at = |time: usize| {
            symbols.eval_all(&|id| {
                let symbol = symbols.get(id);
                let wanted = match symbol.hint {
                    Some(hint) => hint.saturating_mul(TRACED[time]),
                    None => OPEN[time],
                };
                let wanted = symbol.range.max.map_or(wanted, |max| wanted.min(max));
                Some(symbol.range.min.map_or(wanted, |min| wanted.max(min)))
            })
        };
        Self { values: [at(0), at(1)], unknown: 0 }
    }

    /// The bytes of a value.
    pub(crate) fn bytes(&mut self, value: &ValueInfo) -> Bytes {
        let Type::Tensor { dtype: Some(dtype), shape } = &value.ty else {
            self.unknown += 1;
            return [0; TIMES];
        };
        let Some(dims) = shape.dims() else {
            self.unknown += 1;
            return [0; TIMES];
        };
        let mut bytes = [0; TIMES];
        for (time, bytes) in bytes.iter_mut().enumerate() {
            let extents = dims.iter().map(|dim| self.extent(*dim, time));
            let elements = extents.fold(1_u64, u64::saturating_mul);
            *bytes = elements.saturating_mul(u64::from(dtype.bits())).div_ceil(8);
        }
        bytes
    }

    fn extent(&self, dim: Option<Dim>, time: usize) -> u64 {
        let number = match dim {
            Some(Dim::Const(n)) => Some(n),
            Some(Dim::Expr(id)) => self.values[time].get(id.raw() as usize).copied().flatten(),
            None => None,
        };
        u64::try_from(number.unwrap_or(OPEN[time])).unwrap_or(0)
    }
}
