//! Functions, and the calls that replace modules.

use std::collections::BTreeSet;

use smallvec::SmallVec;

use super::body::body;
use super::canonical::{constant, small};
use super::links::Links;
use super::owners::Owners;
use super::{Candidate, DOMAIN, ModuleFunction};
use crate::Name;
use crate::diagnose::{CallSite, Origin, module_path};
use crate::ir::{About, Function, Graph, Model, NodeId, OpsetImport, ValueId};

/// A function for modules of one class.
#[derive(Debug)]
pub(super) struct ClassFunction {
    class: Name,
    name: String,
    text: String,
    nodes: usize,
    /// Which of the given values are inputs.
    inputs: Vec<usize>,
    /// The other ones, which are small constants inside, with the value of the first module.
    constants: Vec<(usize, ValueId)>,
    /// The number of calls.
    pub calls: usize,
}

impl ClassFunction {
    /// Adds a function for modules with equal bodies to the model.
    pub(super) fn add(model: &mut Model, class: &Name, path: &str, group: &[Candidate]) -> Self {
        let name = name(model, class);
        let (mut inputs, mut constants) = (Vec::new(), Vec::new());
        let mut known = Self {
            class: class.clone(),
            text: String::new(),
            nodes: 0,
            inputs: Vec::new(),
            constants: Vec::new(),
            calls: 0,
            name: name.clone(),
        };
        let Some(Candidate { form, .. }) = group.first() else { return known };
        for (slot, value) in form.given.iter().enumerate() {
            let same = |candidate: &Candidate| {
                candidate.form.given.get(slot).is_some_and(|other| equal(&model.graph, *value, *other))
            };
            if constant(&model.graph, *value).is_some() && group.iter().all(same) {
                constants.push((slot, *value));
            } else {
                inputs.push(slot);
            }
        }
        let graph = body(&model.graph, form, &inputs, path);
        let opsets = opsets(model, &graph);
        known.nodes = graph.node_count();
        known.text.clone_from(&form.text);
        (known.inputs, known.constants) = (inputs, constants);
        model.functions.push(Function {
            domain: DOMAIN.to_owned(),
            name,
            opsets,
            about: About { doc: class.to_string(), metadata: Vec::new() },
            graph,
            ..Function::default()
        });
        known
    }

    /// Whether the function computes all modules of `group`, which are of `class`.
    pub(super) fn fits(&self, graph: &Graph, class: &Name, group: &[Candidate]) -> bool {
        let agrees = |candidate: &Candidate| {
            self.constants.iter().all(|(slot, value)| {
                candidate.form.given.get(*slot).is_some_and(|other| equal(graph, *value, *other))
            })
        };
        self.class == *class
            && group.first().is_some_and(|first| first.form.text == self.text)
            && group.iter().all(agrees)
    }

    /// Replaces the nodes of a module by a call.
    pub(super) fn call(
        &mut self,
        model: &mut Model,
        links: &Links,
        owners: &Owners,
        candidate: &Candidate,
    ) -> NodeId {
        let Candidate { call, region, form } = candidate;
        let graph = &mut model.graph;
        let first = region.gather(graph, links);
        let nodes = region.ordered(graph);
        let origins = nodes.iter().filter_map(|node| graph.nodes[*node].origin);
        let origin = origins.map(|id| model.origins.get(id)).next();
        let module = owners.module(*call);
        let place = CallSite {
            target: Name::new(),
            module: module_path(&module.path).into(),
            class: module.class.clone(),
            modules: owners.modules(*call).into(),
            trace: origin.map(|origin| origin.trace.clone()).unwrap_or_default(),
            frames: origin.map(|origin| origin.frames.clone()).unwrap_or_default(),
        };
        let node = origin.map(|origin| origin.node.clone()).unwrap_or_default();
        let origin = model.origins.push(Origin::new(node, place));
        let inputs = self.inputs.iter().map(|slot| form.given.get(*slot).copied());
        let inputs: SmallVec<[Option<ValueId>; 4]> = inputs.collect();
        let (main, count) = (graph.main(), form.outputs.len());
        let made = graph.append(main, DOMAIN, &self.name, inputs, Vec::new(), count, Some(origin));
        graph.move_before(made, first);
        let outputs: Vec<ValueId> = graph.nodes[made].outputs.iter().flatten().copied().collect();
        for (new, old) in outputs.into_iter().zip(&form.outputs) {
            // The value keeps its name, its type and its readers.
            graph.swap_definitions(new, *old);
        }
        for node in nodes.iter().rev() {
            graph.remove_with_blocks(*node);
        }
        self.calls += 1;
        made
    }

    pub(super) fn report(&self) -> ModuleFunction {
        ModuleFunction {
            name: self.name.clone(),
            class: self.class.to_string(),
            nodes: self.nodes,
            calls: self.calls,
        }
    }
}

/// Whether two values are one, or equal small constants.
fn equal(graph: &Graph, one: ValueId, other: ValueId) -> bool {
    if one == other {
        return true;
    }
    let (Some(one), Some(other)) = (constant(graph, one), constant(graph, other)) else { return false };
    one.dtype == other.dtype && one.shape == other.shape && small(one) == small(other)
}

/// Returns the name of the class without its Python module, with a number if another function has it.
fn name(model: &Model, class: &str) -> String {
    let last = class.rsplit('.').next().unwrap_or_default();
    let plain = last.replace(|c: char| !c.is_ascii_alphanumeric(), "_");
    let base = if plain.is_empty() { "Module".to_owned() } else { plain };
    let taken = |name: &str| model.functions.iter().any(|f| f.domain == DOMAIN && f.name == name);
    let numbered = (2..).map(|number: u64| format!("{base}_{number}"));
    std::iter::once(base.clone()).chain(numbered).find(|name| !taken(name)).unwrap_or(base)
}

/// The operator sets of the model that `graph` uses.
fn opsets(model: &Model, graph: &Graph) -> Vec<OpsetImport> {
    let domains: BTreeSet<&str> = graph.nodes.iter().map(|(_, node)| node.domain.as_str()).collect();
    let own = OpsetImport { domain: DOMAIN.to_owned(), version: 1 };
    let mut used: Vec<OpsetImport> = model
        .opsets
        .iter()
        .filter(|import| import.domain.is_empty() || domains.contains(import.domain.as_str()))
        .cloned()
        .collect();
    if domains.contains(DOMAIN) && used.iter().all(|import| import.domain != DOMAIN) {
        used.push(own);
        used.sort();
    }
    used
}
