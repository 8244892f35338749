//! Exported programs with as many bytes of weights as are wanted, in the shape of a Llama decoder:
//! embedding, layers of RMS norm, attention and a gated MLP, a last norm and a projection to the
//! vocabulary. There are no rotary embeddings. The weights are zeros that take no space on the disk, but
//! for a first element by which they differ, unless numbers are asked for.

mod archive;
mod graph;

use std::io;
use std::path::Path;

/// A program to generate.
#[derive(Clone, Copy, Debug)]
pub struct Llama {
    /// The width of the residual stream.
    hidden: u64,
    /// The width inside of the MLP.
    inner: u64,
    /// The number of layers.
    layers: u64,
    /// Whether the weights are numbers.
    filled: bool,
    /// Whether the weights of products lie in the archive column by column.
    transposed: bool,
}

/// The number of words.
const VOCABULARY: u64 = 32_000;

/// The width of an attention head.
const HEAD: u64 = 128;

/// The number of tokens of the call.
const TOKENS: u64 = 16;

impl Llama {
    /// A program with about this many bytes of float32 weights: as many layers as come closest, at
    /// least one.
    pub fn of_bytes(bytes: u64) -> Self {
        let (hidden, inner) = match bytes {
            0..1_000_000_000 => (1024, 2816),
            1_000_000_000..4_000_000_000 => (2048, 5632),
            _ => (4096, 11_008),
        };
        let ends = 2 * VOCABULARY * hidden * 4;
        let layer = 4 * (4 * hidden * hidden + 3 * hidden * inner);
        let layers = ((bytes.saturating_sub(ends) + layer / 2) / layer).max(1);
        Self { hidden, inner, layers, filled: false, transposed: false }
    }

    /// The same with numbers between -2 and 2 as weights, which take their space on the disk.
    #[must_use]
    pub fn filled(self) -> Self {
        Self { filled: true, ..self }
    }

    /// The same with the weights of products stored column by column: `[rows, columns]` with the strides
    /// `[1, rows]`.
    #[must_use]
    pub fn transposed(self) -> Self {
        Self { transposed: true, ..self }
    }

    /// The strides of a weight in elements.
    fn strides(&self, name: &str, shape: &[u64]) -> Vec<u64> {
        match shape {
            [rows, _] if self.transposed && name != graph::EMBEDDING => vec![1, *rows],
            _ => (1..=shape.len()).map(|axis| shape.iter().skip(axis).product()).collect(),
        }
    }

    /// The bytes of all weights.
    pub fn weight_bytes(&self) -> u64 {
        graph::weights(self).iter().map(|(_, shape)| 4 * shape.iter().product::<u64>()).sum()
    }

    /// Writes the archive to `path`; weights that are not numbers are holes.
    ///
    /// # Errors
    /// Those of writing a file.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        archive::write(self, path)
    }
}

#[cfg(test)]
mod tests {
    use onnxport_core::program::InputKind;
    use onnxport_core::pt2;

    use super::*;

    #[test]
    fn weights_are_numbers_and_lie_as_they_were_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("llama.pt2");
        let llama = Llama { hidden: 128, inner: 256, layers: 1, filled: true, transposed: true };
        llama.write(&path).unwrap();
        let archive = pt2::read(&path).unwrap();
        let mut transposed = 0;
        for spec in &archive.program.signature.inputs {
            let InputKind::Parameter(name) = &spec.kind else { continue };
            let weight = &archive.program.tensors[name];
            transposed += usize::from(weight.strides.is_some());
            let bytes = weight.read().unwrap();
            let values = bytes.as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b));
            assert!(values.clone().all(|value| value.abs() < 2.0) && values.clone().any(|v| v != 0.0));
        }
        assert_eq!(transposed, 8);
    }

    #[test]
    fn programs_have_the_weights_that_were_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("llama.pt2");
        let llama = Llama::of_bytes(300_000_000);
        llama.write(&path).unwrap();
        let archive = pt2::read(&path).unwrap();
        assert_eq!(archive.weight_bytes, llama.weight_bytes());
        assert!(archive.weight_bytes.abs_diff(300_000_000) < 30_000_000, "{}", archive.weight_bytes);
        let sizes = [500_000_000, 2_000_000_000, 8_000_000_000, 32_000_000_000u64];
        for bytes in sizes {
            let made = Llama::of_bytes(bytes).weight_bytes();
            assert!(made.abs_diff(bytes) < bytes / 15, "{made} for {bytes}");
        }
    }
}
