//! Operator schemas, read from the lines that PyTorch prints:
//! `aten::add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)`.

use std::sync::OnceLock;

use onnxport_schema::{Default, FACTS, target_of};
use rustc_hash::FxHashMap;

pub use onnxport_schema::{Alias, Facts, SchemaError, SchemaReturn, SchemaType, Term};

use super::decompositions::{self, Programs};
use crate::program::Arg;
use crate::program::text::{Template, TextError};

/// The schemas of all known operators.
///
/// Construction only finds where each schema is; a schema is parsed on first use, with the facts that
/// follow it.
#[derive(Debug, std::default::Default)]
pub struct Schemas {
    texts: Vec<String>,
    index: FxHashMap<String, Entry>,
    /// Undeclared writes of operators, by operator.
    writes: OnceLock<Vec<FxHashMap<String, Programs>>>,
}

#[derive(Debug)]
struct Entry {
    text: usize,
    start: usize,
    parsed: OnceLock<Option<Box<Schema>>>,
}

/// The schema of one overload; its defaults are arguments of a program.
pub type Schema = onnxport_schema::Schema<Arg>;
/// An argument of a [`Schema`].
pub type SchemaArg = onnxport_schema::SchemaArg<Arg>;

impl From<Default> for Arg {
    fn from(default: Default) -> Self {
        match default {
            Default::None => Arg::None,
            Default::Int(n) => Arg::Int(n),
            Default::Float(x) => Arg::Float(x),
            Default::Bool(b) => Arg::Bool(b),
            Default::Str(text) => Arg::Str(text.into()),
            Default::Device(text) => Arg::Device(text.into()),
            Default::Layout(text) => Arg::Layout(text.into()),
            Default::MemoryFormat(text) => Arg::MemoryFormat(text.into()),
            Default::List(items) => Arg::List(items.into_iter().map(Arg::from).collect()),
        }
    }
}

impl Schemas {
    /// Indexes texts of one schema per line; `#:` starts a line of facts, `#` a comment. If two lines describe one
    /// overload, the first is used.
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
                    index.entry(target_of(name)).or_insert(Entry { text, start, parsed: OnceLock::new() });
                }
                start = end;
            }
        }
        Self { texts, index, writes: OnceLock::new() }
    }

    /// Returns the schema of `target`, spelled `aten.add.Tensor`; `None` if it is unknown or malformed.
    pub fn get(&self, target: &str) -> Option<&Schema> {
        let entry = self.index.get(target)?;
        let parse = || {
            let text = self.texts.get(entry.text)?.get(entry.start..)?;
            let after = text.split_inclusive('\n').skip(1).take_while(|l| l.starts_with(FACTS));
            let end = text.find('\n').map_or(text.len(), |end| end + 1) + after.map(str::len).sum::<usize>();
            Schema::parse(text.get(..end)?).ok().map(Box::new)
        };
        entry.parsed.get_or_init(parse).as_deref()
    }

    /// Returns the programs that spell out the writes of `target` that its schema does not declare, in order. They are
    /// placed among the schemas like decompositions, and begin with `writes`.
    ///
    /// # Errors
    /// If one is malformed.
    pub fn writes(&self, target: &str) -> Result<Vec<&Template>, TextError> {
        let all = self.writes.get_or_init(|| {
            // A plugin whose programs have to be read at once, and are malformed, is not loaded.
            self.texts.iter().map(|text| decompositions::among(text, true).unwrap_or_default()).collect()
        });
        let mut found = Vec::new();
        for programs in all.iter().filter_map(|table| table.get(target)) {
            found.extend(programs.templates().map_err(Clone::clone)?);
        }
        Ok(found)
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

#[cfg(test)]
mod tests;
