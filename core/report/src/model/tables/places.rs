//! The places of nodes: the verdicts of a target, and the regions of backends.

use serde_json::Value;

use super::{Table, list, text};

/// The verdicts of `onnxport legal`, with their titles.
const VERDICTS: [(&str, &str); 5] = [
    ("native", "Native"),
    ("form", "Another form"),
    ("fallback", "Fallback"),
    ("refused", "Refused"),
    ("unknown", "Unknown"),
];

pub(super) fn judged_modules(legal: &Value) -> Table {
    let row = |module: &Value| {
        let counts = VERDICTS.map(|(key, _)| text(&module["counts"][key]));
        [text(&module["module"]), text(&module["class"])].into_iter().chain(counts).collect()
    };
    let head = [("Module", false), ("Class", false)];
    Table {
        id: "legal",
        title: "Verdicts by module",
        head: head.into_iter().chain(VERDICTS.map(|(_, title)| (title, true))).collect(),
        rows: list(&legal["modules"]).iter().map(row).collect(),
        bars: Vec::new(),
    }
}

pub(super) fn judged_nodes(legal: &Value) -> Table {
    let row = |node: &Value| {
        let keys = ["verdict", "operator", "version", "node", "module", "line", "reason", "change"];
        keys.map(|key| text(&node[key])).into()
    };
    let others = list(&legal["nodes"]).iter().filter(|node| node["verdict"] != "native");
    let head = ["Verdict", "Operator", "Version", "Node", "Module", "Line", "Reason", "Change"];
    Table {
        id: "judged",
        title: "Nodes without a kernel",
        head: head.map(|name| (name, false)).into(),
        rows: others.map(row).collect(),
        bars: Vec::new(),
    }
}

/// The modules of `onnxport partition`.
pub(super) fn placed_modules(placement: &Value) -> Table {
    let row = |module: &Value| {
        let regions: Vec<String> = list(&module["regions"]).iter().map(text).collect();
        let keys = ["module", "class", "nodes", "left"];
        keys.map(|key| text(&module[key])).into_iter().chain([regions.join(", ")]).collect()
    };
    Table {
        id: "partition",
        title: "Regions by module",
        head: vec![
            ("Module", false),
            ("Class", false),
            ("Nodes", true),
            ("Plain ONNX", true),
            ("Regions", false),
        ],
        rows: list(&placement["modules"]).iter().map(row).collect(),
        bars: Vec::new(),
    }
}

pub(super) fn left_nodes(placement: &Value) -> Table {
    let row = |node: &Value| {
        let reasons: Vec<String> = list(&node["refusals"])
            .iter()
            .map(|refusal| format!("{}: {}", text(&refusal["backend"]), text(&refusal["reason"])))
            .collect();
        let keys = ["operator", "node", "module", "line"];
        keys.map(|key| text(&node[key])).into_iter().chain([reasons.join("; ")]).collect()
    };
    let left = list(&placement["nodes"]).iter().filter(|node| node["region"].is_null());
    Table {
        id: "plain",
        title: "Nodes outside regions",
        head: ["Operator", "Node", "Module", "Line", "Reason"].map(|name| (name, false)).into(),
        rows: left.map(row).collect(),
        bars: Vec::new(),
    }
}
