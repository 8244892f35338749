//! Reads JSON written by Python.

use std::fmt;
use std::marker::PhantomData;

use indexmap::IndexMap;
use indexmap::map::Entry;
use serde::de::{Deserialize, DeserializeOwned, Deserializer, Error, MapAccess, Visitor};

use crate::diagnose::{Code, Diagnostic};

/// The length limit of messages: they quote the document, and a hostile one could make them as long as itself.
const MAX_MESSAGE: usize = 300;

/// Reads the JSON document `bytes` of the entry `name`.
///
/// Nesting is limited to `serde_json`'s 128 levels, so that a hostile document cannot exhaust the
/// stack; sixteen higher-order operators fit inside one another.
///
/// # Errors
/// `OP105` for malformed JSON or a document that is not a `T`.
pub(crate) fn parse<T: DeserializeOwned>(bytes: &[u8], name: &str) -> Result<T, Diagnostic> {
    parse_borrowed(bytes, &mut None, name)
}

/// Like [`parse`], but parts of the document stay borrowed: from `bytes`, or from `quoted` if the document is not
/// JSON but accepted by Python.
///
/// # Errors
/// As [`parse`].
pub(crate) fn parse_borrowed<'d, T: Deserialize<'d>>(
    bytes: &'d [u8],
    quoted: &'d mut Option<Vec<u8>>,
    name: &str,
) -> Result<T, Diagnostic> {
    let result = match serde_json::from_slice(bytes) {
        // Python's json module writes NaN and Infinity bare, which is not JSON.
        Err(e) if e.is_syntax() => match quote_non_finite(bytes) {
            Some(text) => serde_json::from_slice(quoted.insert(text)),
            None => Err(e),
        },
        result => result,
    };
    result.map_err(|e| {
        let mut text = e.to_string();
        if text.len() > MAX_MESSAGE {
            text = text.chars().take(MAX_MESSAGE).chain("…".chars()).collect();
        }
        let what = if e.is_data() { "does not follow the schema" } else { "is malformed" };
        let diagnostic = Diagnostic::error(Code::READ_SCHEMA, format!("`{name}` {what}: {text}"));
        if text.starts_with("recursion limit") {
            diagnostic.note("more than 128 levels of nesting are refused")
        } else {
            diagnostic
        }
    })
}

/// Reads an object in which no name occurs twice. JSON allows it, and a map would keep the last.
pub(super) fn unique<'de, D, T>(deserializer: D) -> Result<IndexMap<String, T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    struct Entries<T>(PhantomData<T>);
    impl<'de, T: Deserialize<'de>> Visitor<'de> for Entries<T> {
        type Value = IndexMap<String, T>;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("values by name")
        }
        fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Self::Value, A::Error> {
            let mut entries = IndexMap::new();
            while let Some((name, value)) = access.next_entry::<String, T>()? {
                match entries.entry(name) {
                    Entry::Occupied(first) => {
                        return Err(A::Error::custom(format_args!("`{:.200}` is there twice", first.key())));
                    }
                    Entry::Vacant(place) => {
                        place.insert(value);
                    }
                }
            }
            Ok(entries)
        }
    }
    deserializer.deserialize_map(Entries(PhantomData))
}

/// The document with bare `NaN`, `Infinity` and `-Infinity` put into quotes; `None` if it has none.
fn quote_non_finite(json: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let mut copied = 0;
    let mut at = 0;
    while let Some(byte) = json.get(at) {
        match byte {
            b'"' => at = string_end(json, at + 1),
            b'N' | b'I' | b'-' => {
                let rest = json.get(at..).unwrap_or_default();
                let word = ["NaN", "Infinity", "-Infinity"]
                    .into_iter()
                    .find(|word| rest.starts_with(word.as_bytes()));
                if let Some(word) = word {
                    out.extend_from_slice(json.get(copied..at).unwrap_or_default());
                    out.push(b'"');
                    out.extend_from_slice(word.as_bytes());
                    out.push(b'"');
                    at += word.len();
                    copied = at;
                } else {
                    at += 1;
                }
            }
            _ => at += 1,
        }
    }
    if copied == 0 {
        return None;
    }
    out.extend_from_slice(json.get(copied..).unwrap_or_default());
    Some(out)
}

/// The index after the closing quote of the string whose text starts at `at`.
fn string_end(json: &[u8], mut at: usize) -> usize {
    while let Some(byte) = json.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn non_finite_numbers_are_quoted_outside_of_strings() {
        let json = br#"{"a": NaN, "NaN \" Infinity": [-Infinity, -1, Infinity]}"#;
        let quoted = quote_non_finite(json).unwrap();
        let expected = r#"{"a": "NaN", "NaN \" Infinity": ["-Infinity", -1, "Infinity"]}"#;
        assert_eq!(String::from_utf8(quoted).unwrap(), expected);
        assert_eq!(quote_non_finite(br#"{"NaN": -1}"#), None);
    }

    #[test]
    fn nesting_is_limited() {
        for json in ["[".repeat(100_000), "{\"a\":".repeat(100_000)] {
            let error = parse::<serde_json::Value>(json.as_bytes(), "x").unwrap_err();
            assert_eq!(error.code, Code::READ_SCHEMA);
        }
    }
}
