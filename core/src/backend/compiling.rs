//! Compiles regions, and replaces them with the results.

use onnxport_abi::status;
use rustc_hash::FxHashMap;

use onnxport_abi::RStr;
use sha2::{Digest, Sha256};

use super::blob;
use super::cache::Found;
use super::call::{self, Call, Compile};
use super::epcontext;
use super::key;
use super::order;
use super::region::{Ports, Region};
use super::replace::{self, Replaced};
use super::report::RegionReport;
use super::saved;
use super::select::Selected;
use super::stage::Running;
use crate::diagnose::{Code, Diagnostic, OriginId, Severity};
use crate::host::{Site, Validated, cross};
use crate::ir::{BlockId, NodeId, OpsetImport};
use crate::tensor::MappedFile;
use crate::tidy;
use crate::write;

impl Running<'_> {
    /// Compiles and replaces every region.
    pub(super) fn compile(&mut self) {
        let mut places: FxHashMap<NodeId, usize> = FxHashMap::default();
        for area in self.areas.values() {
            places.extend(area.flow.nodes.iter().enumerate().map(|(place, node)| (*node, place)));
        }
        self.settle_names(0);
        if self.options.cache.is_some() {
            self.identities = self.backends.iter().map(|backend| self.identity(backend)).collect();
        }
        let mut changed: Vec<BlockId> = Vec::new();
        let mut next = 0;
        // Splitting a region adds others behind it.
        while let Some(region) = self.regions.get(next).cloned() {
            next += 1;
            let replaced = self.compile_region(&region);
            let Some(replaced) = replaced else { continue };
            let place = region.nodes.first().and_then(|node| places.get(node)).copied().unwrap_or(0);
            places.extend(replaced.nodes.iter().map(|node| (*node, place)));
            changed.push(region.block);
        }
        if self.diagnostics.iter().any(|d| d.severity == Severity::Error) {
            return;
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
    }

    /// Fixes the names of the values at the borders of regions, from the number `first` on, that become `EPContext` nodes, whose blobs may refer to them. Other
    /// nodes refer to values by position, and leave names to the writer.
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
        let mut text = RStr::from_str("");
        let site = Site {
            plugin: backend.plugin_id,
            task: "stating its environment",
            subject: backend.entry.id.validated(),
        };
        let environment = backend.table.environment?;
        let answer = cross(site, || environment(backend.index, &mut text));
        let environment = text.get().ok().filter(|_| answer == status::OK)?.to_owned();
        let plugin = self.host.plugins.get(backend.plugin)?;
        // A plugin under development changes without a new version.
        let library = match &plugin.library {
            Some(path) => blob::hex(&Sha256::digest(MappedFile::open(path).ok()?.bytes())),
            None => String::new(),
        };
        Some((format!("{} {library} {:?}", plugin.version, plugin.given), environment))
    }

    fn compile_region(&mut self, region: &Region) -> Option<Replaced> {
        let backend = self.backends[region.backend];
        let ports = region.ports(&self.model.graph, &self.returned);
        let mut report = self.describe(region, &ports);
        if self.host.quarantine.skips(backend.plugin) {
            self.reports.push(None);
            return None;
        }
        let domain = backend.entry.domain.validated().to_owned();
        let key = self.key(region, &ports);
        let empty =
            |ports| Compile::for_region(region.name.clone(), domain.clone(), region.nodes.clone(), ports);
        if let Some(compile) = key.as_deref().and_then(|key| self.cached(key, empty(ports.clone()))) {
            report.cached = true;
            return self.replace(region, *compile, report);
        }
        let call = Call::Compile(Box::new(empty(ports)));
        let (answer, call) = call::run(self.model, call, backend.table.compile, &backend, "compiling");
        let Call::Compile(mut compile) = call else { return None };
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
