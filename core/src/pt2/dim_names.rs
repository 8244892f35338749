//! The user's names of dimensions: `Dim("batch")`. PyTorch drops them when it saves; `onnxport.save` adds them to
//! the archive, as a JSON object of names by symbols.

use std::collections::BTreeMap;

use super::json;
use crate::diagnose::Diagnostic;
use crate::program::Program;
use crate::sym::is_name;
use crate::tensor::zip_index::ZipIndex;

/// The path of the file in an archive.
const FILE: &str = "extra/onnxport.dims.json";
/// Its size limit in bytes.
const LONGEST: u64 = 1 << 20;

/// Renames the symbols of `program` to the names in the archive. A name that is invalid, or that another symbol
/// has, is skipped: it would be another expression.
///
/// # Errors
/// `OP102`, `OP105` for a damaged file.
pub(super) fn apply(zip: &ZipIndex, program: &mut Program) -> Result<(), Diagnostic> {
    let name = format!("{}{FILE}", zip.root());
    let Some(entry) = zip.get(&name).filter(|entry| entry.size <= LONGEST) else { return Ok(()) };
    rename(json::parse(&zip.read(&name, entry)?, &name)?, program);
    Ok(())
}

/// Renames the symbols of `program`. A name that is invalid, or that another symbol has, is skipped.
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
