//! The JSON of programs: a damaged program is refused, or has a text form, also after normalization.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use arbitrary::{Result, Unstructured};
use onnxport_core::meta;
use onnxport_core::normalise::attempt;
use onnxport_core::program::Program;
use onnxport_core::pt2::{Parts, from_parts};
use onnxport_core::tensor::zip_index::{Region, ZipIndex};
use serde_json::{Value, json};

use crate::document::{count, nth};
use crate::functionaliser::SCHEMAS;

/// Programs to damage, with the names of their tensors.
static BASES: LazyLock<Vec<(Value, Vec<String>)>> = LazyLock::new(|| {
    let archives: [&[u8]; 3] = [
        include_bytes!("../../files/golden/torch-2.15.0/mlp.pt2"),
        include_bytes!("../../files/golden/torch-2.15.0/conv_bn_train.pt2"),
        include_bytes!("../../files/golden/torch-2.15.0/nested_views.pt2"),
    ];
    archives.map(base).into()
});

fn base(archive: &'static [u8]) -> (Value, Vec<String>) {
    let zip = ZipIndex::open(Region::Memory(archive.into()), "").expect("an archive");
    let read = |suffix: &str| -> Value {
        let (name, entry) = zip.iter().find(|(name, _)| name.ends_with(suffix)).expect("an entry");
        serde_json::from_slice(&zip.read(name, entry).expect("its bytes")).expect("JSON")
    };
    let mut names = Vec::new();
    for table in ["model_weights_config.json", "model_constants_config.json"] {
        names.extend(read(table)["config"].as_object().expect("a table").keys().cloned());
    }
    (read("models/model.json"), names)
}

pub(crate) fn run(data: &[u8]) {
    let Some((mode, rest)) = data.split_first() else { return };
    if mode % 4 == 0 {
        check(rest.to_vec(), &[]);
        return;
    }
    let (base, names) = &BASES[usize::from(mode / 4) % BASES.len()];
    let mut document = base.clone();
    let mut u = Unstructured::new(rest);
    for _ in 0..6 {
        if u.is_empty() || damage(&mut document, &mut u).is_err() {
            break;
        }
    }
    check(document.to_string().into_bytes(), names);
}

fn check(program: Vec<u8>, names: &[String]) {
    let weights = names.iter().map(|name| (name.clone(), None)).collect();
    let (dims, guards) = (BTreeMap::from([("s27".to_owned(), "batch".to_owned())]), BTreeMap::new());
    let parts = Parts { program, weights, dims, guards, ..Parts::default() };
    let program = match from_parts(parts) {
        Ok(archive) => archive.program,
        Err(report) => {
            assert!(!report.diagnostics.is_empty());
            return;
        }
    };
    reads_back(&program);
    meta::check(&program, &SCHEMAS);
    let (normal, problems) = attempt(program, &SCHEMAS, |_| true);
    if problems.is_empty() {
        reads_back(&normal);
    }
}

fn reads_back(program: &Program) {
    let text = program.to_text();
    let again = Program::parse(&text).unwrap_or_else(|error| panic!("{error} in\n{text}"));
    assert_eq!(again.to_text(), text, "the text reads back as another program");
}

/// Replaces, copies, removes or adds a value of the document.
fn damage(document: &mut Value, u: &mut Unstructured<'_>) -> Result<()> {
    let places = count(document);
    let donor = nth(document, &mut u.int_in_range(0..=places - 1)?).cloned().unwrap_or_default();
    let Some(place) = nth(document, &mut u.int_in_range(0..=places - 1)?) else { return Ok(()) };
    *place = other(place, donor, u)?;
    Ok(())
}

fn other(value: &Value, donor: Value, u: &mut Unstructured<'_>) -> Result<Value> {
    let number = match u.int_in_range(0..=3)? {
        0 => u.arbitrary()?,
        1 => *u.choose(&[i64::MAX, i64::MIN, 1 << 31, 1 << 53, -1])?,
        _ => u.int_in_range(-2..=9)?,
    };
    Ok(match (value, u.int_in_range(0..=5)?) {
        (_, 0) => donor,
        (_, 1) => {
            u.choose(&[json!(null), json!(true), json!([]), json!({}), json!(-1), json!(1e300)])?.clone()
        }
        (Value::Number(_), _) => json!(number),
        (Value::String(text), 2) => json!(format!("{text}_")),
        (Value::String(_), 3) => {
            json!(u.choose(&["", "\"", "\n}", "é %x", "aten.add_.Tensor", "x: f32[2]"])?)
        }
        (Value::String(_), 4) => {
            json!(u.choose(&["s27", "2*s27", "s27//0", "(s27+1)%3", "Max(1, s27)", "-s27"])?)
        }
        (Value::String(text), _) => json!(text.repeat(u.int_in_range(0..=3)?)),
        (Value::Array(items), choice) if !items.is_empty() => {
            let mut items = items.clone();
            let at = u.int_in_range(0..=items.len() - 1)?;
            let to = u.int_in_range(0..=items.len() - 1)?;
            match choice {
                2 => items.swap(at, to),
                3 => items.insert(to, donor),
                4 => items.push(items[at].clone()),
                _ => drop(items.remove(at)),
            }
            Value::Array(items)
        }
        (Value::Object(items), choice) if !items.is_empty() => {
            let mut items = items.clone();
            let keys: Vec<String> = items.keys().cloned().collect();
            let old = items.remove(u.choose(&keys)?).unwrap_or_default();
            if choice > 3 {
                items.insert(u.choose(&keys)?.clone(), old);
            }
            Value::Object(items)
        }
        _ => json!(number),
    })
}
