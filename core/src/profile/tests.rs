use onnxport_proto::{GraphProto, NodeProto, StringStringEntryProto};

use super::events::{Measured, Node};
use super::measure::summed;
use super::optimised::Optimised;
use super::places::Places;
use super::{How, ModulesFrom, NodeTimes, Profile, Times, Verdict, compare};
use crate::onnx::{SOURCE_KEY, torch};

fn node(name: &str, operator: &str, input: &[&str], output: &[&str], said: &[(&str, &str)]) -> NodeProto {
    let texts = |all: &[&str]| all.iter().map(|text| (*text).to_owned()).collect();
    let entry = |(key, value): &(&str, &str)| StringStringEntryProto {
        key: Some((*key).to_owned()),
        value: Some((*value).to_owned()),
    };
    NodeProto {
        name: Some(name.to_owned()),
        op_type: Some(operator.to_owned()),
        input: texts(input),
        output: texts(output),
        metadata_props: said.iter().map(entry).collect(),
        ..NodeProto::default()
    }
}

fn ran(name: &str, operator: &str, runs: &[f64]) -> Node {
    Node {
        name: name.to_owned(),
        operator: operator.to_owned(),
        provider: "CPU".to_owned(),
        inner: false,
        calls: 1,
        runs: runs.to_vec(),
    }
}

fn at<'p>(module: &'p str, line: &'p str) -> Vec<(&'p str, &'p str)> {
    vec![(torch::NAMESPACE, module), (SOURCE_KEY, line)]
}

/// A convolution, an activation and a sum, which a runtime made into something else.
fn profile() -> Profile {
    let model = GraphProto {
        node: vec![
            node("conv", "Conv", &["x"], &["a"], &at("body.conv", "m.py:3")),
            node("act", "Relu", &["a"], &["b"], &at("body", "m.py:4")),
            node("sum", "Add", &["b", "x"], &["y"], &at("", "m.py:9")),
        ],
        ..GraphProto::default()
    };
    let made = Optimised {
        nodes: vec![
            node("ReorderInput", "ReorderInput", &["x"], &["r"], &[]),
            node("b_nchwc", "Conv", &["r"], &["s"], &[]),
            node("ReorderOutput", "ReorderOutput", &["s"], &["b"], &[]),
            node("sum", "Add", &["b", "x"], &["y"], &[]),
            node("lost", "Copy", &["z"], &["z2"], &[]),
        ],
    };
    let measured = Measured {
        runs: vec![100.0, 100.0, 130.0, 100.0, 100.0],
        nodes: vec![
            ran("ReorderInput", "ReorderInput", &[1.0; 5]),
            ran("b_nchwc", "Conv", &[50.0, 50.0, 80.0, 50.0, 50.0]),
            ran("ReorderOutput", "ReorderOutput", &[2.0; 5]),
            ran("sum", "Add", &[7.0; 5]),
            ran("lost", "Copy", &[10.0; 5]),
        ],
    };
    let places = Places::from_graph(&model, []);
    summed("m.onnx".to_owned(), "a runtime".to_owned(), measured, &places, Some(&made))
}

#[test]
fn nodes_of_the_runtime_stand_for_nodes_of_the_model() {
    let told = profile();
    assert_eq!(told.modules_from, ModulesFrom::Metadata);
    let found: Vec<_> = told.nodes.iter().map(|n| (n.node.as_deref(), n.how, n.line.as_str())).collect();
    assert_eq!(
        found,
        [
            (Some("conv"), Some(How::Neighbour), "m.py:3"),
            (Some("conv"), Some(How::Derived), "m.py:3"),
            (Some("act"), Some(How::Value), "m.py:4"),
            (Some("sum"), Some(How::Name), "m.py:9"),
            (None, None, ""),
        ]
    );
    let shares = told.attributed;
    let sum = shares.name + shares.value + shares.derived + shares.neighbour + shares.none;
    assert!((sum - 1.0).abs() < 1e-12 && (shares.none - 10.0 / 70.0).abs() < 1e-12, "{shares:?}");
}

#[test]
fn rows_sum_up_to_the_whole() {
    let told = profile();
    assert_eq!(told.between, Times { median: 30.0, low: 30.0, high: 30.0 });
    let rows = |rows: &[super::Row]| -> Vec<(Option<String>, usize, f64, f64)> {
        rows.iter().map(|row| (row.key.clone(), row.nodes, row.times.median, row.own.median)).collect()
    };
    let key = |text: &str| Some(text.to_owned());
    assert_eq!(
        rows(&told.modules),
        [
            (key(""), 4, 60.0, 7.0),
            (key("body"), 3, 53.0, 2.0),
            (key("body.conv"), 2, 51.0, 51.0),
            (None, 1, 10.0, 10.0),
        ]
    );
    assert_eq!(
        rows(&told.lines),
        [
            (key("m.py:3"), 2, 51.0, 51.0),
            (None, 1, 10.0, 10.0),
            (key("m.py:9"), 1, 7.0, 7.0),
            (key("m.py:4"), 1, 2.0, 2.0),
        ]
    );
    let operators: f64 = told.operators.iter().map(|row| row.share).sum();
    assert!((operators - 1.0).abs() < 1e-12, "{operators}");
    assert_eq!(told.operators[0].key, key("Conv"));
}

#[test]
fn modules_are_read_from_names_where_nothing_else_says_them() {
    let graph = |names: [&str; 2]| GraphProto {
        node: names.map(|name| node(name, "Relu", &["x"], &[name], &[])).to_vec(),
        ..GraphProto::default()
    };
    assert_eq!(Places::from_graph(&graph(["/a/a.0/Relu", "/b/Relu"]), []).all[0].module, "a.0");
    assert_eq!(Places::from_graph(&graph(["/Relu", "Relu_1"]), []).modules_from, ModulesFrom::Nothing);
}

#[test]
fn names_that_several_nodes_have_tell_nothing() {
    let twice = GraphProto {
        node: vec![
            node("same", "Relu", &["x"], &["a"], &at("one", "")),
            node("same", "Relu", &["a"], &["b"], &at("two", "")),
        ],
        ..GraphProto::default()
    };
    let measured = Measured { runs: vec![9.0], nodes: vec![ran("same", "Relu", &[4.0])] };
    let told = summed(String::new(), String::new(), measured, &Places::from_graph(&twice, []), None);
    assert_eq!((told.nodes[0].how, told.attributed.none), (None, 1.0));
}

#[test]
fn what_differs_less_than_the_runs_is_noise() {
    let before = profile();
    let mut after = before.clone();
    after.operators[0].times = Times { median: 70.0, low: 60.0, high: 80.0 };
    after.lines.retain(|row| row.key.as_deref() != Some("m.py:9"));
    after.modules[0].times = Times { median: 61.0, low: 50.0, high: 70.0 };
    let told = compare(&before, &after, true);
    let of = |all: &[super::Change], key: &str| {
        all.iter()
            .find(|change| change.key.as_deref() == Some(key))
            .map(|change| (change.difference, change.verdict))
    };
    assert_eq!(of(&told.operators, "Conv"), Some((20.0, Verdict::Slower)));
    assert_eq!(of(&told.lines, "m.py:9"), Some((-7.0, Verdict::Faster)));
    assert_eq!(of(&told.modules, ""), Some((1.0, Verdict::Noise)));
    assert_eq!(told.total.verdict, Verdict::Noise);
    let few = Profile { runs: 4, ..after };
    assert_eq!(compare(&before, &few, true).operators[0].verdict, Verdict::Open);
}

#[test]
fn quantiles_lie_between_runs() {
    assert_eq!(Times::from_runs(&[4.0, 1.0, 3.0, 2.0]), Times { median: 2.5, low: 1.75, high: 3.25 });
    assert_eq!(Times::from_runs(&[5.0]), Times { median: 5.0, low: 5.0, high: 5.0 });
    assert_eq!(Times::from_runs(&[]), Times::default());
}

#[test]
fn a_profile_is_read_as_it_was_written() {
    let told = profile();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("p.json");
    let read = |value: serde_json::Value| {
        std::fs::write(&path, value.to_string()).unwrap();
        Profile::read(&path)
    };
    let value = serde_json::to_value(&told).unwrap();
    assert_eq!(read(value.clone()).unwrap(), told);
    assert_eq!(read(serde_json::json!({ "ok": true, "profile": value.clone() })).unwrap(), told);
    let changed = |change: fn(&mut serde_json::Value)| {
        let mut value = value.clone();
        change(&mut value);
        value
    };
    let wrong = [
        serde_json::json!(3),
        changed(|value| value["format"] = 2.into()),
        changed(|value| value["nodes"][0]["runs"] = serde_json::json!([1.0])),
        changed(|value| value["nodes"][0]["runs"][0] = (-1.0).into()),
        changed(|value| value["surprise"] = 1.into()),
    ];
    for value in wrong {
        let problem = read(value.clone()).unwrap_err();
        assert_eq!(problem.code.as_str(), "OP713", "{value}: {problem:?}");
    }
}

#[test]
fn a_node_knows_what_the_model_says() {
    let NodeTimes { module, class, times, .. } = profile().nodes.remove(1);
    assert_eq!((module.as_str(), class.as_str(), times.median), ("body.conv", "", 50.0));
}
