//! Sorts of equal keys, whose order a reference is free to choose, and faults around them.

use onnxport_core::bisect::{Found, Options, Reference, bisect};
use onnxport_core::ir::Model;
use onnxport_core::verify::Runtime;
use onnxport_core::write::{self, WriteOptions};

/// Rows are sorted by keys, changed, and put back, as tokens are for their experts.
fn rows(sort: &str, change: &str) -> String {
    format!(
        "opset 20\ngraph {{\nconstant %count: i64[1] = [4]\ninput %keys: i64[4]\ninput %x: f32[4, 2]\n\
         %sorted: i64[4], %order: i64[4] = TopK(%keys, %count) {{{sort}}}\n\
         %moved: f32[4, 2] = Gather(%x, %order)\n{change}\n\
         %places: i64[4], %inverse: i64[4] = TopK(%order, %count) {{largest = 0}}\n\
         %back: f32[4, 2] = Gather(%changed, %inverse)\n%y: f32[4, 2] = Neg(%back)\noutput %y as y\n}}\n"
    )
}

const ASCENDING: &str = "axis = 0, largest = 0";
const SQUARED: &str = "%changed: f32[4, 2] = Mul(%moved, %moved)";

enum Values {
    Longs(&'static [i64]),
    Floats(&'static [f32]),
}

use Values::{Floats, Longs};

/// The values of a reference for keys 1, 0, 1, 0 that sorts the last of equal keys first.
const RECORDED: [(&str, &[u64], Values); 8] = [
    ("input/keys", &[4], Longs(&[1, 0, 1, 0])),
    ("input/x", &[4, 2], Floats(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0])),
    ("order", &[4], Longs(&[3, 1, 2, 0])),
    ("moved", &[4, 2], Floats(&[7.0, 8.0, 3.0, 4.0, 5.0, 6.0, 1.0, 2.0])),
    ("changed", &[4, 2], Floats(&[49.0, 64.0, 9.0, 16.0, 25.0, 36.0, 1.0, 4.0])),
    ("inverse", &[4], Longs(&[3, 1, 2, 0])),
    ("back", &[4, 2], Floats(&[1.0, 4.0, 9.0, 16.0, 25.0, 36.0, 49.0, 64.0])),
    ("y", &[4, 2], Floats(&[-1.0, -4.0, -9.0, -16.0, -25.0, -36.0, -49.0, -64.0])),
];

fn recording(recorded: &[(&str, &[u64], Values)], inputs: &str) -> Vec<u8> {
    let metadata = serde_json::json!({ "format": "onnxport-intermediates/1", "inputs": inputs });
    let (mut header, mut data) = (serde_json::json!({ "__metadata__": metadata }), Vec::new());
    for (name, shape, values) in recorded {
        let begin = data.len();
        let dtype = match values {
            Longs(values) => {
                values.iter().for_each(|value| data.extend(value.to_le_bytes()));
                "I64"
            }
            Floats(values) => {
                values.iter().for_each(|value| data.extend(value.to_le_bytes()));
                "F32"
            }
        };
        let offsets = [begin, data.len()];
        header[*name] = serde_json::json!({ "dtype": dtype, "shape": shape, "data_offsets": offsets });
    }
    let header = header.to_string().into_bytes();
    [&(header.len() as u64).to_le_bytes()[..], &header, &data].concat()
}

fn against(model: &str, recorded: &[(&str, &[u64], Values)], inputs: &str) -> Found {
    let folder = tempfile::tempdir().expect("a folder");
    let [path, values] = ["m.onnx", "m.safetensors"].map(|name| folder.path().join(name));
    let model = Model::parse(model).unwrap_or_else(|error| panic!("{error}\n{model}"));
    write::write(&model, &path, &WriteOptions::default()).expect("it is written");
    std::fs::write(&values, recording(recorded, inputs)).expect("it is written");
    let evaluator = super::evaluator();
    let runtime = Runtime::find(&evaluator).expect("the evaluator opens");
    let recording = Reference::Recording { values: &values, program: None };
    bisect(&path, &runtime, &recording, &Options::default()).unwrap_or_else(|report| panic!("{report:?}"))
}

fn of_rows(sort: &str, change: &str) -> Found {
    against(&rows(sort, change), &RECORDED, r#"["keys", "x"]"#)
}

/// The first wrong value.
fn fault(found: &Found) -> Option<&str> {
    found.fault.as_ref().map(|fault| fault.row.value.as_str())
}

#[test]
fn another_order_of_equal_keys_is_no_fault() {
    let found = of_rows(ASCENDING, SQUARED);
    assert_eq!(fault(&found), None, "{found:?}");
    assert_eq!(found.ties, ["order"]);
    assert_eq!(found.cleared, ["moved", "changed", "inverse"]);
}

#[test]
fn a_fault_among_reordered_values_is_found() {
    let found = of_rows(ASCENDING, "%changed: f32[4, 2] = Add(%moved, %moved)");
    assert_eq!((fault(&found), found.ties.as_slice()), (Some("changed"), &["order".to_owned()][..]));
}

#[test]
fn a_sort_the_other_way_round_is_a_fault() {
    let found = of_rows("axis = 0, largest = 1", SQUARED);
    assert_eq!((fault(&found), found.ties.len()), (Some("order"), 0), "{found:?}");
}

/// Two of four keys are selected, in lanes along the first axis.
fn selected(order: &'static [i64]) -> Found {
    let model = "opset 20\ngraph {\nconstant %count: i64[1] = [2]\ninput %keys: f32[4, 2]\n\
         %top: f32[2, 2], %which: i64[2, 2] = TopK(%keys, %count) {axis = 0}\n\
         %y: i64[2, 2] = Neg(%which)\noutput %y as y\n}\n";
    let recorded = [
        ("input/keys", &[4, 2][..], Floats(&[1.0, 8.0, 4.0, 7.0, 3.0, 6.0, 2.0, 5.0])),
        ("which", &[2, 2], Longs(order)),
    ];
    against(model, &recorded, r#"["keys"]"#)
}

#[test]
fn a_selection_that_nobody_sorted_is_no_fault() {
    let found = selected(&[2, 0, 1, 1]);
    assert_eq!((fault(&found), found.ties.as_slice()), (None, &["which".to_owned()][..]));
}

#[test]
fn another_selection_is_a_fault() {
    for wrong in [&[2, 0, 3, 1], &[1, 2, 1, 0], &[2, 0, 7, 1]] {
        assert_eq!(fault(&selected(wrong)), Some("which"), "{wrong:?}");
    }
}
