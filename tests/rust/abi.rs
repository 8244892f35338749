//! Every revision of the contract against every other: frozen plugins and hosts (`tests/rust/abi`), and this host.
//! A pair works or is refused with both versions; nothing crashes.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::files::errors;
use onnxport_core::diagnose::{Code, Diagnostic, Report};
use onnxport_core::host::{CONTRACT, Host, Search};
use onnxport_core::ir::opset::DEFAULT_OPSET;
use onnxport_core::pipeline::{self, ConvertOptions};
use onnxport_core::program::Program;
use onnxport_core::verify::Executor;

/// The frozen revisions, oldest first.
const REVISIONS: [&str; 2] = ["1.0", "1.1"];

/// What is built in one profile.
struct Built {
    folder: PathBuf,
}

impl Built {
    /// Builds everything frozen with `profile`, whose artefacts cargo puts into `folder`.
    fn new(profile: &str, folder: &str) -> Self {
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("a target folder");
        let frozen = Path::new(env!("CARGO_MANIFEST_DIR")).join("abi");
        for revision in REVISIONS {
            let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
            cargo.args(["build", "--workspace", "--quiet", "--locked", "--profile", profile, "--target-dir"]);
            cargo.arg(target).current_dir(frozen.join(revision));
            assert!(cargo.status().expect("cargo starts").success(), "{cargo:?}");
        }
        Self { folder: target.join(folder) }
    }

    fn plugin(&self, name: &str) -> PathBuf {
        let (prefix, suffix) = (std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
        self.folder.join(format!("{prefix}frozen_{}{suffix}", name.replace('.', "_")))
    }

    /// What the frozen host of `revision` says about an operator of a plugin, and whether it could lower it.
    fn run(&self, revision: &str, plugin: &str, target: &str) -> (bool, String) {
        let name = format!("frozen_host_{}{}", revision.replace('.', "_"), std::env::consts::EXE_SUFFIX);
        let mut host = Command::new(self.folder.join(name));
        let output = host.arg(self.plugin(plugin)).arg(target).output().expect("the host starts");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let code = output.status.code();
        assert!(matches!(code, Some(0 | 1)), "{host:?} ends with {}: {text}", output.status);
        (code == Some(0), text)
    }
}

fn matrix(built: &Built) {
    for host in REVISIONS {
        for plugin in REVISIONS {
            let pair = format!("host {host}, plugin {plugin}");
            let (works, text) = built.run(host, plugin, "frozen.plain.default");
            let echo = format!("Relu [0] -> [1]\nfinish [1]\nexecutor echo {plugin}\ngave x [1, 2, 3, 4]\n");
            assert_eq!((works, text), (true, echo), "{pair}");
            let (works, text) = built.run(host, plugin, "frozen.scaled.default");
            assert!(works && text.contains("Mul [0, 1] -> [2]"), "{pair}: {text}");
            let (works, text) = built.run(host, plugin, "frozen.refused.default");
            assert_eq!(
                (works, text.as_str()),
                (false, "refused: status 1: this is what it says\n"),
                "{pair}"
            );
            let (works, text) = built.run(host, plugin, "frozen.panics.default");
            assert!(!works && text.starts_with("refused: status 2: out of cheese"), "{pair}: {text}");
        }
        let (works, text) = built.run(host, "major2", "frozen.plain.default");
        assert!(!works && text.contains("contract 2.3 does not fit contract"), "host {host}: {text}");
        assert!(text.contains(&format!("contract {host}:")), "host {host}: {text}");
    }
    // What came with 1.1 works there, and is refused with both versions on a host of 1.0.
    let (works, text) = built.run("1.1", "1.1", "frozen.placed.default");
    assert!(works && text.contains("Relu"), "{text}");
    let (works, text) = built.run("1.0", "1.1", "frozen.placed.default");
    assert!(!works && text.contains("contract 1.0") && text.contains("built for 1.1"), "{text}");
    today(built);
}

/// The frozen plugins in this host.
fn today(built: &Built) {
    for revision in REVISIONS {
        let host =
            attach(&built.plugin(revision), &[]).unwrap_or_else(|report| panic!("{}", errors(&report)));
        assert_eq!(host.plugins[1].contract.to_string(), revision);
        let model = lowered(&host, &["aten.relu.default", "frozen.scaled.default", "frozen.plain.default"]);
        for op in ["= Max(", "= Mul(", "= Relu("] {
            assert!(model.contains(op), "plugin {revision}: {model}");
        }
        let refused = lowered(&host, &["frozen.refused.default"]);
        assert!(refused.contains("this is what it says"), "plugin {revision}: {refused}");
        let panicked = lowered(&host, &["frozen.panics.default"]);
        assert!(panicked.contains("out of cheese"), "plugin {revision}: {panicked}");
        values(&host, revision);
    }
    let set = [("frozen".to_owned(), "factor".to_owned(), "3".to_owned())];
    assert!(attach(&built.plugin("1.1"), &set).is_ok(), "options are there since 1.1");
    let refused = problem(attach(&built.plugin("1.0"), &set));
    assert_eq!(refused.code, Code::PLUGIN_OPTION);
    names_both(&refused, "1.0");
    let refused = problem(attach(&built.plugin("major2"), &[]));
    assert_eq!(refused.code, Code::PLUGIN_VERSION);
    names_both(&refused, "2.3");
}

/// Intermediate values of a run came with 1.1.
fn values(host: &Host, revision: &str) {
    let executor = host.plugins.iter().find_map(Executor::of).expect("the plugin runs models");
    let runtime = executor.open(&[]).expect("it opens");
    assert_eq!(runtime.describe().ok(), Some(format!("echo {revision}")));
    assert!(runtime.load(Path::new("nowhere")).is_ok());
    let refused = runtime.load_with(Path::new("nowhere"), &["a"]).err().expect("it does not do that");
    if revision == "1.0" {
        assert_eq!(refused.code, Code::PLUGIN_VERSION);
        names_both(&refused, revision);
    } else {
        assert_eq!(refused.code, Code::VERIFY_NO_EXECUTOR, "the slot is there, this runtime cannot");
    }
}

fn names_both(refused: &Diagnostic, theirs: &str) {
    let ours = CONTRACT.to_string();
    assert!(refused.message.contains(theirs) && refused.message.contains(&ours), "{}", refused.message);
}

fn attach(library: &Path, options: &[(String, String, String)]) -> Result<Host, Report> {
    let search = Search {
        plugins: vec![library.to_owned()],
        options: options.to_vec(),
        choices: vec![("aten.relu.default".to_owned(), "frozen".to_owned())],
        ..Search::default()
    };
    Host::with(&[&onnxport_aten::ROOT], &search)
}

fn problem(result: Result<Host, Report>) -> Diagnostic {
    let report = result.err().expect("it is refused");
    report.diagnostics.into_iter().next().expect("a reason")
}

/// The model of a chain of calls, or every problem.
fn lowered(host: &Host, targets: &[&str]) -> String {
    let calls: Vec<String> = targets
        .iter()
        .enumerate()
        .map(|(i, target)| format!("  %v{}: f32[2] = {target}(self=%v{i})\n", i + 1))
        .collect();
    let text = format!(
        "graph {{\n  input %v0: f32[2] = user\n{}  output %v{} = user\n}}\n",
        calls.concat(),
        targets.len()
    );
    let program = Program::parse(&text).expect("a program");
    let mut options = ConvertOptions::default();
    options.lower.opset = DEFAULT_OPSET;
    match pipeline::convert(host, program, &options) {
        Ok(converted) => converted.model.to_text(),
        Err(report) => errors(&report),
    }
}

#[test]
fn revisions_work_together_or_refuse_each_other_in_debug_builds() {
    matrix(&Built::new("dev", "debug"));
}

#[test]
#[ignore = "builds all of it optimised; `cargo xtask test` does"]
fn revisions_work_together_or_refuse_each_other_in_release_builds() {
    matrix(&Built::new("release", "release"));
}
