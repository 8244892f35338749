//! Finds plugins. Nothing is ever loaded because it lies in the current directory or beside a program: that
//! would run code that came with a download.
//!
//! A library that is named is loaded. Of a folder only the libraries with a manifest are.

use std::collections::BTreeMap;
use std::env;
use std::fmt;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::allow::{AllowLists, Hashes};
use super::options::Given;
use super::user_folder::user_folder;
use super::{MAX_TEXT, Manifest, OnPanic, log};
use crate::diagnose::{Code, Diagnostic};
use crate::files;

/// Who asked for a plugin; of two with the same id the earlier source counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// The command line.
    Flag,
    /// The variable `ONNXPORT_PLUGIN_PATH`.
    Environment,
    /// The project file.
    Project,
    /// The user's folder of plugins.
    User,
    /// It is linked into the program.
    Linked,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Flag => "--plugin",
            Self::Environment => "ONNXPORT_PLUGIN_PATH",
            Self::Project => "project file",
            Self::User => "user folder",
            Self::Linked => "linked in",
        })
    }
}

/// A plugin of onnxport that the program leaves out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Absent {
    /// Its id.
    pub id: &'static str,
    /// How to get it.
    pub help: &'static str,
}

/// The user's search options. Paths are libraries or folders of them.
#[derive(Clone, Debug, Default)]
pub struct Search {
    /// Named on the command line.
    pub plugins: Vec<PathBuf>,
    /// The entries of `ONNXPORT_PLUGIN_PATH`.
    pub environment: Vec<PathBuf>,
    /// The project file.
    pub project: Option<PathBuf>,
    /// Tables of the project file that are not about plugins; other code reads them.
    pub sections: Vec<String>,
    /// The user's folder of plugins, searched if it exists.
    pub user: Option<PathBuf>,
    /// Operators and the plugins that must lower them; these override those of the project file.
    pub choices: Vec<(String, String)>,
    /// Options of plugins: the plugin, the name, the value. These go before those of the project file.
    pub options: Vec<(String, String, String)>,
    /// A list of the libraries that may be loaded, by SHA-256.
    pub allow: Option<PathBuf>,
    /// The reaction to a plugin's panic.
    pub on_panic: OnPanic,
    /// Plugins that the program leaves out; whoever names one is told how to get it.
    pub absent: &'static [Absent],
}

impl Search {
    /// Returns the search of the environment: `ONNXPORT_PLUGIN_PATH` and the user's folder.
    pub fn of_environment() -> Self {
        let path = env::var_os("ONNXPORT_PLUGIN_PATH").unwrap_or_default();
        // An empty entry would be the current directory.
        let environment = env::split_paths(&path).filter(|entry| !entry.as_os_str().is_empty()).collect();
        Self { environment, user: user_folder(), ..Self::default() }
    }
}

/// A library to load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Candidate {
    pub library: PathBuf,
    pub source: Source,
}

/// The result of a search.
#[derive(Debug, Default)]
pub(super) struct Discovered {
    /// The libraries, sorted by source.
    pub candidates: Vec<Candidate>,
    /// Operators and the plugins that must lower them.
    pub choices: BTreeMap<String, String>,
    /// Options of plugins.
    pub options: Given,
    /// The libraries that may be loaded.
    pub allow: AllowLists,
}

/// The plugin settings of `onnxport.toml`. Its other keys are ignored here.
#[derive(Debug, Default, Deserialize)]
struct Project {
    /// Libraries or folders, relative to the file.
    #[serde(default)]
    plugins: Vec<PathBuf>,
    /// Operators and the plugins that must lower them.
    #[serde(default, rename = "use")]
    choices: BTreeMap<String, String>,
    /// Options by plugin and name.
    #[serde(default)]
    options: BTreeMap<String, BTreeMap<String, Setting>>,
    /// The libraries that may be loaded.
    allow: Option<Hashes>,
    /// The rest.
    #[serde(flatten)]
    others: BTreeMap<String, toml::Value>,
}

/// The value of an option, as TOML writes it.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
enum Setting {
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(String),
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool(value) => write!(f, "{value}"),
            Self::Int(value) => write!(f, "{value}"),
            Self::Float(value) => write!(f, "{value}"),
            Self::Text(value) => f.write_str(value),
        }
    }
}

/// Merges the options: those of the project file, overridden by those of the command line.
fn options(project: BTreeMap<String, BTreeMap<String, Setting>>, search: &Search) -> Given {
    let text = |(name, setting): (String, Setting)| (name, setting.to_string());
    let mut given: Given =
        project.into_iter().map(|(id, set)| (id, set.into_iter().map(text).collect())).collect();
    for (id, name, value) in &search.options {
        given.entry(id.clone()).or_default().insert(name.clone(), value.clone());
    }
    given
}

/// Finds the libraries that `search` asks for.
pub(super) fn wanted(search: &Search, problems: &mut Vec<Diagnostic>) -> Discovered {
    let project = match search.project.as_deref().map(|path| project(path, &search.sections)) {
        Some(Ok(project)) => project,
        Some(Err(problem)) => {
            problems.push(problem);
            Project::default()
        }
        None => Project::default(),
    };
    let user: Vec<PathBuf> = search.user.iter().filter(|folder| folder.is_dir()).cloned().collect();
    let sources = [
        (&search.plugins, Source::Flag),
        (&search.environment, Source::Environment),
        (&project.plugins, Source::Project),
        (&user, Source::User),
    ];
    let mut candidates = Vec::new();
    for (paths, source) in sources {
        for path in paths {
            match libraries(path) {
                Ok(found) => {
                    candidates.extend(found.into_iter().map(|library| Candidate { library, source }));
                }
                Err(problem) => problems.push(problem),
            }
        }
    }
    let mut choices = project.choices;
    choices.extend(search.choices.iter().cloned());
    let options = options(project.options, search);
    let of_project = search.project.as_deref().zip(project.allow);
    match AllowLists::read(search.allow.as_deref(), search.user.as_deref(), of_project) {
        Ok(allow) => Discovered { candidates, choices, options, allow },
        Err(problem) => {
            problems.push(problem);
            // The allow lists are unknown, so nothing is loaded.
            Discovered { candidates: Vec::new(), choices, options, allow: AllowLists::default() }
        }
    }
}

/// The library at `path`, or those with a manifest in the folder `path`, by name.
fn libraries(path: &Path) -> Result<Vec<PathBuf>, Diagnostic> {
    let unreadable = |error: std::io::Error| {
        Diagnostic::error(Code::PLUGIN_FILE, format!("{} cannot be read: {error}", path.display()))
    };
    if !path.is_dir() {
        return match path.metadata() {
            Ok(_) => Ok(vec![path.to_owned()]),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                let message = format!("plugin library not found: {}", path.display());
                Err(Diagnostic::error(Code::PLUGIN_FILE, message))
            }
            Err(error) => Err(unreadable(error)),
        };
    }
    let (mut found, mut skipped) = (Vec::new(), Vec::new());
    for entry in path.read_dir().map_err(unreadable)? {
        let library = entry.map_err(unreadable)?.path();
        let extension = library.extension().is_some_and(|e| e == env::consts::DLL_EXTENSION);
        if extension && Manifest::paths(&library).iter().any(|manifest| manifest.is_file()) {
            found.push(library);
        } else if extension {
            skipped.extend(library.file_name().map(|name| name.to_string_lossy().into_owned()));
        }
    }
    found.sort();
    if !skipped.is_empty() {
        skipped.sort();
        let message = format!(
            "of {} these have no manifest and are not loaded: {}",
            path.display(),
            skipped.join(", ")
        );
        let help = "name the library itself, or let `onnxport plugin check --write-manifest` write one";
        log::warn(Diagnostic::warning(Code::PLUGIN_FILE, message).help(help));
    }
    Ok(found)
}

fn project(path: &Path, sections: &[String]) -> Result<Project, Diagnostic> {
    let problem = |why: &str| {
        let why = why.lines().next().unwrap_or_default();
        let message = format!("the project file {} cannot be read: {why}", path.display());
        Diagnostic::error(Code::PLUGIN_PROJECT, message)
    };
    let text = files::text(path, MAX_TEXT).map_err(|error| problem(&error.to_string()))?;
    let mut project: Project = toml::from_str(&text).map_err(|error| problem(error.message()))?;
    if let Some(name) = project.others.keys().find(|name| !sections.contains(name)) {
        return Err(problem(&format!("unknown key `{name}`, expected plugins, use, options or allow")));
    }
    let folder = path.parent().unwrap_or(Path::new(""));
    for plugin in &mut project.plugins {
        *plugin = folder.join(&plugin);
    }
    Ok(project)
}

#[cfg(test)]
mod tests;
