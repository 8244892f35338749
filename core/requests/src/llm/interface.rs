//! The names of a decoder's inputs, outputs and dimensions: those that optimum and onnxruntime-genai use.

use onnxport_core::capture::Decoder;
use onnxport_core::lower::{DimName, LowerOptions, Names};

/// Tokens of the call.
pub(super) const IDS: &str = "input_ids";
/// Which tokens of the past and of the call count.
pub(super) const MASK: &str = "attention_mask";
/// Positions of the tokens of the call.
pub(super) const POSITIONS: &str = "position_ids";
/// Logits.
pub(super) const LOGITS: &str = "logits";

/// Returns the names of the cache of all layers, such as `present.0.key`, in order.
fn caches(prefix: &str, decoder: &Decoder) -> impl Iterator<Item = String> {
    let names = move |layer| ["key", "value"].map(|part| format!("{prefix}.{layer}.{part}"));
    (0..decoder.layers.len()).flat_map(names)
}

/// Returns the options that name the interface; caches in buffers may be longer than the text.
pub(super) fn options(decoder: &Decoder, buffers: bool) -> LowerOptions {
    let tokens = [IDS, MASK].into_iter().chain(decoder.positions.then_some(POSITIONS)).map(str::to_owned);
    let inputs: Vec<String> = tokens.chain(caches("past_key_values", decoder)).collect();
    let outputs = std::iter::once(LOGITS.to_owned()).chain(caches("present", decoder)).collect();
    let dim =
        |input: &str, axis, name: &str| DimName { input: input.to_owned(), axis, name: name.to_owned() };
    let mut dims = vec![
        dim(IDS, 0, "batch_size"),
        dim(IDS, 1, "sequence_length"),
        dim("past_key_values.0.key", 2, "past_sequence_length"),
    ];
    if buffers {
        dims.push(dim(MASK, 1, "total_sequence_length"));
    }
    LowerOptions {
        input_names: Names::InOrder(inputs),
        output_names: Names::InOrder(outputs),
        dims,
        ..LowerOptions::default()
    }
}
