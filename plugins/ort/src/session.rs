//! A loaded model.

use std::borrow::Cow;

use onnxport_sdk::Lent;
use onnxport_sdk::abi::executor::TensorView;
use onnxport_sdk::executor::{Failure, Outputs, Session};
use ort::ErrorCode;
use ort::session::SessionInputValue;

use crate::tensor;

/// A model that ONNX Runtime loaded.
pub(crate) struct OrtSession {
    inner: ort::session::Session,
}

impl OrtSession {
    pub(crate) fn new(inner: ort::session::Session) -> Self {
        Self { inner }
    }
}

impl Session for OrtSession {
    fn run(&mut self, inputs: &[TensorView<'_>], outputs: &mut Outputs<'_>) -> Result<(), Failure> {
        let names: Vec<String> = self.inner.outputs().iter().map(|o| o.name().to_owned()).collect();
        let mut feeds: Vec<(Cow<'_, str>, SessionInputValue<'_>)> = Vec::with_capacity(inputs.len());
        for input in inputs {
            feeds.push((Cow::Borrowed(input.name.lent()), tensor::to_ort(input)?));
        }
        let results = self.inner.run(feeds).map_err(|e| {
            let failure = Failure::new(e.to_string());
            if e.code() == ErrorCode::NotImplemented { failure.unsupported() } else { failure }
        })?;
        for name in &names {
            let value = results
                .get(name)
                .ok_or_else(|| Failure::new(format!("ONNX Runtime returned no output {name:?}")))?;
            tensor::from_ort(name, value, outputs)?;
        }
        Ok(())
    }
}
