//! What a user sets for plugins, and what plugins tell the user, from outside.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crate lies in the workspace")
}

/// Builds the plugin of `tests/rust/faults/plugin` and returns its library.
fn faulty() -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("a target folder");
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["build", "--quiet", "--target-dir"]).arg(target);
    cargo.current_dir(repository().join("tests/rust/faults/plugin"));
    assert!(cargo.status().expect("cargo starts").success(), "{cargo:?}");
    let (prefix, suffix) = (std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    target.join("debug").join(format!("{prefix}faulty{suffix}"))
}

fn onnxport(arguments: &[&str], library: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_onnxport"));
    command.args(arguments).arg(library).current_dir(repository());
    command.output().expect("the binary starts")
}

fn check(more: &[&str], library: &Path) -> (Option<i32>, String) {
    let all = [&["check", "examples/mlp/mlp.pt2", "--use", "aten.relu.default=faulty"], more, &["--plugin"]];
    let output = onnxport(&all.concat(), library);
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn options_are_listed_set_and_refused() {
    let library = faulty();
    let output = onnxport(&["plugin", "info"], &library);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    for line in [
        "slope: The slope of negative numbers. (a number; default 0)",
        "voice: How warnings begin. (note, listen; default note)",
        "count: A number that only the plugin checks. (an integer)",
    ] {
        assert!(text.contains(line), "{line} is not in:\n{text}");
    }
    let (code, text) = check(&["--plugin-option", "faulty.slope=0.5", "-v"], &library);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("note[OP821]: plugin `faulty`: a slope of 0.5"), "{text}");
    assert!(text.contains("aten.relu.default"), "the place in the program: {text}");
    let (code, text) = check(&["--plugin-option", "faulty.slope=0.5"], &library);
    assert!(code == Some(0) && !text.contains("OP821"), "information is shown on request: {text}");
    let (code, text) = check(&["--plugin-option", "faulty.slop=0.5"], &library);
    assert_ne!(code, Some(0));
    assert!(text.contains("error[OP820]") && text.contains("there are count, slope, voice"), "{text}");
    let (code, _) = check(&["--plugin-option", "slope"], &library);
    assert_eq!(code, Some(2), "it is no option of a plugin");
}
