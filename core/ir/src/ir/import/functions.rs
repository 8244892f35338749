//! Local functions.

use onnxport_proto::{FunctionProto, NodeProto};
use rustc_hash::FxHashMap;

use super::block::Declared;
use super::{Importer, Res, about, domain, opsets};
use crate::ir::{Function, Graph, Type};

/// What a call names: domain, name, overload.
type Key = (String, String, String);

/// The functions, each behind those that it calls; otherwise in their order.
///
/// # Errors
/// When two are called the same, or one calls itself.
pub(super) fn in_order(functions: Vec<FunctionProto>) -> Res<Vec<FunctionProto>> {
    let mut numbers: FxHashMap<Key, usize> = FxHashMap::default();
    for (number, function) in functions.iter().enumerate() {
        let key = key(function.domain(), function.name(), function.overload());
        if function.name().is_empty() {
            return Err("a function has no name".to_owned());
        }
        if numbers.insert(key, number).is_some() {
            return Err(format!("two functions are called `{}::{}`", function.domain(), function.name()));
        }
    }
    let mut callees: Vec<Vec<usize>> = Vec::with_capacity(functions.len());
    for function in &functions {
        let mut found = Vec::new();
        calls(&function.node, &numbers, &mut found);
        found.sort_unstable();
        found.dedup();
        callees.push(found);
    }
    let mut order = Vec::with_capacity(functions.len());
    let mut state = vec![State::New; functions.len()];
    for start in 0..functions.len() {
        let mut stack = vec![(start, 0)];
        while let Some((number, next)) = stack.pop() {
            let (Some(here), Some(inner)) = (state.get_mut(number), callees.get(number)) else { continue };
            match *here {
                State::Done => continue,
                State::Open if next == 0 => {
                    let name = functions.get(number).map_or("", FunctionProto::name);
                    return Err(format!("the function `{name}` calls itself"));
                }
                State::New | State::Open => *here = State::Open,
            }
            match inner.get(next) {
                Some(callee) => {
                    stack.push((number, next + 1));
                    stack.push((*callee, 0));
                }
                None => {
                    *here = State::Done;
                    order.push(number);
                }
            }
        }
    }
    let mut functions: Vec<Option<FunctionProto>> = functions.into_iter().map(Some).collect();
    Ok(order.into_iter().filter_map(|number| functions.get_mut(number)?.take()).collect())
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    New,
    /// One of those that it calls is being ordered.
    Open,
    Done,
}

fn key(from: &str, name: &str, overload: &str) -> Key {
    (domain(from).to_owned(), name.to_owned(), overload.to_owned())
}

/// Adds the functions that `nodes` call, nested graphs included.
fn calls(nodes: &[NodeProto], numbers: &FxHashMap<Key, usize>, found: &mut Vec<usize>) {
    for node in nodes {
        found.extend(numbers.get(&key(node.domain(), node.op_type(), node.overload())));
        for attribute in &node.attribute {
            for graph in attribute.g.iter().chain(&attribute.graphs) {
                calls(&graph.node, numbers, found);
            }
        }
    }
}

impl Importer {
    pub(super) fn function(&mut self, mut proto: FunctionProto) -> Res<()> {
        self.graph = Graph::default();
        self.given.clear();
        let main = self.graph.main();
        self.scope.enter();
        let mut declared: Declared = FxHashMap::default();
        for info in std::mem::take(&mut proto.value_info) {
            declared.insert(info.name().to_owned(), info);
        }
        for name in std::mem::take(&mut proto.input) {
            let value = self.graph.add_input(main, Some(name.clone()), Type::Unknown);
            self.define(&name, value)?;
            if let Some(info) = declared.remove(&name) {
                self.declare(value, info)?;
            }
        }
        for node in std::mem::take(&mut proto.node) {
            self.node(node, main, &mut declared)?;
        }
        for name in std::mem::take(&mut proto.output) {
            let Some(value) = self.scope.find(&name) else {
                return Err(format!("the output `{name}` is not defined"));
            };
            self.graph.add_output(main, value);
        }
        self.scope.leave();
        let mut defaults = Vec::with_capacity(proto.attribute_proto.len());
        for attribute in std::mem::take(&mut proto.attribute_proto) {
            defaults.push(self.attribute(attribute, main)?);
        }
        defaults.sort_by(|a, b| a.name.cmp(&b.name));
        let graph = std::mem::take(&mut self.graph);
        self.model.functions.push(Function {
            domain: domain(proto.domain()).to_owned(),
            overload: proto.overload.take().unwrap_or_default(),
            attributes: std::mem::take(&mut proto.attribute),
            opsets: opsets(&proto.opset_import)?,
            about: about(proto.doc_string.take(), std::mem::take(&mut proto.metadata_props)),
            name: proto.name.take().unwrap_or_default(),
            defaults,
            graph,
        });
        Ok(())
    }
}
