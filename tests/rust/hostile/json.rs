//! JSON that is malformed, nested without end, or of another schema.

use serde_json::{Value, json};

use super::archive::Archive;
use super::{assert_one, read_codes};

const DEEP: usize = 100_000;
const PROGRAM: &str = "models/model.json";
const WEIGHTS: &str = "model_weights_config.json";

/// Returns the program with the text `TARGET` in place of a value.
fn with_text(place: impl FnOnce(&mut Value), text: &str) -> Archive {
    Archive::base().edit_program(place).replace(PROGRAM, "\"TARGET\"", text)
}

#[test]
fn deep_nesting_is_an_error() {
    let documents = [
        ("[".repeat(DEEP), "]".repeat(DEEP)),
        ("{\"a\":".repeat(DEEP) + "1", "}".repeat(DEEP)),
        ("[".repeat(DEEP), String::new()),
    ];
    for (open, close) in &documents {
        let text = format!("{open}{close}");
        for entry in [PROGRAM, WEIGHTS, "model_constants_config.json"] {
            let codes = read_codes(&Archive::base().with(entry, text.as_bytes()));
            assert_one(&codes, "OP105", &[entry]);
        }
    }
}

#[test]
fn deep_nesting_in_an_argument_is_an_error() {
    let text = "{\"as_string_to_argument\":{\"a\":".repeat(DEEP) + "{\"as_int\":1}" + &"}}".repeat(DEEP);
    let archive = with_text(|p| p["graph_module"]["graph"]["outputs"][0] = json!("TARGET"), &text);
    assert_one(&read_codes(&archive), "OP105", &[PROGRAM, "recursion"]);
}

#[test]
fn deep_nesting_in_a_field_that_is_skipped_costs_nothing() {
    let text = "[".repeat(DEEP) + &"]".repeat(DEEP);
    let archive = with_text(|p| p["verifiers"] = json!("TARGET"), &text);
    assert_eq!(read_codes(&archive), ["read"]);
}

#[test]
fn deep_nesting_of_the_tree_specification_is_an_error() {
    let leaf = "{\"type\":null,\"context\":null,\"children_spec\":[".repeat(DEEP) + &"]}".repeat(DEEP);
    let archive = Archive::base().edit_program(|p| {
        p["graph_module"]["module_call_graph"][0]["signature"]["in_spec"] = json!(format!("[1,{leaf}]"));
    });
    let file = archive.write();
    let archive = super::read(file.path()).unwrap();
    let samples = archive.sample_inputs().unwrap().unwrap();
    let problem = samples.flatten(&archive.program.signature).unwrap_err();
    assert_eq!(problem.code.as_str(), "OP105");
}

#[test]
fn malformed_json_is_an_error() {
    for (entry, text) in
        [(PROGRAM, ""), (PROGRAM, "{"), (PROGRAM, "[]"), (WEIGHTS, "{\"config\": 7}"), (WEIGHTS, "\u{0}")]
    {
        assert_one(&read_codes(&Archive::base().with(entry, text.as_bytes())), "OP105", &[entry]);
    }
    assert_one(&read_codes(&Archive::base().with(PROGRAM, b"{\"a\": \"\xff\"}")), "OP105", &[PROGRAM]);
}

#[test]
fn other_versions_are_named() {
    let archive = Archive::base().edit_program(|p| p["schema_version"] = json!({"major": 9, "minor": 1}));
    assert_one(&read_codes(&archive), "OP104", &["9.1"]);
    // Nothing else of a program of another version need be as expected.
    let archive =
        Archive::base().with(PROGRAM, br#"{"schema_version": {"major": 7, "minor": 3}, "graph": 1}"#);
    assert_one(&read_codes(&archive), "OP104", &["7.3"]);
    assert_one(&read_codes(&Archive::base().with("archive_version", b"1")), "OP104", &["version 1"]);
    // Fields that a minor version adds are passed over.
    let archive = Archive::base().edit_program(|p| {
        p["schema_version"]["minor"] = json!(99);
        p["a_new_field"] = json!({"x": [1, 2]});
        p["graph_module"]["graph"]["nodes"][0]["a_new_field"] = json!(null);
    });
    assert_eq!(read_codes(&archive), ["read"]);
}

#[test]
fn unknown_variants_are_named() {
    let output =
        |value: Value| Archive::base().edit_program(|p| p["graph_module"]["graph"]["outputs"][0] = value);
    assert_one(&read_codes(&output(json!({"as_quaternion": 1}))), "OP105", &["as_quaternion", "Argument"]);
    assert_one(&read_codes(&output(json!({}))), "OP105", &["no variant"]);
    assert_one(&read_codes(&output(json!({"as_int": 1, "as_float": 1.0}))), "OP105", &["as_int", "as_float"]);
    let archive = Archive::base().edit_program(|p| {
        p["graph_module"]["signature"]["input_specs"][0] = json!({"telepathy": {}});
    });
    assert_one(&read_codes(&archive), "OP105", &["telepathy", "InputSpec"]);
}

#[test]
fn variants_that_are_null_do_not_count() {
    let archive = Archive::base().edit_program(|p| {
        let output = &mut p["graph_module"]["graph"]["outputs"][0];
        output["as_int"] = json!(null);
        output["as_quaternion"] = json!(null);
    });
    assert_eq!(read_codes(&archive), ["read"]);
}

#[test]
fn not_a_number_is_a_float_and_never_a_size() {
    let arg = |text: &str| {
        with_text(
            |p| {
                let inputs = p["graph_module"]["graph"]["nodes"][0]["inputs"].as_array_mut().unwrap();
                inputs.push(json!({"name": "extra", "arg": {"as_float": "TARGET"}, "kind": 1}));
            },
            text,
        )
    };
    for text in ["NaN", "-Infinity", "Infinity", "\"NaN\"", "\"-Infinity\"", "1e999", "7"] {
        let expected = if text == "1e999" { "OP105" } else { "read" };
        assert_one(&read_codes(&arg(text)), expected, &[]);
    }
    assert_one(&read_codes(&arg("\"nan\"")), "OP105", &["nan"]);
    for field in
        ["\"storage_offset\": {\"as_int\": 0}", "\"dtype\": 7", "\"is_param\": true, \"use_pickle\": false"]
    {
        let broken = field.replace(": 0}", ": NaN}").replace("false", "NaN").replace(": 7", ": NaN");
        let archive = Archive::base().replace(WEIGHTS, field, &broken);
        assert_one(&read_codes(&archive), "OP105", &[WEIGHTS]);
    }
}
