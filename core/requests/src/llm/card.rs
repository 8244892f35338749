//! The card of a folder: its contents, and the checks that ran.

use std::fmt::Write;

use onnxport_core::capture::Decoder;
use onnxport_core::verify::Verification;
use onnxport_core::write::WriteReport;

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
    pub(super) verification: Option<&'a Verification>,
}

impl Card<'_> {
    /// Returns the text, as Markdown.
    pub(super) fn text(&self) -> String {
        let Self { request, decoder, context, written, copied, verification } = self;
        let mut text = format!("# {} as ONNX\n\n", decoder.architecture);
        let logits = if request.last_logits { "of the last token" } else { "of all tokens" };
        let layer = decoder.layers.first();
        let caches = layer.map_or_else(String::new, |layer| {
            format!("{} layers, {} heads of {}", decoder.layers.len(), layer.heads, layer.key_size)
        });
        let unknown = || "not stated".to_owned();
        let rows = [
            ("written by", format!("onnxport {}, {}", env!("CARGO_PKG_VERSION"), decoder.python)),
            ("target", request.target.name().to_owned()),
            ("element type", decoder.dtype.clone()),
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
        text.push_str("Batch, sequence and past are dynamic; the first call has caches of length 0.\n");
        if request.target == LlmTarget::Genai {
            let _ = writeln!(text, "`{}` describes it for onnxruntime-genai.", genai::FILE);
        }
        let _ = writeln!(text, "Copied from the checkpoint: {}.", copied.join(", "));
        text.push_str("\n## Checks\n\n");
        match verification {
            Some(found) => {
                // Without the location of its library.
                let executor = found.executor.split(", ").next().unwrap_or_default();
                let _ = writeln!(
                    text,
                    "- {executor} ran the model on {} generated calls; element types and shapes are those of the program.",
                    found.cases.len()
                );
            }
            None => text.push_str("- The model was not run.\n"),
        }
        text.push_str("- Values were not compared with PyTorch: the model was captured without weights.\n");
        text.push_str("- Speed was not measured.\n");
        text
    }
}
