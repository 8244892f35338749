//! Trials of rules written in Python.

use std::collections::BTreeMap;

use onnxport_core::Host;
use onnxport_core::ir::Attr;
use onnxport_core::optimise::{Trial, Verdict};
use onnxport_core::tensor::DType;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::functions::{self, Functions};
use super::{attribute, root};
use crate::work;

/// Computes both sides of the only rule of `functions`, called `name`, with drawn values: the element type and the
/// shape of each are given by name. Returns `None` if both agree, else whether the rule was applied, and the
/// difference.
#[pyfunction]
#[pyo3(signature = (functions, name, pattern, values, attributes, *, opset, bound, seed))]
#[expect(clippy::too_many_arguments, reason = "they are named in Python")]
pub(crate) fn try_rule(
    py: Python<'_>,
    functions: Py<Functions>,
    name: String,
    pattern: String,
    values: BTreeMap<String, (i32, Vec<u64>)>,
    attributes: BTreeMap<String, Bound<'_, PyAny>>,
    opset: i64,
    bound: f64,
    seed: u64,
) -> PyResult<Option<(bool, String)>> {
    let typed = values.into_iter().map(|(name, (dtype, shape))| {
        let dtype =
            DType::from_onnx(dtype).ok_or_else(|| PyValueError::new_err("no element type of ONNX"))?;
        Ok((name, (dtype, shape)))
    });
    let values = typed.collect::<PyResult<_>>()?;
    let plain = attributes.into_iter().map(|(name, value)| {
        let wrong = || PyValueError::new_err(format!("the attribute `{name}` is not a number, text or list"));
        let value = attribute::plain(&value)?.and_then(attr).ok_or_else(wrong)?;
        Ok((name, value))
    });
    let attributes = plain.collect::<PyResult<_>>()?;
    let trial = Trial { name, pattern, values, attributes, opset, bound, seed };
    let tried = work::run(py, None, move |_| {
        Ok(functions::run(Some(functions), || {
            let host = Host::new(&[&root::ROOT])?;
            Ok::<_, onnxport_core::Report>(trial.run(&host))
        })?)
    });
    let verdict = tried?.map_err(PyValueError::new_err)?;
    Ok(match verdict {
        Verdict::Agree => None,
        Verdict::NotApplied(why) => Some((false, why)),
        Verdict::Differ(how) => Some((true, how)),
    })
}

/// An attribute of a model.
fn attr(attribute: onnxport_sdk::Attribute) -> Option<Attr> {
    use onnxport_sdk::Attribute as Given;
    Some(match attribute {
        Given::Int(n) => Attr::Int(n),
        Given::Float(x) => Attr::Float(x),
        Given::Str(text) => Attr::Str(text),
        Given::Ints(ints) => Attr::Ints(ints),
        Given::Floats(floats) => Attr::Floats(floats),
        Given::Strs(texts) => Attr::Strs(texts),
        _ => return None,
    })
}
