//! Compiles regions, and replaces them with the results.

use onnxport_abi::status;
use rustc_hash::FxHashMap;

use sha2::{Digest, Sha256};

use super::blob;
use super::cache::Found;
use super::call::{self, Compile};
use super::epcontext;
use super::isolated::Told;
use super::key;
use super::order;
use super::region::{Ports, Region};
use super::replace::{self, Replaced};
use super::report::{RegionReport, Stage};
use super::saved;
use super::select::Selected;
use super::stage::Running;
use super::stamp;
use crate::diagnose::{Code, Diagnostic, OriginId, Report, Severity};
use crate::host::{Validated, log};
use crate::ir::{BlockId, NodeId, OpsetImport};
use crate::tensor::MappedFile;
use crate::tidy;
use crate::write;

/// A region that is to be compiled.
pub(super) struct Work {
    pub(super) region: Region,
    report: RegionReport,
    key: Option<String>,
    pub(super) state: State,
}

/// How far a region is.
pub(super) enum State {
    /// An earlier run compiled it.
    Cached(Box<Compile>),
    /// Its backend is to be asked.
    Open(Box<Compile>),
    /// Its backend answered with a status; the messages are those of the plugin meanwhile.
    Asked((u32, Box<Compile>), Vec<Diagnostic>),
    /// The process of its backend answered.
    Told(Box<Told>, Vec<Diagnostic>),
    /// The process of its backend did not answer.
    Lost(Diagnostic),
}

impl Running<'_> {
    /// Compiles and replaces every region.
    ///
    /// # Errors
    /// If backends are to be isolated, and the model cannot be written for their processes.
    pub(super) fn compile(&mut self) -> Result<(), Report> {
        let mut places: FxHashMap<NodeId, usize> = FxHashMap::default();
        for area in self.areas.values() {
            places.extend(area.flow.nodes.iter().enumerate().map(|(place, node)| (*node, place)));
        }
        self.settle_names(0);
        if self.options.cache.is_some() {
            self.identities = self.backends.iter().map(|backend| self.identity(backend)).collect();
        }
        let copy = self.copy()?;
        let mut changed: Vec<BlockId> = Vec::new();
        let mut next = 0;
        // Splitting a region adds others behind it.
        while next < self.regions.len() {
            let regions: Vec<Region> = self.regions.iter().skip(next).cloned().collect();
            next += regions.len();
            let mut works: Vec<Work> = regions.into_iter().map(|region| self.work(region)).collect();
            self.ask_ahead(&mut works, copy.as_ref());
            for work in works {
                let (block, first) = (work.region.block, work.region.nodes.first().copied());
                let Some(replaced) = self.compile_region(work) else { continue };
                let place = first.and_then(|node| places.get(&node)).copied().unwrap_or(0);
                places.extend(replaced.nodes.iter().map(|node| (*node, place)));
                changed.push(block);
            }
        }
        if self.diagnostics.iter().any(|d| d.severity == Severity::Error) {
            return Ok(());
        }
        changed.sort_unstable();
        changed.dedup();
        for block in &changed {
            order::sort(&mut self.model.graph, *block, &places);
        }
        if !changed.is_empty() {
            // Removes weights that went into blobs.
            tidy::model(self.model);
        }
        self.stamp();
        Ok(())
    }

    /// Fixes the names of the values at the borders of regions, from the number `first` on, that become `EPContext` nodes,
    /// whose blobs may refer to them. Other nodes refer to values by position, and leave names to the writer.
    fn settle_names(&mut self, first: usize) {
        let mut values = Vec::new();
        for region in self.regions.iter().skip(first) {
            if self.backends[region.backend].entry.domain.validated() == epcontext::DOMAIN {
                let ports = region.ports(&self.model.graph, &self.returned);
                values.extend(ports.inputs.into_iter().chain(ports.outputs));
            }
        }
        if !values.is_empty() {
            write::settle_names(self.model, &values);
        }
    }

    /// Identifies the code of a backend, and states its environment; `None` if it does not want its results kept.
    fn identity(&self, backend: &Selected) -> Option<(String, String)> {
        let environment = stamp::environment(backend)?;
        let plugin = self.host.plugins.get(backend.plugin)?;
        // A plugin under development changes without a new version.
        let library = match &plugin.library {
            Some(path) => blob::hex(&Sha256::digest(MappedFile::open(path).ok()?.bytes())),
            None => String::new(),
        };
        Some((format!("{} {library} {:?}", plugin.version, plugin.given), environment))
    }

    /// Looks for the region in the user's cache.
    fn work(&mut self, region: Region) -> Work {
        let backend = self.backends[region.backend];
        let ports = region.ports(&self.model.graph, &self.returned);
        let report = self.describe(&region, &ports);
        let domain = backend.entry.domain.validated().to_owned();
        let key = self.key(&region, &ports);
        let empty =
            |ports| Compile::for_region(region.name.clone(), domain.clone(), region.nodes.clone(), ports);
        let found = key.as_deref().and_then(|key| self.cached(key, empty(ports.clone())));
        let state = found.map_or_else(|| State::Open(Box::new(empty(ports))), State::Cached);
        Work { region, report, key, state }
    }

    fn compile_region(&mut self, work: Work) -> Option<Replaced> {
        let Work { region, mut report, key, state } = work;
        let region = &region;
        let backend = self.backends[region.backend];
        if self.host.quarantine.skips(backend.plugin) {
            self.reports.push(None);
            return None;
        }
        let (answer, mut compile) = match state {
            State::Cached(compile) => {
                report.cached = true;
                return self.replace(region, *compile, report);
            }
            State::Asked(answer, messages) => {
                log::hand_back(messages);
                answer
            }
            State::Told(told, messages) => {
                log::hand_back(messages);
                match told.read(self.model) {
                    Ok(answer) => answer,
                    Err(problem) => return self.lose(region, &problem),
                }
            }
            State::Lost(problem) => return self.lose(region, &problem),
            State::Open(compile) => call::compile(self.model, compile, &backend),
        };
        let at = self.origin(region);
        if compile.broken.is_none() && answer != status::OK {
            let refusal = compile.refusal.take();
            let why = refusal.as_ref().map_or_else(String::new, |r| r.message.clone());
            let what = format!("it compiled the region `{}`", region.name);
            let mut problem = self.failed(&backend, answer, &what, refusal);
            if problem.origin.is_none() {
                problem.origin = at;
            }
            self.reports.push(None);
            if answer == status::REFUSED {
                problem.severity = Severity::Warning;
                let first = self.regions.len();
                let parts = self.split(region, std::mem::take(&mut compile.refused), &why);
                if parts > 0 {
                    self.settle_names(first);
                    let are = if parts == 1 { "1 region is" } else { &format!("{parts} regions are") };
                    let help = format!("{are} compiled instead, without the nodes that it refused");
                    problem = Diagnostic { severity: Severity::Note, ..problem }.help(help);
                }
            }
            self.diagnostics.push(problem);
            return None;
        }
        let kept = key.filter(|_| compile.broken.is_none());
        let kept = kept.and_then(|key| saved::save(&compile, &key, self.model).map(|body| (key, body)));
        let replaced = self.replace(region, *compile, report);
        if let (Some(cache), Some((key, body)), Some(_)) = (&self.options.cache, kept, &replaced)
            && let Err(error) = cache.keep(&key, &body)
        {
            let folder = cache.folder.display();
            let message = format!("the compiled region `{}` is not kept in `{folder}`: {error}", region.name);
            self.report(&backend, Diagnostic::warning(Code::BACKEND_CACHE, message), at);
        }
        replaced
    }

    /// Leaves a region whose process ended, or did not answer.
    fn lose(&mut self, region: &Region, problem: &Diagnostic) -> Option<Replaced> {
        self.reports.push(None);
        self.leave(region.backend, &region.nodes, Stage::Compile, &problem.message);
        let backend = self.backends[region.backend];
        let (id, name, why) = (backend.entry.id.validated(), &region.name, &problem.message);
        let message = format!("the backend `{id}` did not compile the region `{name}`: {why}");
        let help = "the region stays plain ONNX";
        let at = self.origin(region);
        self.report(&backend, Diagnostic::warning(Code::BACKEND_REFUSED, message).help(help), at);
        None
    }

    fn origin(&self, region: &Region) -> Option<OriginId> {
        region.nodes.first().and_then(|node| self.model.graph.nodes[*node].origin)
    }

    /// The key of a region in the user's cache; `None` without one, or for a backend whose results must not be kept.
    fn key(&self, region: &Region, ports: &Ports) -> Option<String> {
        self.options.cache.as_ref()?;
        let (plugin, environment) = self.identities.get(region.backend)?.as_ref()?;
        key::key(self.model, region, ports, &self.backends[region.backend], plugin, environment)
    }

    /// The answer of an earlier run.
    fn cached(&mut self, key: &str, call: Compile) -> Option<Box<Compile>> {
        match self.options.cache.as_ref()?.find(key, self.model, call) {
            Found::Entry(compile) => Some(compile),
            Found::Nothing => None,
            Found::Damaged(message) => {
                let help = "nothing to do: the region is compiled again";
                self.diagnostics.push(Diagnostic::warning(Code::BACKEND_CACHE, message).help(help));
                None
            }
        }
    }

    /// Replaces a region with the answer of its backend.
    fn replace(&mut self, region: &Region, compile: Compile, mut report: RegionReport) -> Option<Replaced> {
        let (backend, at) = (self.backends[region.backend], self.origin(region));
        let result = replace::replace(self.model, region, compile, self.options.blobs, &self.options.stem);
        let result = result.and_then(|replaced| self.import(&backend, &replaced).map(|()| replaced));
        match result {
            Ok(replaced) => {
                report.replaced_by = Some(replaced.nodes.len());
                report.blob_bytes = replaced.blob_bytes;
                report.files.clone_from(&replaced.files);
                self.reports.push(Some(report));
                Some(replaced)
            }
            Err(why) => {
                let (id, name) = (backend.entry.id.validated(), &region.name);
                let message = format!(
                    "the compiled region of the backend `{id}` does not match the region `{name}`: {why}"
                );
                let help = "this is a defect of the backend's plugin";
                let problem = Diagnostic::error(Code::BACKEND_REPLACEMENT, message).help(help);
                self.report(&backend, problem, at);
                self.reports.push(None);
                None
            }
        }
    }

    /// Imports the backend's domain if the new nodes need it.
    fn import(&mut self, backend: &Selected, replaced: &Replaced) -> Result<(), String> {
        let domain = backend.entry.domain.validated();
        let graph = &self.model.graph;
        if domain.is_empty() || !replaced.nodes.iter().any(|node| graph.nodes[*node].domain == domain) {
            return Ok(());
        }
        let version = backend.entry.domain_version;
        match self.model.opsets.iter().find(|o| o.domain == domain) {
            Some(known) if known.version == version => Ok(()),
            Some(known) => Err(format!(
                "the model has version {} of the domain `{domain}`, the backend's is {version}",
                known.version
            )),
            None => {
                self.model.opsets.push(OpsetImport { domain: domain.to_owned(), version });
                self.model.opsets.sort();
                Ok(())
            }
        }
    }
}
