//! Backends in processes of their own: a crash of a compiler there is a warning here.
//!
//! A process is this program again, as for isolated runtimes. It attaches the one plugin, reads a copy of the model, and
//! compiles regions that are named by the positions of their nodes. Its answers have the form of the cache.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use onnxport_abi::status;
use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};
use tempfile::TempDir;

use super::call::{self, Compile, Refusal};
use super::compiling::State;
use super::epcontext;
use super::flow::Flow;
use super::region::{self, Region};
use super::saved;
use super::select::{self, Selected};
use super::stage::Running;
use crate::diagnose::{Code, Diagnostic, Report};
use crate::host::{Host, Plugin, Validated, log};
use crate::ir::{BlockId, Model, NodeId, ValueId};
use crate::isolated::Process;
use crate::isolated::wire::{Request, Wanted};
use crate::ops::infer;
use crate::write::{self, WriteOptions};

/// How processes of backends are started.
#[derive(Clone, Copy, Debug)]
pub struct Isolated {
    /// Makes the command of a process that calls [`serve`](crate::verify::serve).
    pub command: fn() -> Result<Command, Diagnostic>,
    /// The longest that compiling a region may take.
    pub limit: Option<Duration>,
}

/// How a region was answered, besides its replacement.
#[derive(Debug, Default, Deserialize, Serialize)]
pub(crate) struct Outcome {
    status: u32,
    broken: Option<String>,
    /// The code, the message and the help.
    refusal: Option<[String; 3]>,
    /// Refused nodes by their number in the region, with reasons.
    refused: Vec<(usize, String)>,
    is_replaced: bool,
}

/// A copy of the model for other processes.
pub(super) struct Copy {
    isolated: Isolated,
    folder: TempDir,
    places: FxHashMap<NodeId, (usize, usize)>,
}

impl Copy {
    fn path(&self) -> PathBuf {
        self.folder.path().join("model.onnx")
    }
}

impl Running<'_> {
    /// Writes the model for isolated backends.
    ///
    /// # Errors
    /// If it cannot be written.
    pub(super) fn copy(&mut self) -> Result<Option<Copy>, Report> {
        let Some(isolated) = self.options.isolated.filter(|_| !self.regions.is_empty()) else {
            return Ok(None);
        };
        // Blobs may refer to values by name, also those of regions that are split later.
        let mut values: Vec<ValueId> = Vec::new();
        for region in &self.regions {
            let backend = self.backends.get(region.backend);
            if backend.is_some_and(|backend| backend.entry.domain.validated() == epcontext::DOMAIN) {
                let nodes = region.nodes.iter().map(|node| &self.model.graph.nodes[*node]);
                values.extend(nodes.flat_map(|node| node.outputs.iter().flatten()));
            }
        }
        if !values.is_empty() {
            write::settle_names(self.model, &values);
        }
        let failed = |error: std::io::Error| {
            let message = format!("no folder for the model of isolated backends: {error}");
            Diagnostic::error(Code::WRITE_IO, message)
        };
        let folder = tempfile::Builder::new().prefix("onnxport-regions-").tempdir().map_err(failed)?;
        let mut places = FxHashMap::default();
        for (number, block) in self.blocks.iter().enumerate() {
            let nodes = self.areas.get(block).into_iter().flat_map(|area| &area.flow.nodes);
            places.extend(nodes.enumerate().map(|(place, node)| (*node, (number, place))));
        }
        let copy = Copy { isolated, folder, places };
        write::write(
            self.model,
            &copy.path(),
            &WriteOptions { weightless: true, ..WriteOptions::default() },
        )?;
        Ok(Some(copy))
    }
}

/// A process, and the backend that it serves.
pub(super) struct Worker {
    process: Process,
    plugin: usize,
    index: u32,
}

impl Worker {
    /// Asks a process, which it starts if `worker` serves another backend or has ended.
    pub(super) fn ask(
        worker: &mut Option<Self>,
        copy: &Copy,
        host: &Host,
        backend: &Selected,
        model: &Model,
        compile: Box<Compile>,
    ) -> State {
        match Self::try_ask(worker, copy, host, backend, model, &compile) {
            Ok((outcome, body)) => State::Told(Box::new(Told { outcome, body, compile }), Vec::new()),
            Err(problem) => State::Lost(problem),
        }
    }

    fn try_ask(
        worker: &mut Option<Self>,
        copy: &Copy,
        host: &Host,
        backend: &Selected,
        model: &Model,
        compile: &Compile,
    ) -> Result<(Outcome, Vec<u8>), Diagnostic> {
        let id = backend.entry.id.validated();
        let fits = |known: &Self| {
            (known.plugin, known.index) == (backend.plugin, backend.index) && known.process.is_alive()
        };
        let mut running = match worker.take().filter(fits) {
            Some(running) => running,
            None => {
                let plugin = host.plugins.get(backend.plugin);
                let plugin = plugin.ok_or_else(|| unanswered("its plugin is not there"))?;
                let mut process =
                    Process::start((copy.isolated.command)()?, id, backend.plugin_id, copy.isolated.limit)?;
                let request = Request::Backend {
                    id: plugin.id.to_owned(),
                    library: plugin.library.clone(),
                    settings: plugin.given.clone(),
                    index: backend.index,
                    model: copy.path(),
                    level: log::shown(),
                };
                process.ask(&request, &[], "starting", &mut |_, _| {})?;
                Self { process, plugin: backend.plugin, index: backend.index }
            }
        };
        let wanted = wanted(model, copy, compile).ok_or_else(|| unanswered("its region has no place"))?;
        let mut body = Vec::new();
        let doing = format!("compiling the region `{}`", compile.name);
        let request = Request::Region(wanted);
        let text = running.process.ask(&request, &[], &doing, &mut |_, bytes| body = bytes.to_vec())?;
        *worker = Some(running);
        let outcome: Outcome = serde_json::from_str(&text).map_err(|error| unanswered(&error.to_string()))?;
        Ok((outcome, body))
    }
}

/// The answer of a process about a region.
pub(super) struct Told {
    outcome: Outcome,
    body: Vec<u8>,
    compile: Box<Compile>,
}

impl Told {
    /// The status of the backend, and its answer.
    ///
    /// # Errors
    /// If the answer cannot be read.
    pub(super) fn read(self, model: &mut Model) -> Result<(u32, Box<Compile>), Diagnostic> {
        let Self { outcome, body, mut compile } = self;
        let nodes = compile.nodes.clone();
        if outcome.is_replaced {
            let restored = saved::restore(&body, "", model, *compile);
            compile = Box::new(restored.ok_or_else(|| unanswered("its answer cannot be read"))?);
        }
        compile.broken = outcome.broken;
        compile.refusal = outcome.refusal.map(|[code, message, help]| Refusal { code, message, help });
        let refused = outcome.refused.into_iter();
        compile.refused = refused.filter_map(|(at, why)| Some((*nodes.get(at)?, why))).collect();
        Ok((outcome.status, compile))
    }
}

/// A backend in the process that serves it, and the model.
pub(crate) struct Serving {
    backend: Selected,
    model: Model,
    blocks: Vec<BlockId>,
    flows: Vec<Flow>,
    returned: FxHashSet<ValueId>,
}

impl Serving {
    /// Reads the model at `path` for the backend at `index` of `plugin`.
    ///
    /// # Errors
    /// If there is no such backend, or the model cannot be read.
    pub(crate) fn open(plugin: &Plugin, index: u32, path: &std::path::Path) -> Result<Self, Diagnostic> {
        let backend = select::at(plugin, index).ok_or_else(|| unanswered("its plugin does not have it"))?;
        let read = Model::read(path);
        let mut model = read.map_err(|report| {
            let first = report.diagnostics.into_iter().next();
            first.unwrap_or_else(|| unanswered("the model cannot be read"))
        })?;
        let opset = model.opset();
        infer::infer_all(&mut model.graph, &mut model.symbols, opset);
        let blocks = model.graph.reachable_blocks();
        let flows = blocks.iter().map(|block| Flow::from_block(&model.graph, *block)).collect();
        let returned = region::returned(&model.graph, &blocks);
        Ok(Self { backend, model, blocks, flows, returned })
    }

    /// Compiles a region. Returns the replacement, and everything else as JSON.
    ///
    /// # Errors
    /// If the model is not the one of the other process, or the answer cannot leave this one.
    pub(crate) fn compile(&mut self, wanted: Wanted) -> Result<(Vec<u8>, String), Diagnostic> {
        let Wanted { name, block, nodes: places } = wanted;
        let flow = self.flows.get(block);
        let at = |(place, op): &(usize, String)| {
            let node = flow?.nodes.get(*place).copied()?;
            (self.model.graph.nodes[node].op == *op).then_some(node)
        };
        let nodes = places.iter().map(at).collect::<Option<Vec<NodeId>>>();
        let nodes = nodes.ok_or_else(|| unanswered("the copy of the model has other nodes"))?;
        let block = self.blocks.get(block).copied().ok_or_else(|| unanswered("there is no such block"))?;
        let region = Region { name, backend: 0, block, nodes, splits: 0, estimate: None };
        let ports = region.ports(&self.model.graph, &self.returned);
        let domain = self.backend.entry.domain.validated().to_owned();
        let compile = Compile::for_region(region.name, domain, region.nodes, ports);
        let (status, compile) = call::compile(&self.model, Box::new(compile), &self.backend);
        let Compile { broken, refusal, refused, nodes, answer, .. } = &*compile;
        let number = |node: &NodeId| nodes.iter().position(|known| known == node);
        let refused = refused.iter().filter_map(|(node, why)| Some((number(node)?, why.clone()))).collect();
        let is_replaced = status == status::OK && broken.is_none() && answer.is_some();
        let outcome = Outcome {
            status,
            broken: broken.clone(),
            refusal: refusal.as_ref().map(|it| [&it.code, &it.message, &it.help].map(String::clone)),
            refused,
            is_replaced,
        };
        let body = if is_replaced { saved::save(&compile, "", &mut self.model) } else { Some(Vec::new()) };
        let body =
            body.ok_or_else(|| unanswered("its answer has an attribute that cannot leave its process"))?;
        let text = serde_json::to_string(&outcome).map_err(|error| unanswered(&error.to_string()))?;
        Ok((body, text))
    }
}

fn unanswered(why: &str) -> Diagnostic {
    Diagnostic::error(Code::VERIFY_CRASH, format!("the process of its backend cannot be asked: {why}"))
}

fn wanted(model: &Model, copy: &Copy, compile: &Compile) -> Option<Wanted> {
    let first = compile.nodes.first()?;
    let block = copy.places.get(first)?.0;
    let nodes = compile.nodes.iter().map(|node| {
        let (_, place) = copy.places.get(node)?;
        Some((*place, model.graph.nodes[*node].op.to_string()))
    });
    Some(Wanted { name: compile.name.clone(), block, nodes: nodes.collect::<Option<_>>()? })
}
