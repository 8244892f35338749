//! Lists of the libraries that may be loaded, pinned by their SHA-256.
//!
//! ```toml
//! # the file of `--plugin-allow`, `allow.toml` in the user's folder, or `[allow]` in onnxport.toml
//! mylib = "9f86d081..."
//! other = ["9f86d081...", "60303ae2..."]      # one per platform
//! ```
//!
//! If a list exists, a library that it does not name is not loaded, no matter who requests it. Every
//! existing list must name the library, so that a project cannot loosen its user's restrictions.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::MAX_TEXT;
use super::manifest::sha256;
use crate::diagnose::{Code, Diagnostic};
use crate::files;

/// The name of the list in the user's folder of plugins.
const FILE: &str = "allow.toml";

/// Hashes by the ids of plugins.
pub(super) type Hashes = BTreeMap<String, OneOrMore>;

/// One hash or several.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum OneOrMore {
    One(String),
    More(Vec<String>),
}

impl OneOrMore {
    fn holds(&self, hash: &str) -> bool {
        match self {
            Self::One(one) => one.eq_ignore_ascii_case(hash),
            Self::More(more) => more.iter().any(|one| one.eq_ignore_ascii_case(hash)),
        }
    }
}

/// The existing lists, each with its source.
#[derive(Debug, Default)]
pub(super) struct AllowLists {
    lists: Vec<(PathBuf, Hashes)>,
}

impl AllowLists {
    /// The lists of the command line and of the user's folder, and the one of the project.
    pub(super) fn read(
        flag: Option<&Path>,
        user: Option<&Path>,
        project: Option<(&Path, Hashes)>,
    ) -> Result<Self, Diagnostic> {
        let user = user.map(|folder| folder.join(FILE)).filter(|file| file.exists());
        let mut lists = Vec::new();
        for path in flag.map(Path::to_owned).into_iter().chain(user) {
            let problem = |why: &str| {
                let why = why.lines().next().unwrap_or_default();
                let message = format!("the list of allowed plugins {} cannot be read: {why}", path.display());
                Diagnostic::error(Code::PLUGIN_ALLOW, message)
            };
            let text = files::text(&path, MAX_TEXT).map_err(|error| problem(&error.to_string()))?;
            let hashes = toml::from_str(&text).map_err(|error| problem(error.message()))?;
            lists.push((path, hashes));
        }
        lists.extend(project.map(|(path, hashes)| (path.to_owned(), hashes)));
        Ok(Self { lists })
    }

    /// Whether `library` may be loaded. Called before loading; returns the ids that it must have.
    pub(super) fn check(&self, library: &Path) -> Result<Allowed, Diagnostic> {
        if self.lists.is_empty() {
            return Ok(Allowed { ids: None });
        }
        let hash = sha256(library)?;
        let mut ids: Option<Vec<String>> = None;
        for (path, hashes) in &self.lists {
            let here = hashes.iter().filter(|(_, known)| known.holds(&hash)).map(|(id, _)| id.clone());
            let here: Vec<String> = match &ids {
                None => here.collect(),
                Some(before) => here.filter(|id| before.contains(id)).collect(),
            };
            if here.is_empty() {
                let message =
                    format!("{} may not be loaded: {} does not list it", library.display(), path.display());
                return Err(Diagnostic::error(Code::PLUGIN_ALLOW, message)
                    .note(format!("its SHA-256 is {hash}"))
                    .help("if you trust this file, add its id and SHA-256 to the list; `onnxport plugin info` shows both"));
            }
            ids = Some(here);
        }
        Ok(Allowed { ids })
    }
}

/// The ids that an allowed library may have; any without a list.
#[derive(Debug)]
pub(super) struct Allowed {
    ids: Option<Vec<String>>,
}

impl Allowed {
    /// Whether the library, now loaded, is the plugin that was allowed.
    pub(super) fn check(&self, id: &str, library: &Path) -> Result<(), Diagnostic> {
        match &self.ids {
            Some(ids) if !ids.iter().any(|allowed| allowed == id) => {
                let message = format!(
                    "{} is allowed as plugin `{}`, but it is `{id}`",
                    library.display(),
                    ids.join("` or `")
                );
                Err(Diagnostic::error(Code::PLUGIN_ALLOW, message))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::AllowLists;
    use crate::diagnose::Code;

    const EMPTY: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

    #[test]
    fn every_list_must_hold_the_library() {
        let folder = tempfile::tempdir().expect("a folder");
        let library = folder.path().join("libempty.so");
        fs::write(&library, b"").expect("a file");
        let flag = folder.path().join("flag.toml");
        fs::write(&flag, format!("empty = [\"00\", \"{}\"]\n", EMPTY.to_uppercase())).expect("a file");
        let check = |lists: AllowLists| lists.check(&library).map(|allowed| allowed.check("empty", &library));
        let allowed = check(AllowLists::default()).expect("nothing forbids it");
        assert!(allowed.is_ok());
        let lists = || AllowLists::read(Some(&flag), Some(folder.path()), None).expect("readable lists");
        assert!(check(lists()).expect("it is listed").is_ok());
        assert!(lists().check(&library).expect("it is listed").check("other", &library).is_err());
        fs::write(folder.path().join("allow.toml"), "other = \"00\"\n").expect("a file");
        let problem = check(lists()).expect_err("the user's list does not hold it");
        assert_eq!(problem.code, Code::PLUGIN_ALLOW);
        assert!(problem.message.ends_with("allow.toml does not list it"), "{}", problem.message);
    }

    #[test]
    fn a_list_that_cannot_be_read_allows_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        let missing = folder.path().join("missing.toml");
        assert!(AllowLists::read(Some(&missing), None, None).is_err());
        fs::write(folder.path().join("allow.toml"), "empty = 3\n").expect("a file");
        assert!(AllowLists::read(None, Some(folder.path()), None).is_err());
    }
}
