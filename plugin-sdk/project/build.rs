//! Packs the sources of the plugin SDK, which travel with the program. A published crate does not lie beside them: then
//! the archive is empty, and new projects depend on the crates of the registry.

use std::io;
use std::path::{Path, PathBuf};

use onnxport_archive::{inputs, pack};

/// The dependencies of the templates.
const CRATES: &[&str] = &["onnxport-sdk", "onnxport-testkit"];

fn main() {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let archive = if repository.join("plugin-sdk/Cargo.toml").is_file() {
        bundled(&repository).unwrap_or_else(|error| panic!("the sources of the SDK: {error}"))
    } else {
        Vec::new()
    };
    let out = PathBuf::from(std::env::var_os("OUT_DIR").unwrap_or_default()).join("sdk.zip");
    std::fs::write(&out, archive).unwrap_or_else(|error| panic!("{}: {error}", out.display()));
}

fn bundled(repository: &Path) -> io::Result<Vec<u8>> {
    for path in inputs(repository, CRATES)? {
        println!("cargo::rerun-if-changed={}", repository.join(path).display());
    }
    pack(repository, CRATES)
}
