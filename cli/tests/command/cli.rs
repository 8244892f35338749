//! The binary from outside: exit codes, JSON, pipes and help.

use std::io::Read;
use std::process::{Command, Output, Stdio};

use crate::program::{MLP, command, repository, text};

fn onnxport(arguments: &[&str]) -> Command {
    let mut command = command(repository(), arguments);
    command.env_remove("ORT_DYLIB_PATH").env_remove("NO_COLOR");
    command
}

fn run(arguments: &[&str]) -> Output {
    onnxport(arguments).output().expect("the binary starts")
}

fn code(output: &Output) -> Option<i32> {
    output.status.code()
}

#[test]
fn exit_codes_tell_failures_apart() {
    let folder = tempfile::tempdir().expect("a folder");
    let broken = folder.path().join("broken.pt2");
    std::fs::write(&broken, "not an archive").expect("a file");
    let broken = broken.to_str().expect("UTF-8");
    for (arguments, expected) in [
        (&["--version"][..], 0),
        (&["frobnicate"], 2),
        (&["convert", MLP], 2),
        (&["check", MLP, "--opset", "7"], 2),
        (&["explain", "OP000"], 2),
        (&["inspect", "no/such/file.pt2"], 5),
        (&["inspect", broken], 5),
        (&["inspect", "no/such/file.onnx"], 5),
        (&["verify", "no/such/model.onnx", "--against", MLP], 5),
    ] {
        let output = run(arguments);
        assert_eq!(code(&output), Some(expected), "{arguments:?}: {}", text(&output.stderr));
    }
}

#[test]
fn json_is_one_object_for_success_and_failure() {
    for arguments in [
        &["inspect", MLP, "--json"][..],
        &["--json", "ops"],
        &["explain", "--json"],
        &["check", MLP, "--json"],
        &["inspect", "no/such/file.pt2", "--json"],
        &["man", "--json"],
    ] {
        let output = run(arguments);
        let value: serde_json::Value =
            serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{arguments:?}: {e}"));
        assert_eq!(value["exit"].as_i64(), code(&output).map(i64::from), "{arguments:?}");
        assert_eq!(value["ok"].as_bool(), Some(output.status.success()), "{arguments:?}");
        assert!(value["diagnostics"].is_array(), "{arguments:?}");
        assert_eq!(text(&output.stderr), "", "{arguments:?}");
    }
}

#[test]
fn a_wrong_command_line_is_answered_in_json_as_well() {
    for (arguments, command) in [
        (&["--json"][..], None),
        (&["--json", "frobnicate"], None),
        (&["--json", "plugin"], Some("plugin")),
        (&["convert", MLP, "--json"], Some("convert")),
        (&["check", MLP, "--opset", "many", "--json"], Some("check")),
        (&["inspect", MLP, "--weights", "--manifest", "--json"], Some("inspect")),
        (&["weights", "bind", "--json"], Some("weights")),
        (&["ops", "--color", "sometimes", "--json"], Some("ops")),
    ] {
        let output = run(arguments);
        assert_eq!(code(&output), Some(2), "{arguments:?}");
        let value: serde_json::Value =
            serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{arguments:?}: {e}"));
        assert_eq!((value["exit"].as_i64(), value["ok"].as_bool()), (Some(2), Some(false)), "{arguments:?}");
        assert_eq!(value["command"].as_str(), command, "{arguments:?}");
        assert_eq!(value["diagnostics"][0]["code"], "OP001", "{arguments:?}");
        assert_eq!(text(&output.stderr), "", "{arguments:?}");
    }
    for arguments in [&["--help", "--json"][..], &["--json", "inspect", "--help"]] {
        let output = run(arguments);
        assert_eq!(code(&output), Some(0), "{arguments:?}");
        assert!(!output.stdout.starts_with(b"{"), "{arguments:?}");
    }
    // A file with this name is not an option.
    let output = run(&["frobnicate", "--", "--json"]);
    assert_eq!((code(&output), output.stdout.is_empty()), (Some(2), true));
    assert!(text(&output.stderr).starts_with("error: "));
}

#[test]
fn the_version_tells_the_build() {
    let output = run(&["--version", "--json"]);
    assert_eq!(code(&output), Some(0));
    let value: serde_json::Value = serde_json::from_slice(&output.stdout).expect("one JSON object");
    assert_eq!(value["version"], env!("CARGO_PKG_VERSION"));
    assert!(
        value["target"].as_str().is_some_and(|target| target.contains(std::env::consts::ARCH)),
        "{value}"
    );
    assert!(value["features"].is_array(), "{value}");
    let contract = value["contract"].as_str().expect("a revision");
    assert_eq!(contract.split('.').filter(|part| part.parse::<u16>().is_ok()).count(), 2, "{value}");
    // A checkout has a commit, and an archive of the sources has none.
    assert!(value["commit"].as_str().is_none_or(|commit| commit.len() == 40), "{value}");
}

#[test]
fn a_missing_file_is_named_with_its_code() {
    let output = run(&["inspect", "no/such/file.pt2"]);
    let message = text(&output.stderr);
    assert!(message.starts_with("error[OP101]: "), "{message}");
    assert!(message.contains("no/such/file.pt2"), "{message}");
}

#[test]
fn inspect_shows_the_signature_and_the_dimensions() {
    let output = run(&["inspect", MLP]);
    let shown = text(&output.stdout);
    for expected in ["inputs", "aux_scale", "dynamic dimensions", "8 parameters", "aten.linear.default"] {
        assert!(shown.contains(expected), "{expected} is not in:\n{shown}");
    }
}

#[test]
fn colours_are_for_terminals_or_on_request() {
    let plain = run(&["inspect", MLP]);
    assert!(!plain.stdout.contains(&0x1b));
    let colored = run(&["inspect", MLP, "--color", "always"]);
    assert!(colored.stdout.contains(&0x1b));
}

#[test]
fn a_closed_pipe_is_no_error() {
    let mut child =
        onnxport(&["ops"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the binary starts");
    drop(child.stdout.take());
    let mut errors = String::new();
    child.stderr.take().expect("a pipe").read_to_string(&mut errors).expect("UTF-8");
    assert_eq!(child.wait().expect("it ends").code(), Some(0));
    assert_eq!(errors, "");
}

#[test]
fn emitted_programs_read_back() {
    let output = run(&["convert", MLP, "--emit", "program"]);
    assert_eq!(code(&output), Some(0));
    assert!(onnxport_core::program::Program::parse(&text(&output.stdout)).is_ok());
}

#[test]
fn completions_and_the_manual_are_made() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let output = run(&["completions", shell]);
        assert!(text(&output.stdout).contains("convert"), "{shell}");
    }
    let manual = text(&run(&["man"]).stdout);
    assert!(manual.contains("Exit codes") && manual.contains(".TH onnxport"), "{manual}");
}

/// Run with `UPDATE_SNAPSHOTS=1` after a change of the command line.
#[test]
fn the_help_is_as_reviewed() {
    let path = repository().join("cli/tests/command/snapshots/help.txt");
    let shown = text(&onnxport(&["--help"]).env("COLUMNS", "100").output().expect("it starts").stdout);
    if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
        std::fs::write(&path, &shown).expect("the snapshot is writable");
    }
    assert_eq!(shown, std::fs::read_to_string(&path).unwrap_or_default());
}
