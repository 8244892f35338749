//! The rules and passes of each level.

use std::fmt::Write;
use std::sync::{Arc, LazyLock};

use onnxport_core::host::Host;
use onnxport_core::ir::Model;
use onnxport_core::legalise::Target;
use onnxport_core::optimise::{Bound, Class, Level, OptimiseOptions, optimise};
use onnxport_core::valid::StatedTypes;

/// A rule and a pass of each class, every one of which takes another operator.
mod plugin {
    use onnxport_sdk::prelude::*;

    rules! {
        /// Nothing is said of it.
        of_unknown_class: Abs(x) => Neg(x);

        /// Bit for bit.
        of_exact_class (class = exact): Ceil(x) => Neg(x);

        /// Within a bound.
        of_bounded_class (class = bounded(relative = 1e-6, ulps = 4)): Floor(x) => Neg(x);

        /// With an operator that ONNX Runtime has.
        of_target_class (class = target("onnxruntime")): Round(x) => Neg(x);

        /// With an operator that something else has.
        of_another_target (class = target("npu", ulps = 2, finite)): Sign(x) => Neg(x);
    }

    mod spoken_for {
        use onnxport_sdk::prelude::*;

        rules! {
            #![class = exact]

            /// It has the default class of the file.
            says_nothing_itself: Cos(x) => Neg(x);

            /// It has its own class.
            speaks_for_itself (class = bounded(ulps = 1)): Sin(x) => Neg(x);
        }
    }

    /// Nothing is said of it.
    #[pass]
    fn pass_of_unknown_class(cx: &Edit<'_>) -> Res<()> {
        negate(cx, op::Sqrt)
    }

    /// Bit for bit.
    #[pass(class = exact, when = after_rules)]
    fn pass_of_exact_class(cx: &Edit<'_>) -> Res<()> {
        negate(cx, op::Erf)
    }

    fn negate(cx: &Edit<'_>, op: impl Operator<'static>) -> Res<()> {
        for node in cx.graph().nodes().into_iter().filter(|node| node.is(op)) {
            let (Some(x), Some(y)) = (node.input(0), node.output(0)) else { continue };
            cx.before(node);
            cx.replace_uses(y, cx.neg(x))?;
            cx.remove(node)?;
        }
        Ok(())
    }

    onnxport_sdk::export_plugin! { id: "classes", rules: true, passes: true }
}

static HOST: LazyLock<Host> = LazyLock::new(|| Host::new(&[&plugin::ROOT]).expect("the plugin attaches"));

/// The operators that are left of one of each.
fn left(options: &OptimiseOptions) -> String {
    let operators = ["Abs", "Ceil", "Cos", "Erf", "Floor", "Round", "Sign", "Sin", "Sqrt"];
    let mut text = "opset 20\ngraph {\n  input %v0: f32[2]\n".to_owned();
    for (at, op) in operators.iter().enumerate() {
        let _ = writeln!(text, "  %v{}: f32[2] = {op}(%v{at})", at + 1);
    }
    let _ = writeln!(text, "  output %v{} as y\n}}", operators.len());
    let mut model = Model::parse(&text).expect("a model");
    let (_, found) = optimise(&HOST, &mut model, &mut StatedTypes::default(), options).expect("it runs");
    assert!(found.is_empty(), "{found:?}");
    let graph = &model.graph;
    let nodes = graph.order(graph.main()).map(|node| graph.nodes[node].op.to_string());
    nodes.filter(|op| op != "Neg").collect::<Vec<_>>().join(" ")
}

#[test]
fn a_level_runs_what_it_allows_and_nothing_else() {
    let at = |level, target: &str| OptimiseOptions {
        level,
        target: Target::named(target).unwrap_or_else(|| Arc::new(Target::unrestricted(target))),
        ..OptimiseOptions::default()
    };
    assert_eq!(left(&at(Level::Nothing, "npu")), "Abs Ceil Cos Erf Floor Round Sign Sin Sqrt");
    assert_eq!(left(&at(Level::Exact, "npu")), "Abs Floor Round Sign Sin Sqrt");
    assert_eq!(left(&at(Level::Bounded, "npu")), "Round Sign");
    assert_eq!(left(&at(Level::Target, "npu")), "Round");
    assert_eq!(left(&at(Level::Target, "onnxruntime-cpu")), "Sign");
    assert_eq!(left(&at(Level::Target, "onnx")), "Round Sign");
    assert_eq!(left(&OptimiseOptions::default()), "Round Sign");
}

#[test]
fn what_is_only_to_run_where_it_states_its_class_does_not_without() {
    let options = OptimiseOptions { stated_only: vec!["classes".to_owned()], ..OptimiseOptions::default() };
    assert_eq!(left(&options), "Abs Round Sign Sqrt");
}

#[test]
fn the_reason_why_a_level_does_not_run_a_rule_is_told() {
    let why = |name: &str, level| {
        let mut model = Model::parse("opset 20\ngraph {\n  input %x: f32[2]\n  output %x as y\n}\n").unwrap();
        let options = OptimiseOptions { level, explain: Some(name.to_owned()), ..OptimiseOptions::default() };
        let (done, _) = optimise(&HOST, &mut model, &mut StatedTypes::default(), &options).expect("it runs");
        done.places.into_iter().map(|place| place.reason).collect::<Vec<_>>().join("; ")
    };
    assert_eq!(why("of_bounded_class", Level::Exact), "it may change results, which level 1 does not");
    assert_eq!(why("pass_of_unknown_class", Level::Exact), "it may change results, which level 1 does not");
    assert_eq!(
        why("of_target_class", Level::Bounded),
        "it emits operators that only onnxruntime has, which level 2 does not allow"
    );
    assert_eq!(
        why("of_another_target", Level::Target),
        "it emits operators that only npu has, but the target is onnxruntime"
    );
    assert_eq!(why("of_exact_class", Level::Exact), "");
}

#[test]
fn classes_and_bounds_cross_the_contract() {
    let class = |name: &str| {
        let listed = HOST.catalog.listed().iter().find(|rule| rule.name == name);
        listed.unwrap_or_else(|| panic!("there is no {name}")).class.clone()
    };
    let bound = |relative, ulps| Bound { relative, ulps, finite: false };
    let finite = |bound| Bound { finite: true, ..bound };
    assert_eq!(class("of_unknown_class"), Class::Unstated);
    assert_eq!(class("of_exact_class"), Class::Exact);
    assert_eq!(class("of_bounded_class"), Class::Bounded { bound: bound(1e-6, 4.0) });
    let target = |target: &str, bound| Class::Target { target: target.to_owned(), bound };
    assert_eq!(class("of_target_class"), target("onnxruntime", bound(0.0, 0.0)));
    assert_eq!(class("of_another_target"), target("npu", finite(bound(0.0, 2.0))));
    assert_eq!(class("says_nothing_itself"), Class::Exact);
    assert_eq!(class("speaks_for_itself"), Class::Bounded { bound: bound(0.0, 1.0) });
    assert_eq!(class("pass_of_unknown_class"), Class::Unstated);
    assert_eq!(class("pass_of_exact_class"), Class::Exact);
}
