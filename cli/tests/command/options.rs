//! Options that a user sets for plugins, and messages of plugins to the user, from outside.

use std::path::Path;
use std::process::Output;

use crate::library::build;
use crate::program::{MLP, command, repository};

fn with(library: &Path, arguments: &[&str]) -> Output {
    command(repository(), arguments).arg(library).output().expect("the binary starts")
}

fn check(more: &[&str], library: &Path) -> (Option<i32>, String) {
    let all = [&["check", MLP, "--use", "aten.relu.default=faulty"], more, &["--plugin"]];
    let output = with(library, &all.concat());
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn options_are_listed_set_and_refused() {
    let library = build("tests/rust/faults/plugin", "faulty", "dev");
    let output = with(&library, &["plugin", "info"]);
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
    let steep = |more: &[&str]| check(&[&["--plugin-option", "faulty.slope=2"], more].concat(), &library);
    let (code, text) = steep(&[]);
    assert!(code == Some(0) && text.contains("warning[OP821]: plugin `faulty`: a steep slope"), "{text}");
    for deny in [&["-D", "OP821"][..], &["--warnings-as-errors"]] {
        let (code, text) = steep(deny);
        assert!(code == Some(3) && text.contains("error[OP821]"), "{text}");
    }
    let (code, text) = steep(&["-A", "OP821"]);
    assert!(code == Some(0) && !text.contains("OP821"), "{text}");
    let (code, text) = check(&["--plugin-option", "faulty.slop=0.5"], &library);
    assert_ne!(code, Some(0));
    assert!(text.contains("error[OP820]") && text.contains("there are count, slope, voice"), "{text}");
    let (code, _) = check(&["--plugin-option", "slope"], &library);
    assert_eq!(code, Some(2), "it is not an option of a plugin");
}
