//! `cargo xtask plugins`: the plugins of this repository that the command does not contain, built and installed.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::{root, target};

#[path = "../../core/src/host/user_folder.rs"]
mod user_folder;

/// The names of their packages without `onnxport-`.
const NAMES: [&str; 1] = ["cuda-parity"];

/// Builds them in release mode, and puts them with their manifests into `folder`, or else where the command looks for the
/// plugins of the user. Returns whether all were built and pass `plugin check`.
pub(crate) fn run(folder: Option<&Path>) -> Result<bool, String> {
    let cargo = |arguments: &[&str]| {
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        run_in_root(cargo.args(arguments).arg("--release"))
    };
    let folder = folder.map(Path::to_owned).or_else(user_folder::user_folder);
    let folder = folder.ok_or("there is no folder for the plugins of this user: name one")?;
    if !cargo(&["build", "-p", "onnxport"])? {
        return Ok(false);
    }
    let release = target().join("release");
    for name in NAMES {
        let package = format!("onnxport-{name}");
        let library = ["rustc", "-p", &package, "--lib", "--crate-type", "cdylib", "--features", "cdylib"];
        if !cargo(&library)? {
            return Ok(false);
        }
        let (prefix, suffix) = (std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
        let file = format!("{prefix}onnxport_{}{suffix}", name.replace('-', "_"));
        let mut check = Command::new(release.join(format!("onnxport{}", std::env::consts::EXE_SUFFIX)));
        if !run_in_root(check.args(["plugin", "check", "--write-manifest"]).arg(release.join(&file)))? {
            return Ok(false);
        }
        for file in [format!("{file}.toml"), file] {
            install(&release.join(&file), &folder.join(&file))?;
        }
    }
    println!("installed into {}", folder.display());
    Ok(true)
}

/// Copies a file. A process may have the old one in its memory: the new one is another file.
fn install(from: &Path, to: &Path) -> Result<(), String> {
    let folder = to.parent().unwrap_or(Path::new(""));
    let made = fs::create_dir_all(folder).and_then(|()| tempfile::NamedTempFile::new_in(folder));
    let copied = made.and_then(|hidden| {
        fs::copy(from, hidden.path())?;
        Ok(hidden.persist(to)?)
    });
    copied.map(drop).map_err(|e| format!("{}: {e}", to.display()))
}

fn run_in_root(command: &mut Command) -> Result<bool, String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let status = command.current_dir(root()).status();
    Ok(status.map_err(|e| format!("{program}: {e}"))?.success())
}
