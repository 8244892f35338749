//! Modules as local functions.

use onnxport_core::clean;
use onnxport_core::diagnose::{CallSite, Code, ModuleCall, Origin, Severity};
use onnxport_core::functions::{DOMAIN, Functions, ModuleFunction, Selection, functions};
use onnxport_core::inline::inline;
use onnxport_core::ir::Model;
use onnxport_core::tensor::{DType, LazyTensor};
use onnxport_core::tidy;

use super::checks::{same, valid};
use super::read;

/// Returns a model in which the maker of each value that is named before a `:` belongs to the modules behind it, such as
/// `a1 a2: layers.0=Layer layers.0.fc=Linear`. Constants whose names end with `weight` are parameters.
fn owned(text: &str, owners: &str) -> Model {
    let mut model = read(text);
    for line in owners.lines().filter(|line| !line.trim().is_empty()) {
        let (values, modules) = line.split_once(':').expect("values and modules");
        let root = ModuleCall { class: "main.Model".into(), ..ModuleCall::default() };
        let calls = modules.split_whitespace().map(|module| {
            let (path, class) = module.split_once('=').expect("a path and a class");
            let (path, repeat) = path.split_once('@').unwrap_or((path, "0"));
            let repeat = repeat.parse().expect("a number");
            ModuleCall { path: path.into(), class: format!("main.{class}").into(), repeat }
        });
        let modules: Vec<ModuleCall> = std::iter::once(root).chain(calls).collect();
        for name in values.split_whitespace() {
            let place = CallSite { modules: modules.clone().into(), ..CallSite::default() };
            let origin = model.origins.push(Origin::new(name, place));
            let made = |node: &&onnxport_core::ir::NodeId| {
                let outputs = model.graph.nodes[**node].outputs.iter().flatten();
                outputs.into_iter().any(|output| model.graph.values[*output].name.as_deref() == Some(name))
            };
            let order: Vec<_> = model.graph.order(model.graph.main()).collect();
            let node = *order.iter().find(made).unwrap_or_else(|| panic!("nothing makes {name}"));
            model.graph.nodes[node].origin = Some(origin);
        }
    }
    for initializer in &mut model.graph.initializers {
        let name = model.graph.values[initializer.value].name.as_deref();
        initializer.weight = name.is_some_and(|name| name.ends_with("weight"));
    }
    model
}

/// Returns a model with functions; checks that it computes the same, also after inlining.
fn cut(before: &Model, selection: &Selection) -> (Model, Functions) {
    let mut after = before.clone();
    let done = functions(&mut after, selection).expect("the classes are there");
    valid(before);
    valid(&after);
    same(before, &after);
    let mut back = after.clone();
    inline(&mut back, usize::MAX);
    tidy::model(&mut back);
    valid(&back);
    same(before, &back);
    assert_eq!(back.graph.node_count(), before.graph.node_count(), "{}", back.to_text());
    let mut again = before.clone();
    functions(&mut again, selection).expect("the classes are there");
    assert_eq!(again.to_text(), after.to_text(), "the result is not the same every time");
    (after, done)
}

fn class(names: &[&str]) -> Selection {
    Selection::Classes(names.iter().map(|name| (*name).to_owned()).collect())
}

fn made(name: &str, nodes: usize, calls: usize) -> ModuleFunction {
    ModuleFunction { name: name.to_owned(), class: format!("main.{name}"), nodes, calls }
}

/// Two layers of three nodes; each scales with its own parameter, adds the input, and calls a norm of two nodes.
const LAYERS: &str = "opset 20\nsymbol n 0..\ngraph {\n  constant %layers.0.weight: f32[3] = [1, 2, 3]\n  \
    constant %layers.1.weight: f32[3] = [1, 2, 3]\n  constant %two: f32[] = [2]\n  input %x: f32[n, 3]\n  \
    %start: f32[n, 3] = Neg(%x)\n  \
    %a1: f32[n, 3] = Mul(%start, %layers.0.weight)\n  %a2: f32[n, 3] = Abs(%a1)\n  %a3: f32[n, 3] = Mul(%a2, %two)\n  \
    %a4: f32[n, 3] = Add(%a3, %x)\n  \
    %b1: f32[n, 3] = Mul(%a4, %layers.1.weight)\n  %b2: f32[n, 3] = Abs(%b1)\n  %b3: f32[n, 3] = Mul(%b2, %two)\n  \
    %b4: f32[n, 3] = Add(%b3, %x)\n  %end: f32[n, 3] = Neg(%b4)\n  output %end as y\n}\n";

const OF_LAYERS: &str = "a1 a4: layers.0=Layer\na2 a3: layers.0=Layer layers.0.norm=Norm\n\
    b1 b4: layers.1=Layer\nb2 b3: layers.1=Layer layers.1.norm=Norm\nstart end:\n";

#[test]
fn repeated_modules_share_functions_and_inner_ones_come_first() {
    let (model, done) = cut(&owned(LAYERS, OF_LAYERS), &Selection::Repeated);
    assert_eq!(done.made, [made("Norm", 2, 2), made("Layer", 3, 2)]);
    let text = model.to_text();
    assert_eq!(model.graph.node_count(), 4, "{text}");
    assert!(done.diagnostics.is_empty(), "{:?}", done.diagnostics);
    // Parameters are inputs, although they are equal here, by their names in the module. The factor is inside.
    let [norm, layer] = &model.functions[..] else { panic!("{text}") };
    let inputs =
        |function: &onnxport_core::ir::Function| function.graph.blocks[function.graph.main()].inputs.len();
    assert_eq!((inputs(norm), inputs(layer)), (1, 3), "{text}");
    assert!(layer.graph.values.iter().any(|(_, value)| value.name.as_deref() == Some("weight")), "{text}");
    assert_eq!(layer.about.doc, "main.Layer");
    assert_eq!(model.opset_of(DOMAIN), Some(1));
    assert_eq!(layer.opset(&model), 20);
}

#[test]
fn classes_are_selected_by_name() {
    let before = owned(LAYERS, OF_LAYERS);
    for name in ["Layer", "main.Layer"] {
        let (model, done) = cut(&before, &class(&[name]));
        assert_eq!((done.made, model.graph.node_count()), (vec![made("Layer", 4, 2)], 4));
    }
    let (model, done) = cut(&before, &Selection::Nothing);
    assert!(done.made.is_empty() && model.functions.is_empty());
    let error = functions(&mut before.clone(), &class(&["Layers"])).expect_err("no such class");
    assert_eq!(error.code, Code::FUNCTIONS_CLASS);
    assert!(error.help.is_some_and(|help| help.contains("`Layer`")));
}

#[test]
fn a_single_module_becomes_a_function_if_it_is_named() {
    let owners = "a1 a4: layers.0=Layer\na2 a3: layers.0=Layer layers.0.norm=Norm\n";
    let before = owned(LAYERS, owners);
    assert!(cut(&before, &Selection::Repeated).1.made.is_empty());
    assert_eq!(cut(&before, &class(&["Norm", "Layer"])).1.made, [made("Norm", 2, 1), made("Layer", 3, 1)]);
}

#[test]
fn attributes_and_integers_make_other_functions_but_floats_become_inputs() {
    let floats = LAYERS.replace("Mul(%b2, %two)", "Mul(%b2, %layers.1.weight)");
    let floats = floats.replace("constant %two", "constant %three: f32[] = [3]\n  constant %two");
    let floats = floats.replace("Mul(%b2, %layers.1.weight)", "Mul(%b2, %three)");
    let (model, done) = cut(&owned(&floats, OF_LAYERS), &Selection::Repeated);
    assert_eq!(done.made, [made("Norm", 2, 2), made("Layer", 3, 2)], "{}", model.to_text());
    let reshaped = LAYERS.replace("%a2: f32[n, 3] = Abs(%a1)", "%a2: f32[n, 3] = Reshape(%a1, %s)");
    let reshaped = reshaped.replace("%b2: f32[n, 3] = Abs(%b1)", "%b2: f32[n, 3] = Reshape(%b1, %t)");
    let shapes = |s: &str, t: &str| {
        let constants =
            format!("constant %s: i64[2] = [{s}]\n  constant %t: i64[2] = [{t}]\n  constant %two");
        owned(&reshaped.replace("constant %two", &constants), OF_LAYERS)
    };
    assert_eq!(cut(&shapes("-1, 3", "-1, 3"), &Selection::Repeated).1.made.len(), 2);
    let (model, done) = cut(&shapes("-1, 3", "0, 3"), &class(&["Layer"]));
    let names: Vec<&str> = done.made.iter().map(|function| function.name.as_str()).collect();
    assert_eq!(names, ["Layer", "Layer_2"], "{}", model.to_text());
    assert!(cut(&shapes("-1, 3", "0, 3"), &Selection::Repeated).1.made.is_empty());
}

#[test]
fn a_module_whose_value_returns_through_another_stays() {
    // `b2` lies on a path from the first layer to itself.
    let owners = "a1 a4: first=Layer\na2 a3: second=Other\n";
    let before = owned(LAYERS, owners);
    let (model, done) = cut(&before, &class(&["Layer"]));
    assert!(model.functions.is_empty());
    let [found] = &done.diagnostics[..] else { panic!("{:?}", done.diagnostics) };
    assert_eq!((found.code.clone(), found.severity), (Code::FUNCTIONS_CUT, Severity::Warning));
    assert!(found.message.contains("`first`"), "{}", found.message);
    let origin = found.origin.map(|origin| before.origins.get(origin).node.to_string());
    assert_eq!(origin.as_deref(), Some("a2"));
    // Nodes of the module around it join it.
    let (_, done) = cut(&owned(LAYERS, "a1 a4: first=Layer\na2 a3:\n"), &class(&["Layer"]));
    assert_eq!(done.made, [made("Layer", 4, 1)]);
    // A module that is selected, but of which nothing is left.
    let mut merged = owned(LAYERS, OF_LAYERS);
    let gone = ModuleCall { path: "drop".into(), class: "main.Dropout".into(), repeat: 0 };
    merged.origins.push(Origin::new("drop", CallSite { modules: vec![gone].into(), ..CallSite::default() }));
    let (_, done) = cut(&merged, &class(&["Dropout"]));
    assert_eq!(
        done.diagnostics.iter().map(|found| found.code.clone()).collect::<Vec<_>>(),
        [Code::FUNCTIONS_CUT]
    );
}

/// Two pairs of nodes in turns; each module needs a value of the other one.
const PAIRS: &str = "opset 20\nsymbol n 0..\ngraph {\n  input %x: f32[n, 3]\n  input %z: f32[n, 3]\n  %a1: f32[n, 3] = Neg(%x)\n  \
    %b2: f32[n, 3] = Abs(%z)\n  %b1: f32[n, 3] = Neg(%a1)\n  %a2: f32[n, 3] = Abs(%b2)\n  output %b1 as p\n  \
    output %a2 as q\n}\n";

#[test]
fn two_modules_that_need_each_other_are_not_both_cut() {
    // Each is convex, but calls of both would need each other's outputs.
    let before = owned(PAIRS, "a1 a2: a=Pair\nb1 b2: b=Pair\n");
    let (model, done) = cut(&before, &class(&["Pair"]));
    assert_eq!(model.functions.len(), 1, "{}", model.to_text());
    assert_eq!(done.diagnostics.len(), 1, "{:?}", done.diagnostics);
    // Nodes in turns that do not need each other are moved.
    let apart = PAIRS.replace("Neg(%a1)", "Neg(%b2)").replace("Abs(%b2)", "Abs(%a1)");
    let (model, done) = cut(&owned(&apart, "a1 a2: a=Pair\nb1 b2: b=Pair\n"), &class(&["Pair"]));
    assert_eq!((done.diagnostics.len(), model.graph.node_count()), (0, 2), "{}", model.to_text());
}

#[test]
fn four_bit_weights_are_read_outside() {
    let text = LAYERS.replace("opset 20", "opset 21").replace(
        "constant %two",
        "constant %k.weight: i4[3] = ...\n  constant %s.weight: f32[] = [2]\n  constant %two",
    );
    let text = text
        .replace("  %a1:", "  %a0: f32[3] = DequantizeLinear(%k.weight, %s.weight)\n  %a1:")
        .replace("Mul(%start, %layers.0.weight)", "Mul(%start, %a0)");
    let mut before = owned(&text, &format!("{OF_LAYERS}a0: layers.0=Layer\n"));
    let codes = before.graph.initializers.iter_mut().find(|constant| constant.data.dtype == DType::I4);
    codes.expect("the codes").data = LazyTensor::inline(DType::I4, vec![3], vec![0x21, 0x03]);
    let (model, done) = cut(&before, &class(&["Layer"]));
    assert_eq!(done.made, [made("Layer", 4, 2)], "{}", model.to_text());
}

#[test]
fn each_call_of_a_module_is_one() {
    let owners = "a1 a4: layer=Layer\na2 a3: layer=Layer layer.norm=Norm\n\
        b1 b4: layer@1=Layer\nb2 b3: layer@1=Layer layer.norm@1=Norm\n";
    let (_, done) = cut(&owned(LAYERS, owners), &Selection::Repeated);
    assert_eq!(done.made, [made("Norm", 2, 2), made("Layer", 3, 2)]);
}

#[test]
fn a_node_that_was_merged_belongs_to_the_module_around_both() {
    let text = LAYERS.replace("Add(%a3, %x)", "Add(%a3, %m)").replace("Add(%b3, %x)", "Add(%b3, %o)");
    let text = text.replace("  %a1:", "  %m: f32[n, 3] = Exp(%x)\n  %a1:");
    let text = text.replace("  %b1:", "  %o: f32[n, 3] = Exp(%x)\n  %b1:");
    let mut before = owned(&text, &format!("{OF_LAYERS}m: layers.0=Layer\no: layers.1=Layer\n"));
    assert_eq!(clean::merge(&mut before), 1);
    let (model, done) = cut(&before, &Selection::Repeated);
    assert_eq!(done.made, [made("Norm", 2, 2), made("Layer", 3, 2)], "{}", model.to_text());
    assert_eq!(model.graph.node_count(), 5, "{}", model.to_text());
}

#[test]
fn a_module_may_contain_control_flow() {
    let step = |from: &str, to: &str, sign: &str| {
        format!(
            "  %{to}1: f32[n, 3] = Neg(%{from})\n  %{to}2: f32[n, 3] = If(%c) {{else_branch = {{\n    \
                %{to}d: f32[n, 3] = Add(%{to}1, %z)\n    output %{to}d\n  }}, then_branch = {{\n    \
                %{to}e: f32[n, 3] = {sign}(%{to}1)\n    output %{to}e\n  }}}}\n"
        )
    };
    let text = |second: &str| {
        let (first, second) = (step("x", "p", "Exp"), step("p2", "q", second));
        format!(
            "opset 20\nsymbol n 0..\ngraph {{\n  input %x: f32[n, 3]\n  input %z: f32[n, 3]\n  input %c: bool[]\n{first}{second}  output %q2 as r\n}}\n"
        )
    };
    let owners = "p1 p2: layers.0=Layer\nq1 q2: layers.1=Layer\n";
    let before = owned(&text("Exp"), owners);
    let (model, done) = cut(&before, &Selection::Repeated);
    assert_eq!(done.made.iter().map(|made| made.calls).collect::<Vec<_>>(), [2], "{}", model.to_text());
    assert_eq!(model.graph.node_count(), 2, "{}", model.to_text());
    assert!(cut(&owned(&text("Abs"), owners), &Selection::Repeated).1.made.is_empty());
}
