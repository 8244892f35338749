//! PyTorch's tree specifications: how flat inputs nest.

use serde::Deserialize;

use super::json;
use crate::diagnose::{Code, Diagnostic};

/// A tree without its leaves.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct TreeSpec {
    /// The type of the node, `builtins.dict`; `None` for a leaf.
    pub r#type: Option<String>,
    /// What the node's type records beside the children, as JSON: the keys of a dictionary.
    pub context: Option<String>,
    /// The children, in order.
    pub children_spec: Vec<TreeSpec>,
}

impl TreeSpec {
    /// Reads the text of [`Signature::in_spec`](crate::program::Signature::in_spec).
    ///
    /// # Errors
    /// `OP105` for malformed text and for a protocol other than 1.
    pub fn parse(text: &str) -> Result<Self, Diagnostic> {
        let (protocol, spec): (u32, TreeSpec) = json::parse(text.as_bytes(), "in_spec")?;
        if protocol == 1 {
            return Ok(spec);
        }
        let message = format!("a tree specification has the protocol {protocol}");
        Err(Diagnostic::error(Code::READ_SCHEMA, message))
    }

    /// Whether the node is a leaf.
    pub fn is_leaf(&self) -> bool {
        self.r#type.is_none()
    }

    /// The keys of a node whose context is a list of strings.
    pub fn keys(&self) -> Option<Vec<String>> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Context {
            Keys(Vec<String>),
            /// `collections.defaultdict` records its factory before the keys.
            Factory(serde::de::IgnoredAny, Vec<String>),
            /// A cache of `transformers` records more after the keys.
            Cache(Vec<String>, serde::de::IgnoredAny),
        }
        match serde_json::from_str(self.context.as_deref()?).ok()? {
            Context::Keys(keys) | Context::Factory(_, keys) | Context::Cache(keys, _) => Some(keys),
        }
    }
}
