//! Builds a report from records of problems that another component found, such as the Python package.

use serde::Deserialize;

use crate::diagnose::{
    CallSite, Code, Diagnostic, Frame, Insert, Origin, Report, Severity, Subject, Suggestion,
};

#[derive(Deserialize)]
struct Record {
    code: String,
    severity: Severity,
    message: String,
    file: Option<String>,
    line: Option<u32>,
    source: Option<String>,
    library: Option<LineRecord>,
    module: Option<String>,
    node: Option<String>,
    target: Option<String>,
    #[serde(default)]
    notes: Vec<String>,
    help: Option<String>,
    provider: Option<String>,
    #[serde(default)]
    suggestions: Vec<SuggestionRecord>,
}

#[derive(Deserialize)]
struct LineRecord {
    file: String,
    line: u32,
    source: Option<String>,
}

#[derive(Deserialize)]
struct SuggestionRecord {
    subject: Subject,
    title: String,
    text: String,
    file: Option<String>,
    line: Option<u32>,
}

/// The report of a JSON list of records as [`json`](super::json) gives them.
///
/// # Errors
/// Where it is none.
pub fn report(records: &str) -> Result<Report, serde_json::Error> {
    let records: Vec<Record> = serde_json::from_str(records)?;
    let mut report = Report::default();
    for record in records {
        let origin = record.origin().map(|origin| report.origins.push(origin));
        let known = Code::ALL.iter().map(|(code, _)| code).find(|code| code.as_str() == record.code);
        let code = known.cloned().unwrap_or_else(|| {
            let (plugin, code) = record.code.split_once(':').unwrap_or(("", &record.code));
            Code::of_plugin(plugin, code)
        });
        report.diagnostics.push(Diagnostic {
            severity: record.severity,
            origin,
            notes: record.notes,
            help: record.help,
            provider: record.provider,
            suggestions: record.suggestions.into_iter().map(Suggestion::from).collect(),
            ..Diagnostic::error(code, record.message)
        });
    }
    Ok(report)
}

impl Record {
    /// Where it is, if it says so.
    fn origin(&self) -> Option<Origin> {
        if self.file.is_none() && self.module.is_none() && self.node.is_none() {
            return None;
        }
        let frame = |file: &String, line, source: &Option<String>| Frame {
            file: file.clone(),
            line,
            function: String::new(),
            code: source.clone().unwrap_or_default(),
        };
        let user = self.file.as_ref().map(|file| frame(file, self.line.unwrap_or(1), &self.source));
        let library =
            self.library.as_ref().map(|LineRecord { file, line, source }| frame(file, *line, source));
        let text = |text: &Option<String>| text.clone().unwrap_or_default().into();
        let place = CallSite {
            target: text(&self.target),
            module: text(&self.module),
            frames: user.into_iter().chain(library).collect(),
            ..CallSite::default()
        };
        Some(Origin::new(self.node.clone().unwrap_or_default(), place))
    }
}

impl From<SuggestionRecord> for Suggestion {
    fn from(record: SuggestionRecord) -> Self {
        let SuggestionRecord { subject, title, text, file, line } = record;
        let insert = file.map(|file| Insert { file, line: line.unwrap_or(1) });
        Self { subject, title, text, insert }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{json, sarif};
    use super::*;

    const RECORDS: &str = r#"[
        {"code": "OP213", "severity": "error", "message": "odd", "file": "/repo/m.py", "line": 7, "source": "f(x)",
         "suggestions": [{"subject": "class", "title": "register it", "text": "a\nb", "file": "/repo/c.py", "line": 3},
                         {"subject": "shapes", "title": "or this", "text": "c"}]},
        {"code": "mine:slow", "severity": "note", "message": "slow", "notes": ["n"], "help": "h"},
        {"code": "OP301", "severity": "error", "message": "none", "file": "/repo/m.py", "line": 4, "source": "g(x)",
         "library": {"file": "/env/lib/python3.13/site-packages/models/rotary.py", "line": 9, "source": "h(x)"}}
    ]"#;

    #[test]
    fn records_come_back() {
        let report = report(RECORDS).unwrap();
        let again = serde_json::to_value(json(&report)).unwrap();
        for (record, again) in serde_json::from_str::<Vec<serde_json::Value>>(RECORDS)
            .unwrap()
            .iter()
            .zip(again.as_array().unwrap())
        {
            for (key, value) in record.as_object().unwrap() {
                assert_eq!(&again[key], value, "{key}");
            }
        }
        assert!(super::report("{}").is_err());
    }

    #[test]
    fn a_suggestion_with_a_place_is_a_fix() {
        let log = sarif(&report(RECORDS).unwrap(), "/repo");
        let results = &log["runs"][0]["results"];
        let fixes = results[0]["fixes"].as_array().unwrap();
        assert_eq!(fixes.len(), 1);
        assert_eq!(fixes[0]["description"]["text"], "register it");
        let change = &fixes[0]["artifactChanges"][0];
        assert_eq!(change["artifactLocation"]["uri"], "c.py");
        let replacement = &change["replacements"][0];
        assert_eq!(replacement["insertedContent"]["text"], "a\nb\n");
        assert_eq!(replacement["deletedRegion"]["startLine"], 3);
        assert_eq!(replacement["deletedRegion"]["endColumn"], 1);
        assert!(results[1].get("fixes").is_none());
    }
}
