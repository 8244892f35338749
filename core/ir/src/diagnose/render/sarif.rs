//! SARIF 2.1.0, for tools that show problems beside the code.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde_json::{Map, Value, json};

use crate::diagnose::{
    Code, Diagnostic, Explanation, Frame, Origin, Report, Severity, Suggestion, explanation,
};

const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

/// The base that relative paths refer to, by the name that the tools know.
const ROOT: &str = "%SRCROOT%";

/// The report as a log with one run. Files below the folder `root` are named relative to it.
pub fn sarif(report: &Report, root: &str) -> Value {
    let codes: BTreeMap<&str, &Code> =
        report.diagnostics.iter().map(|d| (d.code.as_str(), &d.code)).collect();
    let rules: Vec<Value> = codes.values().map(|code| rule(code)).collect();
    let place = |d: &Diagnostic| codes.keys().position(|code| *code == d.code.as_str());
    let results: Vec<Value> = report.diagnostics.iter().map(|d| result(report, d, place(d), root)).collect();
    json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "onnxport",
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": rules,
            } },
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    })
}

/// An object that grows.
type Object = Map<String, Value>;

/// Returns a code as a rule, with its explanation.
fn rule(code: &Code) -> Value {
    let mut rule = Object::new();
    let mut put = |key: &str, value: Value| rule.insert(key.to_owned(), value);
    put("id", code.as_str().into());
    let text = Code::ALL.iter().find(|(known, _)| known == code).map(|(_, text)| text.trim());
    if let Some(text) = text {
        put("shortDescription", json!({ "text": text }));
    }
    if let Some(Explanation { means, why, ways_out, .. }) = explanation(code) {
        let ways: Vec<String> = ways_out.iter().map(|way| format!("- {way}")).collect();
        let ways = ways.join("\n");
        put("fullDescription", json!({ "text": means }));
        let markdown = format!("{why}\n\n**Ways out**\n\n{ways}");
        put("help", json!({ "text": format!("{why}\n\n{ways}"), "markdown": markdown }));
    }
    Value::Object(rule)
}

fn result(report: &Report, diagnostic: &Diagnostic, rule: Option<usize>, root: &str) -> Value {
    let mut text = format!("{}.", diagnostic.message);
    for note in &diagnostic.notes {
        text.push('\n');
        text.push_str(note);
    }
    if let Some(help) = &diagnostic.help {
        text.push_str("\nHelp: ");
        text.push_str(help);
    }
    let level = match diagnostic.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "note",
    };
    let mut result = Object::new();
    let mut put = |key: &str, value: Value| result.insert(key.to_owned(), value);
    put("ruleId", diagnostic.code.as_str().into());
    put("level", level.into());
    put("message", json!({ "text": text }));
    if let Some(rule) = rule {
        put("ruleIndex", rule.into());
    }
    if let Some(origin) = diagnostic.origin {
        let origin = report.origins.get(origin);
        put("locations", json!([location(origin, root)]));
        if let Some(frame) = origin.library_frame() {
            let message = json!({ "text": "the line of the library" });
            let related = json!({ "id": 0, "physicalLocation": physical(frame, root), "message": message });
            put("relatedLocations", json!([related]));
        }
    }
    let fixes: Vec<Value> = diagnostic.suggestions.iter().filter_map(|one| fix(one, root)).collect();
    if !fixes.is_empty() {
        put("fixes", fixes.into());
    }
    Value::Object(result)
}

/// Returns a suggestion with a known position, as an insertion of whole lines.
fn fix(suggestion: &Suggestion, root: &str) -> Option<Value> {
    let place = suggestion.insert.as_ref()?;
    let line = place.line.max(1);
    let here = json!({ "startLine": line, "startColumn": 1, "endLine": line, "endColumn": 1 });
    let lines = json!({ "text": format!("{}\n", suggestion.text) });
    Some(json!({
        "description": { "text": suggestion.title },
        "artifactChanges": [{
            "artifactLocation": artifact(&place.file, root),
            "replacements": [{ "deletedRegion": here, "insertedContent": lines }],
        }],
    }))
}

fn location(origin: &Origin, root: &str) -> Value {
    let mut location = Object::new();
    if let Some(frame) = origin.user_frame() {
        location.insert("physicalLocation".to_owned(), physical(frame, root));
    }
    let mut logical = Vec::new();
    if !origin.module.is_empty() {
        logical.push(json!({ "fullyQualifiedName": origin.module.as_str(), "kind": "module" }));
    }
    if !origin.node.is_empty() {
        logical.push(json!({ "name": origin.node.as_str(), "kind": "function" }));
    }
    if !logical.is_empty() {
        location.insert("logicalLocations".to_owned(), logical.into());
    }
    Value::Object(location)
}

/// Returns a line of source code as a physical location.
fn physical(frame: &Frame, root: &str) -> Value {
    let line = frame.line.max(1);
    let region = match frame.code.as_str() {
        "" => json!({ "startLine": line }),
        code => json!({ "startLine": line, "snippet": { "text": code } }),
    };
    json!({ "artifactLocation": artifact(&frame.file, root), "region": region })
}

/// A file as a URI, relative to `root` where it lies below it.
fn artifact(file: &str, root: &str) -> Value {
    let file = file.replace('\\', "/");
    let root = root.replace('\\', "/");
    let below = file.strip_prefix(root.trim_end_matches('/')).and_then(|rest| rest.strip_prefix('/'));
    if let Some(path) = below.filter(|_| !root.is_empty()) {
        return json!({ "uri": escaped(path), "uriBaseId": ROOT });
    }
    let drive = file.as_bytes().get(1) == Some(&b':');
    match file.strip_prefix('/') {
        Some(path) => json!({ "uri": format!("file:///{}", escaped(path)) }),
        None if drive => json!({ "uri": format!("file:///{}", escaped(&file)) }),
        None => json!({ "uri": escaped(&file), "uriBaseId": ROOT }),
    }
}

/// A path as a URI has it.
fn escaped(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'.' | b'_' | b'~' => {
                out.push(byte.into());
            }
            _ => {
                // Writing to a String cannot fail.
                let _ = write!(out, "%{byte:02X}");
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::CallSite;

    fn report() -> Report {
        let mut report = Report::default();
        let frame = |file: &str, line| Frame {
            file: file.to_owned(),
            line,
            function: "forward".to_owned(),
            code: "y = torch.foo(x)".to_owned(),
        };
        for (file, line) in [("/home/me/my project/m.py", 7), ("/other/n.py", 0)] {
            let place = CallSite {
                module: "layer.0".into(),
                frames: [frame(file, line)].into(),
                ..CallSite::default()
            };
            let origin = report.origins.push(Origin::new("foo", place));
            report.diagnostics.push(
                Diagnostic::error(Code::LOWER_UNSUPPORTED, "`aten.foo` has no lowering")
                    .at(origin)
                    .help("load a plugin"),
            );
        }
        report.diagnostics.push(Diagnostic::warning(Code::of_plugin("mine", "M1"), "slow"));
        report
    }

    #[test]
    fn places_are_relative_and_rules_are_explained() {
        let log = sarif(&report(), "/home/me/");
        let run = &log["runs"][0];
        let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
        let results = run["results"].as_array().unwrap();
        assert_eq!((rules.len(), results.len()), (2, 3));
        for result in results {
            let at = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
            assert_eq!(rules[at]["id"], result["ruleId"]);
        }
        let code = Code::LOWER_UNSUPPORTED;
        let rule = rules.iter().find(|rule| rule["id"] == code.as_str()).unwrap();
        assert!(rule["help"]["text"].as_str().unwrap().contains("\n- "));
        let place = |at: usize| &results[at]["locations"][0]["physicalLocation"];
        assert_eq!(place(0)["artifactLocation"], json!({ "uri": "my%20project/m.py", "uriBaseId": ROOT }));
        assert_eq!(place(0)["region"]["snippet"]["text"], "y = torch.foo(x)");
        assert_eq!(place(1)["artifactLocation"], json!({ "uri": "file:///other/n.py" }));
        assert_eq!(place(1)["region"]["startLine"], 1);
        assert_eq!(results[2]["level"], "warning");
        assert!(results[2].get("locations").is_none());
    }

    #[test]
    fn the_line_of_a_wrapped_library_is_a_related_location() {
        let frame = |file: &str, line| Frame {
            file: file.to_owned(),
            line,
            function: "forward".to_owned(),
            code: "return self.inner(x)".to_owned(),
        };
        let packages = "/env/lib/python3.13/site-packages";
        let frames = [frame("/repo/m.py", 7), frame(&format!("{packages}/models/rotary.py"), 9)];
        let mut report = Report::default();
        let place = CallSite { frames: frames.into(), ..CallSite::default() };
        let origin = report.origins.push(Origin::new("foo", place));
        report.diagnostics.push(Diagnostic::warning(Code::OPTIMISE_REFUSED, "odd").at(origin));
        let log = sarif(&report, "/repo");
        let result = &log["runs"][0]["results"][0];
        assert_eq!(result["locations"][0]["physicalLocation"]["region"]["startLine"], 7);
        let [related] = result["relatedLocations"].as_array().unwrap().as_slice() else { panic!("{result}") };
        let place = &related["physicalLocation"];
        assert_eq!(place["artifactLocation"]["uri"], format!("file://{packages}/models/rotary.py"));
        assert_eq!(place["region"]["startLine"], 9);
        assert_eq!(place["region"]["snippet"]["text"], "return self.inner(x)");
        assert!(related["message"]["text"].as_str().is_some());
    }
}
