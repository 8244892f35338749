//! Derived initializers: the function `derive` of `graph/1`.

use onnxport_abi::graph::{Derivation, GraphContext, derive as operations};
use onnxport_abi::status;

use super::{Access, with};
use crate::clean::summed;
use crate::ir::ValueId;
use crate::tensor::{Binary, DType, LazyTensor, Transform, Unary};
use crate::tidy;

/// The reason why an initializer cannot be derived.
enum NotMade {
    /// The operation does not take the inputs.
    Refused,
    /// The request is not a valid derivation.
    Invalid,
}

pub(super) extern "C" fn derive(cx: GraphContext, derivation: &Derivation<'_>, out: &mut u64) -> u32 {
    let mut refused = false;
    let answer = with(cx, |access| {
        match add(access, derivation) {
            Ok(value) => *out = access.epoch.value(value),
            Err(NotMade::Refused) => refused = true,
            Err(NotMade::Invalid) => return None,
        }
        Some(())
    });
    if answer == status::OK && refused { status::REFUSED } else { answer }
}

fn add(access: &mut Access<'_>, derivation: &Derivation<'_>) -> Result<ValueId, NotMade> {
    let (Ok(inputs), Ok(parameters)) = (derivation.inputs.get(), derivation.parameters.get()) else {
        return Err(NotMade::Invalid);
    };
    let values: Option<Vec<ValueId>> = inputs.iter().map(|id| access.value(*id)).collect();
    let values = values.ok_or(NotMade::Invalid)?;
    if values.iter().any(|value| access.keeps(*value)) {
        return Err(NotMade::Refused);
    }
    let graph = &access.model().graph;
    let inputs: Option<Vec<LazyTensor>> =
        values.iter().map(|value| graph.initializer(*value).cloned()).collect();
    let inputs = inputs.ok_or(NotMade::Invalid)?;
    let weight = values.iter().any(|value| graph.is_weight(*value));
    let name = values.first().and_then(|value| graph.values[*value].name.as_deref()).filter(|_| weight);
    let name = name.map(tidy::folded);
    let operation = Operation { parameters, number: derivation.number };
    let made = operation.apply(derivation.operation, &inputs)?;
    let graph = &mut access.model_mut().ok_or(NotMade::Invalid)?.graph;
    Ok(if weight { graph.add_weight(name, made) } else { graph.add_initializer(None, made) })
}

/// The parameters of an operation besides its inputs.
struct Operation<'a> {
    parameters: &'a [i64],
    number: f64,
}

impl Operation<'_> {
    fn apply(&self, operation: u32, inputs: &[LazyTensor]) -> Result<LazyTensor, NotMade> {
        let binary = |operator| match inputs {
            [a, b] => a.binary(operator, b).ok_or(NotMade::Refused),
            _ => Err(NotMade::Invalid),
        };
        let unary = |make: &dyn Fn(&LazyTensor) -> Option<LazyTensor>| match inputs {
            [input] => make(input).ok_or(NotMade::Refused),
            _ => Err(NotMade::Invalid),
        };
        let then = |operator| unary(&|input| input.then(Transform::Unary(operator)));
        match operation {
            operations::CONCAT => {
                let [axis] = self.axes()?[..] else { return Err(NotMade::Invalid) };
                LazyTensor::concat(inputs, axis).ok_or(NotMade::Refused)
            }
            operations::ADD => binary(Binary::Add),
            operations::SUB => binary(Binary::Sub),
            operations::MUL => binary(Binary::Mul),
            operations::DIV => binary(Binary::Div),
            operations::NEG => then(Unary::Neg),
            operations::SQRT => then(Unary::Sqrt),
            operations::RECIPROCAL => then(Unary::Reciprocal),
            operations::CAST => {
                let dtype = match self.parameters {
                    [dtype] => i32::try_from(*dtype).ok().and_then(DType::from_onnx),
                    _ => None,
                };
                let dtype = dtype.ok_or(NotMade::Invalid)?;
                unary(&|input| {
                    if input.dtype == dtype {
                        Some(input.clone())
                    } else {
                        input.then(Transform::Cast(dtype))
                    }
                })
            }
            operations::TRANSPOSE => {
                let axes = self.axes()?;
                unary(&|input| {
                    if axes.is_sorted() { input.reshape(&input.shape) } else { input.permute(&axes) }
                })
            }
            operations::RESHAPE => {
                let extents = self.extents()?;
                unary(&|input| input.reshape(&extents))
            }
            operations::EXPAND => {
                let extents = self.extents()?;
                unary(&|input| input.expand(&extents))
            }
            operations::SLICE => {
                let [axis, start, end, step] = self.extents()?[..] else { return Err(NotMade::Invalid) };
                let axis = usize::try_from(axis).map_err(|_| NotMade::Invalid)?;
                unary(&|input| input.slice(axis, start, end, step))
            }
            operations::SUM => {
                let axes = self.axes()?;
                unary(&|input| summed(input, &axes))
            }
            operations::FILL => unary(&|input| scalar(input.dtype, self.number)),
            _ => Err(NotMade::Invalid),
        }
    }

    fn axes(&self) -> Result<Vec<usize>, NotMade> {
        let axes = self.parameters.iter().map(|axis| usize::try_from(*axis));
        axes.collect::<Result<_, _>>().map_err(|_| NotMade::Invalid)
    }

    fn extents(&self) -> Result<Vec<u64>, NotMade> {
        let extents = self.parameters.iter().map(|extent| u64::try_from(*extent));
        extents.collect::<Result<_, _>>().map_err(|_| NotMade::Invalid)
    }
}

/// Returns a scalar tensor of one float; `None` for a type that cannot hold it.
fn scalar(dtype: DType, number: f64) -> Option<LazyTensor> {
    let wide = LazyTensor::inline(DType::F64, Vec::new(), number.to_le_bytes().to_vec());
    let made = if dtype == DType::F64 { wide } else { wide.then(Transform::Cast(dtype))? };
    let bytes = made.read()?.into_owned();
    Some(LazyTensor::inline(dtype, Vec::new(), bytes))
}
