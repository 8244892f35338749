//! The requests to the process that runs a program, and its answers: safetensors files.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::Path;

use bytes::Bytes;
use safetensors::tensor::TensorView;
use safetensors::{Dtype, SafeTensors};
use serde::Serialize;

use crate::tensor::{DType, LazyTensor};
use crate::verify::expected::{Case, Expected, Recording};
use crate::weights;

/// The element types that inputs have.
const DTYPES: [Dtype; 18] = [
    Dtype::BOOL,
    Dtype::U8,
    Dtype::I8,
    Dtype::U16,
    Dtype::I16,
    Dtype::U32,
    Dtype::I32,
    Dtype::U64,
    Dtype::I64,
    Dtype::F16,
    Dtype::BF16,
    Dtype::F32,
    Dtype::F64,
    Dtype::F8_E5M2,
    Dtype::F8_E4M3,
    Dtype::F8_E5M2FNUZ,
    Dtype::F8_E4M3FNUZ,
    Dtype::F8_E8M0,
];

/// A key, and the element type, the sizes and the bytes of its tensor.
type Input<'a> = (String, Dtype, Vec<usize>, Cow<'a, [u8]>);

#[derive(Serialize)]
struct CaseRequest<'a> {
    name: String,
    inputs: Vec<&'a str>,
    continues: bool,
}

/// The message that asks for the values of `cases`, which are called by their numbers; for those that computing in
/// float64 gives as well where they are wanted `exact`. They are calls of the program in `archive`, or else in the one that
/// the process was started for.
///
/// # Errors
/// A sentence about an input that cannot be sent.
pub(super) fn request(cases: &[&Case], exact: bool, archive: Option<&Path>) -> Result<Vec<u8>, String> {
    let mut asked = Vec::with_capacity(cases.len());
    let mut inputs: Vec<Input<'_>> = Vec::new();
    for (number, case) in cases.iter().enumerate() {
        for (name, tensor) in &case.inputs {
            let dtype = spelled(tensor.dtype)
                .ok_or_else(|| format!("its input {name} has the element type {}", tensor.dtype))?;
            let shape = tensor.shape.iter().map(|extent| usize::try_from(*extent).ok()).collect();
            let shape: Option<Vec<usize>> = shape;
            let (Some(shape), Some(bytes)) = (shape, tensor.read()) else {
                return Err(format!("the value of its input {name} cannot be read"));
            };
            inputs.push((format!("{number}/input/{name}"), dtype, shape, bytes));
        }
        let inputs = case.inputs.iter().map(|(name, _)| name.as_str()).collect();
        asked.push(CaseRequest { name: number.to_string(), inputs, continues: case.continues });
    }
    let mut views = Vec::with_capacity(inputs.len());
    for (key, dtype, shape, bytes) in &inputs {
        let view = TensorView::new(*dtype, shape.clone(), bytes);
        views.push((key.as_str(), view.map_err(|error| format!("{key}: {error}"))?));
    }
    // Strings always serialise.
    let asked = serde_json::to_string(&asked).unwrap_or_default();
    let mut metadata = HashMap::from([("cases".to_owned(), asked)]);
    if exact {
        metadata.insert("exact".to_owned(), "f64".to_owned());
    }
    if let Some(archive) = archive {
        let text = archive.to_str().ok_or("the path of the program is not UTF-8")?;
        metadata.insert("archive".to_owned(), text.to_owned());
    }
    safetensors::serialize(views, Some(metadata)).map_err(|error| error.to_string())
}

fn spelled(dtype: DType) -> Option<Dtype> {
    DTYPES.into_iter().find(|spelled| weights::safetensors_dtype(*spelled) == Some(dtype))
}

/// An answer.
pub(super) enum Answer {
    /// The version of PyTorch.
    Greeting(String),
    /// The program's outputs for the case with this number.
    Values(usize, Expected),
    /// Why the program does not take the case with this number.
    Refused(usize, String),
    /// Why there are no answers.
    Error(String),
}

/// Reads an answer.
///
/// # Errors
/// A sentence about the fault.
pub(super) fn read(message: Vec<u8>) -> Result<Answer, String> {
    let message = Bytes::from(message);
    let (_, header) = SafeTensors::read_metadata(&message).map_err(|error| error.to_string())?;
    let metadata = header.metadata().clone().unwrap_or_default();
    let number = |text: &str| text.parse::<usize>().map_err(|_| format!("unknown case {text:?}"));
    if let Some(error) = metadata.get("error") {
        return Ok(Answer::Error(error.clone()));
    }
    if let Some(version) = metadata.get("torch") {
        return Ok(Answer::Greeting(version.clone()));
    }
    if let Some((case, why)) = metadata.get("case").zip(metadata.get("refused")) {
        return Ok(Answer::Refused(number(case)?, why.clone()));
    }
    let inline = |dtype: DType, shape: Vec<u64>, bytes: &[u8]| {
        LazyTensor::inline(dtype, shape, message.slice_ref(bytes))
    };
    let recording = Recording::index(&message, &inline)?;
    let [case] = recording.names() else { return Err("it is not about one case".to_owned()) };
    Ok(Answer::Values(number(case)?, recording.case(case)?.expected.ok_or("it has no values")?))
}
