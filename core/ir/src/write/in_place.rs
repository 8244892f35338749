//! Pairs of an input and an output that may share memory.
//!
//! A runtime may compute an output into the memory of an input if the node that makes the output is the last one to read
//! the input, and reads each element before it replaces that element.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::ir::{BlockId, Def, Graph, Model, Node, NodeId, Type, ValueId};
use crate::ops::{Traits, lookup, traits};
use crate::sym::Dim;

/// The largest number of functions inside each other that are looked into.
const DEPTH: usize = 64;

/// Returns the inputs and the positions of outputs that may share memory: those of states, and those in which an output
/// replaces some elements of an input, as those of caches. Each is part of one pair at most.
pub(super) fn pairs(model: &Model) -> Vec<(ValueId, usize)> {
    let graph = &model.graph;
    let outputs = graph.blocks[graph.main()].outputs();
    let functions = Functions::from_model(model);
    let mut pairs: Vec<(ValueId, usize)> =
        model.states.iter().map(|state| (state.input, state.output)).collect();
    for (place, output) in outputs.iter().enumerate() {
        if model.states.iter().all(|state| state.output != place)
            && let Some(input) = functions.updated(graph, *output, DEPTH)
        {
            pairs.push((input, place));
        }
    }
    let (mut inputs, mut places) = (FxHashSet::default(), FxHashSet::default());
    pairs.retain_mut(|(input, place)| {
        let Some(output) = outputs.get(*place).copied() else { return false };
        // Where a value is returned again, that is a copy.
        *place = outputs.iter().position(|other| *other == output).unwrap_or(*place);
        same_type(&graph.values[*input].ty, &graph.values[output].ty)
            && functions.shares(graph, *input, output, DEPTH)
            && inputs.insert(*input)
            && places.insert(*place)
    });
    pairs
}

/// Whether the types are equal, with every size known or named.
fn same_type(one: &Type, other: &Type) -> bool {
    let is_known = |dim: &Option<Dim>| dim.is_some();
    one == other && one.shape().and_then(|shape| shape.dims()).is_some_and(|dims| dims.iter().all(is_known))
}

/// The local functions of a model by domain, name and overload.
struct Functions<'a>(FxHashMap<(&'a str, &'a str, &'a str), &'a Graph>);

impl<'a> Functions<'a> {
    fn from_model(model: &'a Model) -> Self {
        let named = model.functions.iter();
        Self(named.map(|f| ((f.domain.as_str(), f.name.as_str(), f.overload.as_str()), &f.graph)).collect())
    }

    /// The body of the function that `node` calls.
    fn body(&self, node: &Node) -> Option<&'a Graph> {
        self.0.get(&(node.domain.as_str(), node.op.as_str(), node.overload.as_str())).copied()
    }

    /// The input of `graph` of which `output` replaces some elements.
    fn updated(&self, graph: &Graph, output: ValueId, depth: usize) -> Option<ValueId> {
        let (maker, place) = maker(graph, output)?;
        let node = &graph.nodes[maker];
        let value = match self.body(node) {
            None if traits(node).has(Traits::UPDATES) => node.inputs.first().copied().flatten()?,
            None => return None,
            Some(body) => {
                let inner = *body.blocks[body.main()].outputs().get(place)?;
                let input = self.updated(body, inner, depth.checked_sub(1)?)?;
                let Def::Input(_, at) = body.values[input].def else { return None };
                node.inputs.get(at as usize).copied().flatten()?
            }
        };
        is_input(graph, value).then_some(value)
    }

    /// Whether `output` can be computed into the memory of `input`.
    fn shares(&self, graph: &Graph, input: ValueId, output: ValueId, depth: usize) -> bool {
        let Some((maker, place)) = maker(graph, output) else { return false };
        let returned = graph.blocks[graph.main()].outputs().iter().filter(|other| **other == output);
        if graph.is_returned(input) || graph.returned(output) != returned.count() {
            return false;
        }
        let Some(body) = self.body(&graph.nodes[maker]) else { return is_last(graph, input, output, maker) };
        // Nodes before the call are not always before the node in the function.
        let [only] = graph.values[input].uses() else { return false };
        let ends = &body.blocks[body.main()];
        let inner = (ends.inputs.get(only.index as usize), ends.outputs().get(place), depth.checked_sub(1));
        match inner {
            (Some(input), Some(output), Some(depth)) if only.node == maker => {
                self.shares(body, *input, *output, depth)
            }
            _ => false,
        }
    }
}

fn maker(graph: &Graph, value: ValueId) -> Option<(NodeId, usize)> {
    match graph.values[value].def {
        Def::Node(node, place) if graph.nodes[node].block == Some(graph.main()) => {
            Some((node, place as usize))
        }
        _ => None,
    }
}

fn is_input(graph: &Graph, value: ValueId) -> bool {
    matches!(graph.values[value].def, Def::Input(block, _) if block == graph.main())
}

/// Whether `maker` is the last node that reads `input` or a value that may lie in the same memory, and can replace it.
fn is_last(graph: &Graph, input: ValueId, output: ValueId, maker: NodeId) -> bool {
    if graph.values[output].uses().iter().any(|place| graph.nodes[place.node].block != Some(graph.main())) {
        return false;
    }
    let before = before(graph, maker);
    let mut shared = vec![input];
    let mut seen: FxHashSet<ValueId> = FxHashSet::default();
    while let Some(value) = shared.pop() {
        if !seen.insert(value) {
            continue;
        }
        if graph.is_returned(value) {
            return false;
        }
        for place in graph.values[value].uses() {
            let node = &graph.nodes[place.node];
            if place.node == maker {
                if value != input || !replaces(node, place.index) {
                    return false;
                }
            } else if !before.contains(&place.node) || node.blocks().next().is_some() {
                return false;
            } else if is_unknown(node) || traits(node).has_any(Traits::MOVES.with(Traits::ELEMENTWISE)) {
                // A runtime may return the memory of the input.
                shared.extend(node.outputs.iter().flatten());
            }
        }
    }
    true
}

fn is_unknown(node: &Node) -> bool {
    lookup(&node.domain, &node.op).is_none()
}

/// Whether a node reads each element of the input at `index` before it writes the element of the result at that place, if
/// the result has the type of the input.
fn replaces(node: &Node, index: u32) -> bool {
    let traits = traits(node);
    traits.has(Traits::BROADCASTING)
        || index == 0 && traits.has_any(Traits::ELEMENTWISE.with(Traits::UPDATES))
}

/// The nodes of the main graph that run before `node` in every order.
fn before(graph: &Graph, node: NodeId) -> FxHashSet<NodeId> {
    let mut found: FxHashSet<NodeId> = FxHashSet::default();
    let mut next = vec![node];
    while let Some(node) = next.pop() {
        let mut read: Vec<ValueId> = graph.nodes[node].inputs.iter().flatten().copied().collect();
        let mut blocks: Vec<BlockId> = graph.nodes[node].blocks().collect();
        while let Some(block) = blocks.pop() {
            for inner in graph.order(block) {
                read.extend(graph.nodes[inner].inputs.iter().flatten());
                blocks.extend(graph.nodes[inner].blocks());
            }
            read.extend(graph.blocks[block].outputs());
        }
        for value in read {
            if let Some((maker, _)) = maker(graph, value)
                && found.insert(maker)
            {
                next.push(maker);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::pairs;
    use crate::ir::{Model, State, StateKind};
    use crate::ops::infer::infer_all;

    /// Returns the pairs of a model whose input `old` is a state that the output `new` holds, if it has these.
    fn found(nodes: &str) -> Vec<(String, String)> {
        let text = format!(
            "opset 20\nopset m 1\nsymbol n 2..\ngraph {{\n  constant %half: f32[] = [0.5]\n  constant %one: i64[1] = [1]\n  \
                input %old: f32[n, 3]\n  input %x: f32[n, 3]\n  input %at: i64[1, 1]\n  input %row: f32[1, 3]\n{nodes}}}\n"
        );
        let mut model = Model::parse(&text).unwrap_or_else(|error| panic!("{error}"));
        let opset = model.opset();
        infer_all(&mut model.graph, &mut model.symbols, opset);
        let input = model.graph.blocks[model.graph.main()].inputs[0];
        if let Some(output) = model.output_names.iter().position(|name| name == "new") {
            let name = "old".to_owned();
            model.states.push(State { input, output, kind: StateKind::Buffer, name, initial: None });
        }
        let name = |value| model.graph.values[value].name.as_ref().unwrap().to_string();
        pairs(&model).into_iter().map(|(input, at)| (name(input), model.output_names[at].clone())).collect()
    }

    #[test]
    fn the_last_reader_replaces_its_input() {
        let pair = [("old".to_owned(), "new".to_owned())];
        assert_eq!(found("  %a: f32[n, 3] = Add(%old, %x)\n  output %a as new\n"), pair);
        assert_eq!(
            found(
                "  %a: f32[n, 3] = Mul(%old, %half)\n  %b: f32[n, 3] = Add(%a, %x)\n  output %b as new\n  output %a as y\n"
            ),
            pair
        );
        // The second output is a copy of the first one.
        assert_eq!(
            found("  %a: f32[n, 3] = Add(%old, %x)\n  output %a as y\n  output %a as new\n"),
            [("old".to_owned(), "y".to_owned())]
        );
        // Another node may read it later.
        assert_eq!(
            found(
                "  %a: f32[n, 3] = Add(%old, %x)\n  %b: f32[n, 3] = Exp(%old)\n  output %a as new\n  output %b as y\n"
            ),
            []
        );
        // A view of it may be read later.
        assert_eq!(
            found(
                "  %v: f32[3, n] = Transpose(%old) {perm = [1, 0]}\n  %w: f32[n, 3] = Transpose(%v) {perm = [1, 0]}\n  \
                %a: f32[n, 3] = Add(%old, %w)\n  output %a as new\n"
            ),
            []
        );
        // It is returned, or replaced by something else.
        assert_eq!(found("  %a: f32[n, 3] = Add(%old, %x)\n  output %a as new\n  output %old as y\n"), []);
        assert_eq!(found("  %a: f32[n, 3] = CumSum(%old, %one)\n  output %a as new\n"), []);
        assert_eq!(found("  %a: f32[n, 3] = Neg(%x)\n  output %a as y\n"), []);
    }

    #[test]
    fn caches_are_written_in_place_also_in_functions() {
        let pair = [("old".to_owned(), "cache".to_owned())];
        assert_eq!(found("  %a: f32[n, 3] = ScatterND(%old, %at, %row)\n  output %a as cache\n"), pair);
        assert_eq!(
            found(
                "  %a: f32[n, 3] = ScatterND(%old, %at, %row)\n  %b: f32[n, 3] = Exp(%a)\n  output %b as y\n  \
                output %a as cache\n"
            ),
            pair
        );
        assert_eq!(
            found(
                "  %a: f32[n, 3] = ScatterND(%old, %at, %row)\n  %b: f32[n, 3] = Exp(%old)\n  output %b as y\n  \
                output %a as cache\n"
            ),
            []
        );
        let function = |second: &str| {
            found(&format!(
                "  %a: f32[n, 3], %b: f32[n, 3] = m::Layer(%x, {second}, %at, %row)\n  output %b as cache\n  output %a as y\n}}\n\
                    function m::Layer() {{\n  input %p\n  input %q\n  input %r\n  input %s\n  %c = ScatterND(%q, %r, %s)\n  \
                    %d = Add(%p, %c)\n  output %d\n  output %c\n"
            ))
        };
        assert_eq!(function("%old"), pair);
        assert_eq!(function("%x"), []);
    }
}
