//! Where an ONNX Runtime library is looked for, in this order:
//!
//! 1. the path that the user gave (the caller's business);
//! 2. `ORT_DYLIB_PATH`;
//! 3. the `onnxruntime` package of the active Python ([`onnxport_ir::interpreter`]), the one that this process is before
//!    all others;
//! 4. `LD_LIBRARY_PATH` and the system's library folders;
//! 5. where these interpreters say that the package is. That starts a process, so that it comes last, goes on while
//!    a program is converted ([`begin`]), and is remembered.

mod memory;
mod python;

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use onnxport_ir::{interpreter, library};

use crate::Settings;

/// The name of the library.
const STEM: &str = "onnxruntime";
/// A search that goes on, or whose end nobody has asked for yet.
static BEGUN: Mutex<Option<JoinHandle<Option<PathBuf>>>> = Mutex::new(None);

/// Starts the search in the background, for the next [`find`].
pub fn begin() {
    let mut begun = BEGUN.lock().unwrap_or_else(PoisonError::into_inner);
    if begun.is_none() {
        // Without a thread `find` looks itself.
        let search = thread::Builder::new().name("runtime".to_owned()).spawn(look);
        *begun = search.ok();
    }
}

/// The first library in the documented order.
pub fn find() -> Option<PathBuf> {
    let begun = BEGUN.lock().unwrap_or_else(PoisonError::into_inner).take();
    begun.map_or_else(look, |search| search.join().ok().flatten())
}

fn look() -> Option<PathBuf> {
    let remember = Settings::get().is_ok_and(|settings| settings.remember);
    let pythons = interpreter::active();
    let packages = pythons.iter().flat_map(|python| &python.packages);
    library::stated("ORT_DYLIB_PATH")
        .or_else(|| {
            packages
                .map(|folder| folder.join("onnxruntime").join("capi"))
                .chain(library::system_folders())
                .find_map(|folder| library::newest_in(&folder, STEM))
        })
        .or_else(|| python::ask(&pythons, remember))
}
