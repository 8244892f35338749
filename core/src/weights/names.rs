//! Maps a program's names to the names in the files.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::path::Path;

use serde::Deserialize;

use crate::diagnose::{Code, Diagnostic};
use crate::files;

/// Longer files of rules are refused.
const MAX_BYTES: u64 = 64 << 20;

/// Rules from the names of a program to the names in the files with its weights.
///
/// An exact name in `rename` takes precedence over the longest prefix in `prefix`; other names stay.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NameMap {
    /// Names in the program, and the corresponding names in the files. Several may map to one: tied weights
    /// that a file stores once.
    #[serde(default)]
    rename: BTreeMap<String, String>,
    /// Prefixes of names in the program, and their replacements in the files; either may be empty.
    #[serde(default)]
    prefix: BTreeMap<String, String>,
    /// Whether rules may match nothing.
    #[serde(skip)]
    lenient: bool,
    /// The rules that matched.
    #[serde(skip)]
    used: RefCell<BTreeSet<String>>,
}

impl NameMap {
    /// Reads rules from a TOML file, or from a JSON file by its extension.
    ///
    /// # Errors
    /// `OP101` for a file that cannot be read, `OP637` for one with anything but rules.
    pub fn read(path: &Path) -> Result<Self, Diagnostic> {
        let unreadable = |e: std::io::Error| {
            Diagnostic::error(Code::READ_IO, format!("`{}` cannot be read: {e}", path.display()))
        };
        let len = std::fs::metadata(path).map_err(unreadable)?.len();
        if len > MAX_BYTES {
            let message = format!("`{}` has {len} bytes, more than rules can have", path.display());
            return Err(Diagnostic::error(Code::WEIGHTS_MAP, message));
        }
        let text = files::text(path, MAX_BYTES).map_err(unreadable)?;
        let json = path.extension().is_some_and(|e| e == "json");
        let parsed = if json {
            serde_json::from_str(&text).map_err(|e| e.to_string())
        } else {
            toml::from_str(&text).map_err(|e| e.to_string())
        };
        parsed.map_err(|why| {
            let message = format!("`{}` cannot be read as a name map: {}", path.display(), why.trim_end());
            Diagnostic::error(Code::WEIGHTS_MAP, message).help(
                "it has the tables `rename` and `prefix`, each with `\"in the program\" = \"in the files\"`",
            )
        })
    }

    /// Adds the rule that all names in the files start with `prefix`, and the program's do not.
    ///
    /// # Errors
    /// `OP637` if there is another rule for all names.
    pub fn add_prefix(&mut self, prefix: &str) -> Result<(), Diagnostic> {
        match self.prefix.insert(String::new(), prefix.to_owned()) {
            Some(other) if other != prefix => {
                let message = format!("the names in the files start with both `{other}` and `{prefix}`");
                Err(Diagnostic::error(Code::WEIGHTS_MAP, message).help("give the prefix once"))
            }
            _ => Ok(()),
        }
    }

    /// Returns rules for a checkpoint with the names `stored`: it may store only one of several `ties`, and lack the
    /// `prefix` of a model without its head. Rules that match nothing are no error.
    pub fn of_checkpoint(stored: &BTreeSet<&str>, ties: &[Vec<String>], prefix: &str) -> Self {
        let mut names = Self { lenient: true, ..Self::default() };
        let prefix = format!("{prefix}.");
        if prefix.len() > 1 && !stored.iter().any(|name| name.starts_with(&prefix)) {
            names.prefix.insert(prefix, String::new());
        }
        for tie in ties {
            let keys: Vec<String> = tie.iter().map(|name| names.key(name)).collect();
            let Some(present) = keys.iter().find(|key| stored.contains(key.as_str())) else { continue };
            for (name, key) in tie.iter().zip(&keys) {
                if !stored.contains(key.as_str()) {
                    names.rename.insert(name.clone(), present.clone());
                }
            }
        }
        names
    }

    /// Returns the name in the files for the program's `name`.
    pub(super) fn key(&self, name: &str) -> String {
        if let Some(key) = self.rename.get(name) {
            self.used.borrow_mut().insert(name.to_owned());
            return key.clone();
        }
        match self.longest(name) {
            Some((own, other)) => {
                self.used.borrow_mut().insert(format!("{own}*"));
                format!("{other}{}", name.strip_prefix(own).unwrap_or(name))
            }
            None => name.to_owned(),
        }
    }

    /// Fails if a rule has matched no name of any program so far.
    ///
    /// # Errors
    /// `OP637`.
    pub fn check_used(&self) -> Result<(), Diagnostic> {
        self.unused().map_or(Ok(()), Err)
    }

    /// The rule with the longest beginning of `name`.
    fn longest(&self, name: &str) -> Option<(&str, &str)> {
        let mut rest = name;
        // Rules lie in order: the last one up to the name is its longest beginning, or shows how much of
        // the name such a beginning can have.
        let up_to = |rest| self.prefix.range::<str, _>((Bound::Unbounded, Bound::Included(rest))).next_back();
        while let Some((own, other)) = up_to(rest) {
            if name.starts_with(own.as_str()) {
                return Some((own, other));
            }
            let common = rest.char_indices().zip(own.chars()).find(|((_, a), b)| a != b);
            rest = rest.get(..common?.0.0)?;
        }
        None
    }

    /// Reports the rules that matched no name of the program: most likely misspelt.
    pub(super) fn unused(&self) -> Option<Diagnostic> {
        let used = self.used.borrow();
        let names = self.rename.keys().filter(|name| !used.contains(*name));
        let prefixes = self.prefix.keys().filter(|own| !used.contains(&format!("{own}*")));
        let rules: Vec<String> = names
            .map(|name| format!("rename `{name}`"))
            .chain(prefixes.map(|own| format!("prefix `{own}`")))
            .collect();
        if rules.is_empty() || self.lenient {
            return None;
        }
        let message = format!("rules for names that meet nothing in the program: {}", rules.len());
        let mut diagnostic = Diagnostic::error(Code::WEIGHTS_MAP, message);
        diagnostic.notes = rules;
        Some(
            diagnostic
                .help("the left side is the program's name: `onnxport inspect` and `convert` show them"),
        )
    }
}
