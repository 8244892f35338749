//! The contents of a report as tables.

mod places;

use onnxport_core::onnx::SizeRange;
use onnxport_core::pipeline::stage_names;
use serde_json::Value;

use crate::chart::Bar;
use crate::outputs::histogram;

/// A table.
pub(super) struct Table {
    pub(super) id: &'static str,
    pub(super) title: &'static str,
    /// The names of the columns, and whether they hold numbers.
    pub(super) head: Vec<(&'static str, bool)>,
    pub(super) rows: Vec<Vec<String>>,
    /// The drawing that a page shows instead of the last column, row by row; empty without a drawing.
    pub(super) bars: Vec<Vec<Bar>>,
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
        fact("With a module", recorded(model["with_module"].as_u64(), nodes, "names"));
        fact("With a line of code", recorded(model["with_line"].as_u64(), nodes, "full"));
    }
    let conversion = &data["conversion"];
    let legal = &conversion["legal"];
    let target = if legal.is_object() { legal } else { &conversion["target"] };
    fact("Target", format!("{} {}", text(&target["target"]), text(&target["version"])).trim().to_owned());
    fact(
        "Table of the target",
        format!("{} {}", text(&legal["source"]), text(&legal["date"])).trim().to_owned(),
    );
    fact("Run by", text(&conversion["verification"]["executor"]));
    facts
}

/// How many of the nodes name their origin, which they do where `--metadata` asks for that.
fn recorded(named: Option<u64>, nodes: Option<u64>, metadata: &str) -> String {
    match (named, nodes) {
        (Some(0), Some(1..)) => {
            format!("not recorded (`onnxport convert --metadata {metadata}` records them)")
        }
        _ => share(named, nodes),
    }
}

/// Every table that has rows, in order.
pub(super) fn tables(data: &Value) -> Vec<Table> {
    let (model, conversion) = (&data["model"], &data["conversion"]);
    let mut tables = vec![
        problems(conversion),
        places::judged_modules(&conversion["legal"]),
        places::judged_nodes(&conversion["legal"]),
        places::placed_modules(&conversion["placement"]),
        places::left_nodes(&conversion["placement"]),
        stages(conversion),
        interface(&model["summary"]),
        program(model),
        Table {
            id: "types",
            title: "Parameters by element type",
            head: vec![("Type", false), ("Tensors", true), ("Elements", true), ("Bytes", true)],
            rows: rows(&model["types"], &["dtype", "tensors", "elements", "bytes"]),
            bars: Vec::new(),
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
            bars: Vec::new(),
        },
        Table {
            id: "operators",
            title: "Operators",
            head: vec![("Operator", false), ("Nodes", true)],
            rows: rows(&model["summary"]["ops"], &["target", "count"]),
            bars: Vec::new(),
        },
        Table {
            id: "weights",
            title: "Weights",
            head: vec![("What", false), ("Type", false), ("Bytes", true)],
            rows: weights(&model["weights"]),
            bars: Vec::new(),
        },
        Table {
            id: "forms",
            title: "Changes of weights",
            head: vec![("What", false), ("Tensors", true), ("Bytes", true)],
            rows: rows(&conversion["weight_forms"], &["form", "tensors", "bytes"]),
            bars: Vec::new(),
        },
        Table {
            id: "lowered",
            title: "Operators by plugin",
            head: vec![("Plugin", false), ("Operator", false), ("Calls", true)],
            rows: rows(&conversion["lowered"], &["plugin", "operator", "calls"]),
            bars: Vec::new(),
        },
        counted("decompositions", "Decompositions", "Operator", &conversion["decomposed"]),
        optimised(&conversion["optimised"]),
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
        head: ["Code", "", "What", "Where", "Line", "Next steps"].map(|name| (name, false)).into(),
        rows: list(&conversion["diagnostics"]).iter().map(row).collect(),
        bars: Vec::new(),
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
    let rows = stage_names().filter_map(row).collect();
    Table { id: "stages", title: "Stages", head, rows, bars: Vec::new() }
}

fn interface(summary: &Value) -> Table {
    let mut found = Vec::new();
    for (key, what) in [("inputs", "input"), ("outputs", "output"), ("states", "state")] {
        for port in list(&summary[key]) {
            found.push(vec![what.to_owned(), text(&port["name"]), text(&port["type"])]);
        }
    }
    for dim in list(&summary["sizes"]["dims"]) {
        let size = serde_json::from_value::<SizeRange>(dim.clone());
        let axes: Vec<String> = list(&dim["axes"]).iter().map(text).collect();
        let size = size.map(|size| size.to_string()).unwrap_or_default();
        found.push(vec!["size".to_owned(), text(&dim["name"]), format!("{size} ({})", axes.join(", "))]);
    }
    for condition in list(&summary["sizes"]["conditions"]) {
        found.push(vec!["condition".to_owned(), text(&condition["expression"]), text(&condition["line"])]);
    }
    Table {
        id: "interface",
        title: "Interface",
        head: ["", "Name", "Type"].map(|name| (name, false)).into(),
        rows: found,
        bars: Vec::new(),
    }
}

fn program(model: &Value) -> Table {
    let entries = model["program"].as_object().into_iter().flatten();
    Table {
        id: "program",
        title: "The program",
        head: vec![("Property", false), ("", false)],
        rows: entries.map(|(key, value)| vec![key.clone(), ranges(&text(value))]).collect(),
        bars: Vec::new(),
    }
}

/// `text` with PyTorch's ranges as inequalities: `s0: VR[2, int_oo]` becomes `2 <= s0`.
fn ranges(text: &str) -> String {
    let entry = |entry: &str| {
        let (symbol, range) = entry.rsplit_once(": VR[")?;
        let (least, most) = range.strip_suffix(']')?.split_once(", ")?;
        let least = Some(least).filter(|least| *least != "-int_oo").map(|least| format!("{least} <= "));
        let most = Some(most).filter(|most| *most != "int_oo").map(|most| format!(" <= {most}"));
        Some(format!("{}{symbol}{}", least.unwrap_or_default(), most.unwrap_or_default()))
    };
    let Some(inner) = text.strip_prefix('{').and_then(|text| text.strip_suffix('}')) else {
        return text.to_owned();
    };
    let inner = format!("{inner}, ");
    let entries: Option<Vec<String>> =
        inner.split_inclusive("], ").map(|part| entry(part.strip_suffix(", ").unwrap_or(part))).collect();
    entries.map_or_else(|| text.to_owned(), |entries| entries.join(", "))
}

fn counted(id: &'static str, title: &'static str, name: &'static str, counts: &Value) -> Table {
    let counts = counts.get("operators").unwrap_or(counts);
    let entries = counts.as_object().into_iter().flatten().filter(|(_, count)| count.is_u64());
    Table {
        id,
        title,
        head: vec![(name, false), ("Calls", true)],
        rows: entries.map(|(name, count)| vec![name.clone(), text(count)]).collect(),
        bars: Vec::new(),
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
    Table { id: "target", title: "Legalized for the target", head, rows: found, bars: Vec::new() }
}

fn verification(verification: &Value) -> Table {
    let (mut found, mut bars) = (Vec::new(), Vec::new());
    for case in list(&verification["cases"]) {
        for output in list(&case["outputs"]) {
            let difference = &output["difference"];
            let number = |key: &str| difference[key].as_f64().map(|x| format!("{x:.3e}")).unwrap_or_default();
            let outcome =
                if output["problem"].is_null() { "agrees".to_owned() } else { text(&output["problem"]) };
            let errors = errors(difference);
            let counts = errors.iter().filter(|bar| bar.count > 0);
            found.push(vec![
                text(&case["name"]),
                text(&output["name"]),
                if difference.is_null() { "ran".to_owned() } else { outcome },
                number("max_abs"),
                number("max_rel"),
                difference["cosine"].as_f64().map(|x| format!("{x:.9}")).unwrap_or_default(),
                text(&difference["wrong"]),
                counts.map(|bar| format!("{}: {}", bar.label, bar.count)).collect::<Vec<_>>().join(", "),
            ]);
            bars.push(errors);
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
        ("Elements by size of the difference", false),
    ];
    Table { id: "verification", title: "Verification", head, rows: found, bars }
}

/// How many elements differ by how much.
fn errors(difference: &Value) -> Vec<Bar> {
    let spread = &difference["spread"];
    let decades: Vec<u64> = list(&spread["decades"]).iter().filter_map(Value::as_u64).collect();
    if decades.is_empty() {
        return Vec::new();
    }
    let lost = ["nan", "infinite"].iter().filter_map(|key| spread[key].as_u64());
    let atol = difference["allowed"]["atol"].as_f64().unwrap_or(0.0);
    histogram(&decades, lost.fold(0, u64::saturating_add), atol)
}

/// The effect of rules and passes, and the number of nodes before and after.
fn optimised(optimised: &Value) -> Table {
    let mut found = Vec::new();
    let mut line = |plugin: String, name: String, applied: String, nodes: String| {
        found.push(vec![plugin, name, applied, nodes]);
    };
    if optimised.is_object() {
        line(String::new(), "before".to_owned(), String::new(), text(&optimised["before"]));
        for row in list(&optimised["counts"]) {
            let nodes = row["nodes"].as_i64().map(|n| format!("{n:+}")).unwrap_or_default();
            line(text(&row["plugin"]), text(&row["name"]), text(&row["applied"]), nodes);
        }
        for (key, name) in [
            ("folded", "nodes computed in advance"),
            ("merged", "nodes that repeat others"),
            ("decided", "branches and loops of known course"),
        ] {
            if optimised[key].as_u64().is_some_and(|count| count > 0) {
                line(String::new(), name.to_owned(), text(&optimised[key]), String::new());
            }
        }
        line(String::new(), "after".to_owned(), String::new(), text(&optimised["after"]));
    }
    Table {
        id: "rules",
        title: "Optimisation",
        head: vec![("Plugin", false), ("Rule or pass", false), ("Applied", true), ("Nodes", true)],
        rows: found,
        bars: Vec::new(),
    }
}

/// How much weights take, which are shared, and the largest.
fn weights(weights: &Value) -> Vec<Vec<String>> {
    if list(&weights["largest"]).is_empty() {
        return Vec::new();
    }
    let whole = |what: String, bytes: &Value| vec![what, String::new(), text(bytes)];
    let mut found = vec![
        whole(format!("all {}", text(&weights["tensors"])), &weights["bytes"]),
        whole("not counting shared tensors".to_owned(), &weights["distinct_bytes"]),
    ];
    for group in list(&weights["shared"]) {
        let names: Vec<String> = list(group).iter().map(text).collect();
        found.push(vec![format!("shared: {}", names.join(", ")), String::new(), String::new()]);
    }
    found.extend(rows(&weights["largest"], &["name", "type", "bytes"]));
    found
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

#[cfg(test)]
mod tests {
    use super::{ranges, recorded};

    #[test]
    fn a_share_of_nothing_says_how_to_record_it() {
        let none = recorded(Some(0), Some(3), "names");
        assert_eq!(none, "not recorded (`onnxport convert --metadata names` records them)");
        assert!(recorded(Some(1), Some(2), "names").contains("50"));
        assert!(!recorded(Some(0), Some(0), "names").contains("not recorded"));
    }

    #[test]
    fn ranges_are_inequalities() {
        assert_eq!(ranges("{s0: VR[2, int_oo], u1: VR[-int_oo, 5]}"), "2 <= s0, u1 <= 5");
        assert_eq!(ranges("['L[x].size()[0] <= 4']"), "['L[x].size()[0] <= 4']", "guards stay");
    }
}
