//! Runs models with a runtime that measures its nodes.

use std::path::{Path, PathBuf};

use super::events::{self, Measured};
use super::optimised::Optimised;
use super::places::{NodeLocation, Places};
use super::{Attributed, FORMAT, How, NodeTimes, Profile, Times, attribute, rows};
use crate::diagnose::{Code, Diagnostic};
use crate::onnx::OnnxFile;
use crate::run::Computed;
use crate::verify::{Feed, Runtime, Session};

/// The number of warm-up runs, which fill caches and allocate memory.
const WARM: usize = 2;

/// The file name of the runtime's optimized graph.
const OPTIMISED: &str = "optimised.onnx";

/// A model, and its runtime.
pub struct Subject<'a> {
    /// The model.
    pub model: &'a Path,
    /// A runtime that was opened with the option `profile` = `folder`.
    pub runtime: &'a Runtime,
    /// An empty folder, into which the runtime writes.
    pub folder: &'a Path,
    /// The inputs of each run.
    pub inputs: &'a [Computed],
}

/// Runs each of `subjects` `runs` times, alternating between them so that a disturbance of the machine affects all.
/// `tell` receives the number of finished rounds and the total, and returns whether to go on.
///
/// # Errors
/// The errors of a runtime; `OP702` if it does not measure, `OP703` if its trace cannot be read, `OP614` if `tell`
/// stopped it.
pub fn measure(
    subjects: &[Subject<'_>],
    runs: usize,
    tell: &mut dyn FnMut(usize, usize) -> bool,
) -> Result<Vec<Profile>, Diagnostic> {
    let mut sessions: Vec<(Session<'_>, Vec<Feed<'_>>)> = Vec::with_capacity(subjects.len());
    for subject in subjects {
        let feeds = subject.inputs.iter().map(Computed::feed).collect::<Result<_, _>>()?;
        sessions.push((subject.runtime.load(subject.model)?, feeds));
    }
    let rounds = runs.saturating_add(WARM);
    for round in 0..rounds {
        if !tell(round, rounds) {
            return Err(Diagnostic::error(Code::INTERRUPTED, "interrupted"));
        }
        for (session, feeds) in &mut sessions {
            session.run(feeds, &mut |_| {})?;
        }
    }
    // A runtime writes the trace when a session ends.
    drop(sessions);
    subjects.iter().map(|subject| profile(subject, runs)).collect()
}

/// Reads the trace that the runtime of `subject` wrote.
fn profile(subject: &Subject<'_>, runs: usize) -> Result<Profile, Diagnostic> {
    // The runtime creates a folder for each session.
    let folder = entries(subject.folder).into_iter().find(|path| path.is_dir());
    let files = folder.as_deref().map(entries).unwrap_or_default();
    let trace = files.iter().find(|path| path.extension().is_some_and(|e| e == "json"));
    let (Some(folder), Some(trace)) = (&folder, trace) else {
        let message = format!("{} does not report the times of nodes", subject.runtime.name());
        return Err(Diagnostic::error(Code::VERIFY_NO_EXECUTOR, message)
            .help("profile with --executor ort, or another that takes the option `profile`"));
    };
    let measured = events::read(trace, WARM, runs)?;
    let file = OnnxFile::declarations(subject.model)?;
    let functions = file.proto.functions.iter().flat_map(|function| &function.node);
    let graph = file.proto.graph.as_ref().map(|graph| Places::from_graph(graph, functions));
    let Some(places) = graph else {
        return Err(Diagnostic::error(Code::READ_ONNX, "the model has no graph"));
    };
    let made = Optimised::read(&folder.join(OPTIMISED));
    let name = subject.model.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let executor = subject.runtime.describe()?;
    // The library's location does not identify the executor.
    let executor = executor.split_once(", ").map_or(executor.as_str(), |(name, _)| name).to_owned();
    Ok(summed(name, executor, measured, &places, made.as_ref()))
}

/// Returns the entries of a folder.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    entries.map(|entry| entry.path()).collect()
}

/// Builds the profile from the measurements.
pub(super) fn summed(
    model: String,
    executor: String,
    measured: Measured,
    places: &Places,
    made: Option<&Optimised>,
) -> Profile {
    let attributed = attribute::attribute(&measured.nodes, places, made);
    let (total, between) = (Times::from_runs(&measured.runs), Times::from_runs(&measured.between()));
    let runs = measured.runs.len();
    let unknown = NodeLocation::default();
    let node = |(node, found): (events::Node, Option<(usize, How)>)| {
        let place = found.and_then(|(at, _)| places.all.get(at));
        let NodeLocation { name, module, class, line, .. } = place.unwrap_or(&unknown).clone();
        NodeTimes {
            name: node.name,
            operator: node.operator,
            provider: node.provider,
            node: place.map(|_| name),
            how: found.map(|(_, how)| how),
            module,
            class,
            line,
            calls: node.calls,
            times: Times::from_runs(&node.runs),
            runs: node.runs,
        }
    };
    let nodes: Vec<NodeTimes> = measured.nodes.into_iter().zip(attributed).map(node).collect();
    Profile {
        format: FORMAT,
        model,
        executor,
        runs,
        total,
        between,
        modules_from: places.modules_from,
        attributed: shares(&nodes),
        operators: rows::operators(&nodes),
        modules: rows::modules(&nodes),
        lines: rows::lines(&nodes),
        nodes,
    }
}

/// Returns the shares of the sum of all nodes' medians, by kind of evidence: one disturbed run counts for little.
fn shares(nodes: &[NodeTimes]) -> Attributed {
    // `Iterator::sum` of no number is -0.
    let sum = |all: &mut dyn Iterator<Item = &NodeTimes>| all.fold(0.0, |sum, node| sum + node.times.median);
    let whole = sum(&mut nodes.iter());
    let share = |how: Option<How>| {
        let part = sum(&mut nodes.iter().filter(|node| node.how == how));
        if whole > 0.0 { part / whole } else { 0.0 }
    };
    Attributed {
        name: share(Some(How::Name)),
        value: share(Some(How::Value)),
        derived: share(Some(How::Derived)),
        neighbour: share(Some(How::Neighbour)),
        none: share(None),
    }
}
