//! Inconsistent programs, and payloads that differ from their declarations.

use serde_json::{Value, json};

use super::archive::Archive;
use super::{assert_one, read, read_codes};

const WEIGHTS: &str = "model_weights_config.json";

fn graph(program: &mut Value) -> &mut Value {
    &mut program["graph_module"]["graph"]
}

fn meta(sizes: &[u64]) -> Value {
    let sizes: Vec<Value> = sizes.iter().map(|n| json!({"as_int": n})).collect();
    json!({
        "dtype": 7, "sizes": sizes, "strides": sizes, "storage_offset": {"as_int": 0}, "layout": 7,
        "requires_grad": false, "device": {"type": "cpu", "index": null},
    })
}

fn relu(input: &str, output: &str) -> Value {
    json!({
        "target": "torch.ops.aten.relu.default",
        "inputs": [{"name": "self", "arg": {"as_tensor": {"name": input}}, "kind": 1}],
        "outputs": [{"as_tensor": {"name": output}}],
        "metadata": {},
        "name": output,
    })
}

/// The base program with relus between these values, before its own nodes.
fn with_relus(pairs: &[(&str, &str)]) -> Archive {
    Archive::base().edit_program(|p| {
        for (at, (input, output)) in pairs.iter().enumerate() {
            graph(p)["nodes"].as_array_mut().unwrap().insert(at, relu(input, output));
            graph(p)["tensor_values"][*output] = meta(&[2]);
        }
    })
}

#[test]
fn cycles_are_found() {
    let codes = read_codes(&with_relus(&[("b", "a"), ("a", "b")]));
    assert_one(&codes, "OP109", &["`b`", "node `a`", "before it is defined", "model.json"]);
    let codes = read_codes(&with_relus(&[("a", "a")]));
    assert_one(&codes, "OP109", &["`a`", "cycle"]);
}

#[test]
fn negative_extents_are_found() {
    let archive = with_relus(&[("x", "a")]).edit_program(|p| {
        graph(p)["tensor_values"]["a"]["sizes"][0] = json!({"as_int": -2});
    });
    assert_one(&read_codes(&archive), "OP108", &["`a`", "a size of -2"]);
    let archive = with_relus(&[("x", "a")]).edit_program(|p| {
        graph(p)["tensor_values"]["a"]["sizes"][0] = json!({"as_expr": {"expr_str": "-5", "hint": null}});
    });
    assert_one(&read_codes(&archive), "OP108", &["`a`", "a size of -5"]);
}

#[test]
fn undefined_and_redefined_values_are_found() {
    assert_one(&read_codes(&with_relus(&[("ghost", "a")])), "OP109", &["`ghost`", "nowhere", "node `a`"]);
    assert_one(&read_codes(&with_relus(&[("x", "a"), ("x", "a")])), "OP109", &["`a`", "twice"]);
    assert_one(&read_codes(&with_relus(&[("x", "x")])), "OP109", &["`x`", "twice"]);
    let archive =
        Archive::base().edit_program(|p| graph(p)["outputs"][0] = json!({"as_tensor": {"name": "ghost"}}));
    let codes = read_codes(&archive);
    assert!(codes[0].starts_with("OP109") && codes[0].contains("ghost"), "{codes:?}");
}

#[test]
fn a_value_without_a_shape_is_found() {
    let archive = with_relus(&[("x", "a")]).edit_program(|p| {
        graph(p)["tensor_values"].as_object_mut().unwrap().remove("a");
    });
    assert_one(&read_codes(&archive), "OP109", &["`a`", "shape"]);
}

#[test]
fn the_signature_must_fit_the_graph() {
    for (list, what) in [("input_specs", "inputs"), ("output_specs", "outputs")] {
        let archive = Archive::base().edit_program(|p| {
            p["graph_module"]["signature"][list].as_array_mut().unwrap().pop();
        });
        assert_one(&read_codes(&archive), "OP109", &["signature", what]);
    }
    let archive = Archive::base().edit_program(|p| {
        p["graph_module"]["signature"]["output_specs"][0] =
            json!({"buffer_mutation": {"arg": {"name": "ghost"}, "buffer_name": "nowhere"}});
    });
    let codes = read_codes(&archive);
    assert!(codes.iter().all(|code| code.starts_with("OP109")), "{codes:?}");
    assert!(codes[0].contains("nowhere"), "{codes:?}");
}

#[test]
fn a_program_with_many_problems_reports_some_of_them() {
    let names: Vec<String> = (0..5000).map(|n| format!("v{n}")).collect();
    let pairs: Vec<(&str, &str)> = names.iter().map(|name| ("ghost", name.as_str())).collect();
    assert_eq!(read_codes(&with_relus(&pairs)).len(), 100);
}

#[test]
fn unused_values_cost_what_they_weigh() {
    // Text is made directly: a tree of JSON values would take longer than the reading.
    let list = |item: &dyn Fn(usize) -> String| (0..100_000).map(item).collect::<Vec<_>>().join(",");
    let shape = meta(&[2, 3]).to_string();
    let shapes = list(&|at| format!("\"unused_{at}\":{shape}"));
    let recorded = Archive::base()
        .edit_program(|p| {
            graph(p)["tensor_values"]["TARGET"] = json!(0);
            graph(p)["nodes"].as_array_mut().unwrap().insert(0, json!("NODES"));
        })
        .replace("models/model.json", "\"TARGET\":0", &shapes);
    let unused = recorded.clone().replace("models/model.json", "\"NODES\",", "");
    assert_eq!(read_codes(&unused), ["read"]);
    let node = relu("x", "NAME").to_string();
    let nodes = list(&|at| node.replace("NAME", &format!("unused_{at}")));
    let computed = recorded.replace("models/model.json", "\"NODES\"", &nodes);
    let file = computed.write();
    assert!(read(file.path()).unwrap().program.body.calls.len() > 100_000);
}

#[test]
fn sizes_of_two_to_the_sixty_three_are_refused() {
    let absurd = 1u64 << 63;
    let archive =
        with_relus(&[("x", "a")]).edit_program(|p| graph(p)["tensor_values"]["a"] = meta(&[absurd]));
    assert_one(&read_codes(&archive), "OP108", &["`a`", "9223372036854775808"]);
    for field in ["sizes", "strides", "storage_offset"] {
        for value in [json!(absurd), json!(-1)] {
            let archive = Archive::base().edit(WEIGHTS, |c| {
                let meta = &mut c["config"]["fc0.weight"]["tensor_meta"];
                let at = if field == "storage_offset" { &mut meta[field] } else { &mut meta[field][0] };
                at["as_int"] = value.clone();
            });
            assert_one(&read_codes(&archive), "OP108", &["fc0.weight", "weight_0"]);
        }
    }
    // Each fits into 64 bits, their product does not.
    let archive = Archive::base().edit(WEIGHTS, |c| {
        let meta = &mut c["config"]["fc0.weight"]["tensor_meta"];
        meta["sizes"] = json!([{"as_int": 1u64 << 40}, {"as_int": 1u64 << 40}]);
        meta["strides"] = json!([{"as_int": 0}, {"as_int": 0}]);
    });
    assert_one(&read_codes(&archive), "OP108", &["fc0.weight"]);
}

#[test]
fn payloads_that_were_taken_out_are_still_to_be_given() {
    let lacking = |archive: &Archive| {
        let file = archive.write();
        let program = read(file.path()).unwrap().program;
        let missing = onnxport_core::weights::missing(&program).unwrap();
        assert_eq!(missing.code.as_str(), "OP630");
        missing.notes.join(" ")
    };
    let notes = lacking(&Archive::base().without("weight_0").without("weight_2"));
    assert_eq!(notes.matches('`').count(), 4, "{notes}");
    assert!(notes.contains("`fc0.weight`: f32[") && notes.contains("weight`"), "{notes}");
    // The payload of a fake tensor is there, and empty.
    assert!(lacking(&Archive::base().with("weight_0", &[])).starts_with("`fc0.weight`: f32["));
    // Without the table, the names come from the graph.
    let all = lacking(&Archive::base().without(WEIGHTS));
    assert!(all.contains("`fc0.weight`: f32[") && all.contains("`fc0.bias`: f32["), "{all}");
    // A table that leaves a tensor out is damaged.
    let archive = Archive::base().edit(WEIGHTS, |c| {
        c["config"].as_object_mut().unwrap().remove("fc0.bias");
    });
    assert_one(&read_codes(&archive), "OP106", &["fc0.bias"]);
}

#[test]
fn payloads_must_be_what_the_program_says() {
    assert_one(&read_codes(&Archive::base().with("weight_0", &[0; 124])), "OP106", &["fc0.weight", "128"]);
    let edit = |edit: fn(&mut Value)| Archive::base().edit(WEIGHTS, |c| edit(&mut c["config"]["fc0.weight"]));
    for (archive, code, part) in [
        (edit(|w| w["use_pickle"] = json!(true)), "OP106", "pickle"),
        (edit(|w| w["tensor_meta"] = json!(null)), "OP106", "shape"),
        (edit(|w| w["tensor_meta"]["layout"] = json!(1)), "OP106", "strided"),
        (edit(|w| w["tensor_meta"]["dtype"] = json!(9)), "OP305", "complex32"),
        (edit(|w| w["tensor_meta"]["dtype"] = json!(99)), "OP105", "99"),
        (edit(|w| w["tensor_meta"]["dtype"] = json!(6)), "OP106", "f16"),
        (edit(|w| w["tensor_meta"]["sizes"][0] = json!({"as_int": 4})), "OP106", "contradicts the program"),
        (edit(|w| w["tensor_meta"]["strides"] = json!([])), "OP106", "strides"),
        (edit(|w| w["path_name"] = json!("../../../models/model.json")), "OP106", "missing"),
    ] {
        assert_one(&read_codes(&archive), code, &["fc0.weight", part]);
    }
    assert_one(&read_codes(&Archive::base().with("byteorder", b"big")), "OP106", &["byteorder", "big"]);
}

#[test]
fn a_tensor_is_listed_once() {
    let twice = Archive::base().replace(WEIGHTS, "\"fc0.bias\"", "\"fc0.weight\"");
    assert_one(&read_codes(&twice), "OP105", &["`fc0.weight` is there twice"]);
    let mut both = Archive::base();
    let listed = both.entry(WEIGHTS).clone();
    let copies = both.entries.iter().filter(|(name, _)| name.contains("/weights/weight_"));
    let copies = copies.map(|(name, bytes)| (name.replace("/weights/", "/constants/"), bytes.clone()));
    both.entries.extend(copies.collect::<Vec<_>>());
    let codes = read_codes(&both.with("model_constants_config.json", &listed));
    assert!(codes.len() == 4 && codes[0].starts_with("OP106"), "{codes:?}");
    assert!(codes[0].contains("`fc0.weight`, which another table lists as well"), "{codes:?}");
}
