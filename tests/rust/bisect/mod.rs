//! Finding the origin of a divergence: steps of the optimizer, and nodes inside of nodes.

mod inside;
mod plugin;
mod recorded;
mod ties;

use onnxport_core::bisect::passes::{Broken, Source, passes};
use onnxport_core::bisect::{Found, Options, Reference, bisect};
use onnxport_core::host::Host;
use onnxport_core::ir::Model;
use onnxport_core::optimise::OptimiseOptions;
use onnxport_core::verify::Runtime;
use onnxport_core::write::{self, WriteOptions};

/// Faults by rule, and the nodes that show each.
const RULES: [(&str, &str); 10] = [
    ("two_transposes", "%a = Transpose(%h) {perm = [1, 2, 0]}\n%f = Transpose(%a) {perm = [1, 2, 0]}"),
    ("difference", "%f = Sub(%h, %y)"),
    ("relu", "%f = Relu(%y)"),
    ("softmax", "%f = Softmax(%h) {axis = 1}"),
    ("quotient", "%f = Div(%h, %y)"),
    ("smaller", "%f = Min(%h, %y)"),
    ("floor", "%f = Floor(%y)"),
    ("root_of_square", "%a = Mul(%y, %y)\n%f = Sqrt(%a)"),
    ("mean", "%f = ReduceMean(%y, %axes) {keepdims = 1}"),
    ("casts", "%a = Cast(%y) {to = 7}\n%f = Cast(%a) {to = 1}"),
];

fn evaluator() -> Host {
    Host::new(&[&onnxport_reference::ROOT]).expect("the evaluator attaches")
}

/// A model in which two right rules apply before the nodes of a fault, and one behind them.
fn around(nodes: &str) -> Model {
    let text = format!(
        "opset 20\ngraph {{\nconstant %axes: i64[1] = [1]\ninput %x: f32[3, 3, 3]\ninput %y: f32[3, 3, 3]\n\
         %n = Neg(%x)\n%m = Neg(%n)\n%b = Abs(%m)\n%h = Abs(%b)\n{nodes}\n\
         %s = Neg(%f)\n%t = Neg(%s)\n%z = Add(%t, %x)\noutput %z as z\n}}\n"
    );
    let model = Model::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    typed(model)
}

/// The model with the types of its values, as a model that was read and inferred has them.
fn typed(mut model: Model) -> Model {
    let opset = model.opset();
    onnxport_core::ops::infer::infer_all(&mut model.graph, &mut model.symbols, opset);
    model
}

#[test]
fn ten_wrong_rules_are_named_with_the_patch() {
    let (rules, evaluator) = (Host::new(&[&plugin::ROOT]).expect("the plugin attaches"), evaluator());
    let runtime = Runtime::find(&evaluator).expect("the evaluator opens");
    for (rule, nodes) in RULES {
        let (model, options) = (around(nodes), OptimiseOptions::default());
        let source = Source::Model(&model, &options);
        let found = passes(&rules, &source, &runtime, None, &Options::default())
            .unwrap_or_else(|report| panic!("{rule}: {report:?}"));
        let Some(Broken::Patch { number, applied, nodes }) = found.broken else {
            panic!("{rule} is not found: {found:?}")
        };
        assert_eq!((applied.name.as_str(), applied.plugin.as_str(), number), (rule, "doubtful", 3));
        assert!(!nodes.is_empty() && found.patches == 4, "{rule}: {nodes:?}");
    }
}

#[test]
fn right_rules_change_nothing() {
    let (rules, evaluator) = (Host::new(&[&plugin::ROOT]).expect("the plugin attaches"), evaluator());
    let runtime = Runtime::find(&evaluator).expect("the evaluator opens");
    let (model, options) = (around("%f = Cos(%h)"), OptimiseOptions::default());
    let found = passes(&rules, &Source::Model(&model, &options), &runtime, None, &Options::default());
    let found = found.unwrap_or_else(|report| panic!("{report:?}"));
    assert!(found.broken.is_none() && found.patches == 3 && found.error == 0.0, "{found:?}");
}

/// Holds two models against each other, both run by the evaluator.
fn between(wrong: &str, right: &str) -> Found {
    with_options(wrong, right, &Options::default())
}

fn with_options(wrong: &str, right: &str, options: &Options) -> Found {
    let folder = tempfile::tempdir().expect("a folder");
    let paths = [("wrong.onnx", wrong), ("right.onnx", right)].map(|(name, text)| {
        let model = Model::parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let path = folder.path().join(name);
        write::write(&model, &path, &WriteOptions::default()).unwrap_or_else(|report| panic!("{report:?}"));
        path
    });
    let host = evaluator();
    let runtime = Runtime::find(&host).expect("the evaluator opens");
    let [wrong, right] = &paths;
    bisect(wrong, &runtime, &Reference::Model(right, &runtime), options)
        .unwrap_or_else(|report| panic!("{report:?}"))
}
