//! The names of a decoder's inputs, outputs and dimensions: those that optimum and onnxruntime-genai use.

use onnxport_core::capture::{Adapted, Decoder, Layer};
use onnxport_core::lower::{DimName, LowerOptions, Names};

use super::adapters;

/// Tokens of the call.
pub(super) const IDS: &str = "input_ids";
/// Which tokens of the past and of the call count.
pub(super) const MASK: &str = "attention_mask";
/// Positions of the tokens of the call.
pub(super) const POSITIONS: &str = "position_ids";
/// Logits.
pub(super) const LOGITS: &str = "logits";

/// Returns the names of the caches of all layers, such as `present.0.key` and `present_conv.1`, in order.
fn caches(of_attention: &str, of_convolution: &str, decoder: &Decoder) -> Vec<String> {
    let names = |(at, layer): (usize, &Layer)| match layer {
        Layer::Attention { .. } => {
            ["key", "value"].map(|part| format!("{of_attention}.{at}.{part}")).to_vec()
        }
        Layer::Convolution { .. } => vec![format!("{of_convolution}.{at}")],
    };
    decoder.layers.iter().enumerate().flat_map(names).collect()
}

/// Returns the options that name the interface; caches in buffers may be longer than the text.
pub(super) fn options(decoder: &Decoder, adapted: &Adapted, buffers: bool) -> LowerOptions {
    let tokens = [IDS, MASK].into_iter().chain(decoder.positions.then_some(POSITIONS)).map(str::to_owned);
    let low_rank = adapted.modules.iter().flat_map(|one| adapters::inputs(&one.module));
    let caches_in = caches("past_key_values", "past_conv", decoder);
    let inputs: Vec<String> = tokens.chain(caches_in).chain(low_rank).collect();
    let outputs =
        std::iter::once(LOGITS.to_owned()).chain(caches("present", "present_conv", decoder)).collect();
    let dim =
        |input: &str, axis, name: &str| DimName { input: input.to_owned(), axis, name: name.to_owned() };
    let grown = decoder.layers.iter().position(|layer| matches!(layer, Layer::Attention { .. }));
    let mut dims = vec![dim(IDS, 0, "batch_size"), dim(IDS, 1, "sequence_length")];
    dims.extend(grown.map(|at| dim(&format!("past_key_values.{at}.key"), 2, "past_sequence_length")));
    if buffers {
        dims.push(dim(MASK, 1, "total_sequence_length"));
    }
    for (at, module) in adapted.modules.iter().enumerate() {
        let [a, _] = adapters::inputs(&module.module);
        dims.push(dim(&a, 1, &format!("rank_{at}")));
    }
    LowerOptions {
        input_names: Names::InOrder(inputs),
        output_names: Names::InOrder(outputs),
        dims,
        ..LowerOptions::default()
    }
}
