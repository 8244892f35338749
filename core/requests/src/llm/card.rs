//! The card of a folder: its contents, and the checks that ran.

use std::fmt::Write;

use onnxport_core::capture::{Decoder, Layer};
use onnxport_core::verify::Verification;
use onnxport_core::write::WriteReport;

use super::interface::LOGITS;
use super::{LlmRequest, LlmTarget, MODEL, genai};

/// The name of the file.
pub(super) const FILE: &str = "README.md";

/// The contents of a card.
pub(super) struct Card<'a> {
    pub(super) request: &'a LlmRequest,
    pub(super) decoder: &'a Decoder,
    pub(super) context: Option<u64>,
    pub(super) written: &'a WriteReport,
    pub(super) copied: &'a [String],
    /// The files of adapters.
    pub(super) adapters: &'a [String],
    pub(super) verification: Option<&'a Verification>,
}

impl Card<'_> {
    /// Returns the text, as Markdown.
    pub(super) fn text(&self) -> String {
        let Self { request, decoder, context, written, copied, adapters, verification } = self;
        let mut text = format!("# {} as ONNX\n\n", decoder.architecture);
        let logits = if request.last_logits { "of the last token" } else { "of all tokens" };
        let states = decoder.layers.iter().filter(|layer| matches!(layer, Layer::Convolution { .. })).count();
        let attention = decoder.layers.iter().find_map(|layer| match layer {
            Layer::Attention { heads, key_size, .. } => Some((heads, key_size)),
            Layer::Convolution { .. } => None,
        });
        let mut caches = attention.map_or_else(String::new, |(heads, size)| {
            format!("{} layers, {heads} heads of {size}", decoder.layers.len() - states)
        });
        if states > 0 {
            let _ = write!(caches, "; {states} states of convolutions");
        }
        let unknown = || "not stated".to_owned();
        let rows = [
            ("written by", format!("onnxport {}, {}", env!("CARGO_PKG_VERSION"), decoder.python)),
            ("target", format!("{} on {}", request.target.name(), request.provider.name())),
            ("element type", decoder.dtype.clone()),
            ("quantization", request.quantizing.text().unwrap_or_else(|| "none".to_owned())),
            ("vocabulary", decoder.vocabulary.to_string()),
            ("context", context.map_or_else(unknown, |tokens| format!("{tokens} tokens"))),
            ("caches", caches),
            ("logits", logits.to_owned()),
            ("model", format!("{} bytes", written.model_bytes)),
            ("weights", format!("{} bytes in {} tensors", written.data_bytes, written.tensors)),
        ];
        text.push_str("| | |\n|---|---|\n");
        // Writing to a String cannot fail.
        for (name, value) in rows {
            let _ = writeln!(text, "| {name} | {value} |");
        }
        let _ = write!(text, "\n`{MODEL}` is one graph for prompts and single tokens. ");
        text.push_str(if request.provider.buffers() {
            "Batch, sequence and past are dynamic. Attention is causal whatever the mask says of earlier tokens: texts of \
             several lengths are filled up at their end. Caches are buffers as long as the longest text, or as the past.\n"
        } else {
            "Batch, sequence and past are dynamic; the first call has caches of length 0.\n"
        });
        if request.provider.buffers() && request.last_logits {
            text.push_str("Logits are those of the last position: use texts of one length in a batch.\n");
        }
        if request.target == LlmTarget::Genai {
            let _ = writeln!(text, "`{}` describes it for onnxruntime-genai.", genai::FILE);
        }
        if !adapters.is_empty() {
            let _ = writeln!(
                text,
                "Adapters for ONNX Runtime: {}. Without one, the model is that of the checkpoint.",
                adapters.join(", ")
            );
        }
        if !request.merge_adapter.is_empty() {
            let merged = request.merge_adapter.iter().filter_map(|path| path.file_name());
            let merged: Vec<_> = merged.map(|name| name.to_string_lossy()).collect();
            let _ = writeln!(text, "The weights have the adapters: {}.", merged.join(", "));
        }
        let _ = writeln!(text, "Copied from the checkpoint: {}.", copied.join(", "));
        text.push_str("\n## Checks\n\n");
        match verification {
            Some(found) => {
                // Without the location of its library.
                let executor = found.executor.split(", ").next().unwrap_or_default();
                let cases: Vec<&str> = found.cases.iter().map(|case| case.name.as_str()).collect();
                let _ = writeln!(
                    text,
                    "- {executor} ran the model ({}); element types and shapes are those of the program.",
                    cases.join(", ")
                );
                let _ = writeln!(text, "- {}", self.values(found));
            }
            None => text.push_str("- The model was not run.\n"),
        }
        text.push_str("- Speed was not measured.\n");
        text
    }

    /// Returns the sentence about values.
    fn values(&self, found: &Verification) -> String {
        let outputs = found.cases.iter().flat_map(|case| &case.outputs);
        let relative = outputs.filter_map(|output| {
            let difference = output.difference.as_ref()?;
            (output.tensor.name == LOGITS && difference.largest > 0.0)
                .then_some(difference.max_abs / difference.largest)
        });
        match (relative.reduce(f64::max), &self.decoder.uncompared) {
            (Some(_), _) if !found.measured => {
                "Logits and caches are those of the checkpoint in PyTorch, within the tolerance of f32."
                    .to_owned()
            }
            (Some(most), _) => format!(
                "Logits differ from those of the checkpoint in PyTorch by {most:.0e} of the largest one at most."
            ),
            (None, Some(reason)) => format!("Values were not compared with PyTorch: {reason}."),
            (None, None) => "Values were not compared with PyTorch.".to_owned(),
        }
    }
}
