//! Where the library of OpenVINO's C API is looked for, in this order:
//!
//! 1. the path that the user gave (the caller's business);
//! 2. `OPENVINO_DYLIB_PATH`;
//! 3. the `openvino` package of the active Python ([`onnxport_ir::interpreter`]), else the library that its
//!    `onnxruntime-openvino` brings;
//! 4. `LD_LIBRARY_PATH`, which `setupvars.sh` of an installed OpenVINO sets, and the system's library folders.

use std::path::PathBuf;

use onnxport_ir::{interpreter, library};

/// The first library in the documented order.
pub fn find() -> Option<PathBuf> {
    let pythons = interpreter::active();
    let packages = |inner: &'static str| {
        let all = pythons.iter().flat_map(|python| &python.packages);
        all.map(move |folder| folder.join(inner))
    };
    library::stated("OPENVINO_DYLIB_PATH").or_else(|| {
        packages("openvino/libs")
            .chain(packages("onnxruntime/capi"))
            .chain(library::system_folders())
            .find_map(|folder| library::newest_in(&folder, "openvino_c"))
    })
}
