//! `weights/1`: tensors that are made when they are written, and a transform while they stream.

use onnxport_sdk::executor::Failure;
use onnxport_sdk::prelude::DType;
use onnxport_sdk::weights::{Granule, Tensor, Transform, Weights};

#[derive(Default)]
struct Binary;

impl Weights for Binary {
    /// The first layer of `examples/mlp`.
    fn tensors(&self) -> Vec<Tensor> {
        let tensor = |name: &str, shape: &[u64]| Tensor {
            name: name.to_owned(),
            dtype: DType::F32,
            shape: shape.to_vec(),
        };
        vec![tensor("fc0.weight", &[8, 8]), tensor("fc0.bias", &[8])]
    }

    /// Every element is a half. Any range of bytes may be asked for, from any thread.
    fn fill(&self, _tensor: usize, offset: u64, out: &mut [u8]) -> Result<(), Failure> {
        let half = 0.5_f32.to_le_bytes();
        for (at, byte) in (offset as usize..).zip(out) {
            *byte = half[at % 4];
        }
        Ok(())
    }

    fn transforms(&self) -> Vec<Box<dyn Transform>> {
        vec![Box::new(Signs)]
    }
}

/// Replaces every number by 1 or -1.
struct Signs;

impl Transform for Signs {
    fn name(&self) -> &'static str {
        "signs"
    }

    fn granule(&self) -> Granule {
        Granule::Row
    }

    fn output(&self, dtype: DType, shape: &[u64]) -> Option<(DType, Vec<u64>)> {
        (dtype == DType::F32).then(|| (dtype, shape.to_vec()))
    }

    fn apply(
        &self,
        _dtype: DType,
        _shape: &[u64],
        _first: u64,
        bytes: &[u8],
        out: &mut [u8],
    ) -> Result<(), Failure> {
        for (from, to) in bytes.as_chunks::<4>().0.iter().zip(out.as_chunks_mut::<4>().0) {
            *to = 1_f32.copysign(f32::from_le_bytes(*from)).to_le_bytes();
        }
        Ok(())
    }
}

onnxport_sdk::export_plugin! { id: "binary", weights: Binary }
