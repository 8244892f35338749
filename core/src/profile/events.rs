//! The trace that ONNX Runtime writes: an array of events in the JSON format of Chrome's trace viewer. An event of the
//! category `Session` named `model_run` is a run; those of the category `Node` whose names end in `_kernel_time` are
//! nodes. A node with bodies lasts as long as theirs, which are nested in it.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use rustc_hash::FxHashMap;
use serde::Deserialize;

use super::times;
use crate::diagnose::{Code, Diagnostic};

/// The suffix of the names of node events.
const NODE: &str = "_kernel_time";

#[derive(Deserialize)]
struct Event {
    #[serde(default)]
    cat: String,
    #[serde(default)]
    name: String,
    /// Microseconds.
    #[serde(default)]
    ts: f64,
    #[serde(default)]
    dur: f64,
    #[serde(default)]
    tid: i64,
    #[serde(default)]
    args: Arguments,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Arguments {
    op_name: String,
    provider: String,
    node_index: String,
}

/// The measurements of a runtime.
#[derive(Debug, Default)]
pub(super) struct Measured {
    /// Whole runs, in microseconds.
    pub(super) runs: Vec<f64>,
    /// The nodes, in the order in which they first ran.
    pub(super) nodes: Vec<Node>,
}

/// A node that ran.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) name: String,
    pub(super) operator: String,
    pub(super) provider: String,
    /// Whether it is nested in another one.
    pub(super) inner: bool,
    /// The number of its executions in the last run.
    pub(super) calls: usize,
    /// The time it took in each run, without nested nodes.
    pub(super) runs: Vec<f64>,
}

/// Reads the trace at `path` and leaves out the first `warm` runs.
///
/// # Errors
/// `OP703` if it is not a runtime's trace, or does not hold exactly `runs` further ones.
pub(super) fn read(path: &Path, warm: usize, runs: usize) -> Result<Measured, Diagnostic> {
    let wrong =
        |why: String| Diagnostic::error(Code::VERIFY_EXECUTOR, format!("the runtime's profile {why}"));
    let file = File::open(path).map_err(|error| wrong(format!("cannot be read: {error}")))?;
    let events: Vec<Event> = serde_json::from_reader(BufReader::new(file))
        .map_err(|error| wrong(format!("is not understood: {error}")))?;
    let measured = measured(events, warm);
    if measured.runs.len() != runs {
        let message = format!("has {} runs instead of {runs}", measured.runs.len());
        return Err(wrong(message).help("use fewer --runs: a runtime stops recording after many events"));
    }
    Ok(measured)
}

fn measured(mut events: Vec<Event>, warm: usize) -> Measured {
    events.retain(|event| event.ts.is_finite() && event.dur.is_finite() && event.dur >= 0.0);
    // An enclosing event begins with the enclosed ones, or before.
    events.sort_by(|a, b| a.ts.total_cmp(&b.ts).then(b.dur.total_cmp(&a.dur)));
    let all = events.iter().filter(|event| event.cat == "Session" && event.name == "model_run");
    let spans: Vec<(f64, f64)> = all.map(|event| (event.ts, event.ts + event.dur)).skip(warm).collect();
    let mut found =
        Measured { runs: spans.iter().map(|(start, end)| end - start).collect(), nodes: Vec::new() };
    let mut known: FxHashMap<(String, String, String, Option<usize>), usize> = FxHashMap::default();
    // For each thread, the nodes that enclose the next event: their index, and their end time.
    let mut around: FxHashMap<i64, Vec<(usize, f64)>> = FxHashMap::default();
    for event in events.into_iter().filter(|event| event.cat == "Node") {
        let Some(name) = event.name.strip_suffix(NODE) else { continue };
        let run = spans.partition_point(|(start, _)| *start <= event.ts).checked_sub(1);
        let Some(run) = run.filter(|run| spans.get(*run).is_some_and(|(_, end)| event.ts <= *end)) else {
            continue;
        };
        let stack = around.entry(event.tid).or_default();
        while stack.last().is_some_and(|(_, end)| *end <= event.ts) {
            stack.pop();
        }
        let outer = stack.last().map(|(outer, _)| *outer);
        let Arguments { op_name, provider, node_index } = event.args;
        let key = (name.to_owned(), op_name.clone(), node_index, outer);
        let at = *known.entry(key).or_insert_with(|| {
            let runs = vec![0.0; spans.len()];
            let (name, inner) = (name.to_owned(), outer.is_some());
            found.nodes.push(Node { name, operator: op_name, provider, inner, calls: 0, runs });
            found.nodes.len() - 1
        });
        stack.push((at, event.ts + event.dur));
        if let Some(node) = found.nodes.get_mut(at) {
            node.calls += usize::from(run + 1 == spans.len());
            spend(&mut node.runs, run, event.dur);
        }
        if let Some(outer) = outer.and_then(|outer| found.nodes.get_mut(outer)) {
            spend(&mut outer.runs, run, -event.dur);
        }
    }
    for node in &mut found.nodes {
        // Times are truncated to whole microseconds, so parts can exceed the whole.
        node.runs.iter_mut().for_each(|time| *time = time.max(0.0));
    }
    found
}

fn spend(runs: &mut [f64], run: usize, time: f64) {
    if let Some(sum) = runs.get_mut(run) {
        *sum += time;
    }
}

impl Measured {
    /// Returns the time of each run that was spent outside nodes.
    pub(super) fn between(&self) -> Vec<f64> {
        let mut inside = vec![0.0; self.runs.len()];
        for node in &self.nodes {
            times::add(&mut inside, &node.runs);
        }
        self.runs.iter().zip(inside).map(|(whole, nodes)| (whole - nodes).max(0.0)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(cat: &str, name: &str, ts: f64, dur: f64) -> Event {
        let args = Arguments { op_name: "Op".to_owned(), ..Arguments::default() };
        Event { cat: cat.to_owned(), name: name.to_owned(), ts, dur, tid: 1, args }
    }

    fn node(name: &str, ts: f64, dur: f64) -> Event {
        event("Node", &format!("{name}_kernel_time"), ts, dur)
    }

    #[test]
    fn bodies_are_no_part_of_the_time_of_what_is_around_them() {
        let run = |at: f64| {
            [
                event("Session", "model_run", at, 100.0),
                event("Session", "SequentialExecutor::Execute", at + 1.0, 98.0),
                node("loop", at + 10.0, 60.0),
                node("body", at + 12.0, 20.0),
                node("body", at + 40.0, 25.0),
                node("last", at + 70.0, 5.0),
                event("Node", "last_fence_after", at + 75.0, 1.0),
            ]
        };
        let events: Vec<Event> = run(0.0).into_iter().chain(run(200.0)).chain(run(400.0)).collect();
        let found = measured(events, 1);
        assert_eq!(found.runs, [100.0, 100.0]);
        let told: Vec<_> =
            found.nodes.iter().map(|n| (n.name.as_str(), n.inner, n.calls, n.runs[1])).collect();
        assert_eq!(told, [("loop", false, 1, 15.0), ("body", true, 2, 45.0), ("last", false, 1, 5.0)]);
        assert_eq!(found.between(), [35.0, 35.0]);
    }

    #[test]
    fn nodes_outside_of_runs_do_not_count() {
        let found = measured(vec![node("early", 1.0, 5.0), event("Session", "model_run", 10.0, 5.0)], 0);
        assert_eq!((found.nodes.len(), found.runs), (0, vec![5.0]));
    }
}
