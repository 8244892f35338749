//! Which branches of a model were entered: the conditions of its `If` nodes are read while it runs. Those inside of
//! other nodes' graphs, and of local functions, cannot be read, which is said of each.

use std::collections::{BTreeMap, BTreeSet};

use onnxport_proto::{NodeProto, StringStringEntryProto, TensorProto};
use schemars::JsonSchema;
use serde::Serialize;

use super::executor::{Feed, Output};
use crate::onnx::{NODE_KEY, OnnxFile, torch};
use crate::op;
use crate::program::{Arg, Body, Call, Program};
use crate::tensor::DType;

/// Where the calls of `program` that choose between branches stand, nested ones too, by their names.
pub(super) fn places(program: &Program) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut left: Vec<&Body> = vec![&program.body];
    while let Some(body) = left.pop() {
        for call in &body.calls {
            if call.target == "higher_order.cond" {
                let (name, place) = place(program, call);
                found.insert(name, place);
            }
            let graphs = call.args.iter().filter_map(|arg| match &arg.arg {
                Arg::Graph(graph) => Some(&graph.body),
                _ => None,
            });
            left.extend(graphs);
        }
    }
    found
}

fn place(program: &Program, call: &Call) -> (String, String) {
    let origin = program.origins.get(call.origin);
    let line = origin.user_frame().map(|frame| format!("{}:{}", frame.file, frame.line));
    let module = Some(format!("`{}`", origin.module)).filter(|_| !origin.module.is_empty());
    let parts: Vec<String> = module.into_iter().chain(line).collect();
    (origin.node.to_string(), parts.join(", "))
}

/// A branch that no case is known to have entered.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct NotEntered {
    /// The call in the program, or the node in the model.
    pub name: String,
    /// Where it stands: the module, the line.
    pub place: String,
    /// The value of the condition with which it would be entered; `None` for a choice inside of another branch, a loop or
    /// a function, of which nothing was seen.
    pub when: Option<bool>,
}

/// The branches of a model that were entered.
pub(super) struct Branches {
    all: Vec<Branch>,
    /// Choices whose conditions cannot be read: name and place.
    hidden: Vec<(String, String)>,
}

struct Branch {
    name: String,
    place: String,
    condition: String,
    /// The values that the condition had.
    seen: BTreeSet<bool>,
}

impl Branches {
    /// The branches of a model; `places` tells where those of its program stand.
    pub(super) fn of(file: &OnnxFile, places: &BTreeMap<String, String>) -> Self {
        let graph = file.graph();
        let fixed: BTreeSet<&str> =
            graph.into_iter().flat_map(|graph| &graph.initializer).map(TensorProto::name).collect();
        let nodes = graph.into_iter().flat_map(|graph| &graph.node);
        let branch = |node: &NodeProto| {
            let condition = node.input.first().filter(|name| !fixed.contains(name.as_str()))?.clone();
            let (name, place) = named(node, places);
            Some(Branch { name, place, condition, seen: BTreeSet::new() })
        };
        let hidden = inner(file).into_iter().filter(|node| is_if(node)).map(|node| named(node, places));
        Self { all: nodes.filter(|node| is_if(node)).filter_map(branch).collect(), hidden: hidden.collect() }
    }

    /// The values to read besides the model's outputs, each once. Inputs and outputs can be read anyway.
    pub(super) fn taps(&self, ports: &[&str]) -> Vec<&str> {
        let conditions = self.all.iter().map(|branch| branch.condition.as_str());
        let wanted: BTreeSet<&str> = conditions.filter(|name| !ports.contains(name)).collect();
        wanted.into_iter().collect()
    }

    /// Forgets everything: the conditions cannot be read.
    pub(super) fn give_up(&mut self) {
        self.all.clear();
        self.hidden.clear();
    }

    /// Records the inputs.
    pub(super) fn fed(&mut self, feeds: &[Feed<'_>]) {
        for feed in feeds.iter().filter(|feed| feed.dtype == DType::Bool) {
            self.see(feed.name, feed.bytes);
        }
    }

    /// Records the outputs.
    pub(super) fn output(&mut self, output: &Output<'_>) {
        if output.dtype == Some(DType::Bool) {
            self.see(output.name, output.bytes);
        }
    }

    fn see(&mut self, name: &str, bytes: &[u8]) {
        if let [value] = bytes {
            let branches = self.all.iter_mut().filter(|branch| branch.condition == name);
            branches.for_each(|branch| {
                branch.seen.insert(*value != 0);
            });
        }
    }

    /// The branches that no case is known to have entered.
    pub(super) fn not_entered(self) -> Vec<NotEntered> {
        let missed = |branch: Branch| {
            let Branch { name, place, seen, .. } = branch;
            let unseen = [true, false].into_iter().filter(move |value| !seen.contains(value));
            unseen.map(move |when| NotEntered { name: name.clone(), place: place.clone(), when: Some(when) })
        };
        let hidden = self.hidden.into_iter().map(|(name, place)| NotEntered { name, place, when: None });
        self.all.into_iter().flat_map(missed).chain(hidden).collect()
    }
}

fn is_if(node: &NodeProto) -> bool {
    node.op_type() == op::If && node.domain().is_empty()
}

/// The name of a node, that in the program if `places` has it, and its location.
fn named(node: &NodeProto, places: &BTreeMap<String, String>) -> (String, String) {
    let said = |key: &str| {
        let found = node.metadata_props.iter().find(|entry| entry.key() == key);
        found.map(StringStringEntryProto::value)
    };
    let name = said(NODE_KEY).unwrap_or_else(|| node.name()).to_owned();
    let place = places.get(&name).cloned().unwrap_or_else(|| {
        let (module, source) = torch::place(said);
        let module = Some(format!("`{module}`")).filter(|_| !module.is_empty());
        let parts: Vec<String> =
            module.into_iter().chain(Some(source).filter(|text| !text.is_empty())).collect();
        parts.join(", ")
    });
    (name, place)
}

/// The nodes of the graphs that a node has as attributes.
fn bodies(node: &NodeProto) -> impl Iterator<Item = &NodeProto> {
    let graphs = node.attribute.iter().flat_map(|a| a.g.iter().chain(&a.graphs));
    graphs.flat_map(|graph| &graph.node)
}

/// The nodes of nested graphs and of functions, in the order of their owners in the file.
pub(super) fn inner(file: &OnnxFile) -> Vec<&NodeProto> {
    let main = file.graph().into_iter().flat_map(|graph| &graph.node);
    let mut found: Vec<&NodeProto> = file.functions().iter().flat_map(|function| &function.node).collect();
    found.extend(main.flat_map(bodies));
    let mut next = 0;
    while let Some(node) = found.get(next).copied() {
        found.extend(bodies(node));
        next += 1;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn branches() -> Branches {
        let branch = |name: &str, condition: &str| Branch {
            name: name.to_owned(),
            place: String::new(),
            condition: condition.to_owned(),
            seen: BTreeSet::new(),
        };
        Branches {
            all: vec![branch("a", "p"), branch("b", "p"), branch("c", "q")],
            hidden: vec![("d".to_owned(), String::new())],
        }
    }

    #[test]
    fn branches_are_entered_by_what_is_fed_and_what_comes_out() {
        let mut branches = branches();
        assert_eq!(branches.taps(&["q"]), ["p"]);
        let feed = Feed { name: "q", dtype: DType::Bool, dims: vec![], bytes: &[1] };
        branches.fed(&[feed]);
        let output = |bytes| Output { name: "p", dtype: Some(DType::Bool), dims: &[], bytes };
        branches.output(&output(&[0]));
        branches.output(&output(&[1]));
        let missed = branches.not_entered();
        let missing = |name: &str, when| NotEntered { name: name.to_owned(), place: String::new(), when };
        assert_eq!(missed, [missing("c", Some(false)), missing("d", None)]);
    }

    #[test]
    fn where_conditions_cannot_be_read_nothing_is_said() {
        let mut branches = branches();
        assert_eq!(branches.all.len(), 3);
        branches.give_up();
        assert!(branches.not_entered().is_empty());
    }

    #[test]
    fn nested_branches_of_a_program_have_places() {
        let program = Program::parse(
            "\
graph {
  input %p: bool[] = user
  input %x: f32[2] = user
  %y: f32[2] = higher_order.cond(%p, graph yes {
    input %x: f32[2]
    %y: f32[2] = aten.relu.default(self=%x)
    output %y
  }, graph no {
    input %x: f32[2]
    output %x
  }, [%x])
  output %y = user
}
",
        );
        assert_eq!(places(&program.unwrap()).len(), 1);
    }
}
