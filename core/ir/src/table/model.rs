//! The initializers of an ONNX file.

use std::collections::{HashMap, HashSet};
use std::path::{Component, Path, PathBuf};

use onnxport_proto::{GraphProto, TensorProto};

use super::sharing::{self, Span};
use super::{ProblemSummary, SourceSummary, TensorKind, TensorSummary, ViewSummary, WeightTable};
use crate::diagnose::Code;
use crate::onnx::State;
use crate::onnx::{
    Beside, Location, OnnxFile, STATE_KEY, SourceFile, UNBOUND_KEY, UNBOUND_LOCATION, UnboundEntry, Weight,
};

/// The space of tensors that are still to be given, each storage an address; files come behind it.
const WAITING: usize = 0;

/// The number of characters of a node's name that prefix the names in its bodies.
const NAME: usize = 200;

/// The table of the initializers of `file`.
pub(super) fn table(file: &OnnxFile) -> WeightTable {
    let mut reading = Reading::from_file(file);
    if let Some(graph) = file.graph() {
        for tensor in &graph.initializer {
            let is_state = reading.states.contains(tensor.name());
            let kind = if is_state { TensorKind::State } else { TensorKind::Initializer };
            reading.add(tensor.name().to_owned(), kind, tensor);
        }
        reading.nested(graph, "");
    }
    sharing::table(reading.tensors, &reading.spans)
}

struct Reading {
    beside: Beside,
    states: HashSet<String>,
    /// Unbound weights, by initializer.
    waiting: HashMap<String, UnboundEntry>,
    /// Files that the model points into and that changed since.
    changed: HashMap<String, String>,
    tensors: Vec<TensorSummary>,
    spans: Vec<Option<Span>>,
    /// Numbers for files, for ranges of them, and for storages that are still to be given.
    files: HashMap<PathBuf, usize>,
    views: HashMap<(usize, u64, u64), usize>,
    storages: HashMap<String, u64>,
}

impl Reading {
    fn from_file(file: &OnnxFile) -> Self {
        let listed = |key: &str| file.metadata(key).unwrap_or("[]");
        // Malformed metadata is an error only where it is needed: when the model runs or weights are bound.
        let states: Vec<State> = serde_json::from_str(listed(STATE_KEY)).unwrap_or_default();
        let waiting: Vec<UnboundEntry> = serde_json::from_str(listed(UNBOUND_KEY)).unwrap_or_default();
        let mut beside = Beside::for_model(file.path());
        let changed = |source: &SourceFile| {
            let why = beside.changed(source)?;
            Some((source.location.clone(), why))
        };
        let changed = file.sources().iter().filter_map(changed).collect();
        Self {
            beside,
            states: states.into_iter().map(|state| state.input).collect(),
            waiting: waiting.into_iter().map(|entry| (entry.initializer.clone(), entry)).collect(),
            changed,
            tensors: Vec::new(),
            spans: Vec::new(),
            files: HashMap::new(),
            views: HashMap::new(),
            storages: HashMap::new(),
        }
    }

    /// Adds the initializers of control-flow bodies, each name prefixed with the node and the attribute.
    fn nested(&mut self, graph: &GraphProto, prefix: &str) {
        for node in &graph.node {
            for attribute in &node.attribute {
                for body in attribute.g.iter().chain(&attribute.graphs) {
                    // Every name behind it repeats it, so that it must not be long.
                    let [node, attribute] = [node.name(), attribute.name()].map(shortened);
                    let prefix = format!("{prefix}{node}.{attribute}/");
                    for tensor in &body.initializer {
                        self.add(format!("{prefix}{}", tensor.name()), TensorKind::Nested, tensor);
                    }
                    // Protobuf's own limit keeps the nesting of graphs shallow.
                    self.nested(body, &prefix);
                }
            }
        }
    }

    fn add(&mut self, name: String, kind: TensorKind, tensor: &TensorProto) {
        let mut summary = TensorSummary {
            name,
            kind,
            dtype: crate::tensor::DType::from_onnx(tensor.data_type())
                .map_or_else(|| "unknown".to_owned(), |dtype| dtype.to_string()),
            shape: tensor.dims.iter().map(|d| u64::try_from(*d).ok()).collect(),
            bytes: 0,
            source: SourceSummary::Nowhere,
            view: ViewSummary::Dense,
            transforms: Vec::new(),
            shared: None,
            place: None,
            problem: None,
        };
        let mut span = None;
        let problem = match Weight::read(tensor) {
            Ok(weight) => {
                summary.bytes = weight.bytes;
                let problem = self.problem(&weight);
                (summary.source, span) = self.source(&weight);
                problem
            }
            Err(why) => Some(why),
        };
        summary.problem =
            problem.map(|message| ProblemSummary { code: Code::READ_ONNX.to_string(), message });
        self.tensors.push(summary);
        self.spans.push(span);
    }

    fn problem(&mut self, weight: &Weight) -> Option<String> {
        let file = weight.location.file().filter(|file| *file != UNBOUND_LOCATION)?;
        let changed = || self.changed.get(file).map(|why| format!("has changed: {why}"));
        self.beside.problem(weight).or_else(changed)
    }

    fn source(&mut self, weight: &Weight) -> (SourceSummary, Option<Span>) {
        let (file, offset, length) = match &weight.location {
            Location::Inline => return (SourceSummary::Model { length: weight.bytes }, None),
            Location::External { file, .. } if file == UNBOUND_LOCATION => return self.unbound(weight),
            Location::External { file, offset, length } => (file, *offset, length.unwrap_or(weight.bytes)),
        };
        let element = weight.dtype.map_or(1, |dtype| u64::from(dtype.bits() / 8).max(1));
        let source = SourceSummary::File {
            file: self.beside.path(file),
            entry: None,
            offset,
            length,
            aligned: offset.is_multiple_of(element),
        };
        let next = self.files.len() + 1;
        // `./data` is `data`.
        let parts = Path::new(file).components().filter(|part| matches!(part, Component::Normal(_)));
        let space = *self.files.entry(parts.collect()).or_insert(next);
        let next = self.views.len();
        let view = *self.views.entry((space, offset, weight.bytes)).or_insert(next);
        let span = offset.checked_add(weight.bytes).map(|end| Span {
            space,
            storage: offset..end,
            reach: offset..end,
            view,
        });
        (source, span)
    }

    /// Tensors that the program shows under several names are given once.
    fn unbound(&mut self, weight: &Weight) -> (SourceSummary, Option<Span>) {
        let entry = self.waiting.get(&weight.name);
        let tensor = entry.map_or_else(|| weight.name.clone(), |entry| entry.name.clone());
        let storage = entry.and_then(|entry| entry.tied.clone()).unwrap_or_else(|| weight.name.clone());
        let next = self.storages.len() as u64;
        let at = *self.storages.entry(storage).or_insert(next);
        let next = self.views.len();
        let view = *self.views.entry((WAITING, at, 0)).or_insert(next);
        let span = Span { space: WAITING, storage: at..at + 1, reach: at..at + 1, view };
        (SourceSummary::Unbound { tensor }, Some(span))
    }
}

/// The beginning of a name, as much of it as a reader takes in.
fn shortened(name: &str) -> &str {
    name.char_indices().nth(NAME).map_or(name, |(end, _)| &name[..end])
}
