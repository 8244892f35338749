//! The fingerprints of tables for C, which a plugin states and compares with those of a host.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::model::{Contract, Struct};
use super::names::{c_type, snake};

/// The fingerprints of every field, which the contract's own tests compare with the build.
pub(super) const FILE: &str = "plugin-sdk/abi/fingerprints.txt";

/// Fingerprints by interface, table and field.
pub(super) struct Prints(BTreeMap<(String, String, String), String>);

impl Prints {
    /// Reads the lines `1.0 about/1 AboutTable id 8e392933b85ada35`; a word behind them says that the revision is
    /// open.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        let mut prints = BTreeMap::new();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let words: Vec<&str> = line.split(' ').collect();
            let [_, interface, table, field, print, ..] = words[..] else {
                return Err(format!("{FILE}: not a fingerprint: {line}"));
            };
            prints.insert((interface.to_owned(), table.to_owned(), field.to_owned()), print.to_owned());
        }
        Ok(Self(prints))
    }

    /// The fingerprints of a table, or `None` when one is not known yet.
    fn of(&self, interface: &str, table: &Struct) -> Option<Vec<&String>> {
        let key = |field: &str| (interface.to_owned(), table.name.clone(), field.to_owned());
        table.fields.iter().map(|field| self.0.get(&key(&field.name))).collect()
    }

    /// Whether every field of every table has one.
    pub(super) fn cover(&self, contract: &Contract) -> bool {
        contract.modules.iter().all(|module| {
            let interface = module.interface.as_deref().unwrap_or_default();
            module.structs().filter(|found| found.is_table()).all(|found| self.of(interface, found).is_some())
        })
    }
}

/// Per table: the list of its fingerprints, and the place of each field in it.
pub(super) fn write(out: &mut String, contract: &Contract, prints: &Prints) {
    out.push_str(
        "/* The fingerprints of tables, one per field, and the places of the fields among them. They hold for\n \
         * machines of 64 bits. */\n",
    );
    for module in &contract.modules {
        let Some(interface) = &module.interface else { continue };
        for found in module.structs().filter(|found| found.is_table()) {
            // A table that is not whole yet: the next run knows it.
            let Some(found_prints) = prints.of(interface, found) else { continue };
            let prefix = c_type(&module.name, &found.name).to_uppercase();
            let mut lines = String::new();
            for (field, print) in found.fields.iter().zip(found_prints) {
                let _ = write!(lines, " \\\n    UINT64_C(0x{print}), /* {} {} */", field.since, field.name);
            }
            let _ = writeln!(out, "#define {prefix}_LAYOUT {{{lines} \\\n}}");
            let names: Vec<String> = found
                .fields
                .iter()
                .map(|field| format!("    {prefix}_{}", snake(&field.name).to_uppercase()))
                .collect();
            let _ = writeln!(out, "enum {{\n{},\n    {prefix}_FIELDS\n}};\n", names.join(",\n"));
        }
    }
}
