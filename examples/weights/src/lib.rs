//! `weights/1`: tensors that are made when they are written, a transform while they stream, and a quantiser.

use onnxport_sdk::executor::Failure;
use onnxport_sdk::prelude::DType;
use onnxport_sdk::weights::{Granule, Part, Quantiser, Row, Step, Tensor, Transform, Weights, bounds};

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

    fn quantisers(&self) -> Vec<Box<dyn Quantiser>> {
        vec![Box::new(Clip)]
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

/// Cuts off the largest weights of a block where that makes the sum of the squared errors smaller: the others
/// get smaller steps.
struct Clip;

impl Clip {
    /// Hundredths of the range that are tried. The whole range comes first, and stays unless another one is
    /// better, so that no block is worse than with the host's own rounding.
    const KEPT: [u8; 12] = [100, 96, 92, 88, 84, 80, 76, 72, 68, 64, 60, 56];
}

impl Quantiser for Clip {
    fn name(&self) -> &'static str {
        "clip"
    }

    fn doc(&self) -> &'static str {
        "clips the weights of a block where their squared error becomes smaller"
    }

    /// Blocks are independent of each other, so that the granule may stay a block.
    fn quantise(&self, part: &Part<'_>, row: Row<'_>) -> Result<(), Failure> {
        for mut block in row.blocks(part) {
            let (low, high) = bounds(block.values);
            let mut best: Option<(f64, Step)> = None;
            for kept in Self::KEPT {
                let kept = f32::from(kept) / 100.0;
                let step = part.step(low * kept, high * kept);
                let error = part.squared_error(block.values, step);
                if best.is_none_or(|(least, _)| error < least) {
                    best = Some((error, step));
                }
            }
            if let Some((_, step)) = best {
                block.put(part, step);
            }
        }
        Ok(())
    }
}

onnxport_sdk::export_plugin! { id: "binary", weights: Binary }
