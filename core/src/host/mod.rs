//! The host's plugins: found, loaded, attached once, asked for their tables, and indexed.
//!
//! A plugin is linked into the program or loaded from a shared library; beyond its root both are treated
//! alike. Libraries are never unloaded.

mod allow;
pub mod attach;
mod call;
pub mod crossing;
pub mod discover;
mod elf;
pub mod ended;
mod listing;
pub mod load;
pub mod log;
pub mod manifest;
pub mod options;
mod quarantine;
mod user_folder;
pub mod watch;
mod weights;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

pub use onnxport_abi::PluginRoot;
use onnxport_abi::RSlice;
use onnxport_abi::backend::BackendTable;
use onnxport_abi::compare::CompareTable;
use onnxport_abi::executor::{ExecutorTable, OptionRecord, Sink};
use onnxport_abi::lowering::{LoweringTable, entry_flags};
use onnxport_abi::pass::PassTable;
use onnxport_abi::rules::RulesTable;
use onnxport_abi::{HostRoot, Version};

pub use crate::incoming::Validated;
pub(crate) use call::Call;
pub use call::{Output, discard};
pub use crossing::{Run, Site, cross};
pub use discover::{Absent, Search, Source};
pub use manifest::Manifest;
pub use options::{OptionKind, PluginOption};
pub use quarantine::{OnPanic, Quarantine};
pub use weights::WeightsPlugin;

use crate::diagnose::{Code, Diagnostic, Report};
use crate::registry::{Choice, Decompositions, Provider, Registry, SchemaArg, Schemas};
use crate::rules::Catalog;
use allow::AllowLists;
use discover::{Candidate, Discovered};

/// The contract of this host.
pub const CONTRACT: Version = Version::CURRENT;

/// A manifest, a project file or a list of plugins is not longer than this.
const MAX_TEXT: u64 = 16 << 20;

/// [`AboutTable::configure`](onnxport_abi::about::AboutTable::configure).
type Configure = extern "C" fn(RSlice<'_, OptionRecord<'_>>, &Sink) -> u32;

/// An attached plugin.
#[derive(Clone)]
pub struct Plugin {
    /// Its id.
    pub id: &'static str,
    /// Its own version.
    pub version: &'static str,
    /// One sentence; may be empty.
    pub description: &'static str,
    /// The contract that it was built with.
    pub contract: Version,
    /// The interfaces that it claims to provide.
    pub provides: Vec<&'static str>,
    /// The way in which it was found.
    pub source: Source,
    /// The shared library; `None` if it is linked in.
    pub library: Option<PathBuf>,
    /// Whether it replaces a linked-in plugin with the same id.
    pub replaces_linked: bool,
    /// The options that it takes.
    pub options: Vec<PluginOption>,
    /// The options that the user set.
    pub given: BTreeMap<String, String>,
    /// The function that takes them, if it has one.
    configure: Option<Configure>,
    /// Its lowerings, if it has any.
    pub lowering: Option<LoweringTable>,
    /// Its executor, if it has one.
    pub executor: Option<ExecutorTable>,
    /// Its comparer, if it has one.
    pub comparer: Option<CompareTable>,
    /// Its part in weights (sources, transforms, quantisers), if it has one.
    pub weights: Option<WeightsPlugin>,
    /// Its backends, if it has any.
    pub backend: Option<BackendTable>,
    /// Its rewrite rules, if it has any.
    pub rules: Option<RulesTable>,
    /// Its passes, if it has any.
    pub pass: Option<PassTable>,
}

/// The plugins of a run, with everything that they provide.
pub struct Host {
    /// The plugins: first those that are linked in or replace a linked-in one, then the loaded ones in the
    /// order of discovery.
    pub plugins: Vec<Plugin>,
    /// The lowerings of each operator.
    pub registry: Registry,
    /// The schemas of all plugins.
    pub schemas: Schemas,
    /// The decompositions among the schemas of each plugin.
    pub decompositions: Vec<Decompositions>,
    /// Which plugin the user wants for an operator.
    pub choice: Choice,
    /// The plugins that panicked.
    pub quarantine: Quarantine,
    /// The rules and passes.
    pub catalog: Catalog,
    /// The plugins that the program leaves out and that were not found as libraries.
    pub absent: Vec<Absent>,
}

impl Host {
    /// Attaches the linked-in plugins and those that `search` finds to `root`, the host's side of the contract. A
    /// loaded plugin replaces a linked-in one with the same id; of two loaded ones, the one whose source comes first in
    /// [`Source`] is used.
    ///
    /// # Errors
    /// A report of every plugin that cannot be used.
    pub(crate) fn attach(
        root: &'static HostRoot,
        linked: &[&'static PluginRoot],
        search: &Search,
    ) -> Result<Self, Report> {
        let mut problems = Vec::new();
        let Discovered { candidates, choices, options, allow } = discover::wanted(search, &mut problems);
        let loaded = load_all(&candidates, &allow, &mut problems);
        // A reference to a plugin that was refused is not a separate problem.
        let complete = problems.is_empty();
        let mut plugins = Vec::new();
        for root in linked {
            match attach::about(root, "linked in") {
                Ok(about) if loaded.iter().any(|(plugin, _)| plugin.id == about.id) => {
                    let stand_in = loaded.iter().find(|(plugin, _)| plugin.id == about.id);
                    plugins.extend(
                        stand_in.map(|(plugin, root)| {
                            (Plugin { replaces_linked: true, ..plugin.clone() }, *root)
                        }),
                    );
                }
                Ok(about) => plugins.push((attach::plugin(&about, Source::Linked, None), **root)),
                Err(problem) => problems.push(problem),
            }
        }
        for (plugin, root) in loaded {
            if !plugins.iter().any(|(other, _)| other.id == plugin.id) {
                plugins.push((plugin, root));
            }
        }
        let none = BTreeMap::new();
        for (plugin, own) in &mut plugins {
            let given = options.get(plugin.id).unwrap_or(&none);
            plugin.given.clone_from(given);
            match attach::attach(plugin, own, root) {
                Ok(()) => problems.extend(options::configure(plugin, given).err().into_iter().flatten()),
                Err(problem) => problems.push(problem),
            }
        }
        let plugins: Vec<Plugin> = plugins.into_iter().map(|(plugin, _)| plugin).collect();
        let is_absent = |left_out: &&Absent| !plugins.iter().any(|plugin| plugin.id == left_out.id);
        let absent: Vec<Absent> = search.absent.iter().filter(is_absent).copied().collect();
        let mut host = Self::index(plugins, &mut problems);
        host.absent = absent;
        if complete {
            problems.extend(options::unknown(&host, &options));
        }
        host.quarantine = Quarantine::new(search.on_panic);
        for (target, id) in choices {
            match host.choose(&target, &id) {
                Err(problem) if complete => problems.push(problem),
                _ => {}
            }
        }
        if problems.is_empty() {
            return Ok(host);
        }
        Err(Report { diagnostics: problems, ..Report::default() })
    }

    /// Indexes attached plugins; reports the rules that cannot be compiled.
    pub fn index(plugins: Vec<Plugin>, problems: &mut Vec<Diagnostic>) -> Self {
        let mut registry = Registry::default();
        let mut schemas = Vec::new();
        let mut decompositions = Vec::new();
        let mut catalog = Catalog::default();
        for (position, plugin) in plugins.iter().enumerate() {
            catalog.add(position, plugin.id, plugin.rules.as_ref(), plugin.pass.as_ref(), problems);
            let Some(table) = &plugin.lowering else { continue };
            for (index, entry) in table.entries.validated().iter().enumerate() {
                let provider = Provider {
                    plugin: position,
                    entry: index as u32,
                    min_opset: entry.min_opset,
                    max_opset: entry.max_opset,
                    priority: entry.priority,
                    complex: entry.flags & entry_flags::COMPLEX != 0,
                };
                registry.add(entry.target.validated(), provider);
            }
            let texts = table.schemas.validated();
            // Decompositions that come with the program are read on first use.
            match Decompositions::among_schemas(plugin.id, texts, plugin.source != Source::Linked) {
                Ok(table) => decompositions.push(table),
                Err(problem) => problems.push(problem),
            }
            schemas.push(texts);
        }
        catalog.finish();
        let schemas = Schemas::new(schemas);
        let quarantine = Quarantine::default();
        let (choice, absent) = (Choice::new(), Vec::new());
        Self { plugins, registry, schemas, decompositions, choice, quarantine, catalog, absent }
    }

    /// Makes the plugin `id` lower `target`, whatever other plugins offer.
    fn choose(&mut self, target: &str, id: &str) -> Result<(), Diagnostic> {
        let problem =
            |message: String, help: String| Err(Diagnostic::error(Code::PLUGIN_CHOICE, message).help(help));
        let Some(position) = self.plugins.iter().position(|plugin| plugin.id == id) else {
            let ids: Vec<&str> = self.plugins.iter().map(|plugin| plugin.id).collect();
            return problem(
                format!("no plugin `{id}` to lower `{target}`"),
                format!("there are {}", ids.join(", ")),
            );
        };
        let providers = self.registry.providers(target);
        if !providers.iter().any(|provider| provider.plugin == position) {
            let mut others: Vec<&str> = providers.iter().map(|provider| self.plugin_id(provider)).collect();
            others.dedup();
            let help = if others.is_empty() {
                "no plugin does; `onnxport ops` lists the supported operators".to_owned()
            } else {
                format!("it is lowered by {}", others.join(", "))
            };
            return problem(format!("plugin `{id}` does not lower `{target}`"), help);
        }
        self.choice.insert(target.to_owned(), position);
        Ok(())
    }

    /// Returns the operators that have a schema and can be in a functional program, but have neither a lowering nor a
    /// decomposition: each with the reason that the facts beside its schema give.
    pub fn missing(&self) -> Vec<(&str, Option<&str>)> {
        // Calls of these are gone before operators are lowered.
        const REPLACED: [&str; 4] = ["twin", "identity", "assertion", "region"];
        let reason = |target| {
            let known = !self.registry.providers(target).is_empty()
                || self.decompositions.iter().any(|table| table.contains(target));
            let schema = self.schemas.get(target).filter(|_| !known)?;
            let is_replaced = REPLACED.iter().any(|key| schema.facts.term(key).is_some())
                || schema.args.iter().any(SchemaArg::is_written);
            (!is_replaced).then(|| schema.facts.term("missing").map(|term| term.name.as_str()))
        };
        self.schemas.targets().into_iter().filter_map(|target| Some((target, reason(target)?))).collect()
    }

    /// The next step for a user who names the plugin `id`, which is not there: how to get it, or else the available ones.
    pub(crate) fn instead_of(&self, id: &str, there: &[&str]) -> String {
        let absent = self.absent.iter().find(|absent| absent.id == id);
        absent.map_or_else(|| format!("there are {}", there.join(", ")), |absent| absent.help.to_owned())
    }

    /// Returns notes about plugins that were set aside and whose calls were not tried.
    pub(crate) fn set_aside(&self) -> Vec<Diagnostic> {
        self.quarantine.notes(|plugin| self.plugins.get(plugin).map_or("unknown", |p| p.id))
    }

    /// Returns the id of the plugin behind a provider.
    pub fn plugin_id(&self, provider: &Provider) -> &'static str {
        self.plugins.get(provider.plugin).map_or("unknown", |p| p.id)
    }
}

/// Loads one plugin to inspect it: its manifest and its description.
///
/// # Errors
/// If it cannot be loaded, or refuses this host.
pub(crate) fn inspect(root: &'static HostRoot, library: &Path) -> Result<(Plugin, Option<Manifest>), Report> {
    let candidate = Candidate { library: library.to_owned(), source: Source::Flag };
    let manifest = Manifest::beside(library)?;
    let (mut plugin, own) = load_one(&candidate, manifest.as_ref(), &AllowLists::default())?;
    attach::attach(&mut plugin, &own, root)?;
    Ok((plugin, manifest))
}

/// Loads the candidates, which are sorted by source; the first of an id counts.
fn load_all(
    candidates: &[Candidate],
    allow: &AllowLists,
    problems: &mut Vec<Diagnostic>,
) -> Vec<(Plugin, PluginRoot)> {
    let mut loaded: Vec<(Plugin, PluginRoot)> = Vec::new();
    let mut seen = BTreeSet::new();
    for candidate in candidates {
        let identity = candidate.library.canonicalize().unwrap_or_else(|_| candidate.library.clone());
        if !seen.insert(identity) {
            continue;
        }
        let manifest = match Manifest::beside(&candidate.library) {
            Ok(manifest) => manifest,
            Err(problem) => {
                problems.push(problem);
                continue;
            }
        };
        let shadowed = |id: &str, loaded: &[(Plugin, PluginRoot)]| {
            loaded.iter().any(|(other, _)| other.id == id && other.source != candidate.source)
        };
        if manifest.as_ref().is_some_and(|manifest| shadowed(&manifest.id, &loaded)) {
            continue;
        }
        match load_one(candidate, manifest.as_ref(), allow) {
            Ok((plugin, _)) if shadowed(plugin.id, &loaded) => {}
            Ok((plugin, root)) => match loaded.iter().find(|(other, _)| other.id == plugin.id) {
                Some((other, _)) => problems.push(twice(other, &plugin)),
                None => loaded.push((plugin, root)),
            },
            Err(problem) => problems.push(problem),
        }
    }
    loaded
}

fn load_one(
    candidate: &Candidate,
    manifest: Option<&Manifest>,
    allow: &AllowLists,
) -> Result<(Plugin, PluginRoot), Diagnostic> {
    let library = &candidate.library;
    let allowed = allow.check(library)?;
    if let Some(manifest) = manifest {
        manifest.check(library)?;
    }
    let (root, name) = load::load(library)?;
    let about = attach::about(&root, name).map_err(|problem| load::of_library(problem, library))?;
    let plugin = attach::plugin(&about, candidate.source, Some(library.clone()));
    allowed.check(plugin.id, library)?;
    if let Some(manifest) = manifest {
        manifest.check_loaded(&plugin, library)?;
    }
    Ok((plugin, root))
}

fn twice(first: &Plugin, second: &Plugin) -> Diagnostic {
    let place = |plugin: &Plugin| {
        let path = plugin.library.as_deref().unwrap_or(Path::new("this program"));
        format!("{} (version {})", path.display(), plugin.version)
    };
    let message = format!("there are two plugins `{}`: {} and {}", first.id, place(first), place(second));
    Diagnostic::error(Code::PLUGIN_TWICE, message).help("load one of them")
}
