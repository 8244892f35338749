//! Models with sizes that the user states, and renamed inputs and outputs.

use serde_json::Value;

use crate::program::{MLP, answer, folder, has_runtime, repository};

/// The names of the cases that ran, and of those that did not.
fn cases(said: &Value) -> (Vec<String>, Vec<String>) {
    let all = said["verification"]["cases"].as_array().expect("cases").iter();
    let (skipped, ran): (Vec<&Value>, Vec<&Value>) = all.partition(|case| case["not_applicable"].is_string());
    let names =
        |cases: Vec<&Value>| cases.iter().map(|c| c["name"].as_str().expect("a name").to_owned()).collect();
    (names(ran), names(skipped))
}

#[test]
fn a_size_makes_every_axis_of_the_symbol_static() {
    let (_folder, at) = folder();
    let model = at("m.onnx");
    let (code, said) = answer(repository(), &["convert", MLP, "-o", &model, "--no-verify", "--dim", "x:0=3"]);
    assert_eq!(code, Some(0), "{said}");
    for port in
        said["inputs"].as_array().expect("inputs").iter().chain(said["outputs"].as_array().expect("outputs"))
    {
        assert_eq!(port["type"], "f32[3, 8]");
    }
    let (code, said) = answer(repository(), &["convert", MLP, "-o", &model, "--no-verify", "--dim", "x:1=9"]);
    assert_eq!((code, &said["diagnostics"][0]["code"]), (Some(2), &"OP309".into()), "{said}");
}

#[test]
fn recorded_values_of_other_sizes_are_not_applicable_and_no_mismatch() {
    if !has_runtime() {
        return;
    }
    let (_folder, at) = folder();
    let model = at("m.onnx");
    let run = |size: &str, more: &[&str]| {
        answer(repository(), &[&["convert", MLP, "-o", &model, "--dim", size], more].concat())
    };
    let list = |names: &[&str]| names.iter().map(|n| (*n).to_owned()).collect::<Vec<_>>();
    // One of the recorded sizes.
    let (code, said) = run("x:0=5", &["--require-verified"]);
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(cases(&said), (list(&["size-1"]), list(&["traced", "size-2"])));
    assert_eq!(said["verification"]["values_compared"], true);
    // None of them: the model runs at its own.
    let (code, said) = run("x:0=3", &[]);
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(cases(&said), (list(&["fixed"]), list(&["traced", "size-1", "size-2"])));
    assert_eq!(said["verification"]["cases"][3]["inputs"][0]["shape"], serde_json::json!([3, 8]));
    let (_, again) = answer(repository(), &["verify", &model, "--against", MLP]);
    assert_eq!(cases(&again), cases(&said));
    assert_eq!(run("x:0=3", &["--require-verified", "--reference", "recorded"]).0, Some(6));
}

#[test]
fn names_take_the_place_of_others_also_in_packages() {
    let (_folder, at) = folder();
    let model = at("m.onnx");
    let given = ["--input-names", "x=image", "--output-names", "linear_3=y", "--dim", "image:0=batch"];
    let (code, said) =
        answer(repository(), &[&["convert", MLP, "-o", &model, "--no-verify"], &given[..]].concat());
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(said["inputs"][0], serde_json::json!({"name": "image", "type": "f32[batch, 8]"}));
    assert_eq!((&said["inputs"][1]["name"], &said["outputs"][0]["name"]), (&"aux_scale".into(), &"y".into()));

    let (code, said) =
        answer(repository(), &["convert", MLP, "-o", &model, "--no-verify", "--input-names", "aux_scal=s"]);
    assert_eq!((code, &said["diagnostics"][0]["code"]), (Some(2), &"OP307".into()), "{said}");
    assert!(said["diagnostics"][0]["help"].as_str().expect("help").contains("`aux_scale`"), "{said}");

    let package = at("p");
    let member = format!("a={MLP}");
    let fixed = ["package", &member, "-o", &package, "--no-verify"];
    let given = ["--input-names", "a/x=image", "--output-names", "a/y", "--dim", "a/image:0=4"];
    let (code, said) = answer(repository(), &[&fixed[..], &given[..]].concat());
    assert_eq!(code, Some(0), "{said}");
    let (_, said) = answer(repository(), &["inspect", &format!("{package}/a.onnx")]);
    let model = &said["model"];
    assert_eq!(
        (&model["inputs"][0]["name"], &model["inputs"][0]["type"]),
        (&"image".into(), &"f32[4, 8]".into())
    );
    assert_eq!(model["outputs"][0]["name"], "y");
    let (code, said) = answer(repository(), &["package", &member, "-o", &package, "--output-names", "b/y"]);
    assert_eq!((code, &said["diagnostics"][0]["code"]), (Some(2), &"OP307".into()), "{said}");
}
