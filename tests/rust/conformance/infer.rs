//! Compares inferred types with the expected outputs of the tests.

use std::path::Path;

use onnxport_ir::ir::{BlockId, Model, Shape, Type, ValueId};
use onnxport_ir::ops::Value;
use onnxport_ir::ops::infer;
use onnxport_ir::sym::Dim;

use super::data::Kinds;

/// How much is known of the outputs of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Known {
    All,
    Some,
    Nothing,
}

/// Infers the outputs from the types of the inputs, and from the contents of sizes, and compares
/// them with the expected outputs.
///
/// # Errors
/// If inference is wrong.
pub(crate) fn check(case: &Path, model: &mut Model) -> Result<Known, String> {
    let folder = case.join("test_data_set_0");
    let kinds = Kinds::from_model(model);
    let inputs = kinds.inputs(&folder)?;
    let expected = kinds.outputs(&folder)?;
    let main = model.graph.main();
    for (input, value) in model.graph.blocks[main].inputs.clone().into_iter().zip(&inputs) {
        let Some(Value::Tensor(tensor)) = value else { continue };
        // Types that files leave open are those of the data.
        let dims = tensor.shape().iter().map(|d| Dim::Const(*d as i64));
        model.graph.values[input].ty = Type::tensor(tensor.dtype(), Shape::of(dims));
        if let (Ok(items), true) = (tensor.longs(), tensor.rank() <= 1 && tensor.len() <= 64) {
            let items = items.into_iter().map(Dim::Const).collect();
            model.graph.set_shape_value(input, items);
        }
    }
    let outputs: Vec<ValueId> = model.graph.blocks[main].outputs().to_vec();
    forget(model, main);
    let opset = model.opset();
    infer::infer_all(&mut model.graph, &mut model.symbols, opset);
    let mut worst = Known::All;
    for (index, (value, expected)) in outputs.iter().zip(&expected).enumerate() {
        let known = agrees(&model.graph.values[*value].ty, expected)
            .map_err(|why| format!("output {index} {why}"))?;
        worst = worst.max(known);
    }
    Ok(worst)
}

/// Drops the types that the file states for outputs of nodes.
fn forget(model: &mut Model, block: BlockId) {
    for node in model.graph.order(block).collect::<Vec<_>>() {
        for inner in model.graph.nodes[node].blocks().collect::<Vec<_>>() {
            forget(model, inner);
        }
        for output in model.graph.nodes[node].outputs.clone().into_iter().flatten() {
            model.graph.values[output].ty = Type::Unknown;
        }
    }
}

fn agrees(ty: &Type, expected: &Value) -> Result<Known, String> {
    let expected = match expected {
        Value::Tensor(tensor) => tensor,
        Value::Optional(Some(inner)) if matches!(ty, Type::Tensor { .. }) => match &**inner {
            Value::Tensor(tensor) => tensor,
            _ => return Err("is a tensor by inference".to_owned()),
        },
        _ if matches!(ty, Type::Unknown) => return Ok(Known::Nothing),
        _ if matches!(ty, Type::Tensor { .. }) => return Err("is a tensor by inference".to_owned()),
        Value::Optional(Some(inner)) => match ty {
            Type::Optional(ty) => return agrees(ty, inner),
            other => return agrees(other, inner),
        },
        Value::Sequence(_, items) => {
            let element = match ty {
                Type::Sequence(element) => element,
                Type::Optional(inner) => return agrees(inner, expected),
                other => return Err(format!("is {other:?} by inference and a sequence")),
            };
            // The shape of an item may differ from that of others.
            let each = items.iter().map(|item| agrees(element, item).map(|known| known.min(Known::Some)));
            let known = each.collect::<Result<Vec<_>, _>>()?;
            return Ok(if known.contains(&Known::Some) || element.is_stated() {
                Known::All
            } else {
                Known::Some
            });
        }
        _ => return Ok(Known::All),
    };
    let Type::Tensor { dtype, shape } = ty else {
        return if matches!(ty, Type::Unknown) {
            Ok(Known::Nothing)
        } else {
            Err("is not a tensor by inference".to_owned())
        };
    };
    if dtype.is_some_and(|d| d != expected.dtype()) {
        return Err(format!("is {dtype:?} by inference and {}", expected.describe()));
    }
    let Some(dims) = shape.dims() else { return Ok(Known::Nothing) };
    let fits = dims.len() == expected.rank()
        && dims.iter().zip(expected.shape()).all(|(dim, extent)| match dim {
            Some(Dim::Const(n)) => *n == *extent as i64,
            _ => true,
        });
    if !fits {
        return Err(format!("has the sizes {dims:?} by inference and is {}", expected.describe()));
    }
    let open = dims.iter().any(|d| d.is_none_or(|d| d.as_const().is_none()));
    Ok(if open || dtype.is_none() { Known::Some } else { Known::All })
}
