//! The wheel, as a user gets it: built, installed into a fresh environment that holds nothing else, and run there.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::python::interpreter;
use crate::step::Steps;
use crate::target;
use crate::test::PROFILE;

/// The most bytes that the wheel may have as it is tested: code that is not optimized is larger than what is shipped.
const MOST: u64 = 24 << 20;

/// Importing the package loads nothing that a user of the command does not need.
const IMPORT: &str = "import sys, onnxport\n\
    found = {'torch', 'numpy', 'onnx'} & sys.modules.keys()\n\
    assert not found, found";

/// The command states its build: wheels have the plugin for GPUs.
const VERSION: &str = "import json, subprocess, sys\n\
    said = json.loads(subprocess.check_output([sys.argv[1], '--version', '--json']))\n\
    assert said['features'] == ['cuda'], said";

/// Builds the wheel with the environment's maturin, and tries it. `python` is the interpreter of the environment.
pub(crate) fn steps(root: &Path, python: &Path, steps: &mut Steps) {
    let folder = target().join("wheel");
    // One of an older run would be installed too.
    let _ = std::fs::remove_dir_all(&folder);
    let mut build = Command::new(python);
    build
        .args(["-m", "maturin", "build", "--quiet", "--profile", PROFILE, "--out"])
        .arg(&folder)
        .current_dir(root);
    if !steps.check("the wheel", &mut build) {
        return;
    }
    let wheel = match only_wheel(&folder) {
        Ok(wheel) => wheel,
        Err(why) => return steps.fail("the wheel", &why),
    };
    match wheel.metadata().map(|metadata| metadata.len()) {
        Ok(len) if len <= MOST => println!("{len} bytes"),
        Ok(len) => steps.fail("the wheel", &format!("it has {len} bytes, more than {MOST}")),
        Err(error) => steps.fail("the wheel", &error.to_string()),
    }
    let fresh = folder.join("environment");
    if !steps.check("a fresh environment", Command::new(python).args(["-m", "venv"]).arg(&fresh)) {
        return;
    }
    let own = interpreter(&fresh);
    let install = ["-m", "pip", "install", "--quiet", "--no-index", "--disable-pip-version-check"];
    if !steps.check("installing the wheel", Command::new(&own).args(install).arg(&wheel)) {
        return;
    }
    let script = own.with_file_name(format!("onnxport{}", std::env::consts::EXE_SUFFIX));
    let in_fresh = |program: &Path, arguments: &[&str]| {
        let mut command = Command::new(program);
        command.args(arguments).current_dir(&fresh).env_remove("PYTHONPATH").env_remove("VIRTUAL_ENV");
        command
    };
    steps.check("onnxport --version", in_fresh(&own, &["-c", VERSION]).arg(&script));
    let program = root.join("examples/mlp/mlp.pt2");
    let mut convert = in_fresh(&script, &["convert"]);
    convert.arg(program).args(["-o", "mlp.onnx", "--executor", "reference", "--quiet"]);
    steps.check("onnxport convert", &mut convert);
    steps.check("import onnxport", &mut in_fresh(&own, &["-c", IMPORT]));
}

fn only_wheel(folder: &Path) -> Result<PathBuf, String> {
    let entries = folder.read_dir().map_err(|error| format!("{}: {error}", folder.display()))?;
    let wheels = entries.flatten().map(|entry| entry.path());
    let wheels: Vec<_> = wheels.filter(|path| path.extension().is_some_and(|end| end == "whl")).collect();
    match wheels.as_slice() {
        [wheel] => Ok(wheel.clone()),
        found => Err(format!("there are {} in {}", found.len(), folder.display())),
    }
}
