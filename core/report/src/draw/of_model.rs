//! Pictures of ONNX models.

use std::collections::BTreeSet;

use onnxport_core::diagnose::Frame;
use onnxport_core::ir::{Attr, BlockId, Def, Function, Graph, Model, NodeId, Type, ValueId};
use onnxport_core::onnx::{NODE_KEY, torch};
use onnxport_core::op;
use onnxport_core::ops::infer::{OLDEST_INFERRED, infer_all};
use rustc_hash::FxHashMap;

use super::families::Family;
use super::scene::{Item, ItemId, Kind, Mark, Scene, Value, Weight, distinct};
use super::tree::{Leaf, Scope, dotted, grow};
use super::weights;

/// Calls of functions are not followed deeper than this, nor once a picture has so many items: bodies are drawn for every
/// call.
const CALLS: usize = 16;
const ITEMS: usize = 50_000;

/// Marks of nodes of a model's own graph, each with lines for the tooltip.
pub(super) type Marks = FxHashMap<NodeId, (Mark, Vec<String>)>;

/// Adds `model` to `group`. Types that it does not state are inferred where the opset is one whose types are.
pub(super) fn add<'m>(scene: &mut Scene, group: ItemId, model: &'m mut Model, marks: &'m Marks) {
    let opset = model.opset();
    if opset >= OLDEST_INFERRED {
        infer_all(&mut model.graph, &mut model.symbols, opset);
    }
    let mut reader = Reader {
        scene,
        model,
        marks: Some(marks),
        graph: &model.graph,
        values: FxHashMap::default(),
        weights: FxHashMap::default(),
        depth: 0,
    };
    let leaves = reader.block(model.graph.main(), Some(&model.output_names));
    grow(scene, group, leaves);
}

/// A graph on its way into a scene.
struct Reader<'m, 's> {
    scene: &'s mut Scene,
    model: &'m Model,
    /// Those of the nodes of the graph.
    marks: Option<&'m Marks>,
    graph: &'m Graph,
    values: FxHashMap<ValueId, usize>,
    weights: FxHashMap<ValueId, usize>,
    /// How many calls of functions are around it.
    depth: usize,
}

impl<'m> Reader<'m, '_> {
    /// The items of a block, in order. The outputs of the main one have names of their own.
    fn block(&mut self, block: BlockId, names: Option<&[String]>) -> Vec<Leaf> {
        let graph = self.graph;
        let data = &graph.blocks[block];
        let mut leaves = Vec::new();
        for input in &data.inputs {
            let title = graph.values[*input].name.as_deref().unwrap_or("input").to_owned();
            let mut item = Item::new(Kind::Input, title);
            item.gives = vec![self.value(*input)];
            item.tip = vec![self.told(*input)];
            leaves.push(self.leaf(item, Vec::new()));
        }
        for id in graph.order(block) {
            let node = &graph.nodes[id];
            let constant = node.is(op::Constant).then(|| node.outputs.first().copied().flatten()).flatten();
            match constant {
                Some(value) if !graph.is_returned(value) => self.constant(value, id),
                _ => {
                    let leaf = self.node(id);
                    leaves.push(leaf);
                }
            }
        }
        for (at, output) in data.outputs().iter().enumerate() {
            let name = names.and_then(|names| names.get(at)).map(String::as_str);
            let name = name.or(graph.values[*output].name.as_deref()).unwrap_or("output").to_owned();
            let mut item = Item::new(Kind::Output, name);
            item.tip = vec![self.told(*output)];
            self.read(&mut item, *output);
            leaves.push(self.leaf(item, Vec::new()));
        }
        leaves
    }

    fn leaf(&mut self, item: Item, scopes: Vec<Scope>) -> Leaf {
        let (reads, gives) = (item.reads.clone(), item.gives.clone());
        let id = self.scene.items.len();
        self.scene.items.push(item);
        Leaf { item: id, scopes, reads, gives }
    }

    fn node(&mut self, id: NodeId) -> Leaf {
        let model = self.model;
        let node = &self.graph.nodes[id];
        let operator = match node.domain.as_str() {
            "" => node.op.to_string(),
            domain => format!("{domain}::{}", node.op),
        };
        let called = (model.functions.iter())
            .find(|f| f.domain == *node.domain && f.name == *node.op && f.overload == *node.overload);
        let holds = node.blocks().next().is_some();
        let kind = if holds || called.is_some() {
            Kind::Holder
        } else {
            Kind::Operator(Family::for_operator(&node.op))
        };
        let (scopes, mut tip) = self.origin(id);
        tip.insert(0, operator);
        let mut item = Item::new(kind, node.op.to_string());
        if !node.domain.is_empty() {
            node.domain.as_str().clone_into(&mut item.class);
        }
        for input in node.inputs.iter().flatten() {
            self.read(&mut item, *input);
        }
        for output in node.outputs.iter().flatten() {
            item.gives.push(self.value(*output));
        }
        item.reads = distinct(item.reads.iter().copied());
        item.weights = distinct(item.weights.iter().copied());
        tip.extend(
            node.attributes.iter().map(|a| Self::attribute(&a.name, &a.value)).filter(|t| !t.is_empty()),
        );
        tip.extend(node.inputs.iter().flatten().map(|value| format!("reads {}", self.told(*value))));
        tip.extend(node.outputs.iter().flatten().map(|value| format!("gives {}", self.told(*value))));
        item.tip = tip;
        if let Some((mark, lines)) = self.marks.and_then(|marks| marks.get(&id)) {
            item.mark = Some(*mark);
            item.tip.extend(lines.iter().cloned());
        }
        let mut leaf = self.leaf(item, scopes);
        for attribute in &node.attributes {
            let blocks = attribute.value.blocks();
            for (at, block) in blocks.iter().enumerate() {
                let number = if blocks.len() > 1 { format!(" {at}") } else { String::new() };
                let name = attribute.name.trim_end_matches("_branch");
                let captured = self.nested(leaf.item, format!("{name}{number}"), *block);
                leaf.reads.extend(captured);
            }
        }
        if let Some(function) = called {
            self.call(leaf.item, function);
        }
        leaf.reads = distinct(leaf.reads.into_iter());
        leaf
    }

    /// A graph inside `holder`; returns the outer values that it reads.
    fn nested(&mut self, holder: ItemId, name: String, block: BlockId) -> Vec<usize> {
        let mut item = Item::new(Kind::Graph, name);
        item.above = holder;
        let group = self.scene.items.len();
        self.scene.items.push(item);
        self.scene.items[holder].inside.push(group);
        let leaves = self.block(block, None);
        let made: BTreeSet<usize> = leaves.iter().flat_map(|leaf| leaf.gives.iter().copied()).collect();
        let reads = leaves.iter().flat_map(|leaf| leaf.reads.iter().copied());
        let captured = distinct(reads.filter(|value| !made.contains(value)));
        grow(self.scene, group, leaves);
        captured
    }

    /// The body of a function, inside of the node that calls it.
    fn call(&mut self, holder: ItemId, function: &'m Function) {
        if self.depth >= CALLS || self.scene.items.len() >= ITEMS {
            return;
        }
        let mut reader = Reader {
            scene: self.scene,
            model: self.model,
            marks: None,
            graph: &function.graph,
            values: FxHashMap::default(),
            weights: FxHashMap::default(),
            depth: self.depth + 1,
        };
        let leaves = reader.block(function.graph.main(), None);
        "function".clone_into(&mut self.scene.items[holder].class);
        grow(self.scene, holder, leaves);
    }

    /// The modules around a node, and its origin as far as it is known.
    fn origin(&self, id: NodeId) -> (Vec<Scope>, Vec<String>) {
        let note = self.graph.notes.nodes.get(&id);
        let metadata = note.map(|note| note.about.metadata.as_slice()).unwrap_or_default();
        let said = |key: &str| {
            metadata
                .iter()
                .find(|(known, _)| known == key)
                .map(|(_, text)| text.as_str())
                .filter(|t| !t.is_empty())
        };
        let name = note.map(|note| note.name.as_str()).filter(|name| !name.is_empty());
        let mut tip: Vec<String> = name.map(|name| format!("node {name}")).into_iter().collect();
        if let Some((origin, _)) = torch::origin(said) {
            let scopes = super::of_program::scopes(&origin);
            tip.extend((!origin.module.is_empty()).then(|| format!("module {}", origin.module)));
            tip.extend(origin.user_frame().map(source));
            return (scopes, tip);
        }
        let (module, line) = torch::place(said);
        tip.extend(said(NODE_KEY).map(|node| format!("from {node}")));
        let scopes = match (module.as_str(), name) {
            ("", Some(name)) => slashed(name),
            (module, _) => dotted(module),
        };
        tip.extend((!module.is_empty()).then(|| format!("module {module}")));
        tip.extend((!line.is_empty()).then_some(line));
        (scopes, tip)
    }

    fn value(&mut self, id: ValueId) -> usize {
        if let Some(known) = self.values.get(&id) {
            return *known;
        }
        let info = &self.graph.values[id];
        let label = match &info.ty {
            Type::Unknown => String::new(),
            ty => self.model.type_text(ty),
        };
        let value = self.scene.values.len();
        self.scene.values.push(Value { name: info.name.as_deref().unwrap_or_default().to_owned(), label });
        self.values.insert(id, value);
        value
    }

    /// Has `item` read `id`: a value, or a weight, which is a mark on it.
    fn read(&mut self, item: &mut Item, id: ValueId) {
        let (label, elements) = match (self.weights.get(&id), self.graph.values[id].def) {
            (Some(known), _) => return item.weights.push(*known),
            (None, Def::Initializer(_)) => {
                let Some(data) = self.graph.initializer(id) else { return };
                (weights::label(data), weights::parameters(data))
            }
            (None, Def::Literal(_)) => (self.model.type_text(&self.graph.values[id].ty), 0),
            _ => {
                let value = self.value(id);
                return item.reads.push(value);
            }
        };
        item.weights.push(self.weight(id, label, elements));
    }

    fn weight(&mut self, id: ValueId, label: String, elements: u64) -> usize {
        let name = self.graph.values[id].name.as_deref().unwrap_or_default().to_owned();
        let at = self.scene.weights.len();
        self.scene.weights.push(Weight { name, label, elements });
        self.weights.insert(id, at);
        at
    }

    /// The result of a node that holds nothing but a constant.
    fn constant(&mut self, id: ValueId, node: NodeId) {
        let value = self.graph.nodes[node].attributes.first().map(|attribute| &attribute.value);
        let (label, elements) = match value {
            Some(Attr::Tensor(data)) => (weights::label(data), weights::parameters(data)),
            Some(other) => (Self::attribute("", other), 0),
            None => (String::new(), 0),
        };
        self.weight(id, label, elements);
    }

    /// A value with its name and type.
    fn told(&self, id: ValueId) -> String {
        let info = &self.graph.values[id];
        let name = info.name.as_deref().unwrap_or("a value");
        match &info.ty {
            Type::Unknown => name.to_owned(),
            ty => format!("{name}: {}", self.model.type_text(ty)),
        }
    }

    /// An attribute in words; empty for graphs.
    fn attribute(name: &str, value: &Attr) -> String {
        let text = match value {
            Attr::Int(n) => n.to_string(),
            Attr::Float(x) => x.to_string(),
            Attr::Str(text) => text.clone(),
            Attr::Ints(all) => format!("{all:?}"),
            Attr::Floats(all) => format!("{all:?}"),
            Attr::Strs(all) => format!("{all:?}"),
            Attr::Ref(of, _) => format!("the function's {of}"),
            Attr::Tensor(data) => weights::label(data),
            Attr::Block(_) | Attr::Blocks(_) => return String::new(),
            _ => "…".to_owned(),
        };
        if name.is_empty() { text } else { format!("{name} = {text}") }
    }
}

/// A frame of the user's code, with the text of the line.
pub(super) fn source(frame: &Frame) -> String {
    match frame.code.trim() {
        "" => frame.place(),
        code => format!("{}  {code}", frame.place()),
    }
}

/// Modules by the name of a node, `/layer1/layer1.0/conv1/Conv`, as exporters write them that have nothing else to say.
fn slashed(name: &str) -> Vec<Scope> {
    let mut parts: Vec<&str> = name.split('/').filter(|part| !part.is_empty()).collect();
    parts.pop();
    let mut scopes: Vec<Scope> = Vec::new();
    for (at, part) in parts.iter().enumerate() {
        let above = at.checked_sub(1).and_then(|above| parts.get(above)).copied().unwrap_or_default();
        let short = part.strip_prefix(above).and_then(|rest| rest.strip_prefix('.')).unwrap_or(part);
        let path = match scopes.last() {
            _ if short != *part => (*part).to_owned(),
            Some(last) => format!("{}.{part}", last.path),
            None => (*part).to_owned(),
        };
        scopes.push(Scope { path, name: short.to_owned(), class: String::new() });
    }
    scopes
}
