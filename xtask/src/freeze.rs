//! `cargo xtask freeze REVISION`: pins a revision of the contract when it is released.

use std::fs;

use crate::{contract, root};

/// Pins the fingerprints of `revision`, and keeps its C header for the tests `abi`.
pub(crate) fn run(revision: &str) -> Result<bool, String> {
    let root = root();
    let folder = root.join("tests/rust/abi").join(revision);
    if folder.exists() {
        return Err(format!("{} exists: a revision is frozen once", folder.display()));
    }
    contract::freeze(&root, revision)?;
    let header = contract::header_of(&root, revision)?;
    let written = fs::create_dir(&folder).and_then(|()| fs::write(folder.join("onnxport.h"), header));
    written.map_err(|error| format!("{}: {error}", folder.display()))?;
    Ok(true)
}
