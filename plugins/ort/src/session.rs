//! A loaded model.

use std::borrow::Cow;

use onnxport_sdk::Lent;
use onnxport_sdk::abi::executor::TensorView;
use onnxport_sdk::abi::{DType, RSlice};
use onnxport_sdk::executor::{Failure, Outputs, Session};
use ort::ErrorCode;
use ort::session::SessionInputValue;

use crate::tensor;
use crate::twin::{self, Twin};

/// A model that ONNX Runtime loaded.
pub(crate) struct OrtSession {
    inner: ort::session::Session,
    /// The file loaded instead of the model; weights may be read from it later.
    twin: Option<Twin>,
    /// Whether it writes how long nodes took.
    is_profiled: bool,
}

impl OrtSession {
    pub(crate) fn new(inner: ort::session::Session, twin: Option<Twin>, is_profiled: bool) -> Self {
        Self { inner, twin, is_profiled }
    }
}

impl Drop for OrtSession {
    fn drop(&mut self) {
        if self.is_profiled {
            // Whoever asked for the file sees that it is not there.
            let _ = self.inner.end_profiling();
        }
    }
}

/// `input` in float32, if the twin of a model takes that type; `None` if it needs no conversion.
fn widened(twin: Option<&Twin>, input: &TensorView<'_>) -> Option<Vec<u8>> {
    let dtype = twin?.narrow.of(input.name.lent())?;
    (input.dtype == dtype.onnx()).then(|| twin::widened(dtype, input.bytes.lent()))
}

impl Session for OrtSession {
    fn run(&mut self, inputs: &[TensorView<'_>], outputs: &mut Outputs<'_>) -> Result<(), Failure> {
        let names: Vec<String> = self.inner.outputs().iter().map(|o| o.name().to_owned()).collect();
        let twin = self.twin.as_ref();
        let wide: Vec<Option<Vec<u8>>> = inputs.iter().map(|input| widened(twin, input)).collect();
        let mut feeds: Vec<(Cow<'_, str>, SessionInputValue<'_>)> = Vec::with_capacity(inputs.len());
        for (input, wide) in inputs.iter().zip(&wide) {
            let value = match wide {
                None => tensor::to_ort(input)?,
                Some(bytes) => {
                    let bytes = RSlice::from_slice(bytes);
                    tensor::to_ort(&TensorView { dtype: DType::F32.onnx(), bytes, ..*input })?
                }
            };
            feeds.push((Cow::Borrowed(input.name.lent()), value));
        }
        let results = self.inner.run(feeds).map_err(|e| {
            let failure = Failure::new(e.to_string());
            if e.code() == ErrorCode::NotImplemented { failure.unsupported() } else { failure }
        })?;
        for name in &names {
            let value = results
                .get(name)
                .ok_or_else(|| Failure::new(format!("ONNX Runtime returned no output {name:?}")))?;
            tensor::from_ort(name, value, twin.and_then(|twin| twin.narrow.of(name)), outputs)?;
        }
        Ok(())
    }
}
