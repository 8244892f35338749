//! A plugin in C, as this revision of the contract and others would have built it: it works in this host, or the host
//! refuses it and names both versions. `plugin-sdk/abi/tests/contract/growth.rs` reads every single table so.

use std::path::{Path, PathBuf};
use std::process::Command;

use onnxport_core::diagnose::{Code, Diagnostic, Report};
use onnxport_core::host::{CONTRACT, Host, Search, WeightsPlugin};
use onnxport_core::ir::opset::DEFAULT_OPSET;
use onnxport_core::optimise::Class;
use onnxport_core::pipeline::{self, ConvertOptions};
use onnxport_core::program::Program;
use onnxport_core::verify::Executor;

use crate::files::errors;

/// `tests/rust/abi/plugin.c`, built with a macro of its own in a folder that lives as long.
struct Built {
    _folder: tempfile::TempDir,
    library: PathBuf,
}

/// The folders of the header of today, and of those of the released revisions.
fn headers() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let entries = root.join("abi").read_dir().expect("the folder of the tests");
    let released = entries.map(|entry| entry.expect("an entry").path()).filter(|path| path.is_dir());
    [root.join("../../plugin-sdk/abi/include")].into_iter().chain(released).collect()
}

impl Built {
    fn new(revision: &str) -> Self {
        let headers = headers();
        Self::against(&headers[0], revision)
    }

    fn against(header: &Path, revision: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let library = folder.path().join(format!("sample_{revision}.so"));
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut cc = Command::new(std::env::var_os("CC").unwrap_or_else(|| "cc".into()));
        cc.args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-D", revision, "-I"]);
        cc.arg(header).arg("-o").arg(&library).arg(root.join("abi/plugin.c"));
        assert!(cc.status().expect("the C compiler starts; Rust links with it").success(), "{cc:?}");
        Self { _folder: folder, library }
    }

    fn attach(&self, options: &[(&str, &str)]) -> Result<Host, Report> {
        let option = |(name, value): &(&str, &str)| ("sample".into(), (*name).into(), (*value).into());
        let search = Search {
            plugins: vec![self.library.clone()],
            options: options.iter().map(option).collect(),
            choices: vec![("aten.relu.default".to_owned(), "sample".to_owned())],
            ..Search::default()
        };
        Host::with(&[&onnxport_aten::ROOT], &search)
    }

    fn attached(&self) -> Host {
        self.attach(&[]).unwrap_or_else(|report| panic!("{}", errors(&report)))
    }

    /// The first reason why the host refuses it.
    fn refused(&self) -> Diagnostic {
        let report = self.attach(&[]).err().expect("the plugin is refused");
        report.diagnostics.into_iter().next().expect("a reason")
    }
}

/// The model of a chain of calls, or every problem.
fn lowered(host: &Host, targets: &[&str]) -> String {
    let calls: Vec<String> = (0..)
        .zip(targets)
        .map(|(i, target)| format!("  %v{}: f32[2] = {target}(self=%v{i})\n", i + 1))
        .collect();
    let (calls, last) = (calls.concat(), targets.len());
    let text = format!("graph {{\n  input %v0: f32[2] = user\n{calls}  output %v{last} = user\n}}\n");
    let program = Program::parse(&text).expect("a program");
    let mut options = ConvertOptions::default();
    options.lower.opset = DEFAULT_OPSET;
    match pipeline::convert(host, program, &options) {
        Ok(converted) => converted.model.to_text(),
        Err(report) => errors(&report),
    }
}

/// Lowerings, rules and runs work as in every revision.
fn works(host: &Host) {
    let model = lowered(host, &["aten.relu.default", "sample.scaled.default", "sample.plain.default"]);
    for op in ["= Max(", "= Mul(", "= Relu("] {
        assert!(model.contains(op), "{model}");
    }
    let refused = lowered(host, &["sample.refused.default"]);
    assert!(refused.contains("this is what it says"), "{refused}");
    let model = lowered(host, &["aten.neg.default", "aten.neg.default", "sample.plain.default"]);
    assert!(!model.contains("Neg("), "the rule of the plugin removes both: {model}");
    let executor = host.plugins.iter().find_map(Executor::of).expect("the plugin runs models");
    let runtime = executor.open(&[]).expect("it opens");
    assert_eq!(runtime.describe().ok().as_deref(), Some("echo C"));
    assert!(runtime.load(Path::new("nowhere")).is_ok());
    let refused =
        runtime.load_with(Path::new("nowhere"), &["a"]).err().expect("the plugin lacks the function");
    assert_eq!(refused.code, Code::VERIFY_NO_EXECUTOR);
}

fn quantisers(host: &Host) -> Vec<&'static str> {
    let weights = host.plugins.iter().filter_map(|plugin| plugin.weights.as_ref());
    weights.flat_map(WeightsPlugin::quantisers).map(|(name, _)| name).collect()
}

#[cfg(unix)]
#[test]
fn a_plugin_of_any_released_revision_and_one_of_a_newer_one_work() {
    let revisions = headers().into_iter().map(|header| (header, "CURRENT"));
    for (header, revision) in revisions.chain([(headers().remove(0), "NEWER")]) {
        let plugin = Built::against(&header, revision);
        let host = plugin.attached();
        works(&host);
        assert_eq!(quantisers(&host), ["rounds"], "{revision}");
        assert!(plugin.attach(&[("factor", "3")]).is_ok(), "{revision}");
    }
}

#[cfg(unix)]
#[test]
fn a_plugin_without_optional_functions_works() {
    let plugin = Built::new("OLDER");
    let host = plugin.attached();
    works(&host);
    assert_eq!(quantisers(&host), [""; 0]);
    assert_eq!(host.catalog.listed().iter().map(|rule| &rule.class).collect::<Vec<_>>(), [&Class::Unstated]);
    let report = plugin.attach(&[("factor", "3")]).err().expect("it takes no options");
    assert_eq!(report.diagnostics[0].code, Code::PLUGIN_OPTION, "{}", errors(&report));
}

#[cfg(unix)]
#[test]
fn a_plugin_of_another_contract_is_refused_with_both_versions() {
    for (revision, theirs, why) in [
        ("MAJOR", "2.0", "the major versions differ"),
        ("SHORT", "1.0", "it has 2 fields instead of 3"),
        ("CHANGED", "1.0", "the layout of `schemas` differs"),
    ] {
        let refused = Built::new(revision).refused();
        assert_eq!(refused.code, Code::PLUGIN_VERSION, "{revision}");
        let versions = format!("of contract {theirs} does not fit contract {CONTRACT}");
        assert!(refused.message.contains(&versions) && refused.message.contains(why), "{}", refused.message);
    }
}
