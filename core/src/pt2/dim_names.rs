//! The names that the user gave to dimensions: `Dim("batch")`. PyTorch forgets them when it saves; `onnxport.save`
//! puts them beside the program, as a JSON object of names by symbols.

use std::collections::BTreeMap;

use super::json;
use crate::diagnose::Diagnostic;
use crate::program::Program;
use crate::sym::is_name;
use crate::tensor::zip_index::ZipIndex;

/// The place of the file in an archive.
const FILE: &str = "extra/onnxport.dims.json";
/// The most bytes that it may have.
const LONGEST: u64 = 1 << 20;

/// Gives the symbols of `program` the names that the archive records. A name that is none, or that another symbol
/// has, is passed over: it would be another expression.
///
/// # Errors
/// `OP102`, `OP105` for a file that is damaged.
pub(super) fn apply(zip: &ZipIndex, program: &mut Program) -> Result<(), Diagnostic> {
    let name = format!("{}{FILE}", zip.root());
    let Some(entry) = zip.get(&name).filter(|entry| entry.size <= LONGEST) else { return Ok(()) };
    rename(json::parse(&zip.read(&name, entry)?, &name)?, program);
    Ok(())
}

/// Gives the symbols of `program` other names. One that is none, or that another symbol has, is passed over.
pub(super) fn rename(names: BTreeMap<String, String>, program: &mut Program) {
    let symbols = &mut program.symbols;
    for (symbol, name) in names {
        if is_name(&name)
            && symbols.find(&name).is_none()
            && let Some(id) = symbols.find(&symbol)
        {
            symbols.rename(id, &name);
        }
    }
}
