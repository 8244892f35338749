//! A new plugin project, made from the template of the plugin SDK.
//!
//! The template is a project that builds as it is; making one replaces its name and its path to the SDK.

use std::fs;
use std::path::{Path, PathBuf};

use crate::diagnose::{Code, Diagnostic};

/// What the template calls itself, and how it depends on the SDK.
const NAME: &str = "myplugin";
const SDK: &str = "path = \"..\"";
const LIBRARY: &str = "LIBRARY";

macro_rules! files {
    ($($path:literal),* $(,)?) => {
        &[$(($path, include_str!(concat!("../../../plugin-sdk/template/", $path)))),*]
    };
}

/// The files of the template.
const FILES: &[(&str, &str)] = files![
    ".gitignore",
    "Cargo.toml",
    "README.md",
    "export.py",
    "schemas.txt",
    "src/lib.rs",
    "src/tests.rs",
];

/// Plugins that come with onnxport; one of the same id would take their place.
const BUNDLED: &[&str] = &["aten", "ort"];

/// Names that cannot be a crate or a namespace of operators.
const RESERVED: &[&str] = &[
    "abstract",
    "alloc",
    "as",
    "async",
    "await",
    "become",
    "box",
    "break",
    "const",
    "continue",
    "core",
    "crate",
    "do",
    "dyn",
    "else",
    "enum",
    "extern",
    "false",
    "final",
    "fn",
    "for",
    "gen",
    "if",
    "impl",
    "in",
    "let",
    "loop",
    "macro",
    "match",
    "mod",
    "move",
    "mut",
    "override",
    "priv",
    "proc_macro",
    "pub",
    "ref",
    "return",
    "self",
    "static",
    "std",
    "struct",
    "super",
    "test",
    "torch",
    "trait",
    "true",
    "try",
    "type",
    "typeof",
    "unsafe",
    "unsized",
    "use",
    "virtual",
    "where",
    "while",
    "yield",
];

/// Where the plugin SDK comes from. It is in no registry yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sdk {
    /// A folder that holds it.
    Path(PathBuf),
    /// A git repository that holds it.
    Git(String),
}

impl Sdk {
    /// A git address, or a folder.
    pub fn parse(text: &str) -> Self {
        if text.contains("://") || text.starts_with("git@") {
            Self::Git(text.to_owned())
        } else {
            Self::Path(text.into())
        }
    }

    /// The dependency's fields in a `Cargo.toml`.
    fn dependency(&self) -> Result<String, Diagnostic> {
        let text = match self {
            Self::Git(address) => return Ok(format!("git = {}", quoted(address))),
            Self::Path(path) => path,
        };
        let full = text.canonicalize().ok().filter(|path| path.join("Cargo.toml").is_file());
        let manifest = full.as_ref().and_then(|path| fs::read_to_string(path.join("Cargo.toml")).ok());
        match (full, manifest) {
            (Some(full), Some(manifest)) if manifest.contains("name = \"onnxport-sdk\"") => {
                Ok(format!("path = {}", quoted(&full.to_string_lossy())))
            }
            _ => {
                Err(Diagnostic::error(Code::PLUGIN_NEW, format!("{} is not the plugin SDK", text.display()))
                    .help("name the folder `plugin-sdk` of onnxport's sources, or their git address"))
            }
        }
    }
}

/// A project that was made.
#[derive(Clone, Debug)]
pub struct Project {
    /// Its folder.
    pub folder: PathBuf,
    /// The library that it builds, relative to the folder.
    pub library: PathBuf,
}

/// Makes the plugin project `name` in `folder`, which must be empty or not exist. All of it appears, or
/// nothing does.
///
/// # Errors
/// [`Code::PLUGIN_NEW`] when the name cannot be that of a crate, the folder holds something or cannot be
/// written, or the SDK is not where it is said to be.
pub fn new(name: &str, folder: &Path, sdk: &Sdk) -> Result<Project, Diagnostic> {
    check_name(name)?;
    let dependency = sdk.dependency()?;
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
    for (path, text) in FILES {
        let text = text.replace(SDK, &dependency).replace(LIBRARY, &file);
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

fn identifier(name: &str) -> String {
    name.replace('-', "_")
}

/// A basic string of TOML.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

fn check_name(name: &str) -> Result<(), Diagnostic> {
    let fail = |why: &str| {
        let message = format!("`{name}` cannot be the name of a plugin: {why}");
        Err(Diagnostic::error(Code::PLUGIN_NEW, message).help("use a name such as `mylib`"))
    };
    if !name.starts_with(|c: char| c.is_ascii_lowercase()) {
        return fail("it does not begin with a small letter");
    }
    if !name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == '-') {
        return fail("it holds more than small letters, digits, `_` and `-`");
    }
    if name.len() > 64 {
        return fail("it is longer than 64 characters");
    }
    if RESERVED.contains(&identifier(name).as_str()) {
        return fail("it is a word of Rust or Python");
    }
    if BUNDLED.contains(&name) || name.starts_with("onnxport") {
        return fail("it belongs to onnxport");
    }
    Ok(())
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
mod tests {
    use std::fs;
    use std::path::Path;

    use super::{FILES, Sdk, new};

    fn sdk() -> Sdk {
        Sdk::Path(Path::new(env!("CARGO_MANIFEST_DIR")).join("../plugin-sdk"))
    }

    #[test]
    fn the_name_reaches_every_place() {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("deep-ops");
        new("deep-ops", &folder, &sdk()).unwrap();
        for (path, _) in FILES {
            let text = fs::read_to_string(folder.join(path)).unwrap();
            assert!(!text.contains("myplugin") && !text.contains("path = \"..\""), "{path}: {text}");
        }
        let read = |path: &str| fs::read_to_string(folder.join(path)).unwrap();
        assert!(read("Cargo.toml").contains("name = \"deep-ops\""));
        assert!(read("schemas.txt").contains("deep_ops::scaled(Tensor x"));
        assert!(read("src/lib.rs").contains("#[lowering(\"deep_ops.scaled.default\")]"));
        assert!(read("export.py").contains("torch.ops.deep_ops.scaled("));
        // Only the project is left.
        assert_eq!(parent.path().read_dir().unwrap().count(), 1);
    }

    #[test]
    fn nothing_is_made_where_something_is_wrong() {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("taken");
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("file"), "mine").unwrap();
        assert!(new("taken", &folder, &sdk()).unwrap_err().message.ends_with("exists and is not empty"));
        assert!(new("taken", &folder.join("file"), &sdk()).is_err());
        let free = parent.path().join("free");
        for name in ["", "Upper", "9lives", "a b", "a/b", "fn", "test", "ort", "onnxport-x", &"a".repeat(65)]
        {
            assert!(new(name, &free, &sdk()).is_err(), "{name}");
        }
        assert!(new("free", &free, &Sdk::Path(parent.path().to_owned())).is_err());
        assert!(!free.exists());
        assert_eq!(parent.path().read_dir().unwrap().count(), 1);
        // An empty folder is as good as none.
        fs::create_dir(&free).unwrap();
        new("free", &free, &Sdk::parse("https://example.org/onnxport")).unwrap();
        let text = fs::read_to_string(free.join("Cargo.toml")).unwrap();
        assert!(text.contains("onnxport-sdk = { git = \"https://example.org/onnxport\" }"), "{text}");
    }
}
