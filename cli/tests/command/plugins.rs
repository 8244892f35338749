//! Plugins from outside: the list, and the exit codes of refusals.

use std::path::Path;
use std::process::Output;

use serde_json::Value;

use crate::library::cuda_parity;
use crate::program::{command, folder, json, write_model};

fn onnxport(arguments: &[&str], folder: &Path) -> Output {
    command(folder, arguments)
        .env_remove("ONNXPORT_PLUGIN_PATH")
        // The user's own plugins are none of a test's business.
        .env("XDG_DATA_HOME", folder)
        .env("HOME", folder)
        .env("APPDATA", folder)
        .output()
        .expect("the binary starts")
}

#[test]
fn linked_in_plugins_are_listed() {
    let folder = tempfile::tempdir().expect("a folder");
    // The current directory is not searched.
    std::fs::write(folder.path().join("onnxport.toml"), "plugins = ['missing.so']").expect("a file");
    let output = onnxport(&["plugin", "list", "--json"], folder.path());
    assert_eq!(output.status.code(), Some(0));
    let listed = json(&output);
    let plugins = listed["plugins"].as_array().expect("a list");
    let ids: Vec<_> = plugins.iter().map(|plugin| plugin["id"].as_str().unwrap_or_default()).collect();
    let linked = ["aten", "optimise", "fusions", "ort", "reference", "openvino", "torchvision", "torchaudio"];
    assert_eq!(ids, linked);
    assert!(plugins.iter().all(|plugin| plugin["source"] == "linked" && plugin["contract"] == "1.0"));
    assert!(plugins[0]["lowerings"].as_u64().is_some_and(|n| n > 500));
    assert_eq!(listed["absent"][0]["id"], "cuda-parity");
    let loaded = onnxport(&["plugin", "list", "--json", "--plugin", cuda_parity()], folder.path());
    let loaded = json(&loaded);
    assert_eq!(
        (&loaded["plugins"][linked.len()]["id"], &loaded["absent"]),
        (&"cuda-parity".into(), &Value::Array(vec![]))
    );
}

#[test]
fn a_plugin_that_is_left_out_is_an_error_that_says_how_to_get_it() {
    let (folder, at) = folder();
    write_model(at("m.onnx"), "opset 20\ngraph {\n  input %x: f32[4]\n  %0 = Exp(%x)\n  output %0 as y\n}\n");
    let verify = ["verify", "m.onnx", "--executor", "reference", "--reference", "evaluator", "--json"];
    for (arguments, code) in [
        (&["run", "m.onnx", "--random", "--executor", "cuda-parity", "--json"][..], "OP807"),
        (&[&verify[..], &["--comparer", "cuda-parity"]].concat(), "OP720"),
        (&["ops", "--plugin-option", "cuda-parity.device=1", "--json"], "OP820"),
    ] {
        let output = onnxport(arguments, folder.path());
        let said = &json(&output)["diagnostics"][0];
        assert_eq!(said["code"], code, "{arguments:?}: {said}");
        assert!(said["help"].as_str().is_some_and(|help| help.contains("cargo xtask plugins")), "{said}");
    }
    let text = onnxport(&["plugin", "list"], folder.path());
    let text = String::from_utf8_lossy(&text.stdout).into_owned();
    assert!(text.contains("cuda-parity: this build leaves it out"), "{text}");
}

#[test]
fn what_cannot_be_used_is_refused_with_a_code() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("text.so"), "not a library").expect("a file");
    std::fs::write(folder.path().join("onnxport.toml"), "plugins = ['missing.so']").expect("a file");
    for (arguments, exit, code) in [
        (&["plugin", "list", "--plugin", "missing.so"][..], 5, "OP803"),
        (&["plugin", "list", "--plugin", "text.so"], 5, "OP803"),
        (&["plugin", "info", "text.so"], 5, "OP803"),
        (&["plugin", "list", "--project", "onnxport.toml"], 5, "OP803"),
        (&["plugin", "list", "--project", "text.so"], 5, "OP808"),
        (&["ops", "--use", "aten.relu.default=nobody"], 2, "OP807"),
        (&["ops", "--use", "aten.nothing.default=aten"], 2, "OP807"),
    ] {
        let output = onnxport(&[arguments, &["--json"]].concat(), folder.path());
        assert_eq!(output.status.code(), Some(exit), "{arguments:?}");
        assert_eq!(json(&output)["diagnostics"][0]["code"], code, "{arguments:?}");
    }
    assert_eq!(onnxport(&["ops", "--use", "aten.relu.default"], folder.path()).status.code(), Some(2));
}
