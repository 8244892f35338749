//! Executors that crash, hang, are killed or answer wrongly: each is reported as such, and the program goes on.
#![cfg(unix)]

use std::sync::LazyLock;

use serde_json::{Map, Value, json};
use tempfile::TempDir;

use crate::library::compile;
use crate::program::{answer, repository, write_model};

const MODEL: &str =
    "opset 20\ngraph {\n  input %x: f32[2, 3]\n  %y: f32[2, 3] = Identity(%x)\n  output %y as y\n}\n";

/// A folder with `faulty.so`, and a model whose output is its input.
static FOLDER: LazyLock<TempDir> = LazyLock::new(|| {
    let folder = tempfile::tempdir().expect("a folder");
    compile("faulty.c", &folder.path().join("faulty.so"), &["-D_POSIX_C_SOURCE=200809L"]);
    write_model(folder.path().join("m.onnx"), MODEL);
    std::fs::write(folder.path().join("m.expected.safetensors"), expected()).expect("it is written");
    folder
});

/// Two recorded calls, whose output is their input.
fn expected() -> Vec<u8> {
    let case = |name: &str| json!({"name": name, "inputs": ["x"], "outputs": ["y"], "states": []});
    let cases = json!([case("a"), case("b")]).to_string();
    let mut header = Map::new();
    let metadata = json!({"format": "onnxport-expected/1", "cases": cases, "complex": "[]"});
    header.insert("__metadata__".to_owned(), metadata);
    for (at, key) in ["a/input/x", "a/output/0", "b/input/x", "b/output/0"].iter().enumerate() {
        let offsets = [24 * at, 24 * (at + 1)];
        let tensor = json!({"dtype": "F32", "shape": [2, 3], "data_offsets": offsets});
        header.insert((*key).to_owned(), tensor);
    }
    let header = Value::Object(header).to_string().into_bytes();
    let values = (0..24).flat_map(|_| 0.5f32.to_le_bytes());
    (header.len() as u64).to_le_bytes().into_iter().chain(header).chain(values).collect()
}

fn at(name: &str) -> String {
    FOLDER.path().join(name).to_str().expect("UTF-8").to_owned()
}

/// Runs the model with an executor that `does` something; returns the exit code, and the code and message of the
/// error.
fn run(does: &str, more: &[&str]) -> (Option<i32>, String, String) {
    let (model, library, does) = (at("m.onnx"), at("faulty.so"), format!("does={does}"));
    let start = ["run", &model, "--random", "--plugin", &library, "--executor", "faulty"];
    let (exit, said) = answer(repository(), &[&start[..], &["--executor-option", &does], more].concat());
    let first = &said["diagnostics"][0];
    let text = |key: &str| first[key].as_str().unwrap_or_default().to_owned();
    (exit, text("code"), text("message"))
}

const APART: &[&str] = &["--isolate"];

#[test]
fn what_is_right_is_the_same_in_a_process_of_its_own() {
    for more in [&[][..], APART] {
        assert_eq!(run("right", more).0, Some(0));
    }
    let (model, values) = (at("m.onnx"), [at("here.safetensors"), at("apart.safetensors")]);
    for (values, more) in values.iter().zip([&[][..], APART]) {
        let start = ["run", &model, "--random", "--executor", "reference", "--output", values];
        let (exit, said) = answer(repository(), &[&start[..], more].concat());
        assert_eq!(exit, Some(0), "{said}");
        let by = said["run"]["executor"].as_str().expect("what ran it");
        assert_eq!(by.ends_with(", in a separate process"), !more.is_empty(), "{by}");
    }
    let [here, apart] = values.map(|path| std::fs::read(path).expect("it was written"));
    assert_eq!(here, apart);
}

#[test]
fn what_a_runtime_prints_is_in_nobody_s_way() {
    for does in ["open-print", "load-print", "run-print", "between-print"] {
        assert_eq!(run(does, APART).0, Some(0), "{does}");
    }
}

#[test]
fn a_crash_is_told_with_its_signal() {
    let doing = [("open", "starting"), ("load", "loading the model"), ("run", "running the model")];
    for (when, doing) in doing.into_iter().chain([("between", "running the model")]) {
        for (what, with) in
            [("segv", "SIGSEGV"), ("abort", "SIGABRT"), ("kill", "SIGKILL"), ("exit", "exit code 3")]
        {
            let (exit, code, message) = run(&format!("{when}-{what}"), APART);
            assert_eq!((exit, code.as_str()), (Some(4), "OP708"), "{when} {what}: {message}");
            assert!(message.contains("the process of Faulty ended with "), "{message}");
            assert!(message.contains(with) && message.ends_with(doing), "{message}");
        }
    }
}

#[test]
fn a_hang_is_ended_when_its_time_is_over() {
    for (when, doing) in [("open", "starting"), ("load", "loading the model"), ("run", "running the model")] {
        let (exit, code, message) = run(&format!("{when}-hang"), &["--isolate", "--timeout", "0.5"]);
        assert_eq!((exit, code.as_str()), (Some(4), "OP705"), "{message}");
        let told = format!("Faulty did not finish {doing} within 0.5 s; its process was ended");
        assert_eq!(message, told);
    }
}

#[test]
fn a_refusal_is_the_runtime_s_own() {
    for more in [&[][..], APART] {
        let (_, code, message) = run("refuse", more);
        assert_eq!((code.as_str(), message.as_str()), ("OP703", "it does not want to"));
    }
}

#[test]
fn answers_that_are_not_the_model_s_are_told() {
    let cases = [
        ("few", "Faulty did not return the output `y`"),
        ("many", "Faulty returned an output `y`, which the model does not have"),
        ("name", "Faulty returned the output `z` instead of `y`"),
        ("rank", "Faulty returned the output `y` as f32[6], but the model declares f32[2, 3]"),
        ("shape", "Faulty returned the output `y` as f32[3, 2], but the model declares f32[2, 3]"),
        ("dtype", "Faulty returned the output `y` as i32[2, 3], but the model declares f32[2, 3]"),
        ("bytes", "Faulty returned the output `y` as f32[2, 3], with 20 bytes"),
    ];
    for (does, told) in cases {
        for more in [&[][..], APART] {
            let (exit, code, message) = run(does, more);
            assert_eq!((exit, code.as_str(), message.as_str()), (Some(4), "OP709", told), "{does}");
        }
    }
}

#[test]
fn a_verification_tells_what_an_executor_does() {
    let (model, against, library) = (at("m.onnx"), at("m.expected.safetensors"), at("faulty.so"));
    let verify = |does: &str, more: &[&str]| {
        let does = format!("does={does}");
        let start = ["verify", &model, "--against", &against, "--plugin", &library, "--executor", "faulty"];
        answer(repository(), &[&start[..], &["--executor-option", &does], more].concat())
    };
    for more in [&[][..], APART] {
        let (exit, said) = verify("right", more);
        assert_eq!(exit, Some(0), "{said}");
        for does in ["few", "rank", "shape", "dtype"] {
            let (exit, said) = verify(does, more);
            assert_eq!(exit, Some(4), "{does}: {said}");
            let code = said["diagnostics"][0]["code"].as_str();
            assert!(matches!(code, Some("OP701" | "OP703" | "OP709")), "{does}: {said}");
        }
    }
    for (does, code) in [("run-segv", "OP708"), ("run-kill", "OP708"), ("run-hang", "OP705")] {
        let (exit, said) = verify(does, &["--isolate", "--timeout", "0.5"]);
        assert_eq!((exit, &said["diagnostics"][0]["code"]), (Some(4), &code.into()), "{said}");
    }
}

#[test]
fn a_profile_tells_what_an_executor_does() {
    let (model, library) = (at("m.onnx"), at("faulty.so"));
    let cases = [
        ("right", Some(6), "OP702"),
        ("refuse", Some(4), "OP703"),
        ("load-segv", Some(4), "OP708"),
        ("run-abort", Some(4), "OP708"),
        ("run-hang", Some(4), "OP705"),
    ];
    for (does, exit, code) in cases {
        let option = format!("does={does}");
        let start = ["profile", &model, "--plugin", &library, "--executor", "faulty", "--runs", "2"];
        let more = ["--executor-option", &option, "--isolate", "--timeout", "0.5"];
        let (ended, said) = answer(repository(), &[&start[..], &more].concat());
        assert_eq!((ended, &said["diagnostics"][0]["code"]), (exit, &code.into()), "{does}: {said}");
    }
}
