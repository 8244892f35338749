//! The unbound weights of a model, as its metadata describes them.

use std::collections::HashMap;

use onnxport_proto::ModelProto;

use super::{UNBOUND_KEY, UNBOUND_LOCATION, UnboundEntry, Weight};
use crate::tensor::{DType, LazyTensor, Unbound};

/// Returns the unbound weights of the metadata, in the order of the model's initializers; `None` if the model has
/// all its weights.
///
/// # Errors
/// The problem with the metadata, as a sentence.
pub fn waiting(proto: &ModelProto) -> Result<Option<Vec<UnboundEntry>>, String> {
    let mut listed = proto.metadata_props.iter().filter(|entry| entry.key() == UNBOUND_KEY);
    let Some(entry) = listed.next() else { return Ok(None) };
    let damaged = |why: String| format!("its metadata `{UNBOUND_KEY}` is damaged: {why}");
    if listed.next().is_some() {
        return Err(damaged("it is there twice".to_owned()));
    }
    serde_json::from_str(entry.value()).map(Some).map_err(|e| damaged(e.to_string()))
}

impl UnboundEntry {
    /// The element type in the program.
    ///
    /// # Errors
    /// If there is no such type, as a sentence.
    pub fn element(&self) -> Result<DType, String> {
        let known = DType::ALL.iter().find(|dtype| dtype.as_str() == self.dtype);
        known.copied().ok_or_else(|| format!("`{}` has the element type `{}`", self.name, self.dtype))
    }

    /// The tensor without bytes, as the model has it: complex numbers are pairs of reals.
    ///
    /// # Errors
    /// Those of [`element`](Self::element).
    pub fn tensor(&self) -> Result<LazyTensor, String> {
        let (dtype, storage) = (self.element()?, self.tied.as_ref().unwrap_or(&self.initializer).clone());
        let (name, shape) = (self.name.clone(), self.shape.clone());
        let tensor = Unbound { name, storage, dtype, shape, offset: 0, strides: None }.into_tensor();
        Ok(if dtype.is_complex() { tensor.pairs() } else { tensor })
    }
}

/// Checks the descriptions of unbound weights for consistency with each other and with the model's initializers.
///
/// # Errors
/// The contradiction, as a sentence.
pub fn check_waiting(entries: &[UnboundEntry], weights: &[Weight]) -> Result<(), String> {
    let numbers: HashMap<&str, usize> =
        entries.iter().enumerate().map(|(at, entry)| (entry.initializer.as_str(), at)).collect();
    let mut initializers: HashMap<&str, &Weight> = HashMap::new();
    for weight in weights {
        if initializers.insert(&weight.name, weight).is_some() {
            return Err(format!("it has two initializers `{}`", weight.name));
        }
    }
    for (at, entry) in entries.iter().enumerate() {
        let UnboundEntry { initializer, shape, tied, .. } = entry;
        let dtype = entry.element()?;
        if numbers.get(initializer.as_str()) != Some(&at) {
            return Err(format!("its metadata describes the initializer `{initializer}` twice"));
        }
        let waits = |weight: &&&Weight| weight.location.file() == Some(UNBOUND_LOCATION);
        let Some(weight) = initializers.get(initializer.as_str()).filter(waits) else {
            return Err(format!("its metadata describes `{initializer}`, which waits for no data"));
        };
        let (real, dims) = match dtype {
            DType::C64 => (DType::F32, [shape.as_slice(), &[2]].concat()),
            DType::C128 => (DType::F64, [shape.as_slice(), &[2]].concat()),
            dtype => (dtype, shape.clone()),
        };
        if weight.dtype != Some(real) || weight.dims != dims {
            return Err(format!("its metadata does not match the initializer `{initializer}`"));
        }
        let Some(first) = tied else { continue };
        let first = numbers.get(first.as_str()).filter(|first| **first < at);
        let same = first.and_then(|first| entries.get(*first));
        if !same.is_some_and(|e| e.tied.is_none() && e.dtype == entry.dtype && e.shape == *shape) {
            return Err(format!("its metadata ties `{initializer}` to an incompatible tensor"));
        }
    }
    Ok(())
}
