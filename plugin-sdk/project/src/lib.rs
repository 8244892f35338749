//! New plugin projects.
//!
//! A project is made of a template, one for each kind of plugin (`template`): its name and its path to the
//! plugin SDK are replaced. Unless the user names an SDK, the project gets the sources that travel with the program, or
//! depends on the registry's crates if the program was built from there.

mod kind;
mod name;
mod sdk;

use std::fs;
use std::path::{Path, PathBuf};

use onnxport_ir::diagnose::{Code, Diagnostic};

pub use kind::Kind;
use name::identifier;
pub use sdk::Sdk;

/// The names of the templates, their dependency on the SDK, and the placeholder of the library's file.
const NAME: &str = "myplugin";
const SDK: &str = "path = \"..\"";
const TESTKIT: &str = "path = \"../testkit\"";
const WORKSPACE: &str = "[workspace]\n";
const LIBRARY: &str = "LIBRARY";

/// A project that was made.
#[derive(Clone, Debug)]
pub struct Project {
    /// Its folder.
    pub folder: PathBuf,
    /// The library that it builds, relative to the folder.
    pub library: PathBuf,
}

/// Makes the plugin project `name` of this kind in `folder`, which must be empty or not exist. All of it appears, or
/// nothing does.
///
/// # Errors
/// [`Code::PLUGIN_NEW`] when the name cannot be that of a crate, the folder holds something or cannot be
/// written, or the SDK is not where it is said to be.
pub fn new(name: &str, kind: Kind, folder: &Path, sdk: &Sdk) -> Result<Project, Diagnostic> {
    name::check(name)?;
    let (dependency, testkit) = (sdk.dependency("")?, sdk.dependency("/testkit")?);
    let problem = |what: String| Diagnostic::error(Code::PLUGIN_NEW, format!("{} {what}", folder.display()));
    match folder.read_dir().map(|mut entries| entries.next().is_some()) {
        Ok(true) => {
            let help = "choose another folder with --path";
            return Err(problem("exists and is not empty".to_owned()).help(help));
        }
        Ok(false) => {}
        Err(_) if folder.symlink_metadata().is_err() => {}
        Err(error) => return Err(problem(format!("cannot be used: {error}"))),
    }
    let file = library(name);
    let unwritable = |error: std::io::Error| problem(format!("cannot be written: {error}"));
    // Beside the folder, so that the whole appears by one renaming.
    let parent = match folder.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let draft = tempfile::Builder::new().prefix(".onnxport-new-").tempdir_in(parent).map_err(unwritable)?;
    for (path, text) in kind.files() {
        let text = text.replace(SDK, &dependency).replace(TESTKIT, &testkit).replace(LIBRARY, &file);
        let text = text.replace(WORKSPACE, &sdk.workspace());
        // A namespace of operators is a Python identifier; the rest is the crate's name.
        let text = text.replace(&format!("{NAME}."), &format!("{}.", identifier(name)));
        let text = text.replace(&format!("{NAME}::"), &format!("{}::", identifier(name)));
        let text = text.replace(NAME, name);
        let path = draft.path().join(path);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(unwritable)?;
        }
        fs::write(&path, text).map_err(unwritable)?;
    }
    sdk.unpack(draft.path()).map_err(unwritable)?;
    readable(draft.path()).map_err(unwritable)?;
    if folder.is_dir() {
        fs::remove_dir(folder).map_err(unwritable)?;
    }
    fs::rename(draft.path(), folder).map_err(unwritable)?;
    // What is to be removed has another name now.
    let _ = draft.keep();
    Ok(Project { folder: folder.to_owned(), library: Path::new("target").join("release").join(file) })
}

/// The file name of the library of the crate `name`.
fn library(name: &str) -> String {
    use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
    format!("{DLL_PREFIX}{}{DLL_SUFFIX}", identifier(name))
}

/// A temporary folder is its owner's alone; a project is not.
#[cfg(unix)]
fn readable(folder: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(folder, fs::Permissions::from_mode(0o755))
}

#[cfg(not(unix))]
fn readable(_: &Path) -> std::io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests;
