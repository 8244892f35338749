//! Locates the options file: one that the user names, or one that is found.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The file name to search for.
pub(crate) const NAME: &str = "onnxport.toml";

/// The environment variable that names a file.
pub(crate) const VARIABLE: &str = "ONNXPORT_CONFIG";

/// The environment variable that names a preset.
pub(crate) const PRESET: &str = "ONNXPORT_PRESET";

/// Entries that mark the root of a repository.
const ROOTS: &[&str] = &[".git", ".hg", ".jj"];

/// The user's choice of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum FileChoice {
    /// Nothing: the environment may name one, else it is searched.
    #[default]
    Search,
    /// None.
    Nothing,
    /// This one.
    File(PathBuf),
}

/// A file of options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OptionsFile {
    pub(crate) path: PathBuf,
    /// Whether the user named it: a file that was found may have come with a download.
    pub(crate) named: bool,
}

/// Returns the applicable file, if there is one.
pub(crate) fn file(wanted: FileChoice) -> Option<OptionsFile> {
    match wanted {
        FileChoice::Nothing => None,
        FileChoice::File(path) => Some(OptionsFile { path, named: true }),
        FileChoice::Search => match variable(VARIABLE) {
            Some(path) => Some(OptionsFile { path: path.into(), named: true }),
            None => Some(OptionsFile { path: search(&env::current_dir().ok()?)?, named: false }),
        },
    }
}

/// Returns an environment variable unless it is empty.
pub(crate) fn variable(name: &str) -> Option<OsString> {
    env::var_os(name).filter(|value| !value.is_empty())
}

/// Searches `folder`, and its parents up to the root of its repository; without a repository, only `folder`. The path
/// is relative to `folder`.
fn search(folder: &Path) -> Option<PathBuf> {
    let is_root = |folder: &Path| ROOTS.iter().any(|root| folder.join(root).exists());
    let depth = folder.ancestors().position(is_root).unwrap_or_default();
    let mut shown = PathBuf::new();
    for around in folder.ancestors().take(depth + 1) {
        if around.join(NAME).is_file() {
            return Some(shown.join(NAME));
        }
        shown.push("..");
    }
    None
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_nearest_counts_up_to_the_repository() {
        let outside = tempfile::tempdir().unwrap();
        let root = outside.path().join("repository");
        let inner = root.join("a/b");
        fs::create_dir_all(&inner).unwrap();
        fs::write(outside.path().join(NAME), "").unwrap();
        // Without a repository nothing around counts.
        assert_eq!(search(&inner), None);
        fs::create_dir(root.join(".git")).unwrap();
        assert_eq!(search(&inner), None);
        fs::write(root.join(NAME), "").unwrap();
        assert_eq!(search(&inner), Some(Path::new("../..").join(NAME)));
        fs::write(root.join("a").join(NAME), "").unwrap();
        assert_eq!(search(&inner), Some(Path::new("..").join(NAME)));
        fs::write(inner.join(NAME), "").unwrap();
        assert_eq!(search(&inner), Some(NAME.into()));
        assert_eq!(search(outside.path()), Some(NAME.into()));
    }

    #[test]
    fn a_named_file_is_not_searched() {
        let named = file(FileChoice::File("x.toml".into())).unwrap();
        assert_eq!(named, OptionsFile { path: "x.toml".into(), named: true });
        assert_eq!(file(FileChoice::Nothing), None);
    }
}
