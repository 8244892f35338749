//! Names of files that are not UTF-8.
#![cfg(target_os = "linux")]

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use crate::program::{has_runtime, json, twins};

const NAME: &[u8] = b"m\xff.onnx";

fn onnxport<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> Output {
    Command::new(env!("CARGO_BIN_EXE_onnxport")).args(arguments).arg("--json").output().expect("a start")
}

fn convert(path: &Path, more: &[&str]) -> Output {
    let fixed = [OsString::from("convert"), twins().into(), "-o".into(), path.into()];
    onnxport(fixed.into_iter().chain(more.iter().map(OsString::from)))
}

/// Every file of a folder and its bytes.
fn listing(folder: &Path) -> BTreeMap<OsString, Vec<u8>> {
    let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry"));
    entries.map(|entry| (entry.file_name(), fs::read(entry.path()).expect("a file"))).collect()
}

#[test]
fn a_model_that_cannot_name_its_data_is_refused_and_nothing_is_lost() {
    for name in [NAME, br"m\n.onnx"] {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join(OsStr::from_bytes(name));
        let output = convert(&path, &["--no-verify", "--external-data", "inline", "--manifest"]);
        assert_eq!(output.status.code(), Some(0), "{}", json(&output));
        let before = listing(folder.path());
        assert_eq!(before.len(), 2);
        for more in [&[][..], &["--shard-size", "1kB"], &["--plan"]] {
            let output = convert(&path, &[&["--no-verify", "--external-data", "external"], more].concat());
            let said = json(&output);
            assert_eq!((output.status.code(), &said["diagnostics"][0]["code"]), (Some(5), &"OP616".into()));
            assert_eq!(listing(folder.path()), before);
        }
    }
}

#[test]
fn the_list_of_hashes_has_the_bytes_of_a_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join(OsStr::from_bytes(NAME));
    assert_eq!(convert(&path, &["--no-verify", "--manifest"]).status.code(), Some(0));
    let inspect = || onnxport([OsStr::new("inspect"), path.as_os_str(), OsStr::new("--manifest")]);
    assert_eq!(inspect().status.code(), Some(0), "{}", json(&inspect()));
    let list = folder.path().join(OsStr::from_bytes(b"m\xff.onnx.sha256"));
    assert!(fs::read(list).expect("a list").ends_with(b"  m\xff.onnx\n"));
    // Replaced without one, the model loses it.
    assert_eq!(convert(&path, &["--no-verify"]).status.code(), Some(0));
    assert_eq!(listing(folder.path()).len(), 1);
}

#[test]
fn a_folder_can_have_any_name() {
    let parent = tempfile::tempdir().expect("a folder");
    let folder = parent.path().join(OsStr::from_bytes(b"d\xff"));
    fs::create_dir(&folder).expect("a folder");
    let plain = parent.path().join("plain");
    fs::create_dir(&plain).expect("a folder");
    let verified: &[&str] = if has_runtime() { &[] } else { &["--no-verify"] };
    for mode in ["inline", "external"] {
        let more = [&["--external-data", mode, "--manifest"], verified].concat();
        for folder in [&folder, &plain] {
            let planned = json(&convert(&folder.join("m.onnx"), &[&more[..], &["--plan"]].concat()));
            assert!(planned["plan"]["files"][0]["path"].is_string(), "{planned}");
            let output = convert(&folder.join("m.onnx"), &more);
            let said = json(&output);
            assert_eq!(output.status.code(), Some(0), "{said}");
            assert_eq!(said["verification"].is_object(), verified.is_empty(), "{said}");
        }
        assert_eq!(listing(&folder), listing(&plain));
    }
}

#[test]
fn a_package_can_have_any_name() {
    let parent = tempfile::tempdir().expect("a folder");
    let programs = parent.path().join(OsStr::from_bytes(b"p\xff"));
    fs::create_dir(&programs).expect("a folder");
    fs::copy(twins(), programs.join("a.pt2")).expect("a copy");
    let folder = parent.path().join(OsStr::from_bytes(b"d\xff"));
    let plain = parent.path().join("plain");
    let verified: &[&str] = if has_runtime() { &[] } else { &["--no-verify"] };
    for folder in [&folder, &plain] {
        let mut member = OsString::from("b=");
        member.push(programs.join("a.pt2"));
        let fixed = ["package".into(), programs.join("a.pt2").into(), member, "-o".into(), folder.into()];
        let rest = verified.iter().copied().chain(["--manifest"]).map(OsString::from);
        let output = onnxport(fixed.into_iter().chain(rest));
        let said = json(&output);
        assert_eq!(output.status.code(), Some(0), "{said}");
        assert!(said["data"].is_array() && said["models"][0]["path"].is_string(), "{said}");
    }
    assert_eq!(listing(&folder), listing(&plain));
    assert_eq!(listing(&folder).len(), 5);
}

#[test]
fn what_is_no_regular_file_is_refused_with_a_code_and_nobody_waits() {
    let folder = tempfile::tempdir().expect("a folder");
    let pipe = folder.path().join("pipe.so");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo starts").success());
    for endless in [pipe.as_path(), Path::new("/dev/zero")] {
        let program = twins();
        let fixed = [
            "convert".as_ref(),
            program.as_os_str(),
            "-o".as_ref(),
            "m.onnx".as_ref(),
            "--no-verify".as_ref(),
        ];
        for (flag, code) in [
            ("--plugin", "OP803"),
            ("--project", "OP808"),
            ("--plugin-allow", "OP813"),
            ("--weights", "OP101"),
            ("--weights-map", "OP101"),
        ] {
            let mut arguments: Vec<&OsStr> = fixed.to_vec();
            if flag == "--weights-map" {
                arguments.extend([OsStr::new("--weights"), program.as_os_str()]);
            }
            arguments.extend([OsStr::new(flag), endless.as_os_str()]);
            let output = onnxport(arguments);
            let said = json(&output);
            let found: Vec<&Value> =
                said["diagnostics"].as_array().expect("a list").iter().map(|d| &d["code"]).collect();
            assert!(found.contains(&&code.into()), "{flag} {}: {said}", endless.display());
            assert_ne!(output.status.code(), Some(70));
        }
    }
}
