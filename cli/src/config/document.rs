//! An options file as a tree with the positions of keys and values.

use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

use onnxport_core::diagnose::{Code, Diagnostic};
use onnxport_core::files;
use serde_json::{Number, Value};
use toml::de::{DeTable, DeValue};
use toml::{Spanned, de};

/// The size limit of an options file in bytes.
const LARGEST: u64 = 1 << 20;

/// A position in a file; lines and columns begin at 1, and columns count characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Position {
    /// The file, as messages name it.
    pub(crate) file: PathBuf,
    line: usize,
    column: usize,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file.display(), self.line, self.column)
    }
}

/// A text with a precomputed index of its lines.
struct Lines<'t> {
    file: &'t Path,
    text: &'t str,
    /// The offset of each line.
    starts: Vec<usize>,
}

impl<'t> Lines<'t> {
    fn of(file: &'t Path, text: &'t str) -> Self {
        let starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        Self { file, text, starts }
    }

    fn place(&self, offset: usize) -> Position {
        let line = self.starts.partition_point(|start| *start <= offset);
        let start = line.checked_sub(1).and_then(|at| self.starts.get(at)).copied().unwrap_or(0);
        let before = self.text.get(start..offset).unwrap_or_default();
        Position { file: self.file.to_owned(), line, column: before.chars().count() + 1 }
    }
}

/// A value and its position.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) place: Position,
    pub(crate) data: Data,
}

/// The value.
#[derive(Clone, Debug)]
pub(crate) enum Data {
    Bool(bool),
    Number(Number),
    Text(String),
    List(Vec<Node>),
    Table(Vec<Key>),
    /// A date, or a number that JSON cannot represent.
    Other(&'static str),
}

/// A key with its value; the position is that of the key.
#[derive(Clone, Debug)]
pub(crate) struct Key {
    pub(crate) name: String,
    pub(crate) place: Position,
    pub(crate) value: Node,
}

impl Data {
    /// Returns TOML's name for its type.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Bool(_) => "a boolean",
            Self::Number(number) if number.is_f64() => "a float",
            Self::Number(_) => "an integer",
            Self::Text(_) => "a string",
            Self::List(_) => "an array",
            Self::Table(_) => "a table",
            Self::Other(what) => what,
        }
    }

    /// Converts it to JSON; `None` if JSON cannot represent it.
    pub(crate) fn json(&self) -> Option<Value> {
        Some(match self {
            Self::Bool(value) => Value::Bool(*value),
            Self::Number(number) => Value::Number(number.clone()),
            Self::Text(text) => Value::String(text.clone()),
            Self::List(all) => Value::Array(all.iter().map(|node| node.data.json()).collect::<Option<_>>()?),
            Self::Table(keys) => {
                let pair = |key: &Key| Some((key.name.clone(), key.value.data.json()?));
                Value::Object(keys.iter().map(pair).collect::<Option<_>>()?)
            }
            Self::Other(_) => return None,
        })
    }
}

/// Reads the file at `path`: its tables and keys, in their order.
///
/// # Errors
/// `OP002` if it cannot be read, or is not TOML.
pub(crate) fn read(path: &Path) -> Result<Vec<Key>, Diagnostic> {
    let text = files::text(path, LARGEST).map_err(|error| {
        let message = format!("the options in {} cannot be read: {error}", path.display());
        Diagnostic::error(Code::CONFIG_FILE, message)
    })?;
    parse(path, &text)
}

/// [`read`] for a `text`.
pub(crate) fn parse(path: &Path, text: &str) -> Result<Vec<Key>, Diagnostic> {
    let lines = Lines::of(path, text);
    let refuse = |error: de::Error| {
        let place = lines.place(error.span().map_or(0, |span| span.start));
        let said = error.message().lines().collect::<Vec<_>>().join("; ");
        Diagnostic::error(Code::CONFIG_FILE, format!("{place}: {said}"))
    };
    let table = DeTable::parse(text).map_err(refuse)?;
    Ok(keys(table.get_ref(), &|span: Range<usize>| lines.place(span.start)))
}

fn keys(table: &DeTable<'_>, place: &impl Fn(Range<usize>) -> Position) -> Vec<Key> {
    let key = |(name, value): (&Spanned<_>, &Spanned<_>)| Key {
        name: AsRef::<str>::as_ref(name.get_ref() as &std::borrow::Cow<'_, str>).to_owned(),
        place: place(name.span()),
        value: node(value, place),
    };
    let mut all: Vec<(usize, Key)> =
        table.iter().map(|(name, value)| (name.span().start, key((name, value)))).collect();
    all.sort_by_key(|(offset, _)| *offset);
    all.into_iter().map(|(_, key)| key).collect()
}

fn node(value: &Spanned<DeValue<'_>>, place: &impl Fn(Range<usize>) -> Position) -> Node {
    let data = match value.get_ref() {
        DeValue::String(text) => Data::Text(text.clone().into_owned()),
        DeValue::Boolean(value) => Data::Bool(*value),
        DeValue::Integer(number) => match i64::from_str_radix(number.as_str(), number.radix()) {
            Ok(number) => Data::Number(number.into()),
            Err(_) => Data::Other("an integer beyond 64 bits"),
        },
        DeValue::Float(number) => match number.as_str().parse().ok().and_then(Number::from_f64) {
            Some(number) => Data::Number(number),
            None => Data::Other("a number that is not finite"),
        },
        DeValue::Datetime(_) => Data::Other("a date"),
        DeValue::Array(all) => Data::List(all.iter().map(|value| node(value, place)).collect()),
        DeValue::Table(table) => Data::Table(keys(table, place)),
    };
    Node { place: place(value.span()), data }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_values_know_where_they_stand() {
        let text = "[convert]\n  opset = 0x15\n'ä' = { x = [1.5, true] }\n";
        let keys = parse(Path::new("a.toml"), text).unwrap();
        let Data::Table(options) = &keys[0].value.data else { panic!("{keys:?}") };
        assert_eq!(options[0].place.to_string(), "a.toml:2:3");
        assert_eq!(options[0].value.place.to_string(), "a.toml:2:11");
        assert_eq!(options[0].value.data.json(), Some(21.into()));
        assert_eq!(options[1].value.data.json(), Some(serde_json::json!({ "x": [1.5, true] })));
    }

    #[test]
    fn what_is_not_toml_is_refused_at_its_place() {
        let message = parse(Path::new("a.toml"), "[convert]\nopset = \n").unwrap_err().message;
        assert!(message.starts_with("a.toml:2:"), "{message}");
        assert!(parse(Path::new("a.toml"), "a = 1\na = 2\n").is_err());
        assert_eq!(parse(Path::new("a.toml"), "a = 1979-05-27\n").unwrap()[0].value.data.json(), None);
    }

    #[test]
    fn places_in_a_long_file_are_right() {
        let presets: Vec<String> =
            (0..20_000).map(|n| format!("[preset.p{n}.convert]\nopset = 18\n")).collect();
        let text = presets.concat();
        let keys = parse(Path::new("a.toml"), &text).unwrap();
        let Data::Table(presets) = &keys[0].value.data else { panic!("{keys:?}") };
        assert_eq!(presets[19_999].place.to_string(), "a.toml:39999:9");
    }
}
