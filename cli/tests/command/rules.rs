//! `onnxport rules`, the page generated from it, levels on the command line, and matches as models.

use std::fmt::Write;

use onnxport_core::Model;
use serde_json::Value;

use crate::program::{folder, json, onnxport, repository, write_model};

/// Returns the answer of a command.
fn answered(arguments: &[&str]) -> Value {
    json(&onnxport(arguments))
}

/// `docs/rules.md`.
fn page(rules: &[Value]) -> String {
    let text = |rule: &Value, key: &str| rule[key].as_str().unwrap_or_default().to_owned();
    let level = |rule: &Value| {
        rule["level"].as_str().map_or("not by default".to_owned(), |level| format!("`{level}`"))
    };
    let mut page = "# The rules\n\n\
         The rules and passes of `plugins/optimise` and `plugins/fusions`, with the lowest level at which each runs and its\n\
         [class](optimizer-plugins.md#classes), which states how far results may differ. `onnxport rules` lists them together\n\
         with those of other plugins, and `onnxport rules NAME` shows one. Examples are models in text form, before and after\n\
         the rule. `places` counts how often a rule is applied in the models of `tests/python/models` at `--optimize target`, by\n\
         `python -m tests.python.models applied`. `UPDATE=1 cargo test -p onnxport --test command rules::` writes this page.\n\n\
         | rule | plugin | level | class | places | models | description |\n|---|---|---|---|--:|--:|---|\n"
        .to_owned();
    for rule in rules {
        let _ = writeln!(
            page,
            "| [`{name}`](#{name}) | {} | {} | {} | {} | {} | {} |",
            text(rule, "plugin"),
            level(rule),
            exactness(rule),
            rule["applied"]["places"],
            rule["applied"]["models"],
            text(rule, "documentation").replace('|', "\\|"),
            name = text(rule, "name"),
        );
    }
    for rule in rules {
        let _ = write!(page, "\n## {}\n\n{}\n\n", text(rule, "name"), text(rule, "documentation"));
        let _ = writeln!(
            page,
            "A {} of `{}`, level {}, {}, {}.",
            text(rule, "kind"),
            text(rule, "plugin"),
            level(rule),
            exactness(rule),
            opsets(rule)
        );
        let before = rule["tried_after"].as_array().map(Vec::as_slice).unwrap_or_default();
        let before: Vec<String> =
            before.iter().filter_map(Value::as_str).map(|name| format!("[`{name}`](#{name})")).collect();
        if !before.is_empty() {
            let _ = writeln!(page, "\nTried after {}, which may match at the same node.", before.join(", "));
        }
        if let Some(pattern) = rule["pattern"].as_str() {
            let _ = write!(page, "\n```text\n{pattern}\n```\n");
        }
        if let (Some(before), Some(after)) = (rule["before"].as_str(), rule["after"].as_str()) {
            let _ = write!(page, "\nbecomes, as in\n\n```text\n{before}```\n\n```text\n{after}```\n");
        }
    }
    page
}

fn exactness(rule: &Value) -> String {
    let mut bounds = Vec::new();
    if let Some(relative) = rule["bound"]["relative"].as_f64().filter(|bound| *bound > 0.0) {
        bounds.push(format!("{relative:e}"));
    }
    if let Some(ulps) = rule["bound"]["ulps"].as_f64().filter(|bound| *bound > 0.0) {
        bounds.push(format!("{ulps} ulps"));
    }
    let mut bound =
        if bounds.is_empty() { String::new() } else { format!(" within {}", bounds.join(" or ")) };
    if rule["bound"]["finite"] == true {
        bound.push_str(", of finite values");
    }
    match (rule["class"].as_str(), rule["target"].as_str()) {
        (Some(_), Some(target)) => format!("for {target}{bound}"),
        (Some("exact"), _) => "exact".to_owned(),
        (Some(_), _) => format!("bounded{bound}"),
        (None, _) => "not stated".to_owned(),
    }
}

fn opsets(rule: &Value) -> String {
    match (rule["min_opset"].as_i64(), rule["max_opset"].as_i64()) {
        (Some(0) | None, None) => "at all opsets".to_owned(),
        (Some(low), None) => format!("from opset {low} on"),
        (low, Some(high)) => format!("at opsets {} to {high}", low.unwrap_or_default()),
    }
}

#[test]
fn the_page_of_rules_is_current() {
    let said = answered(&["rules", "--json"]);
    let page = page(said["rules"].as_array().expect("a list"));
    let path = repository().join("docs/rules.md");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &page).expect("a writable page");
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(written == page, "docs/rules.md is not current: UPDATE=1 writes it");
}

#[test]
fn what_was_counted_is_about_rules_that_there_are() {
    let said = answered(&["rules", "--json"]);
    let rules = said["rules"].as_array().expect("a list");
    let known =
        |plugin: &str, name: &str| rules.iter().any(|rule| rule["plugin"] == plugin && rule["name"] == name);
    let counted =
        std::fs::read_to_string(repository().join("core/requests/src/rules/applied.txt")).expect("counts");
    let lines: Vec<&str> = counted.lines().skip(1).collect();
    assert!(lines.is_sorted() && lines.len() > 20, "{counted}");
    for line in lines {
        let [plugin, name, models, places] = line.split(' ').collect::<Vec<_>>()[..] else {
            panic!("{line}")
        };
        assert!(
            known(plugin, name),
            "there is no {name}: `python -m tests.python.models applied` counts anew"
        );
        let [models, places] = [models, places].map(|number| number.parse::<u64>().expect("a number"));
        assert!(0 < models && models <= places, "{line}");
    }
}

#[test]
fn a_rule_is_shown_with_what_it_does() {
    let said = answered(&["rules", "negate_twice", "--json"]);
    let [rule] = said["rules"].as_array().expect("a list").as_slice() else { panic!("{said}") };
    assert_eq!((&rule["class"], &rule["level"]), (&"exact".into(), &"1".into()));
    assert_eq!(rule["pattern"], "Neg(Neg(x))");
    let nodes = |side: &str| rule[side].as_str().expect("a model").matches("Neg(").count();
    assert_eq!((nodes("before"), nodes("after")), (2, 0));
    let text = onnxport(&["rules", "negate_twice"]).stdout;
    let text = String::from_utf8(text).expect("text");
    assert!(text.contains("Removes two consecutive negations.") && text.contains("before\nopset"), "{text}");
    let unknown = onnxport(&["rules", "negate_thrice"]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&unknown.stderr).contains("unknown rule or pass `negate_thrice`"));
}

/// Creates a model in a folder, with a match for a rule of level 1 and one for a rule of plugin `fusions`.
fn model() -> (tempfile::TempDir, impl Fn(&str) -> String) {
    let text = "opset 20\ngraph {\n  input %x: f32[2]\n  %a: f32[2] = Neg(%x)\n  %b: f32[2] = Neg(%a)\n  \
                %c: f32[2] = Sigmoid(%b)\n  %d: f32[2] = Mul(%b, %c)\n  output %d as y\n}\n";
    let (folder, at) = folder();
    write_model(at("m.onnx"), text);
    (folder, at)
}

#[test]
fn levels_are_said_on_the_command_line() {
    let (_folder, at) = model();
    let (input, output) = (at("m.onnx"), at("n.onnx"));
    let optimise = |options: &[&str]| {
        let said = answered(&[&["optimize", &input, "-o", &output, "--json"], options].concat());
        (said["nodes"].clone(), said["optimised"]["applied"].clone())
    };
    assert_eq!(optimise(&["--optimize", "0"]), (4.into(), Value::Null));
    assert_eq!(optimise(&["--no-optimize"]), (4.into(), Value::Null));
    assert_eq!(optimise(&["--optimize", "1"]), (2.into(), 1.into()));
    assert_eq!(optimise(&[]), optimise(&["--optimize", "2"]));
    let both = onnxport(&["optimize", &input, "-o", &output, "--optimize", "1", "--no-optimize"]);
    assert_eq!(both.status.code(), Some(2), "one of both");
    assert_eq!(onnxport(&["optimize", &input, "-o", &output, "--optimize", "3"]).status.code(), Some(2));
}

#[test]
fn counts_say_what_became_of_the_nodes() {
    let (_folder, at) = model();
    let said = answered(&["optimize", &at("m.onnx"), "-o", &at("n.onnx"), "--json", "--optimize", "1"]);
    let done = &said["optimised"];
    assert_eq!((&done["before"], &done["after"]), (&4.into(), &2.into()));
    let count =
        serde_json::json!({ "plugin": "optimise", "name": "negate_twice", "applied": 1, "nodes": -2 });
    assert_eq!(done["counts"], Value::Array(vec![count]));
}

#[test]
fn matches_are_models_of_their_own() {
    let (_folder, at) = model();
    let folder = at("matches");
    let said = answered(&[
        "optimize",
        &at("m.onnx"),
        "-o",
        &at("n.onnx"),
        "--json",
        "--optimize",
        "1",
        "--dump-matches",
        &folder,
    ]);
    let paths: Vec<&str> =
        said["matches"].as_array().expect("paths").iter().filter_map(Value::as_str).collect();
    let [before, after] = paths[..] else { panic!("{paths:?}") };
    assert!(before.ends_with("matches/0001-negate_twice.before.onnx"), "{before}");
    let text = |path: &str| Model::read(path).expect("a model").to_text();
    assert_eq!(text(before).matches("Neg(").count(), 2);
    assert_eq!(text(after).matches("Neg(").count(), 0);
    for path in [before, after] {
        let output = onnxport(&["run", path, "--random", "--executor", "reference", "--json"]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn a_rule_that_the_level_leaves_out_says_so() {
    let (_folder, at) = model();
    let explain = |level: &str, rule: &str| {
        let said = answered(&[
            "optimize",
            &at("m.onnx"),
            "-o",
            &at("n.onnx"),
            "--json",
            "--optimize",
            level,
            "--explain-rule",
            rule,
        ]);
        said["optimised"]["places"][0]["reason"].as_str().unwrap_or_default().to_owned()
    };
    assert_eq!(explain("1", "conv_batch_norm"), "it may change results, which level 1 does not");
    assert_eq!(explain("1", "negate_twice"), "");
    let skip = |rule: &str| {
        answered(&["optimize", &at("m.onnx"), "-o", &at("n.onnx"), "--json", "--skip-rule", rule])
    };
    let counts = |said: &serde_json::Value| said["optimised"]["counts"].clone();
    assert_ne!(counts(&skip("relu_twice")), counts(&skip("negate_twice")));
    assert_eq!(skip("negate_thrice")["diagnostics"][0]["code"], "OP407");
    let stopped = answered(&[
        "optimize",
        &at("m.onnx"),
        "-o",
        &at("n.onnx"),
        "--json",
        "--optimize",
        "1",
        "--stop-after",
        "0",
    ]);
    assert_eq!((&stopped["nodes"], &stopped["optimised"]["stopped"]), (&4.into(), &true.into()));
}

#[test]
fn nodes_come_in_an_order_that_needs_less_memory() {
    let (_folder, at) = folder();
    let text = "opset 20\nsymbol n 1..\ngraph {\n  input %x: f32[n, 4]\n  %a: f32[n, 4] = Exp(%x)\n  %b: f32[n, 4] = Sin(%x)\n  \
                %c: f32[1, 1] = ReduceSum(%a)\n  %d: f32[1, 1] = ReduceMax(%b)\n  %e: f32[1, 1] = Add(%c, %d)\n  output %e as y\n}\n";
    write_model(at("m.onnx"), text);
    let optimise = |options: &[&str]| {
        answered(&[&["optimize", &at("m.onnx"), "-o", &at("n.onnx"), "--json"], options].concat())["optimised"]["memory"].clone()
    };
    // Two tensors of 16 rows; then one, and the numbers that both become.
    let wanted = serde_json::json!({ "before": 516, "after": 264, "moved": 3, "unknown": 0 });
    assert_eq!(optimise(&["--reorder"]), wanted);
    let order = Model::read(at("n.onnx")).expect("a model").to_text();
    let place = |op: &str| order.find(op).unwrap_or_else(|| panic!("{order}"));
    assert!(place("ReduceSum(").min(place("ReduceMax(")) < place("Exp(").max(place("Sin(")), "{order}");
    assert_eq!(optimise(&[]), Value::Null);
    assert_eq!(
        onnxport(&["optimize", &at("m.onnx"), "-o", &at("n.onnx"), "--no-optimize", "--reorder"])
            .status
            .code(),
        Some(2)
    );
}
