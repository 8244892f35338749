//! The virtual environment `.venv`, made from `python/requirements.txt`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The requirements that the environment was made from, stored inside it.
const STAMP: &str = "onnxport-requirements.txt";

/// Runs inside the environment, made or brought up to date first.
pub(crate) fn environment(root: &Path) -> Result<PathBuf, String> {
    let wanted_path = root.join("python/requirements.txt");
    let wanted = fs::read_to_string(&wanted_path).map_err(|e| format!("{}: {e}", wanted_path.display()))?;
    let venv = root.join(".venv");
    let python = interpreter(&venv);
    if python.exists() && fs::read_to_string(venv.join(STAMP)).is_ok_and(|found| found == wanted) {
        return Ok(python);
    }
    if !python.exists() {
        let base = base_interpreter()?;
        println!("making .venv with {base}");
        run(Command::new(base).args(["-m", "venv"]).arg(&venv))?;
    }
    println!("installing python/requirements.txt into .venv (PyTorch is large)");
    let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r"];
    run(Command::new(&python).args(pip).arg(&wanted_path))?;
    fs::write(venv.join(STAMP), wanted).map_err(|e| format!(".venv/{STAMP}: {e}"))?;
    Ok(python)
}

/// The environment's interpreter, when there is an environment.
pub(crate) fn existing(root: &Path) -> Option<PathBuf> {
    Some(interpreter(&root.join(".venv"))).filter(|python| python.exists())
}

/// The interpreter of an environment.
pub(crate) fn interpreter(venv: &Path) -> PathBuf {
    if cfg!(windows) { venv.join("Scripts/python.exe") } else { venv.join("bin/python") }
}

/// A Python that is new enough, outside of the environment.
pub(crate) fn base_interpreter() -> Result<&'static str, String> {
    const MODERN: &str = "import sys; sys.exit(sys.version_info < (3, 10))";
    let works = |name: &&str| Command::new(name).args(["-c", MODERN]).status().is_ok_and(|s| s.success());
    ["python3", "python"].into_iter().find(works).ok_or_else(|| "Python 3.10 or newer is needed".to_owned())
}

fn run(command: &mut Command) -> Result<(), String> {
    let shown = format!("{command:?}");
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{shown}: {status}")),
        Err(error) => Err(format!("{shown}: {error}")),
    }
}
