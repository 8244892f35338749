//! The experience of a plugin author: a new project that builds, tests itself and passes the check; and the
//! findings of the check in libraries that misbehave. Libraries are built without optimization, and kept.

use std::path::{Path, PathBuf};

use serde_json::Value;

#[cfg(unix)]
use crate::library::compile;
use crate::library::{build, built, cargo, plugin};
use crate::program::{answer, onnxport_in, repository};

/// Returns the exit code of a check and its report.
fn check(library: &Path, more: &[&str]) -> (Option<i32>, Value) {
    let path = library.to_str().expect("UTF-8");
    answer(repository(), &[&["plugin", "check", path], more].concat())
}

/// The findings with this verdict: check and reason.
fn of(checked: &Value, verdict: &str) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let all = checked["checks"].as_array().expect("a list").iter();
    all.filter(|f| f["verdict"] == verdict).map(|f| (text(&f["check"]), text(&f["reason"]))).collect()
}

#[test]
fn a_new_project_tests_itself_and_passes_the_check() {
    let folder = tempfile::tempdir().expect("a folder");
    let sdk = repository().join("plugin-sdk");
    let sdk = sdk.to_str().expect("UTF-8");
    let made = onnxport_in(folder.path(), &["plugin", "new", "fresh-ops", "--sdk", sdk, "--json"]);
    assert_eq!(made.status.code(), Some(0), "{}", String::from_utf8_lossy(&made.stdout));
    let project = folder.path().join("fresh-ops");
    // The versions that this workspace has are there already.
    std::fs::copy(repository().join("Cargo.lock"), project.join("Cargo.lock")).expect("a copy");
    let tests = cargo(&project, &["test", "--offline"]);
    let said = String::from_utf8_lossy(&tests.stdout).into_owned();
    assert!(said.contains("3 passed; 0 failed"), "{said}");
    cargo(&project, &["build", "--offline", "--quiet"]);
    let library = folder.path().join("libfresh_ops.so");
    std::fs::copy(built("fresh_ops", "dev"), &library).expect("a copy");
    let (exit, checked) = check(&library, &["--write-manifest"]);
    assert_eq!((exit, of(&checked, "fail"), of(&checked, "skip")), (Some(0), vec![], vec![]));
    assert!(checked["passed"].as_u64().is_some_and(|n| n >= 20), "{checked:#}");
    // The manifest that was written is right, and noticed when it is wrong.
    let (exit, checked) = check(&library, &[]);
    assert_eq!((exit, of(&checked, "skip")), (Some(0), vec![]));
    let path = folder.path().join("libfresh_ops.so.toml");
    let manifest = std::fs::read_to_string(&path).expect("a manifest");
    std::fs::write(&path, manifest.replace("0.1.0", "0.2.0")).expect("a file");
    let (exit, checked) = check(&library, &[]);
    let wrong = ("manifest".to_owned(), "version is `0.2.0`, but the library has `0.1.0`".to_owned());
    assert_eq!((exit, of(&checked, "fail")), (Some(70), vec![wrong]));
    // A second one is not written over the first.
    let again = onnxport_in(folder.path(), &["plugin", "new", "fresh-ops", "--sdk", sdk, "--json"]);
    assert_eq!(again.status.code(), Some(2));
}

#[test]
fn a_project_of_every_kind_tests_itself_and_passes_the_check() {
    let folder = tempfile::tempdir().expect("a folder");
    // The path is relative to where the command runs.
    std::fs::create_dir(folder.path().join("onnxport")).expect("a folder");
    std::os::unix::fs::symlink(repository().join("plugin-sdk"), folder.path().join("onnxport/sdk"))
        .expect("a link");
    for kind in ["rules", "backend", "weights", "executor"] {
        let name = format!("of-{kind}");
        let made = ["plugin", "new", &name, "--kind", kind, "--sdk", "onnxport/sdk"];
        let made = onnxport_in(folder.path(), &made);
        assert_eq!(made.status.code(), Some(0), "{}", String::from_utf8_lossy(&made.stderr));
        let project = folder.path().join(&name);
        std::fs::copy(repository().join("Cargo.lock"), project.join("Cargo.lock")).expect("a copy");
        let tests = cargo(&project, &["test", "--offline"]);
        let said = String::from_utf8_lossy(&tests.stdout).into_owned();
        assert!(said.contains("2 passed; 0 failed"), "{kind}: {said}");
        cargo(&project, &["build", "--offline", "--quiet"]);
        let (exit, checked) = check(&built(&name.replace('-', "_"), "dev"), &[]);
        assert_eq!((exit, of(&checked, "fail")), (Some(0), vec![]), "{kind}");
        assert!(checked["passed"].as_u64().is_some_and(|n| n >= 13), "{kind}: {checked:#}");
    }
}

#[test]
fn a_project_without_an_sdk_builds_with_the_one_that_travels_with_the_program() {
    let folder = tempfile::tempdir().expect("a folder");
    let made = onnxport_in(folder.path(), &["plugin", "new", "alone"]);
    assert_eq!(made.status.code(), Some(0), "{}", String::from_utf8_lossy(&made.stderr));
    let project = folder.path().join("alone");
    // Moved, it still finds its SDK.
    let moved = folder.path().join("elsewhere");
    std::fs::rename(&project, &moved).expect("it is moved");
    std::fs::copy(repository().join("Cargo.lock"), moved.join("Cargo.lock")).expect("a copy");
    cargo(&moved, &["build", "--offline", "--quiet"]);
    let (exit, checked) = check(&built("alone", "dev"), &[]);
    assert_eq!((exit, of(&checked, "fail")), (Some(0), vec![]));
}

#[test]
fn the_plugins_of_this_repository_pass() {
    for (package, name) in [("onnxport-aten", "onnxport_aten"), ("onnxport-ort", "onnxport_ort")] {
        let (exit, checked) = check(&plugin(package, name), &["--timeout", "60"]);
        assert_eq!((exit, of(&checked, "fail")), (Some(0), vec![]), "{package}");
    }
    for (folder, name, step) in [
        ("examples/optimizer", "optimizer", "rules/1 patterns"),
        ("examples/vendor-backend", "npu_plugin", "backend/1 claims, no graph"),
    ] {
        let (exit, checked) = check(&build(folder, name, "dev"), &[]);
        assert_eq!((exit, of(&checked, "fail")), (Some(0), vec![]), "{name}");
        assert!(of(&checked, "pass").iter().any(|(check, _)| check == step), "{checked:#}");
    }
}

#[test]
fn a_panic_is_named_with_its_lowering() {
    let library = build("tests/rust/faults/plugin", "faulty", "dev");
    let (exit, checked) = check(&library, &[]);
    assert_eq!(exit, Some(70));
    let failures = of(&checked, "fail");
    let expected =
        "plugin `faulty` panicked while lowering `faulty.panics.default`: out of cheese (src/lib.rs:";
    let found = failures.iter().find(|(check, _)| check == "lowering/1 faulty.panics.default");
    assert!(found.is_some_and(|(_, reason)| reason.starts_with(expected)), "{failures:?}");
    // The lowerings beside it are checked all the same.
    let calls = of(&checked, "pass").into_iter().find(|(check, _)| check == "lowering/1 calls");
    assert!(calls.is_some_and(|(_, reason)| reason.contains("lowered, 0 refused")), "{checked:#}");
}

#[cfg(unix)]
#[test]
fn what_ends_or_holds_up_the_process_is_a_finding() {
    let library = build("tests/rust/faults/wild", "wild", "dev");
    let folder = tempfile::tempdir().expect("a folder");
    let wild = |mode: &str| {
        let copy = folder.path().join(format!("libwild.{mode}.so"));
        std::fs::copy(&library, &copy).expect("a copy");
        let (exit, checked) = check(&copy, &["--timeout", "4"]);
        assert_eq!(exit, Some(70), "{mode}");
        (of(&checked, "fail"), of(&checked, "pass").len())
    };
    for (mode, step, reason) in [
        ("abort", "lowering/1 aten.relu.default", "aborted while lowering `aten.relu.default`"),
        ("segfault", "lowering/1 aten.relu.default", "accessed invalid memory"),
        ("loop", "lowering/1 aten.relu.default", "did not come back within 4 s"),
        ("stale", "lowering/1 aten.relu.default", "lowered to something else the second time"),
        ("panic_attach", "attach", "ended the process"),
        ("loop_attach", "attach", "did not come back within 4 s"),
    ] {
        let (failures, passed) = wild(mode);
        let found = failures.iter().any(|(check, why)| check == step && why.contains(reason));
        assert!(found, "{mode}: {failures:?}");
        // Checks that do not depend on it run anyway.
        assert!(passed >= if step == "attach" { 5 } else { 15 }, "{mode}: {passed}");
    }
}

#[test]
fn what_is_no_plugin_is_said() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = folder.path().join("text.so");
    std::fs::write(&text, "not a library").expect("a file");
    let (exit, checked) = check(&text, &[]);
    assert_eq!(exit, Some(5));
    assert_eq!(checked["checks"][0]["code"], "OP803");
    assert!(of(&checked, "fail")[0].1.ends_with("is not a shared library"), "{checked:#}");
    assert_eq!(check(&folder.path().join("missing.so"), &[]).0, Some(5));
}

/// Compiles `restless.c`.
#[cfg(unix)]
fn restless(folder: &Path, define: &str) -> PathBuf {
    let library = folder.join(format!("{define}.so"));
    compile("restless.c", &library, &[&format!("-D{define}")]);
    library
}

#[cfg(unix)]
#[test]
fn what_differs_from_call_to_call_and_from_process_to_process_is_found() {
    let folder = tempfile::tempdir().expect("a folder");
    let (exit, checked) = check(&restless(folder.path(), "COUNTS"), &[]);
    let reason = "the same call is lowered to something else the second time";
    let counted = ("lowering/1 restless.op.default".to_owned(), reason.to_owned());
    assert_eq!(exit, Some(70));
    assert!(of(&checked, "fail").contains(&counted), "{checked:#}");
    // Where memory lies differs between processes only where the system moves it.
    let moves =
        std::fs::read_to_string("/proc/sys/kernel/randomize_va_space").is_ok_and(|text| text.trim() != "0");
    if moves {
        let (exit, checked) = check(&restless(folder.path(), "PLACES"), &[]);
        let failed = of(&checked, "fail");
        assert_eq!(exit, Some(70), "{checked:#}");
        assert!(failed.iter().all(|(check, _)| check == "lowering/1 two processes"), "{failed:?}");
        assert_eq!(failed.len(), 1);
    }
}
