//! A transform of weights, applied while they stream into a file.

use onnxport_sdk::DType;
use onnxport_sdk::executor::Failure;
use onnxport_sdk::weights::{Granule, Transform, Weights};

#[cfg(test)]
mod tests;

#[derive(Default)]
struct Mine;

impl Weights for Mine {
    fn transforms(&self) -> Vec<Box<dyn Transform>> {
        vec![Box::new(Halved)]
    }
}

/// Halves every number.
struct Halved;

impl Transform for Halved {
    fn name(&self) -> &'static str {
        "halved"
    }

    /// What it must see together: whole rows. The host cuts weights into such pieces.
    fn granule(&self) -> Granule {
        Granule::Row
    }

    fn output(&self, dtype: DType, shape: &[u64]) -> Option<(DType, Vec<u64>)> {
        (dtype == DType::F32).then(|| (dtype, shape.to_vec()))
    }

    /// Called from several threads at a time. The same bytes always become the same bytes.
    fn apply(
        &self,
        _dtype: DType,
        _shape: &[u64],
        _first: u64,
        bytes: &[u8],
        out: &mut [u8],
    ) -> Result<(), Failure> {
        for (from, to) in bytes.as_chunks::<4>().0.iter().zip(out.as_chunks_mut::<4>().0) {
            *to = (f32::from_le_bytes(*from) * 0.5).to_le_bytes();
        }
        Ok(())
    }
}

onnxport_sdk::export_plugin! { id: "myplugin", weights: Mine }
