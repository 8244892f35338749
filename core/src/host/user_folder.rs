//! Where the plugins of a user are. `cargo xtask plugins` uses this file as well, so it needs nothing but `std`.

use std::env;
use std::path::PathBuf;

/// The user's folder of plugins.
pub(super) fn user_folder() -> Option<PathBuf> {
    let folder = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let data = if cfg!(windows) {
        folder("APPDATA")
    } else if cfg!(target_os = "macos") {
        folder("HOME").map(|home| home.join("Library/Application Support"))
    } else {
        folder("XDG_DATA_HOME").or_else(|| folder("HOME").map(|home| home.join(".local/share")))
    };
    data.map(|data| data.join("onnxport").join("plugins"))
}
