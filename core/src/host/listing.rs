//! The description of a plugin, checked before anything else reads it.

use onnxport_abi::about::AboutTable;
use onnxport_abi::backend::{BackendEntry, BackendTable};
use onnxport_abi::lowering::LoweringTable;
use onnxport_abi::pass::{PassRecord, PassTable};
use onnxport_abi::rules::RulesTable;
use onnxport_abi::weights::WeightsTable;
use onnxport_abi::{Malformed, RStr, Version};

use crate::incoming::list;

/// The longest id, version or name of an interface, in bytes.
const MAX_NAME: usize = 64;

/// The longest description, in bytes.
const MAX_DESCRIPTION: usize = 4096;

/// The description of a plugin.
#[derive(Clone)]
pub struct About {
    /// Its id.
    pub id: &'static str,
    /// Its own version.
    pub version: &'static str,
    /// One sentence; may be empty.
    pub description: &'static str,
    /// The contract that it was built with.
    pub contract: Version,
    /// The oldest contract of a host that it works with.
    pub needs: Version,
    /// The interfaces that it claims to provide.
    pub provides: Vec<&'static str>,
    pub(super) table: AboutTable,
}

impl About {
    /// Reads the table.
    ///
    /// # Errors
    /// The defect of the table, phrased to follow "a plugin".
    pub(super) fn read(table: AboutTable) -> Result<Self, String> {
        let text = |name: &str, text: RStr<'static>| {
            text.get().map_err(|malformed| format!("states {name} that is {malformed}"))
        };
        let id = text("an id", table.id)?;
        if !is_id(id) {
            let what = "is not of 1 to 64 small letters, digits, `_` and `-`";
            return Err(format!("has the id `{}`, which {what}", shown(id)));
        }
        let version = text("a version", table.version)?;
        if version.is_empty() || version.len() > MAX_NAME || !version.chars().all(|c| c.is_ascii_graphic()) {
            return Err(format!("(`{id}`) states the version `{}`, which is invalid", shown(version)));
        }
        let description = text("a description", table.description)?;
        if description.len() > MAX_DESCRIPTION || description.chars().any(char::is_control) {
            return Err(format!("(`{id}`) has a description that is not one line: `{}`", shown(description)));
        }
        let names = list(table.provides)
            .map_err(|malformed| format!("(`{id}`) lists the interfaces that it provides as {malformed}"))?;
        let mut provides = Vec::with_capacity(names.len());
        for name in names {
            let name = text("an interface", *name)?;
            if name.is_empty() || name.len() > MAX_NAME || !name.chars().all(|c| c.is_ascii_graphic()) {
                return Err(format!("(`{id}`) provides `{}`, which is not an interface", shown(name)));
            }
            provides.push(name);
        }
        let AboutTable { contract, needs, .. } = table;
        Ok(Self { id, version, description, contract, needs, provides, table })
    }
}

/// Whether a text can be the id of a plugin: folders, files and options are named after it.
pub(super) fn is_id(text: &str) -> bool {
    let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_' || b == b'-';
    !text.is_empty() && text.len() <= MAX_NAME && text.bytes().all(plain)
}

/// Returns the beginning of a malformed text.
fn shown(text: &str) -> String {
    let mut shown: String = text.chars().take(MAX_NAME).flat_map(char::escape_debug).collect();
    if text.chars().nth(MAX_NAME).is_some() {
        shown.push('…');
    }
    shown
}

/// Whether every listed item can be read.
type Readable = Result<(), Malformed>;

fn texts(texts: impl IntoIterator<Item = RStr<'static>>) -> Readable {
    texts.into_iter().try_for_each(|text| text.get().map(drop))
}

pub(super) fn operators(table: &LoweringTable) -> Readable {
    table.schemas.get()?;
    texts(list(table.entries)?.iter().map(|entry| entry.target))
}

pub(super) fn backends(table: &BackendTable) -> Readable {
    list(table.entries)?.iter().try_for_each(backend)
}

fn backend(entry: &BackendEntry) -> Readable {
    texts([entry.id, entry.description, entry.domain])?;
    list(entry.ops)?.iter().try_for_each(|record| {
        list(record.inputs)?;
        list(record.outputs)?;
        texts([record.domain, record.op])
    })
}

pub(super) fn rules(table: &RulesTable) -> Readable {
    list(table.rules)?.iter().try_for_each(|rule| {
        texts([rule.name, rule.documentation, rule.pattern])?;
        let names = [rule.nodes, rule.values, rule.dims, rule.attributes];
        names.into_iter().try_for_each(|names| texts(list(names)?.iter().copied()))
    })
}

pub(super) fn passes(table: &PassTable) -> Readable {
    list(table.passes)?.iter().try_for_each(pass)
}

fn pass(pass: &PassRecord) -> Readable {
    texts([pass.name, pass.documentation])?;
    texts(list(pass.domains)?.iter().map(|domain| domain.domain))
}

pub(super) fn weights(table: &WeightsTable) -> Readable {
    for entry in list(table.tensors)? {
        entry.name.get()?;
        list(entry.dims)?;
    }
    texts(list(table.transforms)?.iter().map(|entry| entry.name))?;
    let Some(quantisers) = table.quantisers else { return Ok(()) };
    texts(list(quantisers())?.iter().flat_map(|entry| [entry.name, entry.doc]))
}

#[cfg(test)]
mod tests {
    use onnxport_abi::about::AboutTable;
    use onnxport_abi::{RSlice, RStr, Version};

    use super::About;

    const FINE: AboutTable = AboutTable {
        id: RStr::from_str("fine-1"),
        version: RStr::from_str("1.0.0-rc.1+x"),
        description: RStr::from_str("Lowers everything, für alle."),
        contract: Version::CURRENT,
        needs: Version { major: 1, minor: 0 },
        provides: RSlice::from_slice(&[RStr::from_str("lowering/1")]),
        options: None,
        configure: None,
    };

    #[test]
    fn names_that_are_none_are_refused() {
        assert!(About::read(FINE).is_ok());
        let long = "i".repeat(65).leak();
        for id in ["", "../../x", "a\0b", "a\nerror[OP999]: fake", "a\x1b[31mb", "A", "ä", "a b", long] {
            let problem = About::read(AboutTable { id: RStr::from_str(id), ..FINE }).err();
            let problem = problem.unwrap_or_else(|| panic!("`{id}` is refused"));
            assert!(!problem.contains(|c: char| c.is_control()), "{problem:?}");
            assert!(problem.len() < 200, "{problem}");
        }
        for version in ["", "1\n2", "1\x1b[31m", "1 2", "\0"] {
            assert!(
                About::read(AboutTable { version: RStr::from_str(version), ..FINE }).is_err(),
                "{version:?}"
            );
        }
        for description in ["two\nlines", "nul\0", "\x1b[31mred"] {
            let table = AboutTable { description: RStr::from_str(description), ..FINE };
            assert!(About::read(table).is_err(), "{description:?}");
        }
        assert!(About::read(AboutTable { description: RStr::EMPTY, ..FINE }).is_ok(), "it may be empty");
    }

    #[test]
    fn lists_that_cannot_be_are_refused() {
        static NAMES: [RStr<'static>; 1] = [RStr::from_str("lowering/1")];
        for length in [1 << 40, 1 << 24, usize::MAX] {
            // SAFETY: the check refuses it, which is the point of the test.
            let provides = unsafe { RSlice::from_raw_parts(NAMES.as_ptr(), length) };
            let problem = About::read(AboutTable { provides, ..FINE }).err().expect("there is no such list");
            assert!(problem.contains("lists the interfaces that it provides as"), "{problem}");
        }
    }
}
