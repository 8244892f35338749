//! `EPContext`, the node by which ONNX Runtime runs a blob of an execution provider.
//!
//! A backend of the domain `com.microsoft` emits it with its attributes and a blob called `ep_cache_context`. The host
//! decides where the blob is, and states it as ONNX Runtime defines: `embed_mode` is 1 and the attribute holds the
//! bytes, or `embed_mode` is 0 and it names a file beside the model. Providers may match the inputs and outputs of a
//! blob with those of the node by name, so that the names of these values are settled before regions are compiled.

use crate::ir::{Attr, Attribute};
use crate::op::microsoft;
use crate::tensor::LazyTensor;

use super::call::Emitted;

/// The domain of the operator.
pub(super) const DOMAIN: &str = microsoft::DOMAIN;

const OPERATOR: &str = "EPContext";
/// The attribute that holds the blob, or names its file.
const BLOB: &str = "ep_cache_context";
/// Whether the attribute holds the blob.
const EMBED: &str = "embed_mode";
/// Whether the node has a blob; others refer to one that has.
const MAIN: &str = "main_context";
/// The execution provider.
const SOURCE: &str = "source";
/// The name of the region in the blob.
const PARTITION: &str = "partition_name";

/// The attributes that ONNX Runtime takes, besides those of the host.
const ATTRIBUTES: [&str; 8] = [
    MAIN,
    SOURCE,
    PARTITION,
    "ep_sdk_version",
    "hardware_architecture",
    "max_size",
    "notes",
    "onnx_model_filename",
];

/// Whether a node is an `EPContext`.
pub(super) fn is_context(domain: &str, op: &str) -> bool {
    domain == DOMAIN && op == OPERATOR
}

/// Whether ONNX Runtime takes the node of a backend.
///
/// # Errors
/// A sentence about the node.
pub(super) fn check(node: &Emitted) -> Result<(), String> {
    let has = |name: &str| node.attributes.iter().find(|a| a.name == name).map(|a| &a.value);
    if let Some(other) = node.attributes.iter().find(|a| !ATTRIBUTES.contains(&a.name.as_str())) {
        return Err(format!("`{OPERATOR}` has no attribute `{}` for a backend to state", other.name));
    }
    for name in [SOURCE, PARTITION] {
        if !matches!(has(name), Some(Attr::Str(text)) if !text.is_empty()) {
            return Err(format!("`{OPERATOR}` does not state `{name}`"));
        }
    }
    match (has(MAIN), &node.blob) {
        (Some(Attr::Int(0)), None) => Ok(()),
        (Some(Attr::Int(1)) | None, Some((_, name))) if name == BLOB => Ok(()),
        (Some(Attr::Int(1)) | None, _) => Err(format!("`{OPERATOR}` has no blob called `{BLOB}`")),
        (Some(Attr::Int(0)), Some(_)) => Err(format!("`{OPERATOR}` has a blob, and `{MAIN}` is 0")),
        (Some(_), _) => Err(format!("`{MAIN}` of `{OPERATOR}` is neither 0 nor 1")),
    }
}

/// The attributes of a node that holds its blob.
///
/// # Errors
/// If the bytes cannot be read.
pub(super) fn embedded(blob: &LazyTensor) -> Result<Vec<Attribute>, String> {
    let bytes = blob.read().ok_or("a blob cannot be read")?.into_owned();
    Ok(vec![attribute(EMBED, Attr::Int(1)), attribute(BLOB, Attr::Bytes(bytes.into()))])
}

/// The attributes of a node whose blob is in `file`, a name without folders.
pub(super) fn beside(file: String) -> Vec<Attribute> {
    vec![attribute(EMBED, Attr::Int(0)), attribute(BLOB, Attr::Str(file))]
}

fn attribute(name: &str, value: Attr) -> Attribute {
    Attribute { name: name.into(), value }
}
