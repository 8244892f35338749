//! Inference and evaluation on the node tests of the ONNX package, the former with the sizes that they have and with
//! symbols in place of them. Inferred facts must be right; completeness is required of all
//! operators but those listed here.

use bytes::Bytes;
use onnxport_core::ir::{Model, Shape, Type};
use onnxport_core::ops::infer;
use onnxport_core::sym::{Dim, Range};
use onnxport_core::valid;
use onnxport_ir::ops::{self, Limits, Tensor, Value};

use crate::conformance::compare::compare;
use crate::files;

/// Operators whose shapes are left open, and cases where the values of inputs or the reading of
/// the standard decide.
const OPEN: &[&str] = &[
    "averagepool_2d_ceil_last_window_starts_on_pad",
    "dft_irfft",
    "image_decoder",
    "maxpool_2d_ceil_output_size_reduce_by_one",
    "resize_downsample_sizes_nearest_not",
    "resize_upsample_sizes_nearest_not",
    "string_split",
];

/// The opset up to which every size is to be known.
const NEWEST: i64 = 23;

struct Case<'a> {
    name: &'a str,
    model: &'a str,
    expected: Vec<&'a str>,
    /// The bytes of the inputs and of the outputs.
    inputs: Vec<(&'a str, Bytes)>,
    outputs: Vec<(&'a str, Bytes)>,
}

/// The names and bytes behind `mark` in the lines of a case.
fn bytes<'a>(lines: &'a str, mark: &str) -> Vec<(&'a str, Bytes)> {
    let byte = |pair: &[u8]| {
        let digit = |at: usize| char::from(pair[at]).to_digit(16).expect("a digit") as u8;
        digit(0) * 16 + digit(1)
    };
    let lines = lines.lines().filter_map(|line| line.strip_prefix(mark)?.rsplit_once(' '));
    lines.map(|(name, hex)| (name, hex.as_bytes().chunks(2).map(byte).collect())).collect()
}

fn cases(text: &str) -> Vec<Case<'_>> {
    let read = |case| {
        let (name, body): (&str, &str) = str::split_once(case, '\n').expect("a name");
        let end = body.find("\n= ").expect("an expectation");
        let expected = body[end..].lines().filter_map(|l| l.strip_prefix("= ")).collect();
        let (inputs, outputs) = (bytes(&body[end..], "< "), bytes(&body[end..], "> "));
        Case { name, model: &body[..end], expected, inputs, outputs }
    };
    text.split("\n--- ").skip(1).map(read).collect()
}

/// Gives every size of an input from 2 on a symbol that had this value when it was traced.
fn generalise(model: &mut Model) {
    for input in model.graph.blocks[model.graph.main()].inputs.clone() {
        let Type::Tensor { shape, .. } = &mut model.graph.values[input].ty else { continue };
        for dim in shape.dims_mut().into_iter().flatten() {
            let Some(Dim::Const(n @ 2..)) = *dim else { continue };
            let name = format!("d{n}");
            *dim = Some(model.symbols.symbol(&name));
            let id = model.symbols.find(&name).expect("the symbol");
            let symbol = model.symbols.get_mut(id);
            (symbol.range, symbol.hint) = (Range { min: Some(2), max: None }, Some(n));
        }
    }
}

/// The type of a value at the traced sizes, and whether all of it is known.
fn at_hints(model: &Model, ty: &Type) -> (String, bool) {
    let dtype = ty.dtype().map_or("?", |d| d.as_str());
    let Some(dims) = ty.shape().and_then(Shape::dims) else { return (format!("{dtype}[..]"), false) };
    let eval = |d: &Dim| model.symbols.eval(*d, &|s| model.symbols.get(s).hint);
    let dims: Vec<Option<i64>> = dims.iter().map(|d| d.as_ref().and_then(eval)).collect();
    let text: Vec<String> = dims.iter().map(|d| d.map_or("?".to_owned(), |n| n.to_string())).collect();
    (format!("{dtype}[{}]", text.join(", ")), dtype != "?" && dims.iter().all(Option::is_some))
}

/// Whether `found`, as far as it is known, is `expected`.
fn agrees(found: &str, expected: &str) -> bool {
    let parts = |text: &str| -> (String, Vec<String>) {
        let (dtype, dims) = text.trim_end_matches(']').split_once('[').expect("a type");
        (dtype.to_owned(), dims.split(", ").map(str::to_owned).collect())
    };
    let ((dtype, dims), (other, extents)) = (parts(found), parts(expected));
    (dtype == "?" || dtype == other)
        && (dims == [".."]
            || dims.len() == extents.len() && dims.iter().zip(&extents).all(|(d, e)| d == "?" || d == e))
}

fn run(symbolic: bool) {
    let text = std::fs::read_to_string(files::at("data/onnx_nodes.txt")).expect("the cases");
    let mut problems = Vec::new();
    let cases = cases(&text);
    assert!(cases.len() > 500, "{} cases", cases.len());
    for case in cases {
        let mut model = Model::parse(case.model).unwrap_or_else(|e| panic!("{}: {e}", case.name));
        if symbolic {
            generalise(&mut model);
        }
        let main = model.graph.main();
        let node = model.graph.order(main).next().expect("a node");
        let opset = model.opset();
        infer::infer(&mut model.graph, &mut model.symbols, opset, node);
        let outputs = model.graph.blocks[main].outputs().to_vec();
        for (output, expected) in outputs.into_iter().zip(&case.expected) {
            let (found, complete) = at_hints(&model, &model.graph.values[output].ty);
            let open = symbolic || opset > NEWEST || OPEN.iter().any(|o| case.name.contains(o));
            if !agrees(&found, expected) || !(complete || open) {
                problems.push(format!("{}: {found} where {expected} is right", case.name));
            }
        }
        for found in valid::validate(&model, &valid::StatedTypes::default()) {
            if !found.message.starts_with("the type of the output") {
                problems.push(format!("{}: {}", case.name, found.message));
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn types_are_those_of_the_onnx_package() {
    run(false);
}

#[test]
fn symbolic_types_are_right_at_the_traced_sizes() {
    run(true);
}

/// A tensor of a type in words, `f32[2, 3]`.
fn tensor(ty: &str, bytes: &Bytes) -> Value {
    let (dtype, dims) = ty.trim_end_matches(']').split_once('[').expect("a type");
    let shape = dims.split(", ").filter(|dim| !dim.is_empty()).map(|dim| dim.parse().expect("a size"));
    let shape = shape.collect();
    Value::Tensor(Tensor::packed(dtype.parse().expect("a type"), shape, bytes.clone()).expect("a tensor"))
}

#[test]
fn values_are_those_of_the_onnx_package() {
    let text = std::fs::read_to_string(files::at("data/onnx_nodes.txt")).expect("the cases");
    let (mut problems, mut held) = (Vec::new(), 0);
    for case in cases(&text).iter().filter(|case| !case.outputs.is_empty()) {
        let model = Model::parse(case.model).unwrap_or_else(|e| panic!("{}: {e}", case.name));
        let graph = &model.graph;
        let node = graph.order(graph.main()).next().expect("a node");
        if ops::lookup("", &graph.nodes[node].op).and_then(ops::Op::evaluator).is_none() {
            continue;
        }
        let inputs = graph.blocks[graph.main()].inputs.iter().map(|input| {
            let name = graph.values[*input].name.as_deref().expect("a name");
            let (_, bytes) = case.inputs.iter().find(|(own, _)| *own == name).expect("its bytes");
            let (ty, _) = at_hints(&model, &graph.values[*input].ty);
            Some(tensor(&ty, bytes))
        });
        let found = match ops::run(&model, inputs.collect(), Limits::default()) {
            Ok(found) => found,
            Err(why) => {
                problems.push(format!("{}: {why}", case.name));
                continue;
            }
        };
        held += 1;
        for (index, (ty, (_, bytes))) in case.expected.iter().zip(&case.outputs).enumerate() {
            if let Err(why) = compare(&found[index], &tensor(ty, bytes)) {
                problems.push(format!("{}: output {index}: {why}", case.name));
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    assert!(held > 400, "{held} cases");
}
