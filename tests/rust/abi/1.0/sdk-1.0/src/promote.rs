//! PyTorch's type promotion, for calls whose result does not state the type of the computation
//! (comparisons). Source: `torch.result_type` and "Type promotion" in PyTorch's Tensor attributes.

use crate::{DType, Kind, Lower, Operand, Res, Scalar, Value};

impl Lower<'_> {
    /// The element type in which PyTorch computes with `operands`: those with axes decide, unless a
    /// 0-d tensor or a number is of a higher kind (bool < integer < float < complex).
    ///
    /// # Errors
    /// When the type or rank of a tensor is not known.
    pub fn promoted(&self, operands: &[Operand]) -> Res<DType> {
        // One slot per category: tensors with axes, 0-d tensors, numbers.
        let mut slots: [Option<DType>; 3] = [None; 3];
        for operand in operands {
            let (slot, dtype) = match operand {
                Operand::Tensor(value) => (usize::from(self.rank(*value)? == 0), self.dtype(*value)?),
                Operand::Number(number) => (2, self.number_type(number)?),
            };
            slots[slot] = Some(slots[slot].map_or(dtype, |d| promote(d, dtype)));
        }
        let mut result = None;
        for (slot, dtype) in slots.into_iter().enumerate() {
            let Some(dtype) = dtype else { continue };
            result = match result {
                // A float number with integer tensors computes in the default type.
                None if slot == 2 => Some(default_of(dtype)),
                None => Some(dtype),
                Some(chosen) if rank_of(dtype) > rank_of(chosen) => {
                    Some(if slot == 2 { default_of(dtype) } else { dtype })
                }
                chosen => chosen,
            };
        }
        result.ok_or_else(|| "the call has no operands".into())
    }

    fn number_type(&self, number: &Scalar) -> Res<DType> {
        Ok(match number {
            Scalar::Bool(_) => DType::Bool,
            Scalar::Int(_) => DType::I64,
            Scalar::Float(_) => DType::F32,
            Scalar::Complex(..) => DType::C64,
            // A Python float is `f64` in ONNX, but promotes like any number.
            Scalar::Sym(value) => match self.dtype(*value)? {
                DType::F64 => DType::F32,
                other => other,
            },
        })
    }

    /// `operand` as a value of `dtype`.
    pub fn operand(&mut self, operand: &Operand, dtype: DType) -> Value {
        match operand {
            Operand::Tensor(value) => self.cast(*value, dtype),
            Operand::Number(number) => self.number(number, dtype),
        }
    }
}

fn rank_of(dtype: DType) -> u8 {
    match dtype.kind() {
        Kind::Bool => 0,
        Kind::Int => 1,
        Kind::Float => 2,
        Kind::Complex => 3,
        Kind::Text => 4,
    }
}

fn default_of(dtype: DType) -> DType {
    match dtype.kind() {
        Kind::Float => DType::F32,
        Kind::Complex => DType::C64,
        _ => dtype,
    }
}

/// The type of a computation between two tensors of equal standing: `torch.promote_types`.
fn promote(a: DType, b: DType) -> DType {
    if a == b {
        return a;
    }
    let (low, high) = if rank_of(a) <= rank_of(b) { (a, b) } else { (b, a) };
    if rank_of(low) != rank_of(high) {
        // Complex absorbs a wider float: f64 with c64 is c128.
        return if low == DType::F64 && high == DType::C64 { DType::C128 } else { high };
    }
    match low.kind() {
        Kind::Float if low.bits() == high.bits() => DType::F32,
        Kind::Int if (low == DType::U8) != (high == DType::U8) => {
            let signed = if low == DType::U8 { high } else { low };
            if signed == DType::I8 { DType::I16 } else { signed }
        }
        _ if low.bits() >= high.bits() => low,
        _ => high,
    }
}

#[cfg(test)]
mod tests {
    use super::{DType, promote};

    #[test]
    fn promotion_follows_pytorch() {
        for (a, b, expected) in [
            (DType::F16, DType::BF16, DType::F32),
            (DType::U8, DType::I8, DType::I16),
            (DType::U8, DType::I64, DType::I64),
            (DType::I32, DType::F16, DType::F16),
            (DType::F64, DType::C64, DType::C128),
            (DType::F32, DType::F64, DType::F64),
        ] {
            assert_eq!(promote(a, b), expected, "{a} {b}");
            assert_eq!(promote(b, a), expected, "{b} {a}");
        }
    }
}
