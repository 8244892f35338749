//! PyTorch's tree specifications: how flat inputs and outputs nest.

use serde::Deserialize;

use super::json;
use crate::diagnose::{Code, Diagnostic};

/// Longer names of leaves are not used.
const MAX_NAME: usize = 128;

/// A tree without its leaves.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct TreeSpec {
    /// The type of the node, `builtins.dict`; `None` for a leaf.
    pub r#type: Option<String>,
    /// The data of the node's type besides the children, as JSON: the keys of a dictionary.
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

    /// Returns the keys or fields of the children, if they are strings.
    pub fn keys(&self) -> Option<Vec<String>> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Context {
            Keys(Vec<String>),
            /// A cache of `transformers` has more after the keys, a dataclass the fields that are `None`.
            Record(Vec<String>, serde::de::IgnoredAny),
            /// `collections.defaultdict`.
            WithFactory {
                dict_context: Vec<String>,
            },
        }
        match serde_json::from_str(self.context.as_deref()?).ok()? {
            Context::Keys(keys) | Context::Record(keys, _) | Context::WithFactory { dict_context: keys } => {
                Some(keys)
            }
        }
    }

    /// Returns the names of the leaves: the path of keys and fields to each, joined by dots,
    /// `past_key_values.0.key`. A leaf without keys or fields on its path has none.
    pub fn leaf_names(&self) -> Vec<Option<String>> {
        let mut names = Vec::new();
        self.name_leaves(&mut Path::default(), &mut names);
        names
    }

    fn name_leaves(&self, path: &mut Path, names: &mut Vec<Option<String>>) {
        if self.is_leaf() {
            names.push(path.name());
            return;
        }
        let fields = self.keys().filter(|keys| keys.len() == self.children_spec.len());
        for (at, child) in self.children_spec.iter().enumerate() {
            let field = fields.as_ref().and_then(|fields| fields.get(at)).map(String::as_str);
            match field {
                // Caches of `transformers`: a list of keys and a list of values, an item for each layer.
                Some(field @ ("key_cache" | "value_cache")) if !child.is_leaf() => {
                    for (layer, part) in child.children_spec.iter().enumerate() {
                        path.with(None, layer, |path| {
                            path.with(field.strip_suffix("_cache"), at, |path| part.name_leaves(path, names));
                        });
                    }
                }
                field => path.with(field, at, |path| child.name_leaves(path, names)),
            }
        }
    }
}

/// The way from the root of a tree to one of its nodes.
#[derive(Default)]
struct Path {
    text: String,
    /// The number of keys and fields in it.
    fields: usize,
}

impl Path {
    /// Enters a child while `inside` runs: by its field if that can be part of a name, by its index otherwise.
    fn with(&mut self, field: Option<&str>, index: usize, inside: impl FnOnce(&mut Self)) {
        let (len, fields) = (self.text.len(), self.fields);
        let in_names = |c: char| c.is_alphanumeric() || "_-.:/".contains(c);
        let field = field.filter(|field| !field.is_empty() && field.chars().all(in_names));
        self.fields += usize::from(field.is_some());
        let step = match field {
            Some(field) => field.to_owned(),
            None if len == 0 => format!("output_{index}"),
            None => index.to_string(),
        };
        // Names beyond the limit are not extended.
        if len <= MAX_NAME {
            self.text.push_str(if len == 0 { "" } else { "." });
            self.text.push_str(&step);
        }
        inside(self);
        self.text.truncate(len);
        self.fields = fields;
    }

    fn name(&self) -> Option<String> {
        (self.fields > 0 && self.text.len() <= MAX_NAME).then(|| self.text.clone())
    }
}
