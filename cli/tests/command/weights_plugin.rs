//! `weights/1` in libraries, loaded from the command line: `examples/weights`, and `tests/rust/faults/weights`, whose
//! quantisers each break a promise.

use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::OnceLock;

use onnxport_proto::{ModelProto, TensorProto};
use prost::Message;

use crate::library::build;
use crate::program::{command, json, mlp};

fn binary() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| build("examples/weights", "binary", "dev"))
}

fn hasty() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| build("tests/rust/faults/weights", "hasty", "dev"))
}

fn onnxport(folder: &Path, arguments: &[&str]) -> Output {
    command(folder, arguments)
        .env_remove("ONNXPORT_PLUGIN_PATH")
        .env("XDG_DATA_HOME", folder)
        .output()
        .expect("the binary starts")
}

/// Converts `examples/mlp` into `folder` with these options.
fn run(folder: &Path, library: &Path, options: &[&str]) -> Output {
    let program = mlp();
    let [program, library] = [&*program, library].map(|path| path.to_str().expect("UTF-8"));
    let convert = ["convert", program, "-o", "model.onnx", "--no-verify", "--external-data", "inline"];
    onnxport(folder, &[&convert[..], &["--plugin", library], options].concat())
}

/// Converts `examples/mlp` with these options; returns the written tensors, or the exit code and the message.
fn convert(library: &Path, options: &[&str]) -> Result<Vec<TensorProto>, (Option<i32>, String)> {
    let folder = tempfile::tempdir().expect("a folder");
    let output = run(folder.path(), library, options);
    let path = folder.path().join("model.onnx");
    if !output.status.success() {
        assert!(!path.exists(), "nothing is written after a failure");
        return Err((output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned()));
    }
    let model = std::fs::read(path).expect("a model");
    Ok(ModelProto::decode(model.as_slice()).expect("a model").graph.expect("a graph").initializer)
}

/// The weights of `examples/mlp` as they are written with these options.
fn weights(options: &[&str]) -> Vec<f32> {
    let tensors = convert(binary(), options).unwrap_or_else(|(_, said)| panic!("{said}"));
    let bytes: Vec<u8> = tensors.iter().flat_map(|tensor| tensor.raw_data().to_vec()).collect();
    bytes.as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b)).collect()
}

#[test]
fn a_library_makes_weights() {
    let made = weights(&["--weights-plugin", "binary"]);
    assert_eq!(made.iter().filter(|w| **w == 0.5).count(), 8 * 8 + 8);
    assert!(made.iter().any(|w| *w != 0.5), "the other layers keep theirs");
}

#[test]
fn a_library_changes_weights_that_it_is_given() {
    let plain = weights(&[]);
    let changed = weights(&["--transform", "binary/signs"]);
    assert_eq!(changed, plain.iter().map(|w| w.signum()).collect::<Vec<f32>>());
    let one = weights(&["--transform", "binary/signs:fc1.weight"]);
    assert_eq!(one.iter().filter(|w| w.abs() == 1.0).count(), 8 * 8);
}

#[test]
fn a_plan_names_what_plugins_make_and_change() {
    let folder = tempfile::tempdir().expect("a folder");
    let scheme = "int8:block=channel,by=binary/clip";
    let options = ["--weights-plugin", "binary", "--transform", "binary/signs", "--quantize", scheme];
    let output = run(folder.path(), binary(), &[&options[..], &["--plan", "--json"]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let said: serde_json::Value = json(&output);
    let rows = said["weights"]["tensors"].as_array().expect("rows");
    let made: Vec<_> = rows.iter().filter(|row| row["source"]["kind"] == "made").collect();
    assert_eq!(made.len(), 3, "the codes and the scales of a weight, and a bias: {said}");
    assert!(made[0]["source"]["by"].as_str().is_some_and(|by| by.starts_with("plugin binary: ")), "{said}");
    assert!(rows.iter().any(|row| row["transforms"] == serde_json::json!(["binary/signs"])), "{said}");
    let codes = "codes of int8, symmetric, blocks of 8 along axis 1, by binary/clip";
    assert!(rows.iter().any(|row| row["transforms"] == serde_json::json!(["binary/signs", codes])), "{said}");
}

/// Returns the exit code and the message of a conversion with a quantizer of `tests/rust/faults/weights`.
fn refused(quantiser: &str, more: &[&str]) -> (Option<i32>, String) {
    let scheme = format!("int8:block=channel,by=hasty/{quantiser}");
    let made = convert(hasty(), &[&["--quantize", scheme.as_str()], more].concat());
    made.err().unwrap_or_else(|| panic!("{quantiser} is refused"))
}

#[test]
fn the_sdk_rounds_as_the_host_does() {
    for scheme in ["int8:block=channel", "int4:block=3,asymmetric", "int8:block=3,asymmetric", "int4"] {
        let hosts = convert(hasty(), &["--quantize", scheme, "--opset", "21"]);
        let by = if scheme.contains(':') { ",by=hasty/fine" } else { ":by=hasty/fine" };
        let plugins = convert(hasty(), &["--quantize", &format!("{scheme}{by}"), "--opset", "21"]);
        assert!(hosts.is_ok() && hosts == plugins, "{scheme}: {:?}", hosts.err().or(plugins.err()));
    }
}

#[test]
fn a_quantiser_that_breaks_a_promise_is_named() {
    for (quantiser, exit, words) in [
        ("panics", 70, ["OP802", "plugin `hasty` panicked: out of cheese"]),
        (
            "nan",
            70,
            [
                "OP801",
                "`hasty/nan` chose the scale NaN, which is not a positive number of type f32 (`fc0.weight`)",
            ],
        ),
        ("negative", 70, ["OP801", "`hasty/negative` chose the scale -"]),
        ("silent", 70, ["OP801", "`hasty/silent` chose the scale 0,"]),
        ("beyond", 70, ["OP801", "`hasty/beyond` chose the code 128, which is not in -128..=127"]),
        ("shifted", 70, ["OP801", "`hasty/shifted` chose the zero point -129, which is not in 0..=0"]),
        ("refuses", 3, ["there is no calibration for `fc0.weight`", "help: calibrate it first"]),
        ("missing", 2, ["OP662", "plugin `hasty` has no quantiser `missing`"]),
    ] {
        let (code, said) = refused(quantiser, &[]);
        assert_eq!(code, Some(exit), "{quantiser}: {said}");
        for word in words {
            assert!(said.contains(word), "{quantiser}: no `{word}` in: {said}");
        }
    }
    let (code, said) = refused("waits", &["--plugin-timeout", "0.2"]);
    assert_eq!(code, Some(70), "{said}");
    assert!(said.contains("plugin `hasty` did not finish quantising a weight `waits`"), "{said}");
}

#[test]
fn quantisers_are_listed_and_checked() {
    let folder = tempfile::tempdir().expect("a folder");
    let json = |arguments: &[&str], exit| {
        let output = onnxport(folder.path(), &[arguments, &["--json"]].concat());
        assert_eq!(output.status.code(), Some(exit), "{}", String::from_utf8_lossy(&output.stderr));
        json(&output)
    };
    let library = binary().to_str().expect("UTF-8");
    let info = json(&["plugin", "info", library], 0);
    assert_eq!((&info["quantisers"][0]["name"], &info["transforms"][0]), (&"clip".into(), &"signs".into()));
    let checked = json(&["plugin", "check", library], 0);
    assert_eq!(checked["failed"], 0, "{checked:#}");
    let library = hasty().to_str().expect("UTF-8");
    let checked = json(&["plugin", "check", library, "--timeout", "2"], 70);
    let finding = |quantiser: &str| {
        let check = format!("weights/1 {quantiser}");
        let found =
            checked["checks"].as_array().expect("a list").iter().find(|f| f["check"] == check.as_str());
        let found = found.unwrap_or_else(|| panic!("no `{check}` in {checked:#}"));
        let text = |key: &str| found[key].as_str().unwrap_or_default().to_owned();
        (text("verdict"), text("reason"))
    };
    for (quantiser, verdict, reason) in [
        ("fine", "pass", "36 generated weights quantised, 0 refused"),
        ("refuses", "skip", "refuses every generated weight"),
        ("panics", "fail", "panicked: out of cheese"),
        ("nan", "fail", "scale"),
        ("negative", "fail", "scale"),
        ("unstored", "fail", "scale"),
        ("silent", "fail", "scale"),
        ("beyond", "fail", "code"),
        ("shifted", "fail", "zero point"),
        ("restless", "fail", "the second time"),
        ("neighbours", "fail", "as a part of"),
        ("waits", "fail", "did not come back within 2 s"),
    ] {
        let (is, why) = finding(quantiser);
        assert!(is == verdict && why.contains(reason), "{quantiser}: {is}, {why}");
    }
    assert_eq!(finding("unknown index").0, "pass");
}
