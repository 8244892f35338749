//! The definitions of operators: their traits hold, and rules reach every operator that has one.

use std::fmt::Write;
use std::sync::LazyLock;

use onnxport_core::host::Host;
use onnxport_core::ir::Model;
use onnxport_core::ir::opset::{self, AttrKind, Formal, FormalKind, FormalType, OpSchema, TypeTag};
use onnxport_core::ops::{self, Limits, Op, Traits};
use onnxport_core::optimise::{Level, OptimiseOptions, optimise};
use onnxport_core::tensor::DType;
use onnxport_core::valid::{StatedTypes, validate};

use crate::optimise::draw::{Random, agree, inputs};

static STANDARD: LazyLock<Host> =
    LazyLock::new(|| Host::new(&[&onnxport_optimise::ROOT]).expect("the plugin attaches"));

/// ONNX's own operators with a trait, and their newest signatures.
fn with_trait(wanted: Traits) -> impl Iterator<Item = (&'static Op, &'static OpSchema)> {
    let own = ops::all().iter().filter(move |op| op.domain.is_empty() && op.traits().has(wanted));
    own.filter_map(|op| Some((op, opset::lookup(op.name, opset::MAX_OPSET)?)))
}

/// The first suitable element type that `formal` takes.
fn dtype(schema: &OpSchema, formal: &Formal) -> DType {
    let allowed = match formal.ty {
        FormalType::Var(index) => schema.type_vars[usize::from(index)].allowed,
        FormalType::Fixed(allowed) => allowed,
    };
    let usual = [DType::F32, DType::I32, DType::Bool, DType::U32];
    let found = usual.into_iter().find(|dtype| allowed.contains(&TypeTag::Tensor(*dtype)));
    found.unwrap_or_else(|| panic!("{} takes none of {usual:?}", schema.name))
}

/// The attributes that a node has to state, as a text.
fn attributes(schema: &OpSchema) -> String {
    let mut stated: Vec<String> = Vec::new();
    for attribute in schema.attributes.iter().filter(|attribute| attribute.required) {
        stated.push(match attribute.kind {
            // A type: as wide as f32.
            AttrKind::Int => format!("{} = {}", attribute.name, DType::I32.onnx()),
            AttrKind::String => format!("{} = \"LEFT\"", attribute.name),
            other => panic!("{} has to state `{}`, {other:?}", schema.name, attribute.name),
        });
    }
    // `Mod` takes floats only with this attribute.
    stated.extend((schema.name == "Mod").then(|| "fmod = 1".to_owned()));
    if stated.is_empty() { String::new() } else { format!(" {{{}}}", stated.join(", ")) }
}

/// A node of `op` between `before`, which makes `%a0` and so on of the inputs `%x0`, and `after`, which makes `%y` of `%b`.
fn sandwich(schema: &OpSchema, over: usize, constants: &str, before: &str, after: &str) -> String {
    let mut text = format!("opset {}\nsymbol n 2..\ngraph {{\n{constants}", opset::MAX_OPSET);
    let mut operands = Vec::new();
    let mut made = String::new();
    let formal = |at: usize| schema.inputs.get(at).or(schema.inputs.last()).expect("an input");
    for at in 0..over {
        writeln!(text, "  input %x{at}: {}[n, 3, 4]", dtype(schema, formal(at))).expect("a text");
        writeln!(made, "  %a{at} = {}", before.replace("%x", &format!("%x{at}"))).expect("a text");
        operands.push(format!("%a{at}"));
    }
    for (at, formal) in schema.inputs.iter().enumerate().skip(over) {
        if formal.kind != FormalKind::Variadic {
            writeln!(text, "  constant %c{at}: {}[] = [1]", dtype(schema, formal)).expect("a text");
            operands.push(format!("%c{at}"));
        }
    }
    let call = format!("{}({}){}", schema.name, operands.join(", "), attributes(schema));
    write!(text, "{made}  %b = {call}\n  %y = {after}\n  output %y as y\n}}\n").expect("a text");
    text
}

/// The model after the exact rules, checked to give bit-identical results.
fn optimised(op: &str, text: &str) -> Model {
    let mut before = Model::parse(text).unwrap_or_else(|error| panic!("{op}:{error}\n{text}"));
    let opset = before.opset();
    ops::infer::infer_all(&mut before.graph, &mut before.symbols, opset);
    let found = validate(&before, &StatedTypes::default());
    assert!(found.is_empty(), "{op}: {found:?}\n{text}");
    let mut after = before.clone();
    let options = OptimiseOptions { level: Level::Exact, ..OptimiseOptions::default() };
    let (_, found) = optimise(&STANDARD, &mut after, &mut StatedTypes::default(), &options).expect("it runs");
    assert!(found.is_empty(), "{op}: {found:?}\n{text}");
    let given = inputs(&before, 2, false, &mut Random(7));
    let wanted = ops::run(&before, given.clone(), Limits::default());
    let found = ops::run(&after, given, Limits::default());
    let wanted = wanted.unwrap_or_else(|error| panic!("{op}: {error:?}\n{text}"));
    let found = found.unwrap_or_else(|error| panic!("{op}: {error:?}\n{}", after.to_text()));
    for (wanted, found) in wanted.iter().zip(&found) {
        let (wanted, found) = (wanted.tensor().expect("a tensor"), found.tensor().expect("a tensor"));
        assert!(agree(wanted, found, 0.0), "{op}: {wanted:?}, {found:?}\n{text}\n{}", after.to_text());
    }
    after
}

/// How many nodes of these operators a model has.
fn count(model: &Model, these: &[&str]) -> usize {
    let graph = &model.graph;
    graph.order(graph.main()).filter(|node| these.iter().any(|op| graph.nodes[*node].is(op))).count()
}

const TRANSPOSE: (&str, &str) = ("Transpose(%x) {perm = [1, 2, 0]}", "Transpose(%b) {perm = [2, 0, 1]}");
const FLAT: &str = "  constant %flat: i64[2] = [0, 12]\n  constant %back: i64[3] = [0, 3, 4]\n";
const RESHAPE: (&str, &str) = ("Reshape(%x, %flat)", "Reshape(%b, %back)");

#[test]
fn transposes_around_every_elementwise_operator_are_removed() {
    let mut checked = 0;
    for (op, schema) in with_trait(Traits::ELEMENTWISE) {
        let after = optimised(op.name, &sandwich(schema, 1, "", TRANSPOSE.0, TRANSPOSE.1));
        assert_eq!(count(&after, &["Transpose"]), 0, "{}:\n{}", op.name, after.to_text());
        checked += 1;
    }
    assert!(checked >= 47, "{checked} elementwise operators");
}

#[test]
fn reshapes_around_every_elementwise_operator_are_removed() {
    for (op, schema) in with_trait(Traits::ELEMENTWISE) {
        let after = optimised(op.name, &sandwich(schema, 1, FLAT, RESHAPE.0, RESHAPE.1));
        assert_eq!(count(&after, &["Reshape"]), 0, "{}:\n{}", op.name, after.to_text());
    }
}

#[test]
fn transposes_and_reshapes_around_every_broadcasting_operator_are_removed() {
    let mut checked = 0;
    for (op, schema) in with_trait(Traits::BROADCASTING) {
        let operands = usize::from(schema.min_inputs).max(2);
        let after = optimised(op.name, &sandwich(schema, operands, "", TRANSPOSE.0, TRANSPOSE.1));
        assert_eq!(count(&after, &["Transpose"]), 0, "{}:\n{}", op.name, after.to_text());
        let after = optimised(op.name, &sandwich(schema, operands, FLAT, RESHAPE.0, RESHAPE.1));
        assert_eq!(count(&after, &["Reshape"]), 0, "{}:\n{}", op.name, after.to_text());
        checked += 1;
    }
    assert!(checked >= 23, "{checked} broadcasting operators");
}

#[test]
fn commutative_operators_give_the_same_bits_with_their_inputs_swapped() {
    for (op, schema) in with_trait(Traits::COMMUTATIVE) {
        let text = sandwich(schema, 2, "", "Identity(%x)", "Identity(%b)");
        let model = Model::parse(&text).unwrap_or_else(|error| panic!("{}:{error}", op.name));
        let swapped = Model::parse(&text.replace("(%a0, %a1)", "(%a1, %a0)")).expect("a model");
        for seed in 0..20 {
            let given = inputs(&model, 2, true, &mut Random(seed));
            let [one, other] = [&model, &swapped].map(|model| {
                let made = ops::run(model, given.clone(), Limits::default()).expect("it runs");
                made[0].tensor().expect("a tensor").clone()
            });
            assert!(agree(&one, &other, 0.0), "{}: {one:?}, {other:?}", op.name);
        }
    }
}
