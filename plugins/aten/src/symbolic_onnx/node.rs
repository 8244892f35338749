//! `torch.onnx.ops.symbolic`: any operator of any domain, its attributes encoded in lists.

use onnxport_sdk::prelude::*;

/// An attribute, decoded.
enum Attribute {
    Int(i64),
    Float(f64),
    Str(String),
    Ints(Vec<i64>),
    Floats(Vec<f32>),
    Strs(Vec<String>),
}

/// The attributes of the call: `attr_pos` says where each has its elements in the list of its type.
fn attributes(cx: &Lower) -> Res<Vec<(String, Attribute)>> {
    let keys = cx.argument::<Vec<Str>>("attr_keys")?;
    let types = cx.argument::<Vec<Str>>("attr_types")?;
    let positions = cx.argument::<Vec<Vec<i64>>>("attr_pos")?;
    let ints = cx.argument::<Vec<i64>>("attr_ints")?;
    let floats = cx.argument::<Vec<f64>>("attr_floats")?;
    let strs = cx.argument::<Vec<Str>>("attr_strs")?;
    let mut attributes = Vec::new();
    for ((key, kind), position) in keys.iter().zip(&types).zip(&positions) {
        let &[from, to] = position.as_slice() else {
            return Err("argument `attr_pos` is not a list of pairs".into());
        };
        let range = usize::try_from(from).unwrap_or_default()..usize::try_from(to).unwrap_or_default();
        let outside =
            || Refusal::new(format!("argument `attr_pos`: attribute `{}` is outside its list", key.0));
        let ints = || ints.get(range.clone()).ok_or_else(outside);
        let floats = || floats.get(range.clone()).ok_or_else(outside);
        let strs = || strs.get(range.clone()).ok_or_else(outside);
        let attribute = match kind.0 {
            "i" => Attribute::Int(*ints()?.first().ok_or_else(outside)?),
            "f" => Attribute::Float(*floats()?.first().ok_or_else(outside)?),
            "s" => Attribute::Str(strs()?.first().ok_or_else(outside)?.0.to_owned()),
            "is" => Attribute::Ints(ints()?.to_vec()),
            "fs" => Attribute::Floats(floats()?.iter().map(|x| *x as f32).collect()),
            "ss" => Attribute::Strs(strs()?.iter().map(|s| s.0.to_owned()).collect()),
            other => {
                return Err(format!("argument `attr_types`: `{other}` is not a type of attribute").into());
            }
        };
        attributes.push((key.0.to_owned(), attribute));
    }
    Ok(attributes)
}

/// The node `domain::op_type` with the call's inputs, attributes and metadata.
#[lowering("onnx_symbolic._symbolic.default", "onnx_symbolic._symbolic_multi_out.default")]
fn symbolic(
    cx: &Lower,
    inputs: Vec<Option<Value>>,
    op_type: Str,
    domain: Option<Str>,
    version: Option<i64>,
) -> Res<Vec<Value>> {
    let attributes = attributes(cx)?;
    let texts: Vec<Vec<&str>> = attributes
        .iter()
        .map(|(_, a)| match a {
            Attribute::Strs(strs) => strs.iter().map(String::as_str).collect(),
            _ => Vec::new(),
        })
        .collect();
    let domain = domain.map_or("", |d| d.0);
    let domain = if domain == "ai.onnx" { "" } else { domain };
    if let Some(version) = version.filter(|v| domain.is_empty() && *v > cx.opset()) {
        let help = format!("convert with `--opset {version}` or higher");
        return Err(
            Refusal::new(format!("argument `version`: `{}` asks for opset {version}", op_type.0)).help(help)
        );
    }
    let count = cx.result_count();
    let mut node = cx.op_in(domain, version.unwrap_or(1), op_type.0);
    for input in inputs {
        node = node.maybe(input);
    }
    for ((name, attribute), texts) in attributes.iter().zip(&texts) {
        node = match attribute {
            Attribute::Int(n) => node.int(name, *n),
            Attribute::Float(x) => node.float(name, *x),
            Attribute::Str(s) => node.str(name, s),
            Attribute::Ints(ints) => node.ints(name, ints),
            Attribute::Floats(floats) => node.floats(name, floats),
            Attribute::Strs(_) => node.strs(name, texts),
        };
    }
    let results = node.many(count);
    let keys = cx.argument::<Vec<Str>>("metadata_props_keys")?;
    let texts = cx.argument::<Vec<Str>>("metadata_props_values")?;
    if let Some(result) = results.first() {
        for (key, text) in keys.iter().zip(&texts) {
            cx.metadata(*result, key.0, text.0);
        }
    }
    Ok(results)
}
