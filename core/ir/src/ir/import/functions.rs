//! Local functions.

use onnxport_proto::{FunctionProto, ModelProto, NodeProto};
use rustc_hash::FxHashMap;

use super::block::Declared;
use super::{Importer, Res, about, domain, opsets};
use crate::diagnose::{Code, Diagnostic};
use crate::ir::{Function, Graph, Type};

/// The most nodes that calls of functions may add to those of the file.
const EXPANSION: u64 = 1_000_000;

/// The identity of a function: domain, name, overload.
type Key = (String, String, String);

/// The functions, each behind those that it calls; otherwise in their order.
///
/// # Errors
/// When two are called the same, or one calls itself.
pub(super) fn in_order(functions: Vec<FunctionProto>) -> Res<Vec<FunctionProto>> {
    let numbers = numbers(&functions)?;
    let callees: Vec<Vec<usize>> = functions.iter().map(|f| calls(&f.node, &numbers).1).collect();
    let order = order(&functions, &callees)?;
    let mut functions: Vec<Option<FunctionProto>> = functions.into_iter().map(Some).collect();
    Ok(order.into_iter().filter_map(|number| functions.get_mut(number)?.take()).collect())
}

/// The nodes that the file holds, and those that there are once every call of a function is replaced by its body, as
/// runtimes do it. Counted function by function: a few that call each other twice make more than could be visited.
///
/// # Errors
/// As [`in_order`].
pub(super) fn expanded(model: &ModelProto) -> Res<(u64, u64)> {
    let numbers = numbers(&model.functions)?;
    let bodies: Vec<(u64, Vec<usize>)> = model.functions.iter().map(|f| calls(&f.node, &numbers)).collect();
    let callees: Vec<Vec<usize>> = bodies.iter().map(|(_, callees)| callees.clone()).collect();
    let mut sizes = vec![0_u64; bodies.len()];
    let size = |(own, callees): &(u64, Vec<usize>), sizes: &[u64]| {
        let called = callees.iter().filter_map(|callee| sizes.get(*callee));
        called.fold(*own, |sum, size| sum.saturating_add(*size))
    };
    for number in order(&model.functions, &callees)? {
        let Some(body) = bodies.get(number) else { continue };
        let whole = size(body, &sizes);
        sizes.get_mut(number).into_iter().for_each(|size| *size = whole);
    }
    let main = calls(model.graph.as_ref().map_or(&[], |graph| graph.node.as_slice()), &numbers);
    let held = bodies.iter().fold(main.0, |sum, (own, _)| sum.saturating_add(*own));
    Ok((held, size(&main, &sizes)))
}

/// Checks that a model stays of a manageable size when a runtime inlines its functions: the size of the file does
/// not bound it.
///
/// # Errors
/// `OP702` beyond a million nodes more than the file holds; `OP110` when a function calls itself.
pub fn check_calls(model: &ModelProto) -> Result<(), Diagnostic> {
    if model.functions.is_empty() {
        return Ok(());
    }
    let (held, expanded) = expanded(model).map_err(|why| Diagnostic::error(Code::READ_ONNX, why))?;
    if expanded <= held.saturating_add(EXPANSION) {
        return Ok(());
    }
    let message = format!(
        "the model's functions call each other so often that its {held} nodes become {expanded} when it is run"
    );
    Err(Diagnostic::error(Code::VERIFY_NO_EXECUTOR, message)
        .help(format!("calls of functions may add {EXPANSION} nodes; write the model with fewer of them")))
}

/// Indexes the functions by identity.
fn numbers(functions: &[FunctionProto]) -> Res<FxHashMap<Key, usize>> {
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
    Ok(numbers)
}

/// Their numbers, each behind those of its `callees`.
fn order(functions: &[FunctionProto], callees: &[Vec<usize>]) -> Res<Vec<usize>> {
    let callees: Vec<Vec<usize>> = callees
        .iter()
        .map(|all| {
            let mut once = all.clone();
            once.sort_unstable();
            once.dedup();
            once
        })
        .collect();
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
                    stack.push((number, next.saturating_add(1)));
                    stack.push((*callee, 0));
                }
                None => {
                    *here = State::Done;
                    order.push(number);
                }
            }
        }
    }
    Ok(order)
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

/// How many nodes there are, and the functions that they call, once for each call; nested graphs included.
fn calls(nodes: &[NodeProto], numbers: &FxHashMap<Key, usize>) -> (u64, Vec<usize>) {
    let (mut count, mut found) = (nodes.len() as u64, Vec::new());
    for node in nodes {
        if !numbers.is_empty() {
            found.extend(numbers.get(&key(node.domain(), node.op_type(), node.overload())));
        }
        for graph in node.attribute.iter().flat_map(|a| a.g.iter().chain(&a.graphs)) {
            let (inner, called) = calls(&graph.node, numbers);
            count = count.saturating_add(inner);
            found.extend(called);
        }
    }
    (count, found)
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
            let value = self.graph.add_input(main, Some(name.as_str().into()), Type::Unknown);
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
