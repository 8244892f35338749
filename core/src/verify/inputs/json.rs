//! Calls as JSON: an object with a value for each input, a list of such objects, or an object of them by names.

use std::path::Path;

use serde_json::{Map, Value};

use super::{Values, wrong};
use crate::diagnose::{Code, Diagnostic};
use crate::files;
use crate::ops::{Elements, Tensor};
use crate::tensor::{DType, Kind, LazyTensor};
use crate::verify::Port;

/// The most bytes of a file.
const LONGEST: u64 = 1 << 30;

/// Reads the calls in the file at `path`. Values are numbers, truth values and nested lists of them; `"NaN"`,
/// `"Infinity"` and `"-Infinity"` are numbers too. They have the types that `ports` state.
///
/// # Errors
/// `OP101` when it cannot be read, `OP710` when it is not a call.
pub(super) fn read(path: &Path, ports: &[&Port]) -> Result<Vec<(Option<String>, Values)>, Diagnostic> {
    let text = files::text(path, LONGEST)
        .map_err(|e| Diagnostic::error(Code::READ_IO, format!("cannot read `{}`: {e}", path.display())))?;
    let found =
        serde_json::from_str(&text).map_err(|e| wrong(format!("`{}` is not JSON: {e}", path.display())))?;
    match found {
        Value::Object(calls) if !calls.is_empty() && calls.values().all(Value::is_object) => {
            calls.iter().map(|(name, call)| Ok((Some(name.clone()), values(call, ports)?))).collect()
        }
        Value::Array(calls) => (1..)
            .zip(&calls)
            .map(|(at, call): (usize, _)| Ok((Some(at.to_string()), values(call, ports)?)))
            .collect(),
        one => Ok(vec![(None, values(&one, ports)?)]),
    }
}

fn values(call: &Value, ports: &[&Port]) -> Result<Values, Diagnostic> {
    let none = Map::new();
    let Some(call) = call.as_object().or(Some(&none).filter(|_| call.is_null())) else {
        return Err(wrong("a call is an object with a value for each input".to_owned()));
    };
    let mut values = Values::new();
    for (name, value) in call {
        let port =
            ports.iter().find(|port| port.name == *name).or(ports.first().filter(|_| ports.len() == 1));
        let dtype = port.and_then(|port| port.dtype);
        let dtype = dtype.ok_or_else(|| wrong(format!("the model has no input `{name}` of a known type")))?;
        let tensor = tensor(value, dtype).map_err(|why| wrong(format!("the value for `{name}`: {why}")))?;
        values.insert(name.clone(), tensor);
    }
    Ok(values)
}

fn tensor(value: &Value, dtype: DType) -> Result<LazyTensor, String> {
    let mut shape = Vec::new();
    let mut at = value;
    while let Value::Array(all) = at {
        shape.push(all.len());
        let Some(first) = all.first() else { break };
        at = first;
    }
    let mut scalars = Vec::new();
    flatten(value, &shape, &mut scalars)?;
    let each = |what: &str, value: &Value| format!("{value} is not {what}, but the input is {dtype}");
    let elements = match dtype.kind() {
        Kind::Float => Elements::Float(
            scalars.iter().map(|v| real(v).ok_or_else(|| each("number", v))).collect::<Result<_, _>>()?,
        ),
        Kind::Int => Elements::Int(
            scalars.iter().map(|v| integer(v).ok_or_else(|| each("integer", v))).collect::<Result<_, _>>()?,
        ),
        Kind::Bool => Elements::Bool(
            scalars
                .iter()
                .map(|v| v.as_bool().ok_or_else(|| each("truth value", v)))
                .collect::<Result<_, _>>()?,
        ),
        Kind::Complex | Kind::Text => return Err(format!("JSON has no {dtype}")),
    };
    Tensor::new(dtype, shape, &elements).and_then(|tensor| tensor.to_lazy()).map_err(|error| error.message)
}

fn real(value: &Value) -> Option<f64> {
    match value.as_str() {
        Some("NaN") => Some(f64::NAN),
        Some("Infinity") => Some(f64::INFINITY),
        Some("-Infinity") => Some(f64::NEG_INFINITY),
        Some(_) => None,
        None => value.as_f64(),
    }
}

fn integer(value: &Value) -> Option<i128> {
    value.as_i64().map(i128::from).or_else(|| value.as_u64().map(i128::from))
}

/// The scalars of nested lists that all have the sizes `shape`.
fn flatten<'v>(value: &'v Value, shape: &[usize], into: &mut Vec<&'v Value>) -> Result<(), String> {
    match (value, shape) {
        (Value::Array(all), [extent, rest @ ..]) if all.len() == *extent => {
            all.iter().try_for_each(|value| flatten(value, rest, into))
        }
        (Value::Array(_), _) | (_, [_, ..]) => Err("its lists are not equally long".to_owned()),
        (scalar, []) => {
            into.push(scalar);
            Ok(())
        }
    }
}
