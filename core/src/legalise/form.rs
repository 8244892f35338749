//! Other forms of operators, for targets that have no kernel for them: texts in `forms`.
//!
//! ```text
//! # `sin(x) / cos(x)`.
//! form Tan T=f64 {
//!   input %x
//!   %sine = Sin(%x)
//!   %cosine = Cos(%x)
//!   %y = Div(%sine, %cosine)
//!   output %y
//! }
//!
//! # The sums have no kernel.
//! form ScatterND T=f16 reduction!=none in T=f32
//! ```
//!
//! A form in braces is a body in the text form of models, with the operator's inputs and outputs in their order, as many as
//! it needs. `ref alpha` is an attribute of the node, or its default. Values computed from constants are constants.
//! A form with `in` is the operator itself, of other types. One that starts with `rather` also replaces what the target
//! takes apart by ONNX's own definition, because it is more exact. One that starts with `below 14` is for models of opsets
//! below 14, whatever their target ([`older`](super::older)).

use std::sync::LazyLock;

use rustc_hash::{FxHashMap, FxHashSet};

use super::condition::{Condition, stated};
use super::fit::{self, Support, Variables, Verdict};
use super::target::Target;
use super::windows;
use crate::ir::opset::{self, OpSchema};
use crate::ir::{Attr, Graph, Model, Node, NodeId, OpsetImport};
use crate::op;
use crate::ops::{self, infer::infer};
use crate::sym::Symbols;
use crate::tensor::{DType, LazyTensor};
use crate::tidy;

/// The files of forms.
pub(super) const FILES: &[&str] = &[
    include_str!("forms/activations.txt"),
    include_str!("forms/convolution.txt"),
    include_str!("forms/dropout.txt"),
    include_str!("forms/integers.txt"),
    include_str!("forms/layouts.txt"),
    include_str!("forms/multinomial.txt"),
    include_str!("forms/norms.txt"),
    include_str!("forms/pools.txt"),
    include_str!("forms/random.txt"),
    include_str!("forms/trigonometry.txt"),
    include_str!("forms/types.txt"),
];

/// The file of forms for older opsets.
pub(super) const OLDER: &str = include_str!("forms/older.txt");

/// The bytes that constants of a form may take.
const FOLDED: u64 = 1024;

/// The expansion of an operator, or the types in which it computes.
#[derive(Clone, Debug)]
pub struct Form {
    /// The operator.
    pub operator: String,
    /// The condition on a node, as written.
    pub condition: String,
    /// A description.
    pub about: String,
    /// The opset from which on the form is not needed; `None` for forms that depend on the target.
    pub below: Option<i64>,
    conditions: Vec<Condition>,
    rather: bool,
    means: Means,
}

#[derive(Clone, Debug)]
enum Means {
    Types(Vec<(String, DType)>),
    Body(Box<Graph>),
}

/// The replacement of a node.
#[derive(Debug)]
pub(super) enum Plan {
    /// The same operator in other types.
    Types(Variables),
    /// This graph, whose inputs are the node's, and the operators that its form consists of.
    Body(Box<Graph>, String),
}

/// Every form, in the order of the files.
pub fn forms() -> &'static [Form] {
    static FORMS: LazyLock<Vec<Form>> = LazyLock::new(|| {
        // A test reads each of them.
        FILES.iter().filter_map(|text| parse(text)).flatten().collect()
    });
    &FORMS
}

/// The forms for models of older opsets.
pub fn older_forms() -> &'static [Form] {
    static FORMS: LazyLock<Vec<Form>> = LazyLock::new(|| parse(OLDER).unwrap_or_default());
    &FORMS
}

/// The forms of a file; `None` where a line says nothing.
pub(super) fn parse(text: &str) -> Option<Vec<Form>> {
    let (mut found, mut about) = (Vec::new(), String::new());
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if line.is_empty() {
            about.clear();
        } else if let Some(words) = line.strip_prefix('#') {
            about.push_str(words);
        } else {
            let (rather, line) = line.strip_prefix("rather ").map_or((false, line), |line| (true, line));
            let (below, line) = match line.strip_prefix("below ").map(|rest| rest.split_once(' ')) {
                Some(words) => words.map(|(below, rest)| (below.parse().ok(), rest))?,
                None => (None, line),
            };
            let head = line.strip_prefix("form ")?;
            let means = if head.ends_with(" {") {
                let body: Vec<&str> = lines.by_ref().take_while(|line| *line != "}").collect();
                body_of(&body.join("\n"))?
            } else {
                types_of(head.split_once(" in ")?.1)?
            };
            let head = head.trim_end_matches(" {");
            let head = head.split_once(" in ").map_or(head, |(head, _)| head);
            let (operator, condition) = head.split_once(' ').unwrap_or((head, ""));
            found.push(Form {
                operator: operator.to_owned(),
                condition: condition.to_owned(),
                below,
                about: std::mem::take(&mut about).trim().to_owned(),
                rather,
                conditions: condition.split_whitespace().map(Condition::parse).collect::<Option<_>>()?,
                means,
            });
        }
    }
    Some(found)
}

fn body_of(lines: &str) -> Option<Means> {
    let text = format!("opset 18\ngraph {{\n}}\nfunction form::form() {{\n{lines}\n}}\n");
    let function = Model::parse(&text).ok()?.functions.pop()?;
    Some(Means::Body(Box::new(function.graph)))
}

fn types_of(words: &str) -> Option<Means> {
    let pair = |word: &str| {
        word.split_once('=').and_then(|(name, dtype)| Some((name.to_owned(), dtype.parse().ok()?)))
    };
    words.split(' ').map(pair).collect::<Option<_>>().map(Means::Types)
}

impl Form {
    /// The operators that it consists of, or the types in which its own computes.
    pub fn becomes(&self) -> String {
        match &self.means {
            Means::Types(types) => {
                types.iter().map(|(name, dtype)| format!("{name}={dtype}")).collect::<Vec<_>>().join(" ")
            }
            Means::Body(graph) => operators(graph),
        }
    }

    pub(super) fn fits(&self, graph: &Graph, node: &Node, schema: &OpSchema) -> bool {
        self.operator == node.op && self.conditions.iter().all(|c| c.holds(graph, node, schema))
    }

    /// The form for one node; `None` where it is not possible.
    pub(super) fn plan(&self, place: &mut Site<'_>, schema: &'static OpSchema) -> Option<Plan> {
        match &self.means {
            Means::Types(types) => {
                let node = &place.graph.nodes[place.node];
                let bound = fit::bind(place.graph, node, schema);
                let changes = types.iter().filter_map(|(name, to)| {
                    let variable = schema.type_vars.iter().position(|v| v.name == *name)?;
                    let (of, _) = bound.get(variable).copied().flatten()?;
                    (of != *to).then_some((variable as u8, of, *to))
                });
                Some(changes.collect()).filter(|changes: &Variables| !changes.is_empty()).map(Plan::Types)
            }
            Means::Body(body) => {
                specialise(body, place, schema).map(|made| Plan::Body(Box::new(made), operators(body)))
            }
        }
    }
}

/// The operators of a form, each once, without the ones that compute constants.
pub(super) fn operators(graph: &Graph) -> String {
    let (mut seen, mut constants): (Vec<&str>, FxHashSet<_>) = (Vec::new(), FxHashSet::default());
    constants.extend(graph.initializers.iter().map(|constant| constant.value));
    for node in graph.order(graph.main()).map(|node| &graph.nodes[node]) {
        let random = ops::lookup("", &node.op).is_some_and(ops::Op::is_random);
        if !random && node.inputs.iter().flatten().all(|input| constants.contains(input)) {
            constants.extend(node.outputs.iter().flatten());
        } else if !seen.contains(&node.op.as_str()) {
            seen.push(&node.op);
        }
    }
    seen.join(", ")
}

/// A node in its graph.
pub(super) struct Site<'a> {
    pub(super) graph: &'a Graph,
    pub(super) symbols: &'a mut Symbols,
    pub(super) opset: i64,
    pub(super) node: NodeId,
}

/// The first form that `target` takes without loss, or else, where nothing else helps, one that it takes with casts.
pub(super) fn choose(place: &mut Site<'_>, target: &Target, taken: Support, lacks: bool) -> Option<Plan> {
    let node = &place.graph.nodes[place.node];
    if !node.domain.is_empty() || node.blocks().next().is_some() {
        return None;
    }
    let schema = opset::lookup(&node.op, place.opset)?;
    let mut second = None;
    let allowed = forms().iter().filter(|form| form.rather || taken == Support::None);
    for form in allowed.filter(|form| form.fits(place.graph, node, schema)) {
        let Some(plan) = form.plan(place, schema) else { continue };
        let body = match &plan {
            Plan::Types(types) => {
                if fit::takes(place.graph, place.opset, target, place.node, types) != Support::None {
                    return Some(plan);
                }
                continue;
            }
            Plan::Body(body, _) => body,
        };
        let verdicts: Vec<Verdict> =
            body.order(body.main()).map(|inner| fit::judge(body, place.opset, target, inner)).collect();
        if verdicts.iter().all(|v| *v == Verdict::Fits) {
            return Some(plan);
        }
        let with_casts = verdicts.iter().all(|v| matches!(v, Verdict::Fits | Verdict::Change(_)));
        if lacks && with_casts && second.is_none() {
            second = Some(plan);
        }
    }
    if taken == Support::None {
        let node = &place.graph.nodes[place.node];
        let text = windows::body(place.graph, node, schema);
        if let Some(Means::Body(body)) = text.as_deref().and_then(body_of)
            && let Some(made) = specialise(&body, place, schema)
            && made
                .order(made.main())
                .all(|inner| fit::judge(&made, place.opset, target, inner) == Verdict::Fits)
        {
            return Some(Plan::Body(Box::new(made), operators(&body)));
        }
    }
    second
}

/// The body for the attributes and the types of one node.
pub(super) fn specialise(body: &Graph, place: &mut Site<'_>, schema: &OpSchema) -> Option<Graph> {
    let node = &place.graph.nodes[place.node];
    let opsets = vec![OpsetImport { domain: String::new(), version: place.opset }];
    let mut scratch = Model { graph: body.clone(), opsets, ..Model::default() };
    let main = scratch.graph.main();
    let (given, made) =
        (scratch.graph.blocks[main].inputs.clone(), scratch.graph.blocks[main].outputs().len());
    for (index, value) in given.iter().enumerate() {
        let Some(outer) = node.inputs.get(index).copied().flatten() else {
            // A body may have inputs that it does not read.
            if scratch.graph.is_read(*value) {
                return None;
            }
            continue;
        };
        scratch.graph.values[*value].ty = place.graph.values[outer].ty.clone();
    }
    let surplus = |(index, output): (usize, &Option<_>)| {
        index >= made && output.is_some_and(|v| place.graph.is_read(v))
    };
    if node.inputs.iter().skip(given.len()).any(Option::is_some)
        || node.outputs.iter().enumerate().any(surplus)
    {
        return None;
    }
    for inner in scratch.graph.order(main).collect::<Vec<_>>() {
        for attribute in std::mem::take(&mut scratch.graph.nodes[inner].attributes) {
            let value = match &attribute.value {
                Attr::Ref(outer, _) => stated(node, schema, outer),
                value => Some(value.clone()),
            };
            let attribute = value.map(|value| crate::ir::Attribute { value, ..attribute });
            scratch.graph.nodes[inner].attributes.extend(attribute);
        }
        infer(&mut scratch.graph, place.symbols, place.opset, inner);
        if let Some(data) = known(&scratch.graph, place.opset, inner)? {
            let constant = scratch.graph.add_initializer(None, data);
            let output = scratch.graph.nodes[inner].outputs.first().copied().flatten()?;
            scratch.graph.replace_uses(output, constant);
            scratch.graph.remove(inner);
        }
    }
    Some(folded(scratch.graph, place.symbols, place.opset))
}

/// A body whose constants are computed.
pub(super) fn folded(graph: Graph, symbols: &mut Symbols, opset: i64) -> Graph {
    let opsets = vec![OpsetImport { domain: String::new(), version: opset }];
    let mut scratch = Model { graph, opsets, ..Model::default() };
    ops::fold(&mut scratch, FOLDED);
    tidy::tidy(&mut scratch.graph);
    let main = scratch.graph.main();
    for inner in scratch.graph.order(main).collect::<Vec<_>>() {
        infer(&mut scratch.graph, symbols, opset, inner);
    }
    scratch.graph
}

/// The result of a `Constant`, or of the `Shape` of constant sizes; `None` inside for other nodes, outside if an
/// attribute that a form needs is missing.
#[expect(clippy::option_option, reason = "a form that cannot be used, and a node that is not a constant")]
fn known(graph: &Graph, opset: i64, node: NodeId) -> Option<Option<LazyTensor>> {
    let data = &graph.nodes[node];
    let ints = |shape: Vec<u64>, ints: &[i64]| {
        LazyTensor::inline(DType::I64, shape, ints.iter().flat_map(|n| n.to_le_bytes()).collect::<Vec<u8>>())
    };
    let floats = |shape: Vec<u64>, floats: &[f32]| {
        LazyTensor::inline(
            DType::F32,
            shape,
            floats.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>(),
        )
    };
    if data.is(op::Constant) {
        return Some(Some(match &data.attributes.first()?.value {
            Attr::Int(n) => ints(Vec::new(), &[*n]),
            Attr::Ints(all) => ints(vec![all.len() as u64], all),
            Attr::Float(x) => floats(Vec::new(), &[*x]),
            Attr::Floats(all) => floats(vec![all.len() as u64], all),
            Attr::Tensor(tensor) => tensor.clone(),
            _ => return None,
        }));
    }
    let extents = || {
        let input = data.inputs.first().copied().flatten().filter(|_| data.is(op::Shape))?;
        let start = usize::try_from(data.at(opset).int("start")?).ok()?;
        let dims = graph.values[input].ty.shape()?.dims()?.get(start..)?;
        dims.iter().map(|d| d.as_ref()?.as_const()).collect::<Option<Vec<i64>>>()
    };
    Some(extents().filter(|_| data.attr("end").is_none()).map(|all| ints(vec![all.len() as u64], &all)))
}

/// Puts `body` in the place of `node`, and returns the nodes that it consists of, in order.
pub(super) fn put(
    graph: &mut Graph,
    symbols: &mut Symbols,
    opset: i64,
    node: NodeId,
    body: &Graph,
) -> Vec<NodeId> {
    let block = graph.nodes[node].block.unwrap_or(graph.main());
    let (origin, inputs) = (graph.nodes[node].origin, graph.nodes[node].inputs.clone());
    let main = &body.blocks[body.main()];
    let mut values: FxHashMap<_, _> =
        main.inputs.iter().zip(&inputs).filter_map(|(inner, outer)| Some((*inner, (*outer)?))).collect();
    for constant in &body.initializers {
        values.insert(constant.value, graph.add_initializer(None, constant.data.clone()));
    }
    let mut made = Vec::new();
    for inner in body.order(body.main()) {
        let data = &body.nodes[inner];
        let inputs: Vec<_> = data.inputs.iter().map(|v| v.and_then(|v| values.get(&v).copied())).collect();
        let (attributes, count) = (data.attributes.clone(), data.outputs.len());
        let new = graph.append(block, "", &data.op, inputs, attributes, count, origin);
        graph.move_before(new, node);
        infer(graph, symbols, opset, new);
        for (index, inner) in data.outputs.iter().enumerate() {
            let output = graph.nodes[new].outputs.get(index).copied().flatten();
            values.extend((*inner).zip(output));
        }
        made.push(new);
    }
    let old: Vec<_> = graph.nodes[node].outputs.iter().copied().collect();
    for (old, inner) in old.into_iter().zip(main.outputs()) {
        let (Some(old), Some(new)) = (old, values.get(inner).copied()) else { continue };
        if matches!(graph.values[new].def, crate::ir::Def::Node(maker, _) if made.contains(&maker)) {
            // Whoever knows the value by its id sees no difference.
            graph.swap_definitions(old, new);
            graph.replace_uses(new, old);
        } else {
            graph.replace_uses(old, new);
        }
    }
    graph.remove(node);
    made
}
