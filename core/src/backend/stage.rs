//! The stage: claims, regions, replacements.

use onnxport_abi::status;
use rustc_hash::{FxHashMap, FxHashSet};

use super::BackendOptions;
use super::call::Refusal;
use super::flow::Flow;
use super::partition::Partition;
use super::placement::Placement;
use super::region::{self, Ports, Region};
use super::report::{BackendReport, Partitioned, Refusals, RegionReport, op_of};
use super::select::{Selected, select};
use crate::diagnose::{Code, Diagnostic, Report, Severity};
use crate::host::Host;
use crate::host::Validated;
use crate::ir::{BlockId, Model, NodeId, ValueId};

/// The result of the stage.
#[derive(Clone, Debug, Default)]
pub struct Backed {
    /// The regions, and the reasons why other nodes are in none.
    pub partitioned: Partitioned,
    /// The place of each node; empty unless the run was dry.
    pub placement: Placement,
    /// Warnings and notes.
    pub diagnostics: Vec<Diagnostic>,
}

/// Lets the backends of `options` take their regions of `model`.
///
/// # Errors
/// `OP501` and `OP502` if a backend cannot be used, `OP503` if one claims a node that it must not, `OP505`
/// if the compiled nodes cannot replace their region, `OP802` if it panicked. The model is unusable after
/// an error.
pub fn run(host: &Host, model: &mut Model, options: &BackendOptions) -> Result<Backed, Report> {
    let backends = select(host, &options.backends)?;
    let mut stage = Running::new(host, model, options, &backends);
    for position in 0..backends.len() {
        stage.claim(position);
    }
    if !options.dry_run {
        stage.compile()?;
    }
    let backed = stage.finish();
    let mut diagnostics = backed.diagnostics;
    let mut set_aside = host.set_aside();
    if !diagnostics.iter().any(|d| d.severity == Severity::Error) {
        // The panic was in an earlier stage; the user asked for this backend.
        for note in &mut set_aside {
            note.severity = Severity::Error;
        }
    }
    diagnostics.extend(set_aside);
    if diagnostics.iter().any(|d| d.severity == Severity::Error) {
        return Err(Report { diagnostics, origins: model.origins.clone() });
    }
    Ok(Backed { diagnostics, ..backed })
}

/// A block and the regions in it.
pub(super) struct Area {
    pub(super) flow: Flow,
    pub(super) partition: Partition,
}

/// A run of the stage.
pub(super) struct Running<'a> {
    pub(super) host: &'a Host,
    pub(super) model: &'a mut Model,
    pub(super) options: &'a BackendOptions,
    pub(super) backends: &'a [Selected],
    pub(super) blocks: Vec<BlockId>,
    pub(super) areas: FxHashMap<BlockId, Area>,
    /// The values that blocks return. Replacing a region keeps its outputs.
    pub(super) returned: FxHashSet<ValueId>,
    /// The nodes that are in a region.
    pub(super) taken: FxHashSet<NodeId>,
    pub(super) regions: Vec<Region>,
    /// Claimed nodes that must be in one region.
    pub(super) together: Vec<Vec<NodeId>>,
    /// By backend: its code and its environment, if its results may be kept.
    pub(super) identities: Vec<Option<(String, String)>>,
    /// By backend.
    pub(super) refusals: Vec<Refusals>,
    /// The report of each region that was formed.
    pub(super) reports: Vec<Option<RegionReport>>,
    pub(super) diagnostics: Vec<Diagnostic>,
    pub(super) nodes: usize,
}

impl<'a> Running<'a> {
    fn new(
        host: &'a Host,
        model: &'a mut Model,
        options: &'a BackendOptions,
        backends: &'a [Selected],
    ) -> Self {
        let blocks = model.graph.reachable_blocks();
        let area = |block: &BlockId| {
            let flow = Flow::from_block(&model.graph, *block);
            (*block, Area { partition: Partition::new(flow.nodes.len(), &flow.edges), flow })
        };
        Self {
            host,
            areas: blocks.iter().map(area).collect(),
            returned: region::returned(&model.graph, &blocks),
            blocks,
            taken: FxHashSet::default(),
            regions: Vec::new(),
            together: Vec::new(),
            identities: Vec::new(),
            refusals: backends.iter().map(|_| Refusals::default()).collect(),
            reports: Vec::new(),
            diagnostics: Vec::new(),
            nodes: model.graph.node_count(),
            model,
            options,
            backends,
        }
    }

    pub(super) fn describe(&self, region: &Region, ports: &Ports) -> RegionReport {
        let mut ops = std::collections::BTreeMap::new();
        for node in &region.nodes {
            *ops.entry(op_of(self.model, *node)).or_default() += 1;
        }
        let sizes = ports.weights.iter().filter_map(|v| self.model.graph.initializer(*v)?.byte_len());
        RegionReport {
            name: region.name.clone(),
            nodes: region.nodes.len(),
            ops,
            inputs: ports.inputs.len(),
            outputs: ports.outputs.len(),
            weights: ports.weights.len(),
            weight_bytes: sizes.sum(),
            replaced_by: None,
            cached: false,
            blob_bytes: 0,
            files: Vec::new(),
            estimate: region.estimate,
        }
    }

    /// Returns the diagnostic for a call that failed.
    pub(super) fn failed(
        &mut self,
        backend: &Selected,
        answer: u32,
        when: &str,
        refusal: Option<Refusal>,
    ) -> Diagnostic {
        let id = backend.entry.id.validated();
        let Refusal { code, message, help } = refusal.unwrap_or_else(Refusal::none);
        let mut problem = match answer {
            status::REFUSED => {
                let code = if code.is_empty() {
                    Code::BACKEND_REFUSED
                } else {
                    Code::of_plugin(backend.plugin_id, &code)
                };
                Diagnostic::error(code, format!("the backend `{id}` gave up when {when}: {message}"))
            }
            status::PANICKED => {
                self.host.quarantine.add(backend.plugin);
                Diagnostic::error(
                    Code::PLUGIN_PANIC,
                    format!("the backend `{id}` panicked when {when}: {message}"),
                )
            }
            other => {
                let message = format!("the backend `{id}` answered with status {other} when {when}");
                Diagnostic::error(Code::PLUGIN_CONTRACT, message)
            }
        };
        problem.help = (!help.is_empty()).then_some(help);
        problem.provider = Some(backend.plugin_id.to_owned());
        problem
    }

    pub(super) fn report(
        &mut self,
        backend: &Selected,
        mut problem: Diagnostic,
        at: Option<crate::diagnose::OriginId>,
    ) {
        problem.provider = Some(backend.plugin_id.to_owned());
        problem.origin = at;
        self.diagnostics.push(problem);
    }

    fn finish(mut self) -> Backed {
        let placement = if self.options.dry_run { self.placement() } else { Placement::default() };
        if self.options.dry_run {
            let describe = |r: &Region| Some(self.describe(r, &r.ports(&self.model.graph, &self.returned)));
            self.reports = self.regions.iter().map(describe).collect();
        }
        let mut backends: Vec<BackendReport> = self
            .backends
            .iter()
            .zip(self.refusals)
            .map(|(backend, refusals)| BackendReport {
                id: backend.entry.id.validated().to_owned(),
                plugin: backend.plugin_id.to_owned(),
                regions: Vec::new(),
                refusals: refusals.sorted(),
            })
            .collect();
        for (region, report) in self.regions.iter().zip(self.reports) {
            if let Some(backend) = backends.get_mut(region.backend) {
                backend.regions.extend(report);
            }
        }
        let taken = backends.iter().flat_map(|b| &b.regions).map(|r| r.nodes).sum::<usize>();
        let partitioned = Partitioned { backends, left: self.nodes.saturating_sub(taken), nodes: self.nodes };
        Backed { partitioned, placement, diagnostics: self.diagnostics }
    }
}
