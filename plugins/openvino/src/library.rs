//! The library of this process.

use std::ffi::CStr;
use std::path::{Path, PathBuf};
use std::ptr;
use std::sync::{Mutex, PoisonError};

use onnxport_sdk::executor::Failure;

use crate::api::{Api, Version};
use crate::{discover, tensor};

/// A loaded library. It stays loaded: threads that it started may outlive its objects.
pub(crate) struct Library {
    pub(crate) path: PathBuf,
    pub(crate) version: String,
    pub(crate) api: Api,
}

/// The library that the process uses, once one was loaded: two versions would share libraries that both bring.
static LOADED: Mutex<Option<&'static Library>> = Mutex::new(None);

/// The library of this process, loaded when it is first asked for.
pub(crate) fn loaded(wanted: Option<&Path>) -> Result<&'static Library, Failure> {
    let mut slot = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(library) = *slot else {
        return Ok(slot.insert(load(wanted)?));
    };
    if let Some(path) = wanted.filter(|path| canonical(path) != library.path) {
        let used = library.path.display();
        let message = format!("{} cannot be loaded: this process already uses {used}", path.display());
        return Err(Failure::new(message));
    }
    Ok(library)
}

fn load(wanted: Option<&Path>) -> Result<&'static Library, Failure> {
    let found = match wanted {
        Some(path) => path.to_owned(),
        None => discover::find().ok_or_else(|| {
            Failure::new("no OpenVINO library was found").help(
                "run `pip install openvino`, or name its libopenvino_c with OPENVINO_DYLIB_PATH or \
                 --executor-option library=PATH",
            )
        })?,
    };
    if !found.is_file() {
        return Err(Failure::new(format!("no library at {}", found.display())));
    }
    // A relative path would be looked for beside the executable.
    let path = canonical(&found);
    let unusable = |reason: &str| {
        Failure::new(format!("{} is not a usable OpenVINO library: {reason}", path.display()))
            .help("OpenVINO 2025.4 or newer is needed: `pip install openvino`")
    };
    // SAFETY: the user named a library, or it has the name of OpenVINO's.
    let handle = unsafe { libloading::Library::new(&path) }.map_err(|e| unusable(&e.to_string()))?;
    let api = Api::load(Box::leak(Box::new(handle))).map_err(|e| unusable(&e.to_string()))?;
    tensor::check_numbers(&api).map_err(|reason| unusable(&reason))?;
    let version = version(&api).unwrap_or_else(|| "of unknown version".to_owned());
    Ok(Box::leak(Box::new(Library { path, version, api })))
}

fn canonical(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// The version that a library states, such as `2026.4.1`.
fn version(api: &Api) -> Option<String> {
    let mut version = Version { build: ptr::null(), description: ptr::null() };
    // SAFETY: the function fills the struct.
    let status = unsafe { (api.ov_get_openvino_version)(&raw mut version) };
    if status != 0 || version.build.is_null() {
        return None;
    }
    // SAFETY: the library returned a string, which is freed below.
    let text = unsafe { CStr::from_ptr(version.build) }.to_string_lossy().into_owned();
    // SAFETY: the struct was filled by the library, and is freed once.
    unsafe { (api.ov_version_free)(&raw mut version) };
    // Behind the number are those of the build and the commit.
    text.split('-').next().map(str::to_owned)
}
