//! `cargo xtask test`.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::Command;

use crate::background::Background;
use crate::counts::Counts;
use crate::step::Steps;
use crate::{conformance, contract, examples, extension, generate, imports, python, root, target, wheel};

/// How much is tested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// The steps that need no Python.
    Fast,
    /// Everything.
    All,
}

/// Runs the checks and tests, all of them even when one fails. Returns whether all passed.
pub(crate) fn run(scope: Scope) -> bool {
    let root = root();
    let mut steps = Steps::default();
    // Made first: the Rust tests use the ONNX Runtime that it holds.
    let environment = match scope {
        Scope::All => match python::environment(&root) {
            Ok(python) => Some(python),
            Err(why) => {
                steps.fail("python environment", &why);
                None
            }
        },
        Scope::Fast => python::existing(&root),
    };
    if let (Scope::All, Some(python)) = (scope, &environment)
        && let Err(why) = conformance::write(&root, python)
    {
        steps.fail("tests of the onnx package", &why);
    }
    let cargo = |arguments: &[&str]| {
        let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        command.args(arguments).current_dir(&root);
        if environment.is_some() {
            command.env("VIRTUAL_ENV", root.join(".venv"));
        }
        command
    };
    steps.check("cargo fmt", &mut cargo(&["fmt", "--all", "--check"]));
    if let Some(python) = &environment {
        let ruff = |arguments: &[&str]| {
            let mut command = Command::new(python);
            command.args(["-m", "ruff"]).args(arguments).current_dir(&root);
            command
        };
        steps.check("ruff check", &mut ruff(&["check", "."]));
        steps.check("ruff format", &mut ruff(&["format", "--check", "."]));
    }
    match contract::stale(&root) {
        Ok(stale) if stale.is_empty() => {}
        Ok(stale) => {
            steps.fail("contract", &format!("run `cargo xtask gen contract`: {} is stale", stale.join(", ")));
        }
        Err(why) => steps.fail("contract", &why),
    }
    match imports::violations(&root) {
        Ok(found) if found.is_empty() => {}
        Ok(found) => steps.fail("imports", &found.join("\n")),
        Err(why) => steps.fail("imports", &why),
    }
    // Together: apart, the features of what both depend on differ, and nearly all is built twice. Beside the steps that
    // follow, whose longest parts keep one core. With the features of a wheel, which is built of the same crates.
    let release = ["build", "--release", "--quiet", "-p", "onnxport", "-p", "onnxport-python"];
    let release = [&release[..], &["--features", wheel::FEATURES]].concat();
    let release = (scope == Scope::All).then(|| Background::start("cargo build", &mut cargo(&release)));
    let clippy = ["clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"];
    steps.check("cargo clippy", &mut cargo(&clippy));
    let tests = ["test", "--workspace", "--no-fail-fast", "--quiet"];
    steps.run("cargo test", &mut cargo(&tests), Counts::of_cargo);
    examples::steps(cargo, &mut steps);
    if scope == Scope::All {
        let built = release.is_some_and(|build| steps.join(build));
        if let Some(python) = &environment {
            if let Err(why) = extension::place(&root, "release") {
                steps.fail("onnxport-python beside its package", &why);
            }
            wheel::steps(&root, python, &mut steps);
            let libraries = op_sets(cargo, &mut steps);
            python_steps(&root, python, built, &libraries, &mut steps);
        }
    }
    steps.close()
}

/// Builds the op sets as shared libraries, as the Rust tests do, and returns their paths as
/// `ONNXPORT_LOADED` takes them. Without optimisation: one costs some 10 ms for each program of a test.
fn op_sets(cargo: impl Fn(&[&str]) -> Command, steps: &mut Steps) -> OsString {
    let build = |name: &str| {
        let package = format!("onnxport-{name}");
        let arguments = ["rustc", "-p", &package, "--lib", "--crate-type", "cdylib", "--features", "cdylib"];
        steps.check(&format!("{package} as a library"), cargo(&arguments).arg("--quiet"));
        let (prefix, suffix) = (std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
        target().join("debug").join(format!("{prefix}onnxport_{name}{suffix}"))
    };
    std::env::join_paths(["aten", "torchvision"].map(build)).unwrap_or_default()
}

fn python_steps(root: &Path, python: &Path, built: bool, libraries: &OsStr, steps: &mut Steps) {
    let module = |arguments: &[&str]| {
        let mut command = Command::new(python);
        let binary = target().join("release").join(format!("onnxport{}", std::env::consts::EXE_SUFFIX));
        command.arg("-m").args(arguments).current_dir(root).env("ONNXPORT_BIN", binary);
        command
    };
    match generate::stale(root, python) {
        Ok(stale) if stale.is_empty() => {}
        Ok(stale) => steps.fail("generated files", &format!("run `cargo xtask gen`: {}", stale.join(", "))),
        Err(why) => steps.fail("generated files", &why),
    }
    if built {
        let workers = std::thread::available_parallelism().map_or(1, usize::from).to_string();
        let pytest =
            ["pytest", "-rs", "-p", "no:cacheprovider", "--durations=20", "--dist", "loadfile", "-n"];
        let mut pytest = module(&pytest);
        pytest.args([&workers, "python/tests", "tests/python"]);
        pytest.env("ONNXPORT_LOADED", libraries).env("ONNXPORT_REFERENCE", "recorded");
        // One thread for each worker: PyTorch would start as many in each as there are cores.
        pytest.env("OMP_NUM_THREADS", "1");
        steps.run("pytest", &mut pytest, Counts::of_pytest);
    } else {
        steps.fail("pytest", "there is no release binary to test");
    }
}
