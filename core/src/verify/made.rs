//! Calls for a program that records none: inputs of the types that it states, filled with ones.
//!
//! One is an index that most tables have, a divisor, and a place that a mask leaves open.

use super::draw::Drawing;
use super::expected::Against;
use super::indices;
use super::samples::{self, Sample};
use super::source::cost;
use crate::diagnose::{Code, Diagnostic};
use crate::meta::Implied;
use crate::program::{InputKind, Program, ValueType};
use crate::registry::Schemas;
use crate::sizes::Constraints;
use crate::sym::{Dim, SymId};
use crate::tensor::{DType, LazyTensor, Transform};

impl Against {
    /// Calls whose inputs are made up, at the sizes with which the program was traced and at others.
    ///
    /// # Errors
    /// `OP704` when the program does not state a type or a size; `OP710` for a rule that fits no input.
    pub fn made(program: &Program, schemas: &Schemas, drawing: &Drawing) -> Result<Self, Diagnostic> {
        let inputs = program.signature.inputs.iter().zip(&program.body.inputs);
        let mut samples = Vec::new();
        let mut extents = indices::extents(program, schemas);
        for (place, (spec, arg)) in inputs.enumerate() {
            let (InputKind::User, Some(value)) = (&spec.kind, arg.as_value()) else { continue };
            let stated = program.body.values.find(value).map(|value| &value.ty);
            let sample = stated.and_then(|ty| sample(program, &spec.name, ty)).ok_or_else(|| {
                let message = format!(
                    "the program does not describe its input {} well enough to generate one",
                    spec.name
                );
                Diagnostic::error(Code::VERIFY_EXPECTED, message)
            })?;
            samples.push(Sample { within: extents.remove(&place).unwrap_or_default(), ..sample });
        }
        let constraints = Constraints::new(
            Implied::nothing(&program.symbols),
            &program.guards,
            samples.iter().map(Sample::port),
        );
        let mut against = samples::cases(&program.symbols, &samples, &constraints);
        against.cases.extend(drawing.cases(&program.symbols, &samples, &constraints, &cost(program))?);
        Ok(Self { made: true, ..against })
    }
}

fn sample(program: &Program, name: &str, ty: &ValueType) -> Option<Sample> {
    let hint = |id: SymId| program.symbols.get(id).hint;
    let traced = |dim: Dim| program.symbols.eval(dim, &hint);
    let scalar = |dtype, bytes: Vec<u8>| LazyTensor::inline(dtype, Vec::new(), bytes);
    let (dims, number, tensor) = match ty {
        ValueType::Tensor(ty) => {
            let (dtype, pair) = match ty.dtype {
                DType::C64 => (DType::F32, Some(Dim::Const(2))),
                DType::C128 => (DType::F64, Some(Dim::Const(2))),
                dtype => (dtype, None),
            };
            let dims: Vec<Dim> = ty.shape.iter().copied().chain(pair).collect();
            let extents = dims.iter().map(|dim| traced(*dim).and_then(|n| u64::try_from(n).ok()));
            let tensor = ones(dtype, extents.collect::<Option<_>>()?)?;
            (dims, None, tensor)
        }
        ValueType::SymInt(dim) => {
            (Vec::new(), Some(*dim), scalar(DType::I64, traced(*dim)?.to_le_bytes().to_vec()))
        }
        ValueType::SymFloat => (Vec::new(), None, scalar(DType::F64, 1f64.to_le_bytes().to_vec())),
        ValueType::SymBool => (Vec::new(), None, scalar(DType::Bool, vec![1])),
        ValueType::Token | ValueType::Custom(_) => return None,
    };
    Some(Sample { name: name.to_owned(), dims, number, tensor, within: Vec::new(), made: true })
}

/// A tensor of ones. `None` for types that no input has.
pub(super) fn ones(dtype: DType, shape: Vec<u64>) -> Option<LazyTensor> {
    if dtype.is_float() {
        let wide = LazyTensor::fill(DType::F32, shape, &1f32.to_le_bytes());
        return if dtype == DType::F32 { Some(wide) } else { wide.then(Transform::Cast(dtype)) };
    }
    let size = (dtype.bits().is_multiple_of(8)).then_some(dtype.bits() / 8)?;
    let one = 1u64.to_le_bytes();
    Some(LazyTensor::fill(dtype, shape, one.get(..size as usize)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_have_the_stated_types_and_the_traced_sizes() {
        let text = "\
symbol s0 2..16 hint 3
graph {
  input %x: f16[s0, 2*s0] = user
  input %ids: i64[s0] = user
  input %n: symint(s0) = user
  input %c: c64[2] = user
  output %x = user
}
";
        let program = Program::parse(text).unwrap();
        let against = Against::made(&program, &Schemas::new([""]), &Drawing::default()).unwrap();
        assert!(against.made && against.cases.len() == 3 && !against.has_values());
        let traced = &against.cases[0];
        let of = |at: usize| {
            let tensor = &traced.inputs[at].1;
            (tensor.dtype, tensor.shape.clone(), tensor.read().unwrap().into_owned())
        };
        assert_eq!(of(0), (DType::F16, vec![3, 6], [0, 0x3c].repeat(18)));
        assert_eq!(of(1), (DType::I64, vec![3], [1, 0, 0, 0, 0, 0, 0, 0].repeat(3)));
        assert_eq!(of(2), (DType::I64, vec![], 3i64.to_le_bytes().to_vec()));
        assert_eq!(of(3).1, [2, 2]);
        let other = &against.cases[1].inputs;
        assert_eq!(other[0].1.shape[1], 2 * other[1].1.shape[0]);
    }
}
