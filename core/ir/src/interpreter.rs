//! Finds the user's Python without starting one.
//!
//! Candidates, in this order: the Python that this process is, if it is one; the environments that `VIRTUAL_ENV`
//! and `CONDA_PREFIX` name; the `python3` and the `python` of `PATH`. The installed packages are found from its
//! folders.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The interpreter that this process runs, where it runs one.
static OWN: OnceLock<PathBuf> = OnceLock::new();

/// An installed Python.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Python {
    /// The interpreter.
    pub interpreter: PathBuf,
    /// The folders in which its packages are, those that exist.
    pub packages: Vec<PathBuf>,
}

impl Python {
    /// The folder of the package called `name`.
    pub fn package(&self, name: &str) -> Option<PathBuf> {
        self.packages.iter().map(|folder| folder.join(name)).find(|folder| folder.is_dir())
    }
}

/// Says which interpreter this process runs: its packages come before those of every other. Said once.
pub fn running(interpreter: PathBuf) {
    OWN.get_or_init(|| interpreter);
}

/// The active Pythons, those that come first in use first; each once.
pub fn active() -> Vec<Python> {
    let set = |variable| env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from);
    let path = env::var_os("PATH").unwrap_or_default();
    let home = ["HOME", "USERPROFILE"].into_iter().find_map(set);
    let prefixes = [set("VIRTUAL_ENV"), set("CONDA_PREFIX")];
    found(OWN.get().cloned(), prefixes, &path, home.as_deref())
}

/// The folder of a package of the first active Python that has it.
pub fn package(name: &str) -> Option<PathBuf> {
    active().iter().find_map(|python| python.package(name))
}

/// Returns the active Python that lacks the fewest of `packages`; the packages of a launcher's Python are known
/// only once it is started.
///
/// # Errors
/// A sentence if none is active.
pub fn with(packages: &[&str]) -> Result<Python, String> {
    let mut all = active();
    all.sort_by_key(|python| packages.iter().filter(|name| python.package(name).is_none()).count());
    let none = "no Python is active: neither an environment, nor `python3` on PATH";
    all.into_iter().next().ok_or_else(|| none.to_owned())
}

fn found(
    own: Option<PathBuf>,
    prefixes: [Option<PathBuf>; 2],
    path: &OsStr,
    home: Option<&Path>,
) -> Vec<Python> {
    let in_prefixes = prefixes.into_iter().flatten().filter_map(|prefix| interpreter_in(&prefix));
    let on_path = ["python3", "python"].into_iter().filter_map(|name| {
        let file = format!("{name}{}", env::consts::EXE_SUFFIX);
        env::split_paths(path).map(|folder| folder.join(&file)).find(|file| file.is_file())
    });
    let mut all: Vec<Python> = Vec::new();
    for interpreter in own.into_iter().chain(in_prefixes).chain(on_path) {
        let packages = packages(&interpreter, home);
        let is_known = |known: &Python| known.interpreter == interpreter || known.packages == packages;
        if packages.is_empty() || !all.iter().any(is_known) {
            all.push(Python { interpreter, packages });
        }
    }
    all
}

/// The interpreter of the environment at `prefix`.
fn interpreter_in(prefix: &Path) -> Option<PathBuf> {
    let places: &[&str] =
        if cfg!(windows) { &["Scripts/python.exe", "python.exe"] } else { &["bin/python3", "bin/python"] };
    places.iter().map(|place| prefix.join(place)).find(|path| path.is_file())
}

/// The folders of packages of an interpreter. That of a virtual environment is a link out of it, so that both
/// ends are looked at, the near one first.
fn packages(interpreter: &Path, home: Option<&Path>) -> Vec<PathBuf> {
    let real = interpreter.canonicalize().unwrap_or_else(|_| interpreter.to_owned());
    // `python3.11`, where the interpreter's own name says it.
    let version = real.file_name().and_then(OsStr::to_str).filter(|name| name.contains('.'));
    let prefix = |path: &Path| Some(path.parent()?.parent()?.to_owned());
    let near = prefix(interpreter);
    let isolated = near.as_ref().is_some_and(|prefix| {
        let config = fs::read_to_string(prefix.join("pyvenv.cfg")).unwrap_or_default();
        let shares = |line: &str| {
            let Some((key, value)) = line.split_once('=') else { return false };
            key.trim() == "include-system-site-packages" && value.trim() == "true"
        };
        !config.is_empty() && !config.lines().any(shares)
    });
    let mut prefixes: Vec<PathBuf> = near.into_iter().collect();
    if !isolated {
        prefixes.extend(prefix(&real));
        // Debian's own Python shares packages with manual installations under `/usr/local`; users have theirs.
        prefixes.extend(prefixes.contains(&PathBuf::from("/usr")).then(|| PathBuf::from("/usr/local")));
        prefixes.extend(home.map(|home| home.join(".local")));
    }
    let mut all = Vec::new();
    for folder in prefixes.iter().flat_map(|prefix| in_prefix(prefix, version)) {
        if !all.contains(&folder) {
            all.push(folder);
        }
    }
    all
}

/// The folders of packages below `prefix`, newest Python first, or those of one `version`.
fn in_prefix(prefix: &Path, version: Option<&str>) -> Vec<PathBuf> {
    let mut roots = vec![prefix.join("Lib")];
    for lib in ["lib", "lib64", "local/lib"] {
        let Ok(entries) = fs::read_dir(prefix.join(lib)) else { continue };
        let fits = |name: &str| name == "python3" || version.is_none_or(|wanted| name == wanted);
        let is_python = |name: &str| name.starts_with("python3") && fits(name);
        let pythons = entries.flatten().filter(|entry| entry.file_name().to_str().is_some_and(is_python));
        let mut pythons: Vec<PathBuf> = pythons.map(|entry| entry.path()).collect();
        pythons.sort();
        roots.extend(pythons.into_iter().rev());
    }
    let folders =
        roots.iter().flat_map(|root| ["site-packages", "dist-packages"].map(|name| root.join(name)));
    folders.filter(|folder| folder.is_dir()).collect()
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn install(prefix: &Path, version: &str, packages: &[&str]) {
        fs::create_dir_all(prefix.join("bin")).unwrap();
        fs::write(prefix.join("bin").join(version), "").unwrap();
        let _ = std::os::unix::fs::symlink(version, prefix.join("bin/python3"));
        let folder = prefix.join("lib").join(version).join("site-packages");
        fs::create_dir_all(&folder).unwrap();
        for name in packages {
            fs::create_dir(folder.join(name)).unwrap();
        }
    }

    #[test]
    fn an_environment_comes_before_the_path() {
        let root = tempfile::tempdir().unwrap();
        let [venv, system] = ["venv", "system"].map(|name| root.path().join(name));
        install(&venv, "python3.12", &["torch"]);
        install(&system, "python3.11", &[]);
        let path = system.join("bin");
        let pythons = found(None, [Some(venv.clone()), None], path.as_os_str(), None);
        let interpreters: Vec<PathBuf> = pythons.iter().map(|p| p.interpreter.clone()).collect();
        assert_eq!(interpreters, [venv.join("bin/python3"), path.join("python3")]);
        assert_eq!(pythons[0].package("torch"), Some(venv.join("lib/python3.12/site-packages/torch")));
        assert_eq!(pythons[1].package("torch"), None);
        let same = found(None, [Some(venv.clone()), None], venv.join("bin").as_os_str(), None);
        assert_eq!(same.len(), 1);
        let own = Some(system.join("bin/python3"));
        let pythons = found(own.clone(), [Some(venv), None], OsStr::new(""), None);
        assert_eq!(own.as_ref(), pythons.first().map(|python| &python.interpreter));
    }

    #[test]
    fn packages_are_those_of_the_interpreters_own_version() {
        let root = tempfile::tempdir().unwrap();
        let prefix = root.path().join("local");
        install(&prefix, "python3.11", &[]);
        fs::create_dir_all(prefix.join("lib/python3.13/site-packages/torch")).unwrap();
        let [python] = &found(None, [None, None], prefix.join("bin").as_os_str(), None)[..] else { panic!() };
        assert_eq!(python.package("torch"), None);
    }

    #[test]
    fn a_virtual_environment_sees_outer_packages_only_if_it_says_so() {
        let root = tempfile::tempdir().unwrap();
        let [venv, base] = ["venv", "base"].map(|name| root.path().join(name));
        install(&base, "python3.11", &["torch"]);
        fs::create_dir_all(venv.join("bin")).unwrap();
        fs::create_dir_all(venv.join("lib/python3.11/site-packages")).unwrap();
        std::os::unix::fs::symlink(base.join("bin/python3.11"), venv.join("bin/python3")).unwrap();
        for (says, sees) in [("false", false), ("true", true)] {
            let config = format!("home = {}\ninclude-system-site-packages = {says}\n", base.display());
            fs::write(venv.join("pyvenv.cfg"), config).unwrap();
            let pythons = found(None, [Some(venv.clone()), None], OsStr::new(""), None);
            assert_eq!(pythons[0].package("torch").is_some(), sees, "{says}");
        }
    }
}
