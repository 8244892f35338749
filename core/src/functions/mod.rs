//! Writes modules as local functions.
//!
//! The program records for each call the modules that were being called. Each call of a selected module becomes a call
//! of a function, inner modules before outer ones, and calls with equal bodies share one. It runs on the finished
//! graph, so that rules fuse across the borders of modules. A node that stands for several calls belongs to the
//! innermost module that encloses them all.

mod body;
mod canonical;
mod cut;
mod links;
mod owners;
mod region;

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::{FxHashMap, FxHashSet};
use schemars::JsonSchema;
use serde::Serialize;

use crate::Name;
use crate::diagnose::{Code, Diagnostic, Severity, module_path};
use crate::ir::{Graph, Model, NodeId, OpsetImport};
use crate::tidy;
use crate::trace;
use canonical::Canonical;
use cut::ClassFunction;
use links::Links;
use owners::{CallId, Owners};
use region::Region;

/// The domain of the functions.
pub const DOMAIN: &str = "onnxport.modules";

/// The least number of nodes of a function that nobody asked for by name.
const LEAST: usize = 2;

/// How many modules a message lists.
const SHOWN: usize = 4;

/// The modules that become functions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Selection {
    /// None.
    #[default]
    Nothing,
    /// Those with equal bodies, of at least two nodes.
    Repeated,
    /// Those of these classes, by full names or last parts of names.
    Classes(Vec<String>),
}

impl Selection {
    /// Whether modules of `class` are selected.
    fn has(&self, class: &str) -> bool {
        match self {
            Self::Nothing => false,
            Self::Repeated => true,
            Self::Classes(names) => names.iter().any(|name| is_called(class, name)),
        }
    }
}

/// Whether `name` is the full name of `class`, or its last part.
fn is_called(class: &str, name: &str) -> bool {
    class == name || class.rsplit('.').next() == Some(name)
}

/// A function that stands for modules.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct ModuleFunction {
    /// The name of the function.
    pub name: String,
    /// The class of the modules.
    pub class: String,
    /// The number of its nodes.
    pub nodes: usize,
    /// The number of modules, or calls of modules, that it stands for.
    pub calls: usize,
}

/// The functions of a model, and remarks on modules that did not become calls.
#[derive(Debug, Default)]
pub struct Functions {
    /// The functions, in the order of the model.
    pub made: Vec<ModuleFunction>,
    /// Warnings and notes.
    pub diagnostics: Vec<Diagnostic>,
}

/// Replaces the selected modules of the main graph by calls of local functions. The results of the model stay the same,
/// bit for bit.
///
/// # Errors
/// `OP414` if the program has no module of a class that is selected by name.
pub fn functions(model: &mut Model, selection: &Selection) -> Result<Functions, Diagnostic> {
    if *selection == Selection::Nothing {
        return Ok(Functions::default());
    }
    let _span = trace::span("rules", "functions");
    check(model, selection)?;
    let mut work = Work {
        links: Links::from_graph(&model.graph),
        owners: Owners::from_model(model),
        selection,
        known: Vec::new(),
        broken: BTreeMap::new(),
        used: FxHashSet::default(),
        model,
    };
    for depth in (1..=work.owners.depth()).rev() {
        work.level(depth);
    }
    Ok(work.finish())
}

/// Checks that the program has modules of the selected classes.
fn check(model: &Model, selection: &Selection) -> Result<(), Diagnostic> {
    let Selection::Classes(names) = selection else { return Ok(()) };
    let calls = model.origins.iter().flat_map(|origin| origin.modules.iter());
    let calls = calls.filter(|call| !module_path(&call.path).is_empty());
    let classes: BTreeSet<&str> = calls.map(|call| call.class.as_str()).collect();
    let Some(unknown) = names.iter().find(|name| !classes.iter().any(|class| is_called(class, name))) else {
        return Ok(());
    };
    let message = format!("`--functions`: the program calls no module of the class `{unknown}`");
    let short = |class: &&str| class.rsplit('.').next().unwrap_or(class).to_owned();
    let all: BTreeSet<String> = classes.iter().map(short).collect();
    let near = all.iter().map(|name| (strsim::jaro_winkler(name, unknown), name));
    let near = near.max_by(|(a, _), (b, _)| a.total_cmp(b)).filter(|(likeness, _)| *likeness > 0.8);
    let help = match near {
        Some((_, near)) => format!("there is `{near}`"),
        None if all.is_empty() => "the program does not record its modules; export it again".to_owned(),
        None => format!("it calls {}", listed(all.iter().map(String::as_str))),
    };
    Err(Diagnostic::error(Code::FUNCTIONS_CLASS, message).help(help))
}

/// The first names of a list.
fn listed<'a>(names: impl ExactSizeIterator<Item = &'a str>) -> String {
    let count = names.len();
    let shown: Vec<String> = names.take(SHOWN).map(|name| format!("`{name}`")).collect();
    let more = if count > SHOWN { format!(" and {} more", count - SHOWN) } else { String::new() };
    shown.join(", ") + &more
}

/// A call of a module that can become a call of a function.
struct Candidate {
    call: CallId,
    region: Region,
    form: Canonical,
}

struct Work<'a> {
    model: &'a mut Model,
    links: Links,
    owners: Owners,
    selection: &'a Selection,
    known: Vec<ClassFunction>,
    /// By class, the modules that stay as they are, with a node that keeps each from being cut.
    broken: BTreeMap<Name, Vec<(String, NodeId)>>,
    /// The classes that became functions.
    used: FxHashSet<Name>,
}

impl Work<'_> {
    /// Cuts the modules that are called from `depth` others.
    fn level(&mut self, depth: usize) {
        let mut groups: Vec<Vec<Candidate>> = Vec::new();
        let mut places: FxHashMap<(Name, String), usize> = FxHashMap::default();
        for (call, nodes) in self.owners.members(&self.model.graph, depth) {
            let class = &self.owners.module(call).class;
            if class.is_empty() || !self.selection.has(class) {
                continue;
            }
            let class = class.clone();
            match Region::around(&self.model.graph, &self.links, &self.owners, call, nodes) {
                None => {}
                Some(Ok(region)) => {
                    let form = Canonical::from_region(&self.model.graph, &self.links, &region);
                    let place = *places.entry((class, form.text.clone())).or_insert(groups.len());
                    if place == groups.len() {
                        groups.push(Vec::new());
                    }
                    if let Some(group) = groups.get_mut(place) {
                        group.push(Candidate { call, region, form });
                    }
                }
                Some(Err(breaks)) => self.refuse(call, breaks),
            }
        }
        for group in groups {
            self.group(group);
        }
    }

    /// Makes calls of one function from modules of one class with equal bodies.
    fn group(&mut self, group: Vec<Candidate>) {
        let Some(first) = group.first() else { return };
        let class = self.owners.module(first.call).class.clone();
        let nodes = first.region.len();
        if first.form.outputs.is_empty() || nodes == 0 {
            return;
        }
        let known = self.known.iter().position(|known| known.fits(&self.model.graph, &class, &group));
        if known.is_none() && *self.selection == Selection::Repeated && (group.len() < 2 || nodes < LEAST) {
            return;
        }
        let at = known.unwrap_or_else(|| {
            let path = module_path(&self.owners.module(first.call).path);
            self.known.push(ClassFunction::add(self.model, &class, &path, &group));
            self.known.len() - 1
        });
        self.used.insert(class);
        for mut candidate in group {
            // A call may have moved between the nodes of this module.
            if let Err(breaks) = candidate.region.check(&self.model.graph, &self.links) {
                self.refuse(candidate.call, breaks);
                continue;
            }
            let Some(known) = self.known.get_mut(at) else { continue };
            let node = known.call(self.model, &self.links, &self.owners, &candidate);
            self.owners.enter(node, candidate.call);
        }
    }

    fn refuse(&mut self, call: CallId, breaks: NodeId) {
        let module = self.owners.module(call);
        let path = module_path(&module.path);
        self.broken.entry(module.class.clone()).or_default().push((path, breaks));
    }

    fn finish(self) -> Functions {
        let Self { model, selection, known, broken, used, .. } = self;
        // Nobody asked for a function of a single module.
        let reported = |class: &Name, modules: &[_]| {
            *selection != Selection::Repeated || modules.len() > 1 || used.contains(class)
        };
        let mut diagnostics: Vec<Diagnostic> = (broken.iter())
            .filter(|(class, modules)| reported(class, modules))
            .map(|(class, modules)| cannot(&model.graph, selection, class, modules))
            .collect();
        if let Selection::Classes(names) = selection {
            let is_seen = |name: &str| used.iter().chain(broken.keys()).any(|class| is_called(class, name));
            let left_out = names.iter().filter(|name| !is_seen(name));
            diagnostics.extend(left_out.map(|name| nothing_left(name)));
        }
        let made: Vec<ModuleFunction> =
            known.iter().filter(|known| known.calls > 0).map(ClassFunction::report).collect();
        if !made.is_empty() {
            let imports = &mut model.opsets;
            if imports.iter().all(|import| import.domain != DOMAIN) {
                imports.push(OpsetImport { domain: DOMAIN.to_owned(), version: 1 });
                imports.sort();
            }
        }
        // Removes the constants that moved into functions, and functions without calls.
        tidy::model(model);
        Functions { made, diagnostics }
    }
}

/// The report that modules of a class stay as they are.
fn cannot(graph: &Graph, selection: &Selection, class: &str, modules: &[(String, NodeId)]) -> Diagnostic {
    let short = class.rsplit('.').next().unwrap_or(class);
    let paths = listed(modules.iter().map(|(path, _)| path.as_str()));
    let message = format!(
        "`{short}` stays outside of functions in {paths}: a value leaves the module and returns to it"
    );
    let breaks = modules.first().map(|(_, node)| *node);
    let mut found = Diagnostic::warning(Code::FUNCTIONS_CUT, message);
    if *selection == Selection::Repeated {
        found.severity = Severity::Note;
    }
    found.origin = breaks.and_then(|node| graph.nodes[node].origin);
    found.help("the model is right without the function; select the module around it, or convert with `--no-optimize`")
}

/// The report that no node of a selected class is left.
fn nothing_left(name: &str) -> Diagnostic {
    let message = format!("no function for `{name}`: none of its nodes are left in the model");
    Diagnostic::warning(Code::FUNCTIONS_CUT, message)
        .help("its result is unused, constant, or computed by nodes that also compute other modules")
}
