use std::fmt::Write;

use super::{Ordered, order};
use crate::ir::{Def, Graph, Model, NodeId, ValueId};
use crate::ops::infer::infer_all;
use crate::random::Random;

fn read(text: &str) -> Model {
    let mut model = Model::parse(text).unwrap_or_else(|error| panic!("{error:?}\n{text}"));
    let opset = model.opset();
    infer_all(&mut model.graph, &mut model.symbols, opset);
    model
}

fn ordered(text: &str) -> (Model, Ordered) {
    let mut model = read(text);
    let done = order(&mut model);
    let found = crate::valid::validate(&model, &crate::valid::StatedTypes::default());
    assert!(found.is_empty(), "{found:?}\n{}", model.to_text());
    (model, done)
}

/// The operators of the main graph in order.
fn operators(model: &Model) -> Vec<&str> {
    model.graph.order(model.graph.main()).map(|node| model.graph.nodes[node].op.as_str()).collect()
}

/// Returns the peak memory for columns of 16 elements of f32, computed from the positions of readers alone.
fn peak(graph: &Graph, order: &[NodeId]) -> u64 {
    let place = |node: NodeId| order.iter().position(|n| *n == node).unwrap();
    let bytes = |value: ValueId| {
        let dims = graph.values[value].ty.shape().unwrap().dims().unwrap();
        dims.iter().map(|d| d.unwrap().as_const().unwrap_or(16) as u64).product::<u64>() * 4
    };
    let alive = |value: ValueId, at: usize| {
        let Def::Node(maker, _) = graph.values[value].def else { return false };
        let last = graph.values[value].uses().iter().map(|u| place(u.node)).max().unwrap_or(place(maker));
        let last = if graph.is_returned(value) { usize::MAX } else { last };
        place(maker) <= at && at <= last
    };
    let sum = |at| graph.values.ids().filter(|v| alive(*v, at)).map(bytes).sum::<u64>();
    (0..order.len()).map(sum).max().unwrap_or(0)
}

#[test]
fn branches_run_one_after_the_other() {
    let mut text = String::from(
        "opset 20\nsymbol n 1..\ngraph {\n  input %x: f32[n, 100]\n  constant %axes: i64[1] = [1]\n",
    );
    for branch in 0..8 {
        writeln!(text, "  %e{branch} = LeakyRelu(%x) {{alpha = 0.{branch}}}").unwrap();
    }
    for branch in 0..8 {
        writeln!(text, "  %s{branch} = ReduceSum(%e{branch}, %axes)").unwrap();
    }
    text.push_str("  %y = Concat(%s0, %s1, %s2, %s3, %s4, %s5, %s6, %s7) {axis = 1}\n  output %y as y\n}\n");
    let (model, done) = ordered(&text);
    // 16 rows of 100 elements in each of eight branches; then one branch, the sums before it, and its own.
    assert_eq!((done.before, done.after), (8 * 6400 + 64, 6400 + 8 * 64));
    assert_eq!(
        (done.moved, operators(&model)[..4].concat()),
        (15, "LeakyReluReduceSumLeakyReluReduceSum".into())
    );
}

#[test]
fn an_order_that_is_worse_at_other_sizes_is_not_taken() {
    // Of 16 rows the square is the smaller one, of 256 the larger one.
    let text = "opset 20\nsymbol n 1..\ngraph {\n  input %x: f32[n, n]\n  input %y: f32[n, 64]\n  constant %axes: i64[1] = [1]\n  %a = Exp(%x)\n  %b = ReduceSum(%a, %axes)\n  %c = Exp(%y)\n  %d = ReduceSum(%c) {keepdims = 0}\n  %e = Mul(%b, %d)\n  output %e as e\n}\n";
    let (_, open) = ordered(text);
    assert_eq!((open.before, open.after, open.moved), (4 * 1041, 4 * 1041, 0));
    let (_, known) =
        ordered(&text.replace("symbol n 1..\n", "").replace("[n, ", "[16, ").replace(" n]", " 16]"));
    assert_eq!((known.before, known.after), (4 * 1041, 4 * 1025));
}

#[test]
fn what_is_handed_on_takes_nothing() {
    let (_, done) = ordered(
        "opset 20\ngraph {\n  input %x: f32[4, 8]\n  constant %flat: i64[1] = [-1]\n  %a = Reshape(%x, %flat)\n  %b = Exp(%a)\n  %c = Reshape(%b, %flat)\n  %d = Identity(%c)\n  %e = Neg(%d)\n  output %e as e\n}\n",
    );
    assert_eq!(done, Ordered { before: 256, after: 256, moved: 0, unknown: 0 });
}

#[test]
fn what_branches_use_lives_until_they_run_and_what_is_random_stays_in_order() {
    let (model, done) = ordered(
        "opset 20\ngraph {\n  constant %axes: i64[1] = [0]\n  input %x: f32[100]\n  input %c: bool[]\n  %r: f32[100] = RandomUniformLike(%x)\n  %s: f32[100] = RandomNormalLike(%x)\n  %a = Exp(%x)\n  %k = ReduceSum(%s, %axes)\n  %l = ReduceSum(%r, %axes)\n  %e: f32[1] = If(%c) {else_branch = {\n    %f = Exp(%x)\n    %g = ReduceSum(%a, %axes)\n    %h = ReduceSum(%f, %axes)\n    %i = Add(%g, %h)\n    output %i\n  }, then_branch = {\n    %j = ReduceMax(%a, %axes)\n    output %j\n  }}\n  output %e as e\n  output %k as k\n  output %l as l\n}\n",
    );
    let operators = operators(&model);
    let at = |op: &str| operators.iter().position(|found| *found == op).unwrap();
    assert!(at("RandomUniformLike") < at("RandomNormalLike") && at("Exp") < at("If"), "{operators:?}");
    // Two random values beside the exponentials; then two of those in the branch, three sums, and the result.
    assert_eq!((done.before, done.after), (1204, 816), "{}", model.to_text());
}

/// A graph of nodes over earlier values, of different widths.
fn drawn(random: &mut Random, nodes: usize) -> String {
    let mut text = String::from("opset 20\nsymbol n 1..\ngraph {\n  input %v0: f32[n, 4]\n");
    let mut widths = vec![4];
    for node in 1..=nodes {
        let [a, b] = [(); 2].map(|()| random.bits() as usize % widths.len());
        let _ = match random.bits() % 3 {
            0 => {
                let width = widths[a] + widths[b];
                widths.push(width);
                writeln!(text, "  %v{node} = Concat(%v{a}, %v{b}) {{axis = 1}}")
            }
            1 => {
                widths.push(1);
                writeln!(text, "  %v{node} = ReduceSum(%v{a}, %axes)")
            }
            _ => {
                widths.push(widths[a]);
                writeln!(text, "  %v{node} = Exp(%v{a})")
            }
        };
    }
    text = text.replace("graph {\n", "graph {\n  constant %axes: i64[1] = [1]\n");
    for node in 1..=nodes {
        if !text.contains(&format!("(%v{node},")) && !text.contains(&format!("%v{node})")) {
            writeln!(text, "  output %v{node} as o{node}").unwrap();
        }
    }
    text + "}\n"
}

/// The least peak of all orders.
fn least(graph: &Graph, nodes: &[NodeId], order: &mut Vec<NodeId>, found: &mut u64) {
    if order.len() == nodes.len() {
        *found = peak(graph, order).min(*found);
        return;
    }
    for node in nodes {
        let ready = graph.nodes[*node].inputs.iter().flatten().all(|value| match graph.values[*value].def {
            Def::Node(maker, _) => order.contains(&maker),
            _ => true,
        });
        if ready && !order.contains(node) {
            order.push(*node);
            least(graph, nodes, order, found);
            order.pop();
        }
    }
}

#[test]
fn no_order_is_worse_and_most_small_ones_are_the_best() {
    let (mut best, mut better, mut possible) = (0, 0, 0);
    for seed in 0..300 {
        let mut random = Random::new(seed);
        let text = drawn(&mut random, 4 + seed as usize % 4);
        let before = read(&text);
        let nodes: Vec<NodeId> = before.graph.order(before.graph.main()).collect();
        let (after, done) = ordered(&text);
        let order: Vec<NodeId> = after.graph.order(after.graph.main()).collect();
        assert_eq!(done.before, peak(&before.graph, &nodes), "{text}");
        assert_eq!(done.after, peak(&after.graph, &order), "{text}");
        assert!(done.after < done.before || order == nodes, "{text}");
        let mut optimum = u64::MAX;
        least(&before.graph, &nodes, &mut Vec::new(), &mut optimum);
        assert!(optimum <= done.after);
        best += usize::from(done.after == optimum);
        better += usize::from(done.after < done.before);
        possible += usize::from(optimum < done.before);
    }
    assert!(best >= 240 && better >= 160, "{best} best, {better} better of {possible}");
}
