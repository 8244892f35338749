//! `cargo xtask test`.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use crate::background::Background;
use crate::counts::Counts;
use crate::step::Steps;
use crate::{conformance, contract, examples, extension, generate, imports, python, root, target, wheel};

/// The profile of everything that is tested.
pub(crate) const PROFILE: &str = "quick";

/// For crates that tests build outside of the workspace: nobody debugs them or builds them again.
const PLAIN: [(&str, &str); 2] = [("CARGO_PROFILE_DEV_DEBUG", "false"), ("CARGO_INCREMENTAL", "0")];

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
    // One build for all suites, beside the installation of the Python environment.
    let build = ["build", "--profile", PROFILE, "--workspace", "--lib", "--bins", "--tests", "--quiet"];
    let build = Background::check("cargo build", cargo(&root).args(build));
    // The Rust tests use the ONNX Runtime of the environment.
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
        let mut command = cargo(&root);
        command.args(arguments);
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
    let built = steps.join(build);
    // Two lanes, since each has parts that use one core: the Python tests, and the others.
    let pytest = match (scope, &environment) {
        (Scope::All, Some(python)) => python_tests(&root, python, built, cargo, &mut steps),
        _ => None,
    };
    if let (Scope::All, Some(python)) = (scope, &environment) {
        match generate::stale(&root, python) {
            Ok(stale) if stale.is_empty() => {}
            Ok(stale) => {
                steps.fail("generated files", &format!("run `cargo xtask gen`: {}", stale.join(", ")));
            }
            Err(why) => steps.fail("generated files", &why),
        }
    }
    let clippy =
        ["clippy", "--profile", PROFILE, "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"];
    steps.check("cargo clippy", &mut cargo(&clippy));
    let tests = ["test", "--profile", PROFILE, "--workspace", "--no-fail-fast", "--quiet"];
    let mut tests = cargo(&tests);
    if pytest.is_some() {
        tests.env("RUST_TEST_THREADS", "1");
    }
    steps.run("cargo test", &mut tests, Counts::of_cargo);
    examples::steps(cargo, &mut steps);
    if let Some(pytest) = pytest {
        steps.join(pytest);
    }
    if let (Scope::All, Some(python)) = (scope, &environment) {
        wheel::steps(&root, python, &mut steps);
    }
    steps.close()
}

/// `cargo` in the root of the repository.
fn cargo(root: &Path) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root).envs(PLAIN);
    command
}

/// Builds the op sets as shared libraries, as the Rust tests do, and returns their paths as `ONNXPORT_LOADED` takes
/// them.
fn op_sets(cargo: impl Fn(&[&str]) -> Command, steps: &mut Steps) -> OsString {
    let build = |name: &str| {
        let package = format!("onnxport-{name}");
        let package_of = ["rustc", "--profile", PROFILE, "-p", &package, "--lib"];
        let arguments = [&package_of[..], &["--crate-type", "cdylib", "--features", "cdylib"]].concat();
        steps.check(&format!("{package} as a library"), cargo(&arguments).arg("--quiet"));
        let (prefix, suffix) = (std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
        target().join(PROFILE).join(format!("{prefix}onnxport_{name}{suffix}"))
    };
    std::env::join_paths(["aten", "torchvision"].map(build)).unwrap_or_default()
}

/// Starts the Python tests.
fn python_tests(
    root: &Path,
    python: &Path,
    built: bool,
    cargo: impl Fn(&[&str]) -> Command,
    steps: &mut Steps,
) -> Option<Background> {
    if !built {
        steps.fail("pytest", "the command did not build");
        return None;
    }
    if let Err(why) = extension::place(root, PROFILE) {
        steps.fail("onnxport-python beside its package", &why);
    }
    let libraries = op_sets(cargo, steps);
    let workers = std::thread::available_parallelism().map_or(1, usize::from).to_string();
    let mut pytest = Command::new(python);
    pytest.args(["-m", "pytest", "-rfEs", "-p", "no:cacheprovider", "--durations=20"]).current_dir(root);
    // Each worker takes whole files, in the order of `tests/python/conftest.py`.
    pytest.args(["--dist", "loadfile", "--no-loadscope-reorder", "-n"]);
    pytest.args([&workers, "python/tests", "tests/python"]);
    let binary = target().join(PROFILE).join(format!("onnxport{}", std::env::consts::EXE_SUFFIX));
    pytest.env("ONNXPORT_BIN", binary);
    pytest.env("ONNXPORT_LOADED", libraries).env("ONNXPORT_REFERENCE", "recorded");
    // One thread for each worker: PyTorch would start as many in each as there are cores.
    pytest.env("OMP_NUM_THREADS", "1").envs(PLAIN);
    Some(Background::run("pytest", &mut pytest, Counts::of_pytest))
}
