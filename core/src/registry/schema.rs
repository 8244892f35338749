//! Operator schemas, read from the lines that PyTorch prints:
//! `aten::add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)`.

mod read;

use std::sync::OnceLock;

use rustc_hash::FxHashMap;

pub use read::SchemaError;

use crate::program::Arg;

/// The schemas of all known operators.
///
/// Making one only finds where each schema is; a schema is read when it is first asked for.
#[derive(Debug, Default)]
pub struct Schemas {
    texts: Vec<String>,
    index: FxHashMap<String, Entry>,
}

#[derive(Debug)]
struct Entry {
    text: usize,
    start: usize,
    end: usize,
    parsed: OnceLock<Option<Box<Schema>>>,
}

/// The schema of one overload.
#[derive(Clone, Debug, PartialEq)]
pub struct Schema {
    /// The operator and overload as programs spell it: `aten.add_.Tensor`.
    pub target: String,
    /// The arguments, in order.
    pub args: Vec<SchemaArg>,
    /// The returns, in order.
    pub returns: Vec<SchemaReturn>,
}

/// An argument of a [`Schema`].
#[derive(Clone, Debug, PartialEq)]
pub struct SchemaArg {
    /// The name.
    pub name: String,
    /// The type.
    pub ty: SchemaType,
    /// Whether it can only be passed by name.
    pub kwarg_only: bool,
    /// The value of an argument that a call does not state.
    pub default: Option<Arg>,
    /// What it shares memory with.
    pub alias: Option<Alias>,
}

impl SchemaArg {
    /// Whether the operator writes to the argument.
    pub fn is_written(&self) -> bool {
        self.alias.as_ref().is_some_and(|a| a.write)
    }
}

/// A return of a [`Schema`].
#[derive(Clone, Debug, PartialEq)]
pub struct SchemaReturn {
    /// The name, if it has one.
    pub name: Option<String>,
    /// The type.
    pub ty: SchemaType,
    /// What it shares memory with.
    pub alias: Option<Alias>,
}

/// The type of an argument or return.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum SchemaType {
    Tensor,
    Int,
    SymInt,
    Float,
    Bool,
    Complex,
    /// Any number.
    Scalar,
    Str,
    DType,
    Layout,
    Device,
    MemoryFormat,
    Generator,
    /// The type or `None`.
    Optional(Box<SchemaType>),
    /// A list, with its length where the schema fixes it; a single element stands for that many.
    List(Box<SchemaType>, Option<u32>),
    /// A type that has no meaning here, as the schema spells it.
    Other(String),
}

/// Which memory an argument or return refers to: `(a!)`, `(b -> *)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alias {
    /// The name of the set; arguments and returns with the same name share memory.
    pub set: String,
    /// Whether the operator writes to it.
    pub write: bool,
}

impl Schemas {
    /// Indexes texts of one schema per line; `#` starts a comment line. Where two lines describe one
    /// overload, the first holds.
    pub fn new<T: Into<String>>(texts: impl IntoIterator<Item = T>) -> Self {
        let texts: Vec<String> = texts.into_iter().map(Into::into).collect();
        let mut index = FxHashMap::default();
        index.reserve(texts.iter().map(|t| t.len() / 100).sum());
        for (text, content) in texts.iter().enumerate() {
            let mut start = 0;
            for line in content.split_inclusive('\n') {
                let end = start + line.len();
                let name = line.split_once('(').map_or("", |(name, _)| name.trim());
                if !name.is_empty() && !name.starts_with('#') {
                    index.entry(target_of(name)).or_insert(Entry {
                        text,
                        start,
                        end,
                        parsed: OnceLock::new(),
                    });
                }
                start = end;
            }
        }
        Self { texts, index }
    }

    /// The schema of `target`, spelled `aten.add.Tensor`; `None` when it is unknown or malformed.
    pub fn get(&self, target: &str) -> Option<&Schema> {
        let entry = self.index.get(target)?;
        let parse = || {
            let line = self.texts.get(entry.text)?.get(entry.start..entry.end)?;
            Schema::parse(line).ok().map(Box::new)
        };
        entry.parsed.get_or_init(parse).as_deref()
    }

    /// Whether there is a line for `target`.
    pub fn contains(&self, target: &str) -> bool {
        self.index.contains_key(target)
    }

    /// The number of schemas.
    pub fn len(&self) -> usize {
        self.index.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.index.is_empty()
    }

    /// Every target, sorted.
    pub fn targets(&self) -> Vec<&str> {
        let mut targets: Vec<&str> = self.index.keys().map(String::as_str).collect();
        targets.sort_unstable();
        targets
    }
}

impl Schema {
    /// Reads one line.
    ///
    /// # Errors
    /// [`SchemaError`] for a malformed line.
    pub fn parse(line: &str) -> Result<Self, SchemaError> {
        read::schema(line.trim_end())
    }

    /// The argument called `name`.
    pub fn arg(&self, name: &str) -> Option<&SchemaArg> {
        self.args.iter().find(|a| a.name == name)
    }

    /// Whether the operator writes to any of its arguments.
    pub fn is_mutating(&self) -> bool {
        self.args.iter().any(SchemaArg::is_written)
    }
}

/// `aten::add.Tensor` as programs spell it: `aten.add.Tensor`.
fn target_of(name: &str) -> String {
    let (namespace, op) = name.split_once("::").unwrap_or(("", name));
    let overload = if op.contains('.') { "" } else { ".default" };
    let dot = if namespace.is_empty() { "" } else { "." };
    [namespace, dot, op, overload].concat()
}

#[cfg(test)]
mod tests;
