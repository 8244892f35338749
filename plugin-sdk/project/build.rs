//! Packs the sources of the plugin SDK, which travel with the program.

use std::path::{Path, PathBuf};

use onnxport_archive::{inputs, pack};

/// The dependencies of the templates.
const CRATES: &[&str] = &["onnxport-sdk", "onnxport-testkit"];

fn main() {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let watched =
        inputs(&repository, CRATES).unwrap_or_else(|error| panic!("the sources of the SDK: {error}"));
    for path in watched {
        println!("cargo::rerun-if-changed={}", repository.join(path).display());
    }
    let archive = pack(&repository, CRATES).unwrap_or_else(|error| panic!("the sources of the SDK: {error}"));
    let out = PathBuf::from(std::env::var_os("OUT_DIR").unwrap_or_default()).join("sdk.zip");
    std::fs::write(&out, archive).unwrap_or_else(|error| panic!("{}: {error}", out.display()));
}
