//! Reports that are read back.

use std::fmt::Write;

use onnxport_core::inspect::ModelParts;
use serde_json::Value;

use super::{Form, page, render};

/// How many differences are named.
const NAMED: usize = 10;

/// The stage that another one, verification, interrupts.
const PARTED: &str = "write";

/// Checks a report against its model; returns a list of problems, if any.
///
/// # Errors
/// The mismatches: numbers that are not the model's, or a page that does not match its data.
pub fn check(report: &str, form: Form, model: &ModelParts) -> Result<(), Vec<String>> {
    // Tools and editors may have written the ends of lines as Windows does.
    let report = &*report.replace("\r\n", "\n");
    let text = match form {
        Form::Json => Some(report),
        Form::Html => between(report, page::DATA, "</script>"),
        Form::Markdown => report
            .rsplit_once(super::markdown::DATA)
            .and_then(|(_, rest)| rest.split_once(" -->"))
            .map(|(text, _)| text),
    };
    let text = text.ok_or_else(|| vec!["it has no report data".to_owned()])?;
    let data: Value =
        serde_json::from_str(text).map_err(|error| vec![format!("its data cannot be read: {error}")])?;
    if data["format"] != super::FORMAT {
        let said = &data["format"];
        return Err(vec![format!("its format is {said}, and {} is the one that is checked", super::FORMAT)]);
    }
    let Ok(expected) = serde_json::to_value(model) else {
        return Err(vec!["the model has no form".to_owned()]);
    };
    let mut wrong = Vec::new();
    differences(&data["model"], &expected, &mut String::new(), &mut wrong);
    if let Some(said) = data["conversion"].get("nodes")
        && *said != expected["nodes"]
        && data["conversion"]["ok"] == true
    {
        // Nodes inside of others count there.
        let inner = said.as_u64() < expected["nodes"].as_u64();
        wrong.extend(inner.then(|| format!("conversion.nodes is {said}, fewer than the model has")));
    }
    memory(&data["conversion"], &mut wrong);
    counts(&data["conversion"], &mut wrong);
    if data["digest"] != super::digest(&data) {
        wrong.push("its digest does not match its contents: it was edited".to_owned());
    }
    if wrong.is_empty() && render(&data, form) != report {
        wrong.push("its page does not match its data".to_owned());
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong) }
}

/// Checks that the numbers about rules and verification add up.
fn counts(conversion: &Value, wrong: &mut Vec<String>) {
    let optimised = &conversion["optimised"];
    let sum = |rows: &Value, key: &str| -> u64 {
        let rows = rows.as_array().into_iter().flatten();
        rows.filter_map(|row| row[key].as_u64()).fold(0, u64::saturating_add)
    };
    if optimised["applied"].as_u64().is_some_and(|applied| applied != sum(&optimised["counts"], "applied")) {
        wrong.push("conversion.optimised.applied is not the sum over rules and passes".to_owned());
    }
    for case in conversion["verification"]["cases"].as_array().into_iter().flatten() {
        for output in case["outputs"].as_array().into_iter().flatten() {
            let difference = &output["difference"];
            let Some(decades) = difference["spread"]["decades"].as_array() else { continue };
            let spread = ["nan", "infinite"].iter().filter_map(|key| difference["spread"][key].as_u64());
            let counted = decades.iter().filter_map(Value::as_u64).chain(spread).fold(0, u64::saturating_add);
            if difference["elements"].as_u64().is_some_and(|elements| elements != counted) {
                wrong
                    .push(format!("the differences of `{}` are not as many as its elements", output["name"]));
            }
        }
    }
}

/// Checks that the memory of stages is plausible: each took time, and its peak is at least its final size.
fn memory(conversion: &Value, wrong: &mut Vec<String>) {
    for (stage, memory) in conversion["memory"].as_object().into_iter().flatten() {
        let path = format!("conversion.memory.{stage}");
        if conversion["seconds"].get(stage).is_none() {
            wrong.push(format!("{path} is not a stage with a time"));
        }
        let numbers = (memory["growth"].as_i64(), memory["end"].as_u64(), memory["peak"].as_u64());
        let (Some(growth), Some(end), Some(peak)) = numbers else {
            wrong.push(format!("{path} has no numbers"));
            continue;
        };
        // A stage that another one interrupted grew in two parts.
        let start = if stage == PARTED { end } else { end.saturating_add_signed(growth.saturating_neg()) };
        if peak < end || peak < start {
            wrong.push(format!("{path} has a peak below its final size"));
        }
    }
}

fn between<'t>(text: &'t str, before: &str, behind: &str) -> Option<&'t str> {
    text.split_once(before)?.1.split_once(behind).map(|(text, _)| text)
}

/// Where `said` and `is` differ.
fn differences(said: &Value, is: &Value, path: &mut String, found: &mut Vec<String>) {
    if said == is || found.len() >= NAMED {
        return;
    }
    let len = path.len();
    match (said, is) {
        (Value::Object(a), Value::Object(b)) => {
            let mut keys: Vec<&String> = a.keys().chain(b.keys()).collect();
            keys.sort_unstable();
            keys.dedup();
            for key in keys {
                path.push('.');
                path.push_str(key);
                differences(&said[key.as_str()], &is[key.as_str()], path, found);
                path.truncate(len);
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            for (at, (a, b)) in a.iter().zip(b).enumerate() {
                // Writing to a String cannot fail.
                let _ = write!(path, "[{at}]");
                differences(a, b, path, found);
                path.truncate(len);
            }
        }
        (Value::Array(a), Value::Array(b)) => {
            found.push(format!("model{path} has {} entries, the model {}", a.len(), b.len()));
        }
        _ => found.push(format!("model{path} is {said}, in the model {is}")),
    }
}
