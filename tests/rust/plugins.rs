//! Plugins as shared libraries: the same models as when they are linked in, and faults that the host
//! survives. The libraries are built here, without optimisation, and kept.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use crate::files::{Sections, errors, repository};
use onnxport_core::diagnose::{Code, Report, Severity};
use onnxport_core::host::{CONTRACT, Host, Manifest, Search, Source, log, manifest};
use onnxport_core::ir::opset::DEFAULT_OPSET;
use onnxport_core::pipeline::{self, ConvertOptions};
use onnxport_core::program::Program;
use onnxport_core::write::{self, WriteOptions};

/// Builds the shared library `name` with `cargo` in `folder` and returns where it is, in the folder of its profile.
fn build(folder: &Path, arguments: &[&str], profile: &str, name: &str) -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("a target folder");
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(arguments).arg("--quiet").arg("--target-dir").arg(target).current_dir(folder);
    assert!(cargo.status().expect("cargo starts").success(), "{cargo:?}");
    let library = target.join(profile).join(format!(
        "{}{name}{}",
        std::env::consts::DLL_PREFIX,
        std::env::consts::DLL_SUFFIX
    ));
    assert!(library.is_file(), "{} is missing", library.display());
    library
}

fn op_set(package: &str) -> PathBuf {
    // With the profile of this test, whose dependencies are there already.
    let test = std::env::current_exe().expect("this test");
    let folder = test.ancestors().nth(2).and_then(Path::file_name).and_then(OsStr::to_str);
    let folder = folder.expect("the folder of a profile");
    let profile = if folder == "debug" { "dev" } else { folder };
    let package_of = ["rustc", "--profile", profile, "-p", package, "--lib"];
    let arguments = [&package_of[..], &["--crate-type", "cdylib", "--features", "cdylib"]].concat();
    build(&repository(), &arguments, folder, &package.replace('-', "_"))
}

/// A plugin's options are those of its process: tests that load it take turns.
static OPTIONS: Mutex<()> = Mutex::new(());

/// Lets no other test load the faulty plugin: one that does sets its options anew.
fn alone() -> MutexGuard<'static, ()> {
    OPTIONS.lock().unwrap_or_else(PoisonError::into_inner)
}

fn aten() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| op_set("onnxport-aten"))
}

fn torchvision() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| op_set("onnxport-torchvision"))
}

fn faulty() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY
        .get_or_init(|| build(&repository().join("tests/rust/faults/plugin"), &["build"], "debug", "faulty"))
}

fn host(search: &Search) -> Result<Host, Report> {
    Host::with(&[&onnxport_aten::ROOT, &onnxport_torchvision::ROOT], search)
}

fn loading(libraries: &[&Path]) -> Search {
    Search { plugins: libraries.iter().map(|path| (*path).to_owned()).collect(), ..Search::default() }
}

fn refused(search: &Search) -> (Code, String) {
    let report = host(search).err().expect("the plugins are refused");
    let problem = report.diagnostics.first().expect("a reason");
    (problem.code.clone(), problem.message.clone())
}

fn options() -> ConvertOptions {
    let mut options = ConvertOptions { validate: true, ..ConvertOptions::default() };
    options.lower.opset = DEFAULT_OPSET;
    options
}

/// The model of a program in text form, or every problem.
fn lowered(host: &Host, program: Program) -> String {
    match pipeline::convert(host, program, &options()) {
        Ok(converted) => converted.model.to_text(),
        Err(report) => errors(&report),
    }
}

/// Everything that is written for a program, or every problem.
fn written(host: &Host, program: Program) -> Vec<u8> {
    let converted = match pipeline::convert(host, program, &options()) {
        Ok(converted) => converted,
        Err(report) => return errors(&report).into_bytes(),
    };
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("model.onnx");
    let report = write::write(&converted.model, &path, &WriteOptions::default()).expect("a written model");
    let mut bytes = std::fs::read(&path).expect("a model");
    for data in &report.data {
        bytes.extend(std::fs::read(data).expect("a data file"));
    }
    bytes
}

fn files(folder: &str, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![repository().join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in folder.read_dir().expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == extension) {
                found.push(path);
            }
        }
    }
    found.sort();
    assert!(!found.is_empty(), "{folder} holds nothing");
    found
}

#[test]
fn a_loaded_plugin_makes_the_same_models_as_a_linked_one() {
    let linked = host(&Search::default()).expect("the plugin attaches");
    let loaded = host(&loading(&[aten(), torchvision()])).expect("the libraries attach");
    let found: Vec<_> = loaded.plugins.iter().map(|p| (p.library.as_deref(), p.replaces_linked)).collect();
    assert_eq!(found, [(Some(aten()), true), (Some(torchvision()), true)], "the linked ones are replaced");
    let mut compared = 0;
    for path in files("tests/files/lower", "txt") {
        let text = std::fs::read_to_string(&path).expect("a readable file");
        let sections = Sections::from_text(&text);
        let program = || Program::parse(sections.get("input").expect("an input section")).expect("a program");
        assert_eq!(lowered(&linked, program()), lowered(&loaded, program()), "{}", path.display());
        compared += 1;
    }
    for path in
        ["examples", "tests/files/golden", "tests/files/data"].iter().flat_map(|folder| files(folder, "pt2"))
    {
        let program = || pipeline::read(&path).expect("an archive").program;
        assert!(written(&linked, program()) == written(&loaded, program()), "{}", path.display());
        compared += 1;
    }
    assert!(compared > 10, "{compared} programs");
}

#[test]
fn what_is_no_plugin_is_refused_in_a_sentence() {
    let folder = tempfile::tempdir().expect("a folder");
    let missing = folder.path().join("missing.so");
    let (code, text) = refused(&loading(&[&missing]));
    assert_eq!((code, text), (Code::PLUGIN_FILE, format!("plugin library not found: {}", missing.display())));
    let file = folder.path().join("text.so");
    std::fs::write(&file, "not a library").expect("a file");
    let (code, text) = refused(&loading(&[&file]));
    assert_eq!((code, text), (Code::PLUGIN_FILE, format!("{} is not a shared library", file.display())));
}

#[cfg(target_os = "linux")]
#[test]
fn a_foreign_library_is_refused_in_a_sentence() {
    let maps = std::fs::read_to_string("/proc/self/maps").expect("the maps of this process");
    let libc = maps
        .lines()
        .filter_map(|line| line.split_whitespace().nth(5))
        .find(|path| path.contains("/libc.so") || path.contains("/libc-"))
        .expect("the C library is mapped");
    let (code, text) = refused(&loading(&[Path::new(libc)]));
    let expected = format!("{libc} is a shared library, but not an onnxport plugin");
    assert_eq!((code, text), (Code::PLUGIN_FILE, expected));
}

#[test]
fn a_manifest_is_held_against_the_library() {
    let _alone = alone();
    let folder = tempfile::tempdir().expect("a folder");
    let library = folder.path().join(faulty().file_name().expect("a name"));
    std::fs::copy(faulty(), &library).expect("a copy");
    let manifest = Manifest {
        id: "faulty".to_owned(),
        version: "0.2.0".to_owned(),
        contract: CONTRACT.to_string(),
        target: manifest::TARGET.to_owned(),
        provides: vec!["lowering/1".to_owned()],
        sha256: Some(manifest::sha256(&library).expect("a readable file")),
    };
    let [_, path] = Manifest::paths(&library);
    let state = |manifest: &Manifest| {
        std::fs::write(&path, serde_json::to_string(manifest).expect("JSON")).expect("a file");
    };
    // A folder gives its described libraries, whoever names it.
    let search = Search { user: Some(folder.path().to_owned()), ..Search::default() };
    assert_eq!(host(&search).expect("no manifest, nothing loaded").plugins.len(), 2);
    state(&manifest);
    let found = host(&search).expect("the manifest is right");
    assert_eq!(found.plugins.get(2).map(|plugin| (plugin.id, plugin.source)), Some(("faulty", Source::User)));
    state(&Manifest { version: "0.3.0".to_owned(), ..manifest.clone() });
    let (code, text) = refused(&search);
    assert_eq!(code, Code::PLUGIN_MANIFEST);
    assert!(text.ends_with("states version `0.3.0`, but the library `0.2.0`"), "{text}");
    // Shadowed by its id, the copy is not even loaded.
    let both = Search { plugins: vec![faulty().to_owned()], ..search.clone() };
    let found = host(&both).expect("the first source counts");
    assert_eq!(found.plugins.get(2).map(|plugin| plugin.source), Some(Source::Flag));
    std::fs::remove_file(&path).expect("the manifest is there");
    let (code, text) = refused(&loading(&[faulty(), &library]));
    assert_eq!(code, Code::PLUGIN_TWICE);
    assert!(
        text.contains(&faulty().display().to_string()) && text.contains(&library.display().to_string()),
        "{text}"
    );
}

const RELU: &str = "graph {
  input %x: f32[2] = user
  %a: f32[2] = aten.relu.default(self=%x)
  output %a = user
}
";

#[test]
fn the_user_settles_conflicts() {
    let _alone = alone();
    let program = || Program::parse(RELU).expect("a program");
    let search = loading(&[faulty()]);
    let conflict = host(&search).expect("both attach");
    let text = lowered(&conflict, program());
    assert_eq!(
        text,
        "OP303: `aten.relu.default` is provided by both `aten` and `faulty` [aten.relu.default]\n"
    );
    let choose = |plugin: &str, op: &str| Search {
        choices: vec![(op.to_owned(), plugin.to_owned())],
        ..search.clone()
    };
    for (plugin, op) in [("aten", "= Relu("), ("faulty", "= LeakyRelu(")] {
        let chosen = host(&choose(plugin, "aten.relu.default")).expect("the choice is possible");
        let model = lowered(&chosen, program());
        assert!(model.contains(op), "{model}");
    }
    let (code, text) = refused(&choose("faulty", "aten.add.Tensor"));
    let expected = "plugin `faulty` does not lower `aten.add.Tensor`";
    assert_eq!((code, text.as_str()), (Code::PLUGIN_CHOICE, expected));
    let (code, text) = refused(&choose("nobody", "aten.relu.default"));
    let expected = "no plugin `nobody` to lower `aten.relu.default`";
    assert_eq!((code, text.as_str()), (Code::PLUGIN_CHOICE, expected));
}

#[test]
fn a_panic_sets_the_plugin_aside_and_the_run_goes_on() {
    let _alone = alone();
    let host = host(&loading(&[faulty()])).expect("the plugin attaches");
    let program = Program::parse(
        "graph {
  input %x: f32[2] = user
  %a: f32[2] = faulty.fine.default(self=%x)
  %b: f32[2] = faulty.panics.default(x=%x)
  %c: f32[2] = faulty.fine.default(self=%x)
  %d: f32[2] = nobody.op.default(self=%x)
  output %a = user
  output %b = user
  output %c = user
  output %d = user
}
",
    )
    .expect("a program");
    let report = pipeline::convert(&host, program, &options()).expect_err("a call panics");
    let codes: Vec<_> = report.diagnostics.iter().map(|d| (&d.code, d.severity)).collect();
    assert_eq!(
        codes,
        [
            (&Code::PLUGIN_PANIC, Severity::Error),
            (&Code::LOWER_UNSUPPORTED, Severity::Error),
            (&Code::PLUGIN_PANIC, Severity::Note)
        ]
    );
    let panic = &report.diagnostics[0];
    assert_eq!(panic.provider.as_deref(), Some("faulty"));
    let expected =
        "plugin `faulty` panicked while lowering `faulty.panics.default`: out of cheese (src/lib.rs:";
    assert!(panic.message.starts_with(expected), "{}", panic.message);
    let expected = "plugin `faulty` was set aside after its panic; not tried: 1 more call";
    assert_eq!(report.diagnostics[2].message, expected);
}

/// A search for the faulty plugin with options.
fn setting(options: &[(&str, &str, &str)]) -> Search {
    let own =
        |(id, name, value): &(&str, &str, &str)| ((*id).to_owned(), (*name).to_owned(), (*value).to_owned());
    Search { options: options.iter().map(own).collect(), ..loading(&[faulty()]) }
}

#[test]
fn options_are_checked_before_a_plugin_is_used() {
    let _alone = alone();
    for (option, message, help) in [
        (("faulty", "slop", "1"), "plugin `faulty` has no option `slop`", "there are count, slope, voice"),
        (
            ("faulty", "slope", "steep"),
            "the option `slope` of plugin `faulty` cannot be \"steep\"",
            "it is a number; default 0: The slope of negative numbers.",
        ),
        (
            ("faulty", "voice", "shout"),
            "the option `voice` of plugin `faulty` cannot be \"shout\"",
            "it is note, listen; default note: How warnings begin.",
        ),
        (
            ("nobody", "slope", "1"),
            "options are given for the plugin `nobody`, which is not loaded",
            "there are aten, torchvision, faulty",
        ),
        (("aten", "slope", "1"), "plugin `aten` has no option `slope`", "it takes no options"),
    ] {
        let report = host(&setting(&[option])).err().expect("the option is refused");
        let problem = &report.diagnostics[0];
        assert_eq!((&problem.code, problem.message.as_str()), (&Code::PLUGIN_OPTION, message));
        assert_eq!(problem.help.as_deref(), Some(help));
    }
    // The schema cannot say that it is not negative; the plugin's own type does.
    let (code, text) = refused(&setting(&[("faulty", "count", "-1")]));
    let expected = "plugin `faulty` refuses its options: the option `count` cannot be \"-1\"";
    assert_eq!((code, text.as_str()), (Code::PLUGIN_OPTION, expected));
}

#[test]
fn options_reach_the_author_from_the_command_line_before_the_project() {
    let folder = tempfile::tempdir().expect("a folder");
    let project = folder.path().join("onnxport.toml");
    let text = format!(
        "plugins = [{:?}]\n[use]\n\"aten.relu.default\" = \"faulty\"\n[options.faulty]\nslope = 0.5\nvoice = \"listen\"\n",
        faulty().display().to_string()
    );
    std::fs::write(&project, text).expect("a file");
    let of_project = Search { project: Some(project), ..Search::default() };
    let both = Search {
        options: vec![("faulty".to_owned(), "slope".to_owned(), "0.25".to_owned())],
        ..of_project.clone()
    };
    let _alone = alone();
    for (search, slope) in [(of_project, "0.5"), (both, "0.25")] {
        let model = lowered(&host(&search).expect("it is right"), Program::parse(RELU).expect("a program"));
        assert!(model.contains(&format!("LeakyRelu(%x) {{alpha = {slope}}}")), "{model}");
    }
}

#[test]
fn what_a_plugin_says_is_in_the_report() {
    let text = "graph {
  input %x: f32[2] = user
  %a: f32[2] = faulty.talks.default(x=%x)
  output %a = user
}
";
    let _alone = alone();
    let host = host(&setting(&[("faulty", "voice", "listen")])).expect("the plugin attaches");
    let program = Program::parse(text).expect("a program");
    let converted = pipeline::convert(&host, program, &options()).expect("it can be lowered");
    let said: Vec<_> =
        converted.diagnostics.iter().map(|d| (d.severity, d.message.as_str(), d.origin.is_some())).collect();
    assert_eq!(said, [(Severity::Warning, "plugin `faulty`: listen: a in ``, line 0 of ", true)]);
    let warning = &converted.diagnostics[0];
    assert_eq!((&warning.code, warning.provider.as_deref()), (&Code::PLUGIN_MESSAGE, Some("faulty")));
    // Messages from the plugin's own threads do not belong to a conversion.
    let others = log::others().into_iter().filter(|d| d.provider.as_deref() == Some("faulty"));
    let others: Vec<_> = others.map(|d| d.message).collect();
    assert_eq!(others, ["plugin `faulty`: from a thread of its own"]);
}
