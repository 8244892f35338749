//! The match of a rule and its replacement, as separate models.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use rustc_hash::{FxHashMap, FxHashSet};

use super::edit::Journal;
use super::matcher::Match;
use crate::diagnose::{Code, Diagnostic, Report};
use crate::ir::{Attr, BlockId, Def, Model, NodeId, OpsetImport, ValueId};
use crate::write::{self, ExternalData, WriteOptions};

/// The size in bytes up to which a weight is copied; a larger or missing one becomes an input. Initializers that a
/// patch derives from weights are kept.
const KEPT_BYTES: u64 = 1 << 20;

/// An application of a rule.
#[derive(Clone, Debug)]
pub struct Matched {
    /// The plugin.
    pub plugin: String,
    /// The rule.
    pub rule: String,
    /// The matched part: its inputs are those of the match, its outputs the values that other nodes read.
    pub before: Model,
    /// The replacement, with the same inputs and outputs.
    pub after: Model,
}

impl Matched {
    /// Writes both sides of each match to `folder`, which is created if needed: `0001-gelu.before.onnx`,
    /// `0001-gelu.after.onnx`, and so on, in the order of application. Returns the paths.
    ///
    /// # Errors
    /// If the folder cannot be created, and those of [`write::write`].
    pub fn write_all(all: &[Self], folder: &Path) -> Result<Vec<PathBuf>, Report> {
        std::fs::create_dir_all(folder).map_err(|e| {
            let message = format!("cannot create the folder {}: {e}", folder.display());
            Diagnostic::error(Code::WRITE_IO, message).help("choose another folder")
        })?;
        let options = WriteOptions { external_data: ExternalData::Inline, ..WriteOptions::default() };
        let mut paths = Vec::new();
        for (number, matched) in all.iter().enumerate() {
            for (side, model) in [("before", &matched.before), ("after", &matched.after)] {
                let path = folder.join(format!("{:04}-{}.{side}.onnx", number + 1, matched.rule));
                write::write(model, &path, &options)?;
                paths.push(path);
            }
        }
        Ok(paths)
    }
}

/// Returns both sides of a match whose patch was built but not yet applied: `journal` has its nodes, `answer` the
/// replacements of the outputs of the roots. `None` if a value is not a tensor.
pub(super) fn models(
    model: &Model,
    matched: &Match,
    journal: &Journal,
    answer: &[Option<ValueId>],
) -> Option<(Model, Model)> {
    let graph = &model.graph;
    let nodes: Vec<NodeId> = matched.nodes.iter().flatten().chain(&matched.roots).copied().collect();
    let outputs = matched.roots.iter().flat_map(|root| graph.nodes[*root].outputs.iter().copied());
    let pairs: Vec<(ValueId, ValueId)> =
        outputs.zip(answer).filter_map(|(old, new)| Some((old?, (*new)?))).collect();
    let names: Vec<String> = (0..pairs.len()).map(|at| format!("out{at}")).collect();
    let made = |value| journal.made(value);
    let mut before = Part::new(model, &nodes, &made);
    for (old, _) in &pairs {
        before.value(*old)?;
    }
    let mut after = Part::new(model, &journal.nodes, &made);
    // The same inputs in the same order, whether they are read or not.
    for outside in &before.inputs {
        after.input(*outside)?;
    }
    for (_, new) in &pairs {
        after.value(*new)?;
    }
    // Inputs that only the patch reads are inputs of both.
    for outside in after.inputs.clone() {
        before.input(outside)?;
    }
    let (old, new): (Vec<ValueId>, Vec<ValueId>) = pairs.into_iter().unzip();
    Some((before.finish(&old, names.clone())?, after.finish(&new, names)?))
}

/// Nodes of a model on their way to a model of their own.
struct Part<'a> {
    from: &'a Model,
    nodes: &'a [NodeId],
    /// Whether a value is of the patch.
    made: &'a dyn Fn(ValueId) -> bool,
    model: Model,
    /// The counterparts of values of the other model.
    values: FxHashMap<ValueId, ValueId>,
    /// The input values, in the order of the inputs.
    inputs: Vec<ValueId>,
    /// The called functions, in the order of the other model: each calls earlier ones only.
    functions: BTreeSet<usize>,
}

impl<'a> Part<'a> {
    fn new(from: &'a Model, nodes: &'a [NodeId], made: &'a dyn Fn(ValueId) -> bool) -> Self {
        let model = Model { opsets: from.opsets.clone(), symbols: from.symbols.clone(), ..Model::default() };
        Self {
            from,
            nodes,
            made,
            model,
            values: FxHashMap::default(),
            inputs: Vec::new(),
            functions: BTreeSet::new(),
        }
    }

    /// Returns the counterpart of `value`: computed if its node belongs to the part, and an input otherwise. A node is
    /// added behind its inputs; the recursion is no deeper than the pattern.
    fn value(&mut self, value: ValueId) -> Option<ValueId> {
        if let Some(known) = self.values.get(&value) {
            return Some(*known);
        }
        match self.from.graph.values[value].def {
            Def::Node(node, _) if self.nodes.contains(&node) => {
                self.node(node, self.model.graph.main())?;
                self.values.get(&value).copied()
            }
            Def::Initializer(_) => self.initializer(value),
            _ => self.input(value),
        }
    }

    /// Adds a node to `home`, after the outside values that its graphs read.
    fn node(&mut self, id: NodeId, home: BlockId) -> Option<()> {
        let from = self.from;
        let node = &from.graph.nodes[id];
        self.function(&node.domain, &node.op);
        let mut attributes = node.attributes.clone();
        for attribute in &mut attributes {
            match &mut attribute.value {
                Attr::Block(block) => *block = self.block(*block, home)?,
                Attr::Ref(..) => return None,
                _ => {}
            }
        }
        let inputs: Vec<Option<ValueId>> = (node.inputs.iter())
            .map(|input| input.map_or(Some(None), |value| self.value(value).map(Some)))
            .collect::<Option<_>>()?;
        let count = node.outputs.len();
        let made = self.model.graph.append(home, &node.domain, &node.op, inputs, attributes, count, None);
        let outputs = self.model.graph.nodes[made].outputs.clone();
        for (old, new) in node.outputs.iter().zip(outputs) {
            let (Some(old), Some(new)) = (*old, new) else { continue };
            self.model.graph.values[new].ty = self.from.graph.values[old].ty.clone();
            self.values.insert(old, new);
        }
        Some(())
    }

    /// Copies a graph inside a node of `home`.
    fn block(&mut self, id: BlockId, home: BlockId) -> Option<BlockId> {
        let from = &self.from.graph;
        let made = self.model.graph.add_block(home);
        for input in &from.blocks[id].inputs {
            let is = &from.values[*input];
            let own = self.model.graph.add_input(made, is.name.clone(), is.ty.clone());
            self.values.insert(*input, own);
        }
        for node in from.order(id) {
            self.node(node, made)?;
        }
        let outputs = from.blocks[id].outputs().iter();
        let outputs: Vec<ValueId> = outputs.map(|value| self.value(*value)).collect::<Option<_>>()?;
        self.model.graph.set_outputs(made, outputs);
        Some(made)
    }

    /// Copies the local functions of this name, and those that they call.
    fn function(&mut self, domain: &str, name: &str) {
        let from = self.from;
        let own = from.functions.iter().enumerate().filter(|(_, f)| f.domain == domain && f.name == name);
        for (index, function) in own {
            if self.functions.insert(index) {
                for (_, node) in function.graph.nodes.iter() {
                    self.function(&node.domain, &node.op);
                }
            }
        }
    }

    fn initializer(&mut self, value: ValueId) -> Option<ValueId> {
        let graph = &self.from.graph;
        let data = graph.initializer(value)?;
        let is_weight = graph.is_weight(value);
        let is_large = data.unbound().is_some() || data.byte_len().is_none_or(|bytes| bytes > KEPT_BYTES);
        if is_weight && is_large && !(self.made)(value) {
            return self.input(value);
        }
        let (name, data) = (graph.values[value].name.clone(), data.clone());
        let own = &mut self.model.graph;
        let made = if is_weight { own.add_weight(name, data) } else { own.add_initializer(name, data) };
        self.values.insert(value, made);
        Some(made)
    }

    fn input(&mut self, value: ValueId) -> Option<ValueId> {
        if let Some(known) = self.values.get(&value) {
            return Some(*known);
        }
        let is = &self.from.graph.values[value];
        is.ty.dtype()?;
        let main = self.model.graph.main();
        let name = is.name.clone().unwrap_or_else(|| format!("in{}", self.inputs.len()).into());
        let made = self.model.graph.add_input(main, Some(name), is.ty.clone());
        self.values.insert(value, made);
        self.inputs.push(value);
        Some(made)
    }

    fn finish(mut self, outputs: &[ValueId], names: Vec<String>) -> Option<Model> {
        let returned: Vec<ValueId> = outputs.iter().map(|value| self.value(*value)).collect::<Option<_>>()?;
        let main = self.model.graph.main();
        self.model.graph.set_outputs(main, returned);
        self.model.output_names = names;
        let functions = self.functions.iter().filter_map(|index| self.from.functions.get(*index));
        self.model.functions.extend(functions.cloned());
        let graphs = self.model.functions.iter().map(|f| &f.graph).chain([&self.model.graph]);
        let domains: FxHashSet<String> =
            graphs.flat_map(|graph| graph.nodes.iter().map(|(_, node)| node.domain.to_string())).collect();
        self.model.opsets.retain(|OpsetImport { domain, .. }| domain.is_empty() || domains.contains(domain));
        Some(self.model)
    }
}
