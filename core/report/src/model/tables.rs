//! What a report says, as tables.

use onnxport_core::pipeline::STAGES;
use serde_json::Value;

/// A table.
pub(super) struct Table {
    pub(super) id: &'static str,
    pub(super) title: &'static str,
    /// The names of the columns, and whether they hold numbers.
    pub(super) head: Vec<(&'static str, bool)>,
    pub(super) rows: Vec<Vec<String>>,
}

/// The facts at the head of a report.
pub(super) fn facts(data: &Value) -> Vec<(String, String)> {
    let model = &data["model"];
    let mut facts = Vec::new();
    let mut fact = |name: &str, value: String| {
        if !value.is_empty() {
            facts.push((name.to_owned(), value));
        }
    };
    if model.is_object() {
        let opsets = list(&model["summary"]["opsets"]).iter().map(|set| {
            let domain = text(&set[0]);
            format!(
                "{}{}",
                if domain.is_empty() { String::new() } else { format!("{domain} ") },
                text(&set[1])
            )
        });
        fact("Operator sets", opsets.collect::<Vec<_>>().join(", "));
        fact("Nodes", text(&model["nodes"]));
        let elements: u64 = list(&model["types"]).iter().filter_map(|row| row["elements"].as_u64()).sum();
        fact("Parameters", grouped(elements));
        fact("Weights", bytes(model["summary"]["weight_bytes"].as_u64()));
        let nodes = model["nodes"].as_u64();
        fact("With a module", share(model["with_module"].as_u64(), nodes));
        fact("With a line of code", share(model["with_line"].as_u64(), nodes));
    }
    let conversion = &data["conversion"];
    fact(
        "Target",
        format!("{} {}", text(&conversion["target"]["target"]), text(&conversion["target"]["version"]))
            .trim()
            .to_owned(),
    );
    fact("Run by", text(&conversion["verification"]["executor"]));
    facts
}

/// Every table that has rows, in order.
pub(super) fn tables(data: &Value) -> Vec<Table> {
    let (model, conversion) = (&data["model"], &data["conversion"]);
    let mut tables = vec![
        problems(conversion),
        stages(conversion),
        interface(&model["summary"]),
        program(model),
        Table {
            id: "types",
            title: "Parameters by element type",
            head: vec![("Type", false), ("Tensors", true), ("Elements", true), ("Bytes", true)],
            rows: rows(&model["types"], &["dtype", "tensors", "elements", "bytes"]),
        },
        Table {
            id: "modules",
            title: "Modules",
            head: vec![
                ("Module", false),
                ("Nodes", true),
                ("Tensors", true),
                ("Elements", true),
                ("Bytes", true),
            ],
            rows: rows(&model["modules"], &["path", "nodes", "tensors", "elements", "bytes"]),
        },
        Table {
            id: "operators",
            title: "Operators",
            head: vec![("Operator", false), ("Nodes", true)],
            rows: rows(&model["summary"]["ops"], &["target", "count"]),
        },
        counted("decompositions", "Decompositions", "Operator", &conversion["decomposed"]),
        Table {
            id: "rules",
            title: "Optimisation",
            head: vec![("Plugin", false), ("Rule or pass", false), ("Applied", true)],
            rows: rows(&conversion["optimised"]["counts"], &["plugin", "name", "applied"]),
        },
        target(&conversion["target"]),
        verification(&conversion["verification"]),
    ];
    tables.retain(|table| !table.rows.is_empty());
    tables
}

fn problems(conversion: &Value) -> Table {
    let row = |problem: &Value| {
        let place = match problem["line"].as_u64() {
            Some(line) => format!("{}:{line}", text(&problem["file"])),
            None => text(&problem["module"]),
        };
        let keys = ["code", "severity", "message", "source", "help"];
        let [code, severity, message, source, help] = keys.map(|key| text(&problem[key]));
        vec![code, severity, message, place, source, help]
    };
    Table {
        id: "problems",
        title: "Problems",
        head: ["Code", "", "What", "Where", "Line", "What to do"].map(|name| (name, false)).into(),
        rows: list(&conversion["diagnostics"]).iter().map(row).collect(),
    }
}

fn stages(conversion: &Value) -> Table {
    let recorded = conversion["memory"].is_object();
    let row = |stage: &str| {
        let seconds = conversion["seconds"].get(stage)?.as_f64()?;
        let mut row = vec![stage.to_owned(), format!("{:.1}", seconds * 1e3)];
        if recorded {
            let memory = &conversion["memory"][stage];
            let growth = memory["growth"].as_i64().map(|n| {
                let sign = if n < 0 { "-" } else { "+" };
                format!("{sign}{}", bytes(Some(n.unsigned_abs())))
            });
            row.extend([
                growth.unwrap_or_default(),
                bytes(memory["end"].as_u64()),
                bytes(memory["peak"].as_u64()),
            ]);
        }
        Some(row)
    };
    let mut head = vec![("Stage", false), ("Milliseconds", true)];
    if recorded {
        head.extend([("Memory", true), ("At its end", true), ("Peak", true)]);
    }
    let rows = STAGES.iter().filter_map(|stage| row(stage)).collect();
    Table { id: "stages", title: "Stages", head, rows }
}

fn interface(summary: &Value) -> Table {
    let mut found = Vec::new();
    for (key, what) in [("inputs", "input"), ("outputs", "output"), ("states", "state")] {
        for port in list(&summary[key]) {
            found.push(vec![what.to_owned(), text(&port["name"]), text(&port["ty"])]);
        }
    }
    Table {
        id: "interface",
        title: "Interface",
        head: ["", "Name", "Type"].map(|name| (name, false)).into(),
        rows: found,
    }
}

fn program(model: &Value) -> Table {
    let entries = model["program"].as_object().into_iter().flatten();
    Table {
        id: "program",
        title: "The program",
        head: vec![("What it states", false), ("", false)],
        rows: entries.map(|(key, value)| vec![key.clone(), text(value)]).collect(),
    }
}

fn counted(id: &'static str, title: &'static str, name: &'static str, counts: &Value) -> Table {
    let counts = counts.get("operators").unwrap_or(counts);
    let entries = counts.as_object().into_iter().flatten().filter(|(_, count)| count.is_u64());
    Table {
        id,
        title,
        head: vec![(name, false), ("Calls", true)],
        rows: entries.map(|(name, count)| vec![name.clone(), text(count)]).collect(),
    }
}

fn target(target: &Value) -> Table {
    let mut found = Vec::new();
    for (key, what, by) in [
        ("replaced", "replaced by", "by"),
        ("computed", "computed in", "within"),
        ("lacking", "has no kernel", ""),
    ] {
        for row in list(&target[key]) {
            found.push(vec![text(&row["operator"]), what.to_owned(), text(&row[by]), text(&row["nodes"])]);
        }
    }
    let head = vec![("Operator", false), ("", false), ("", false), ("Nodes", true)];
    Table { id: "target", title: "Made fit for the target", head, rows: found }
}

fn verification(verification: &Value) -> Table {
    let mut found = Vec::new();
    for case in list(&verification["cases"]) {
        for output in list(&case["outputs"]) {
            let difference = &output["difference"];
            let number = |key: &str| difference[key].as_f64().map(|x| format!("{x:.3e}")).unwrap_or_default();
            let outcome =
                if output["problem"].is_null() { "agrees".to_owned() } else { text(&output["problem"]) };
            found.push(vec![
                text(&case["name"]),
                text(&output["name"]),
                if difference.is_null() { "ran".to_owned() } else { outcome },
                number("max_abs"),
                number("max_rel"),
                difference["cosine"].as_f64().map(|x| format!("{x:.9}")).unwrap_or_default(),
                text(&difference["wrong"]),
                errors(difference),
            ]);
        }
    }
    let head = vec![
        ("Call", false),
        ("Output", false),
        ("", false),
        ("Largest difference", true),
        ("Relative", true),
        ("Cosine", true),
        ("Wrong", true),
        ("Elements by power of ten, equal ones first", false),
    ];
    Table { id: "verification", title: "Verification", head, rows: found }
}

/// How many elements differ by which power of ten, as the counts in order.
fn errors(difference: &Value) -> String {
    let counts = list(&difference["spread"]["decades"]).iter().map(text);
    counts.collect::<Vec<_>>().join(" ")
}

fn rows(values: &Value, keys: &[&str]) -> Vec<Vec<String>> {
    list(values).iter().map(|value| keys.iter().map(|key| text(&value[*key])).collect()).collect()
}

pub(super) fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

pub(super) fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn share(part: Option<u64>, whole: Option<u64>) -> String {
    match (part, whole) {
        (Some(part), Some(whole)) if whole > 0 => format!("{:.1} %", part as f64 * 100.0 / whole as f64),
        _ => String::new(),
    }
}

/// A number with a narrow gap between thousands.
fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push('\u{202f}');
        }
        out.push(digit);
    }
    out
}

fn bytes(n: Option<u64>) -> String {
    match n {
        None => String::new(),
        Some(n) if n < 1_000_000 => format!("{:.1} kB", n as f64 / 1e3),
        Some(n) if n < 1_000_000_000 => format!("{:.1} MB", n as f64 / 1e6),
        Some(n) => format!("{:.2} GB", n as f64 / 1e9),
    }
}
