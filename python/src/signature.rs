//! The declarations of a model.

use bytes::Bytes;
use onnxport_core::onnx::{Extent, Port, Signature, further_outputs};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;
use serde_json::{Value, json};

use crate::error::raised;

/// The declarations of a model as JSON: `inputs`, `outputs` and `states`. A port has its `name`, its `type` as the
/// command shows it, and `dims`: numbers, names and nulls. Inputs that a call supplies are `given`; others are states
/// with an initial value.
#[pyfunction]
pub(crate) fn signature(py: Python<'_>, model: PyBackedBytes) -> PyResult<String> {
    let found = Signature::decode(Bytes::from_owner(model)).map_err(|problem| raised(py, &problem.into()))?;
    let kept: Vec<&str> =
        found.states.iter().filter(|state| state.kind != "input").map(|state| state.input.as_str()).collect();
    let input = |port: &Port| {
        let mut said = self::port(port);
        said["given"] = Value::Bool(!kept.contains(&port.name.as_str()));
        said
    };
    let state = |state: &onnxport_core::onnx::State| json!({ "name": state.name, "kind": state.kind, "input": state.input, "output": state.output });
    let said = json!({
        "inputs": found.inputs.iter().map(input).collect::<Vec<_>>(),
        "outputs": found.outputs.iter().map(port).collect::<Vec<_>>(),
        "sizes": found.sizes,
        "in_place": found.in_place,
        "states": found.states.iter().map(state).collect::<Vec<_>>(),
    });
    Ok(said.to_string())
}

fn port(port: &Port) -> Value {
    let dim = |dim: &Extent| match dim {
        Extent::Known(size) => json!(size),
        Extent::Named(name) => json!(name),
        Extent::Unknown => Value::Null,
    };
    let dims = port.dims.as_ref().map(|dims| dims.iter().map(dim).collect::<Vec<_>>());
    json!({ "name": port.name, "type": port.type_text(), "dims": dims.unwrap_or_default() })
}

/// The model with further outputs, called `names`, whose types its reader infers.
#[pyfunction]
pub(crate) fn with_outputs<'py>(
    py: Python<'py>,
    model: &[u8],
    names: Vec<String>,
) -> PyResult<Bound<'py, PyBytes>> {
    let more = further_outputs(names.iter().map(String::as_str));
    PyBytes::new_with(py, model.len() + more.len(), |room| {
        let (start, end) = room.split_at_mut(model.len());
        start.copy_from_slice(model);
        end.copy_from_slice(&more);
        Ok(())
    })
}
