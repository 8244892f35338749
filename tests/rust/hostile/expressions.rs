//! Symbolic expressions that are made to grow.

use serde_json::json;

use super::archive::Archive;
use super::read_codes;

/// The base program whose first input has these expressions as its sizes.
fn with_expressions(texts: &[String]) -> Archive {
    let sizes: Vec<_> =
        texts.iter().map(|text| json!({"as_expr": {"expr_str": text, "hint": null}})).collect();
    Archive::base().edit_program(|p| {
        let graph = &mut p["graph_module"]["graph"];
        let name = graph["inputs"].as_array().unwrap().last().unwrap()["as_tensor"]["name"].clone();
        let meta = &mut graph["tensor_values"][name.as_str().unwrap()];
        meta["sizes"] = json!(sizes);
        meta["strides"] = json!(sizes);
    })
}

#[test]
fn expressions_stay_within_bounds() {
    let nested = |open: &str, close: &str| format!("{}s0{}", open.repeat(190), close.repeat(190));
    let flat = |separator: &str| (0..1500).map(|n| format!("s{n}")).collect::<Vec<_>>().join(separator);
    let texts = [
        nested("FloorDiv(", ", s1)"),
        nested("FloorDiv(s1, ", ")"),
        format!("Max(1, {})", nested("FloorDiv(", ", s1)")),
        format!("Max(1, {})", nested("Mod(s1, ", ")")),
        format!("Max(1, {})", nested("Max(s1, FloorDiv(3, ", "))")),
        format!("Max({})", flat(", ")),
        format!("Add({})", flat(", ")),
        flat("+"),
        flat("*"),
        nested("(s1 + ", ")**2"),
        "(".repeat(5000),
        "-".repeat(5000),
        "Symbol('".to_owned(),
        "9223372036854775807 + 9223372036854775807".to_owned(),
        "s0 // 0".to_owned(),
        String::new(),
        "\u{1F600}".repeat(100),
    ];
    for text in texts {
        assert_eq!(read_codes(&with_expressions(std::slice::from_ref(&text))), ["read"], "{text}");
    }
    let many: Vec<String> = (0..2000).map(|n| format!("{} + s{n}", flat("+").replace("s1", "t"))).collect();
    let codes = read_codes(&with_expressions(&many[..40]));
    assert_eq!(codes, ["read"]);
    let codes = read_codes(&with_expressions(&["s0+".repeat(10_000)]));
    super::assert_one(&codes, "OP108", &["expression"]);
}
