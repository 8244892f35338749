//! Options in a file: which file and which parts of it count, and which are refused.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use crate::program::{self, json, mlp, text};

/// A repository with this `onnxport.toml`.
fn repository(options: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    fs::create_dir(folder.path().join(".git")).expect("a folder");
    fs::create_dir(folder.path().join("inner")).expect("a folder");
    fs::write(folder.path().join("onnxport.toml"), options).expect("a file");
    folder
}

/// Returns the command with a clean environment.
fn bare(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = program::command(folder, arguments);
    for variable in [
        "NO_COLOR",
        "ORT_DYLIB_PATH",
        "ONNXPORT_PLUGIN_PATH",
        "ONNXPORT_REFERENCE",
        "ONNXPORT_CONFIG",
        "ONNXPORT_PRESET",
    ] {
        command.env_remove(variable);
    }
    command
}

fn run(folder: &Path, arguments: &[&str]) -> Output {
    bare(folder, arguments).output().expect("the binary starts")
}

/// Returns the value and the source of an option according to `--print-config --json`.
fn effective(output: &Output, name: &str) -> (Value, String, Option<String>) {
    let said = json(output);
    let options = said["config"]["options"].as_array().expect("a list");
    let found = options.iter().find(|option| option["name"] == name);
    let found = found.unwrap_or_else(|| panic!("{name} is not in {said:#}"));
    let place = found["place"].as_str().map(str::to_owned);
    (found["value"].clone(), found["from"].as_str().expect("a text").to_owned(), place)
}

/// Whether anything is said of an option.
fn is_said(output: &Output, name: &str) -> bool {
    let said = json(output);
    said["config"]["options"].as_array().is_some_and(|all| all.iter().any(|option| option["name"] == name))
}

fn printed(folder: &Path, arguments: &[&str]) -> Output {
    let output = run(folder, &[&["convert", "--print-config", "--json"], arguments].concat());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stdout));
    output
}

const OPTIONS: &str = r#"
[all]
opset = 17
color = "never"

[convert]
opset = 18
optimize = 1
decompose = "none"
verify = false
manifest = true
allow = ["OP408"]

[preset.mobile.all]
decompose = "all"
shard-size = "1MB"

[preset.mobile.convert]
opset = 21
optimize = false
manifest = false
"#;

#[test]
fn the_stronger_says_what_counts() {
    let folder = repository(OPTIONS);
    let folder = folder.path();
    let of = |arguments: &[&str], name: &str| {
        let (value, from, _) = effective(&printed(folder, arguments), name);
        (value, from)
    };
    let is = |value: Value, from: &str| (value, from.to_owned());
    assert_eq!(of(&[], "opset"), is(18.into(), "file"));
    assert_eq!(of(&[], "color"), is("never".into(), "file"));
    assert_eq!(of(&[], "dtype-overflow"), is("refuse".into(), "default"));
    assert_eq!(of(&["--preset", "mobile"], "opset"), is(21.into(), "preset"));
    assert_eq!(of(&["--preset", "mobile", "--opset", "20"], "opset"), is(20.into(), "command-line"));
    assert_eq!(of(&["--preset", "mobile"], "decompose"), is("all".into(), "preset"));
    assert_eq!(of(&["--unset", "opset"], "opset"), is(20.into(), "unset"));
    for spelled in ["optimize", "optimise"] {
        assert_eq!(of(&["--unset", spelled], "optimize"), is(Value::Null, "unset"), "{spelled}");
    }
    assert_eq!(of(&["--no-config"], "opset"), is(20.into(), "default"));
    // The excluding option replaces a weaker one.
    let mobile = printed(folder, &["--preset", "mobile"]);
    assert_eq!(effective(&mobile, "no-optimize").1, "preset");
    assert!(!is_said(&mobile, "optimize"));
    assert_eq!(effective(&mobile, "manifest").0, false);
    let plain = printed(folder, &["--no-optimize"]);
    assert_eq!(effective(&plain, "no-optimize").1, "command-line");
    assert!(!is_said(&plain, "optimize"));
    let (_, _, place) = effective(&printed(folder, &[]), "opset");
    assert_eq!(place.as_deref(), Some("onnxport.toml:7:1"));
}

#[test]
fn the_environment_goes_before_a_file() {
    let folder = repository("[all]\ncolor = 'always'\n[convert]\nreference = 'none'\n");
    let run = |variable: &str, value: &str| {
        let mut command = bare(folder.path(), &["convert", "--print-config", "--json"]);
        command.env(variable, value).output().expect("the binary starts")
    };
    assert_eq!(effective(&run("NO_COLOR", "1"), "color").1, "environment");
    assert_eq!(effective(&run("NO_COLOR", ""), "color").1, "file");
    let (_, from, place) = effective(&run("ONNXPORT_REFERENCE", "recorded"), "reference");
    assert_eq!((from.as_str(), place.as_deref()), ("environment", Some("ONNXPORT_REFERENCE")));
    let named = repository("[convert]\nopset = 19\n[preset.x.convert]\nopset = 21\n");
    let path = named.path().join("onnxport.toml");
    assert_eq!(effective(&run("ONNXPORT_CONFIG", path.to_str().expect("UTF-8")), "opset").0, 19);
    let mut command = bare(named.path(), &["convert", "--print-config", "--json"]);
    let output = command.env("ONNXPORT_PRESET", "x").output().expect("the binary starts");
    assert_eq!(effective(&output, "opset").0, 21);
}

#[test]
fn what_is_printed_can_stand_in_a_file() {
    let folder = repository(OPTIONS);
    let before = printed(folder.path(), &["--preset", "mobile", "--dim", "x:0=n", "--max-memory", "1GB"]);
    let shown = run(
        folder.path(),
        &["convert", "--print-config", "--preset", "mobile", "--dim", "x:0=n", "--max-memory", "1GB"],
    );
    let shown = text(&shown.stdout);
    assert!(
        shown.contains("opset = 21 ") && shown.contains("# preset mobile, onnxport.toml:19:1"),
        "{shown}"
    );
    let pasted = repository(&shown);
    let after = printed(pasted.path(), &[]);
    for name in ["opset", "no-optimize", "decompose", "no-verify", "allow", "dim", "max-memory", "shard-size"]
    {
        assert_eq!(effective(&after, name).0, effective(&before, name).0, "{name}");
        assert_eq!(effective(&after, name).1, "file", "{name}");
    }
}

#[test]
fn options_of_a_file_convert() {
    let folder = repository("[convert]\nopset = 18\nverify = false\noutput = 'made/model.onnx'\n");
    let inner = folder.path().join("inner");
    fs::create_dir(folder.path().join("made")).expect("a folder");
    let output = run(&inner, &["convert", &mlp().display().to_string(), "--json"]);
    let said = json(&output);
    assert_eq!(said["opset"], 18, "{said:#}");
    assert_eq!(said["config"]["file"], "../onnxport.toml");
    let names: Vec<_> = said["config"]["options"].as_array().expect("a list").iter().collect();
    assert_eq!(names.len(), 3, "{names:?}");
    assert!(folder.path().join("made/model.onnx").is_file(), "a path is relative to the file");
    let output = run(&inner, &["convert", &mlp().display().to_string(), "-o", "x.onnx", "--opset", "19"]);
    let shown = text(&output.stdout);
    assert!(
        shown.contains("opset 19") && shown.contains("options  no-verify of ../onnxport.toml"),
        "{shown}"
    );
    assert!(inner.join("x.onnx").is_file());
}

#[test]
fn what_is_wrong_is_refused_at_its_place() {
    for (options, exit, code, message, help) in [
        ("[convert", 5, "OP002", "onnxport.toml:1:", ""),
        (
            "[convrt]\nopset = 18",
            2,
            "OP003",
            "onnxport.toml:1:2: no command has a table `[convrt]`",
            "`convert`",
        ),
        (
            "[convert]\nopst = 18",
            2,
            "OP003",
            "onnxport.toml:2:1: `[convert]` has no option `opst`",
            "`opset`",
        ),
        ("opset = 18", 2, "OP003", "onnxport.toml:1:1: the option `opset` is outside a table", "[all]"),
        ("[weights.bnd]", 2, "OP003", "no command has a table `[weights.bnd]`", "`bind`"),
        ("[explain]", 2, "OP003", "`explain` takes no options from a file", ""),
        ("[all]\nopst = 1", 2, "OP003", "`[all]` has no option `opst`", "`opset`"),
        ("[preset.a.convert]\nopst = 1", 2, "OP003", "`[preset.a.convert]` has no option `opst`", "`opset`"),
        ("[convert]\nprogram = 'a'", 2, "OP003", "`program` is a positional argument", ""),
        ("[convert]\nconfig = 'a'", 2, "OP003", "has no option `config`", ""),
        (
            "[convert]\nopset = '18'",
            2,
            "OP004",
            "2:9: `opset` of `onnxport convert` takes an integer, not a string",
            "",
        ),
        ("[convert]\nvalidate = 1", 2, "OP004", "takes true or false, not an integer", ""),
        ("[convert]\ndtype = 'f116'", 2, "OP004", "cannot be `f116`: it is one of f32, f16", "`f16`"),
        (
            "[convert]\nmax-memory = 'much'",
            2,
            "OP004",
            "onnxport.toml:2:1: `max-memory` cannot be `much`",
            "",
        ),
        ("[convert]\ndim = ['x']", 2, "OP004", "`dim` cannot be `x`", ""),
        ("[convert]\nopset = 1979-05-27", 2, "OP004", "takes an integer, not a date", ""),
        ("convert = 1", 2, "OP004", "onnxport.toml:1:11: `convert` is a table, not an integer", ""),
        ("[verify]\nrtol = 'x'", 2, "OP004", "`rtol` of `onnxport verify` takes a number, not a string", ""),
        ("[convert]\nplugin = ['a.so']", 2, "OP005", "`plugin` can run code", "--config onnxport.toml"),
        ("[convert]\nreference = 'torch'", 2, "OP005", "`reference` is `torch`, which can run code", ""),
        ("[convert]\nreport = ['../r.md']", 2, "OP005", "`report` is a path outside the file's folder", ""),
        ("[convert]\nreport = ['/tmp/r.md']", 2, "OP005", "`report` is a path outside", ""),
    ] {
        let folder = repository(options);
        let output = run(
            folder.path(),
            &["convert", &mlp().display().to_string(), "-o", "x.onnx", "--no-verify", "--json"],
        );
        let said = json(&output);
        let found = &said["diagnostics"][0];
        assert_eq!(output.status.code(), Some(exit), "{options}: {said:#}");
        assert_eq!(found["code"], code, "{options}: {said:#}");
        assert!(found["message"].as_str().is_some_and(|text| text.contains(message)), "{options}: {found:#}");
        let shown = found["help"].as_str().unwrap_or_default();
        assert!(shown.contains(help), "{options}: {found:#}");
        assert!(!folder.path().join("x.onnx").exists(), "{options}");
        // Commands that only print information are not stopped.
        assert_eq!(run(folder.path(), &["explain", code]).status.code(), Some(0), "{options}");
    }
    let folder = repository("[convert]\nopst = 1\nvalidate = 1\n[chek]\n");
    let output = run(folder.path(), &["check", &mlp().display().to_string()]);
    assert_eq!(text(&output.stderr).matches("error[OP00").count(), 3, "all of it at once");
}

#[test]
fn presets_are_known() {
    let folder = repository("[preset.mobile.convert]\nopset = 18\n");
    for (preset, help) in [("mobil", "did you mean `mobile`?"), ("zzz", "available: mobile")] {
        let output = run(folder.path(), &["convert", "--print-config", "--preset", preset]);
        assert_eq!(output.status.code(), Some(2));
        let said = text(&output.stderr);
        assert!(said.contains("error[OP006]") && said.contains(help), "{said}");
    }
    let output = run(folder.path(), &["convert", "--print-config", "--preset", "mobile", "--no-config"]);
    assert!(text(&output.stderr).contains("error[OP006]"), "{}", text(&output.stderr));
}

#[test]
fn a_named_file_may_say_more() {
    let folder = repository("plugins = ['missing.so']\n[convert]\nreport = ['../r.md']\n");
    let output = run(folder.path(), &["plugin", "list"]);
    let said = text(&output.stderr);
    assert!(output.status.success() && said.contains("ignored the plugins of onnxport.toml"), "{said}");
    let output = run(folder.path(), &["plugin", "list", "--config", "onnxport.toml"]);
    assert_eq!(output.status.code(), Some(5), "its plugins are loaded");
    assert!(text(&output.stderr).contains("OP803"));
    let output = printed(folder.path(), &["--config", "onnxport.toml"]);
    assert_eq!(effective(&output, "report").0[0], "../r.md");
    fs::write(folder.path().join("own.toml"), "[convert]\nplugin = ['missing.so']\n").expect("a file");
    let output = run(
        folder.path(),
        &["convert", &mlp().display().to_string(), "-o", "x.onnx", "--config", "own.toml"],
    );
    assert_eq!(output.status.code(), Some(5), "{}", text(&output.stderr));
}

#[test]
#[cfg(unix)]
fn a_link_does_not_lead_out_of_the_folder() {
    let outside = tempfile::tempdir().expect("a folder");
    let folder = repository("[convert]\nreport = ['out/r.md']\n");
    std::os::unix::fs::symlink(outside.path(), folder.path().join("out")).expect("a link");
    let output = run(folder.path(), &["convert", "--print-config"]);
    assert!(text(&output.stderr).contains("error[OP005]"), "{}", text(&output.stderr));
}

#[test]
fn options_that_exclude_each_other_name_the_file() {
    let folder = repository("[convert]\nkeep-dtype = ['head.*']\n");
    let output = run(folder.path(), &["convert", &mlp().display().to_string(), "-o", "x.onnx"]);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2));
    assert!(said.contains("--dtype"), "{said}");
    let folder = repository("[convert]\nno-verify = true\nkeep-failed = true\n");
    let output = run(folder.path(), &["convert", &mlp().display().to_string(), "-o", "x.onnx"]);
    let said = text(&output.stderr);
    assert!(said.contains("note: `no-verify` is set at onnxport.toml:2:1"), "{said}");
    let output = run(
        folder.path(),
        &["convert", &mlp().display().to_string(), "-o", "x.onnx", "--unset", "keep-failed"],
    );
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let output = run(folder.path(), &["convert", "--print-config", "--unset", "keep-faild"]);
    assert!(text(&output.stderr).contains("did you mean `keep-failed`?"), "{}", text(&output.stderr));
    let folder = repository("[convert]\nverfy = false\n");
    let output = run(folder.path(), &["convert", "--print-config"]);
    assert!(text(&output.stderr).contains("did you mean `verify`?"), "{}", text(&output.stderr));
}
