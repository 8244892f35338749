//! Finding ONNX Runtime: which Python is started, and how its answer is cached.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;

use serde_json::Value;

use crate::program::{command, json, mlp};

/// A user with a `python3` that counts its starts, and nothing else.
struct User {
    folder: tempfile::TempDir,
}

impl User {
    fn new() -> Self {
        let user = Self { folder: tempfile::tempdir().expect("a folder") };
        for folder in ["bin", "packages"] {
            fs::create_dir(user.at(folder)).expect("a folder");
        }
        user.answers("");
        user
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// From now on Python says that the package lies in `package`; it looked into the folder `packages`.
    fn answers(&self, package: &str) {
        let (starts, packages) = (self.at("starts"), self.at("packages"));
        let text = format!(
            "#!/bin/sh\necho one >> '{}'\nprintf '%s\\0%s' '{package}' '{}'\n",
            starts.display(),
            packages.display()
        );
        let python = self.at("bin/python3");
        fs::write(&python, text).expect("a script");
        fs::set_permissions(python, fs::Permissions::from_mode(0o755)).expect("a script");
    }

    /// Converts a model; returns the exit code, the report, and how often it started Python.
    fn convert(&self, more: &[&str]) -> (Option<i32>, Value, usize) {
        let _ = fs::remove_file(self.at("starts"));
        let mut command = command(self.folder.path(), &["convert"]);
        command.arg(mlp()).args(["-o", "m.onnx", "--json"]).args(more);
        for variable in ["VIRTUAL_ENV", "CONDA_PREFIX", "ORT_DYLIB_PATH", "LD_LIBRARY_PATH", "PYENV_ROOT"] {
            command.env_remove(variable);
        }
        command.env("PATH", self.at("bin")).env("HOME", self.folder.path());
        let output = command.env("XDG_CACHE_HOME", self.at("cache")).output().expect("the binary starts");
        let starts = fs::read_to_string(self.at("starts")).map_or(0, |text| text.lines().count());
        (output.status.code(), json(&output), starts)
    }

    /// How often Python is started by a conversion that ends well.
    fn starts(&self, more: &[&str]) -> usize {
        let (code, said, starts) = self.convert(more);
        assert_eq!(code, Some(0), "{said}");
        starts
    }
}

/// Whether the system has an ONNX Runtime for everybody, for which no Python is asked.
fn system_has_runtime() -> bool {
    let (_, said, _) = User::new().convert(&[]);
    let found = said["not_verified"].is_null();
    if found {
        onnxport_harness::note("the system has an ONNX Runtime for everybody");
    }
    found
}

#[test]
fn python_is_asked_once() {
    if system_has_runtime() {
        return;
    }
    let user = User::new();
    let (code, said, starts) = user.convert(&[]);
    assert_eq!((code, starts), (Some(0), 1), "{said}");
    assert_eq!(said["not_verified"], "no ONNX Runtime library was found");
    assert_eq!(user.starts(&[]), 0, "the answer is remembered");
    fs::create_dir(user.at("packages/onnxruntime")).expect("a folder");
    assert_eq!(user.starts(&[]), 1, "something was installed");
    fs::write(user.at(".python-version"), "3.12").expect("a file");
    assert_eq!((user.starts(&[]), user.starts(&[])), (1, 0), "another interpreter was chosen");
    user.answers("");
    assert_eq!((user.starts(&[]), user.starts(&[])), (1, 0), "it is another interpreter");
    let cache = fs::read_dir(user.at("cache/onnxport")).expect("a folder").next().expect("a file");
    let cache = cache.expect("an entry").path();
    fs::write(&cache, "{").expect("a file");
    assert_eq!((user.starts(&[]), user.starts(&[])), (1, 0), "a damaged file is replaced");
    let written = fs::read(&cache).expect("a file");
    let off = ["--plugin-option", "ort.remember=false"];
    assert_eq!((user.starts(&off), user.starts(&off)), (1, 1), "nothing is remembered");
    assert_eq!(fs::read(&cache).expect("a file"), written);
}

#[test]
fn python_is_not_asked_where_nothing_is_run_or_it_is_said_by_what() {
    let user = User::new();
    for more in [&["--no-verify"][..], &["--plan"], &["--executor", "reference"]] {
        assert_eq!(user.starts(more), 0, "{more:?}");
    }
    let (code, said, starts) = user.convert(&["--ort-library", "missing.so"]);
    assert_eq!((code, starts), (Some(6), 0), "{said}");
}

#[test]
fn a_remembered_library_that_is_gone_is_looked_for_again() {
    if system_has_runtime() {
        return;
    }
    let Some(library) = onnxport_ort::discover::find() else {
        return onnxport_harness::note("no ONNX Runtime library was found");
    };
    let user = User::new();
    let (package, name) = (user.at("packages/onnxruntime"), library.file_name().expect("a name"));
    fs::create_dir_all(package.join("capi")).expect("a folder");
    symlink(&library, package.join("capi").join(name)).expect("a link");
    user.answers(package.to_str().expect("UTF-8"));
    for starts in [1, 0] {
        let (code, said, asked) = user.convert(&["--require-verified"]);
        assert_eq!((code, asked), (Some(0), starts), "{said}");
        assert!(said["verification"]["executor"].as_str().is_some_and(|by| by.starts_with("ONNX Runtime")));
    }
    fs::remove_file(package.join("capi").join(name)).expect("a link");
    let (code, said, asked) = user.convert(&[]);
    assert_eq!((code, asked), (Some(0), 1), "{said}");
    assert_eq!(said["not_verified"], "no ONNX Runtime library was found");
}

#[test]
fn a_python_that_fails_is_no_error_and_a_cache_that_cannot_be_written_neither() {
    if system_has_runtime() {
        return;
    }
    let user = User::new();
    fs::write(user.at("cache"), "a file").expect("a file");
    assert_eq!((user.starts(&[]), user.starts(&[])), (1, 1));
    fs::remove_file(user.at("cache")).expect("a file");
    let script = format!("#!/bin/sh\necho one >> '{}'\nexit 3\n", user.at("starts").display());
    fs::write(user.at("bin/python3"), script).expect("a script");
    assert_eq!(user.starts(&[]), 1);
}

#[test]
fn what_lies_in_the_working_folder_is_not_loaded() {
    let python = std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default())
        .map(|folder| folder.join("python3"))
        .find(|python| python.is_file());
    let Some(python) = python else {
        return onnxport_harness::note("there is no python3");
    };
    let user = User::new();
    // Started by a script, so that its own folders are not looked at first.
    let script = format!("#!/bin/sh\nexec '{}' \"$@\"\n", python.display());
    fs::write(user.at("bin/python3"), script).expect("a script");
    fs::create_dir_all(user.at("onnxruntime/capi")).expect("a folder");
    for name in ["onnxruntime/__init__.py", "onnxruntime/capi/libonnxruntime.so.9.9.9"] {
        fs::write(user.at(name), "").expect("a file");
    }
    let (code, said, _) = user.convert(&[]);
    assert_eq!(code, Some(0), "{said}");
}
