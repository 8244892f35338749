//! Every revision of the contract against every other: frozen plugins and hosts (`tests/rust/abi`), and this host.
//! A pair works or is refused with both versions; nothing crashes.

mod built;

use std::path::{Path, PathBuf};

use onnxport_core::diagnose::{Code, Diagnostic, Report};
use onnxport_core::host::{CONTRACT, Host, Search, WeightsPlugin};
use onnxport_core::ir::opset::DEFAULT_OPSET;
use onnxport_core::pipeline::{self, ConvertOptions};
use onnxport_core::program::Program;
use onnxport_core::verify::Executor;

use crate::files::errors;
use built::Built;

/// The frozen revisions, oldest first.
const REVISIONS: [&str; 4] = ["1.0", "1.1", "1.2", "1.3"];

/// The revision whose archive the plugin of another major version is built with.
const MAJOR2: &str = "1.0";

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
    // What came with 1.1 works from there on, and is refused with both versions on a host of 1.0.
    for plugin in REVISIONS.iter().filter(|revision| **revision != "1.0") {
        for host in REVISIONS.iter().filter(|revision| **revision != "1.0") {
            let (works, text) = built.run(host, plugin, "frozen.placed.default");
            assert!(works && text.contains("Relu"), "host {host}, plugin {plugin}: {text}");
        }
        let (works, text) = built.run("1.0", plugin, "frozen.placed.default");
        let both = text.contains("contract 1.0") && text.contains(&format!("built for {plugin}"));
        assert!(!works && both, "plugin {plugin}: {text}");
    }
    today(built);
}

/// The frozen plugins in this host.
fn today(built: &Built) {
    for revision in REVISIONS {
        let library = built.plugin(revision);
        let host = attach(&library, &[]).unwrap_or_else(|report| panic!("{}", errors(&report)));
        works(&host, revision, &format!("echo {revision}"));
        let panicked = lowered(&host, &["frozen.panics.default"]);
        assert!(panicked.contains("out of cheese"), "plugin {revision}: {panicked}");
    }
    let set = [("frozen".to_owned(), "factor".to_owned(), "3".to_owned())];
    options(&set, &|revision| built.plugin(revision));
    let refused = problem(attach(&built.plugin("major2"), &[]));
    assert_eq!(refused.code, Code::PLUGIN_VERSION);
    names_both(&refused, "2.3");
}

/// A plugin of `revision` does in this host what it did in that of its time. Its executor is called `name`.
fn works(host: &Host, revision: &str, name: &str) {
    let plugin = &host.plugins[1];
    assert_eq!(plugin.contract.to_string(), revision);
    let model = lowered(host, &["aten.relu.default", "frozen.scaled.default", "frozen.plain.default"]);
    for op in ["= Max(", "= Mul(", "= Relu("] {
        assert!(model.contains(op), "plugin {revision}: {model}");
    }
    let refused = lowered(host, &["frozen.refused.default"]);
    assert!(refused.contains("this is what it says"), "plugin {revision}: {refused}");
    values(host, revision, name);
    let quantisers: Vec<&str> =
        plugin.weights.iter().flat_map(WeightsPlugin::quantisers).map(|(name, _)| name).collect();
    assert_eq!(quantisers, if revision < "1.2" { vec![] } else { vec!["rounds"] }, "plugin {revision}");
    let model = lowered(host, &["aten.neg.default", "aten.neg.default", "frozen.plain.default"]);
    assert_eq!(model.contains("Neg("), revision < "1.3", "plugin {revision} has a rule since 1.3: {model}");
}

/// Options came with 1.1.
fn options(set: &[(String, String, String)], plugin: &dyn Fn(&str) -> PathBuf) {
    for revision in REVISIONS {
        let attached = attach(&plugin(revision), set);
        if revision == "1.0" {
            let refused = problem(attached);
            assert_eq!(refused.code, Code::PLUGIN_OPTION);
            names_both(&refused, revision);
        } else {
            assert!(attached.is_ok(), "options are there since 1.1");
        }
    }
}

/// Intermediate values of a run came with 1.1, where an executor need not give them.
fn values(host: &Host, revision: &str, name: &str) {
    let executor = host.plugins.iter().find_map(Executor::of).expect("the plugin runs models");
    let runtime = executor.open(&[]).expect("it opens");
    assert_eq!(runtime.describe().ok().as_deref(), Some(name));
    assert!(runtime.load(Path::new("nowhere")).is_ok());
    let refused = runtime.load_with(Path::new("nowhere"), &["a"]).err().expect("it does not do that");
    if revision == "1.0" || name == "echo C" {
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

#[cfg(unix)]
#[test]
fn plugins_in_c_against_the_header_of_each_revision_work_in_this_host() {
    let folder = tempfile::tempdir().expect("a folder");
    for revision in REVISIONS {
        let library = built::in_c(revision, folder.path());
        let host = attach(&library, &[]).unwrap_or_else(|report| panic!("{}", errors(&report)));
        works(&host, revision, "echo C");
    }
    let set = [("frozen".to_owned(), "factor".to_owned(), "3".to_owned())];
    options(&set, &|revision| folder.path().join(format!("frozen_c_{revision}.so")));
}

#[test]
fn what_is_frozen_is_what_the_fingerprints_say() {
    let prints = include_str!("../../plugin-sdk/abi/fingerprints.txt");
    let lines = prints.lines().filter(|line| !line.starts_with('#') && !line.ends_with(" open"));
    let mut released: Vec<&str> = lines.filter_map(|line| line.split(' ').next()).collect();
    released.sort_unstable();
    released.dedup();
    assert_eq!(released, REVISIONS, "every released revision is kept in tests/rust/abi, and no other");
    for line in prints.lines().filter(|line| !line.starts_with('#')) {
        let words: Vec<&str> = line.split(' ').collect();
        for revision in REVISIONS.iter().filter(|revision| **revision >= words[0]) {
            let header = Path::new(env!("CARGO_MANIFEST_DIR")).join("abi").join(revision).join("onnxport.h");
            let header = std::fs::read_to_string(header).expect("the header");
            let stated = format!("UINT64_C(0x{}), /* {} {} */", words[4], words[0], words[3]);
            assert!(header.contains(&stated), "header {revision}: {line}");
        }
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
