//! Stages: the large parts of the work that reports list.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::Serialize;

use super::{Span, current, span_since};

/// A finished stage, with its time and memory.
#[derive(Clone, Copy, Debug)]
pub struct Stage {
    /// The name of the stage.
    pub name: &'static str,
    /// Wall time.
    pub time: Duration,
    /// Anonymous memory, where a trace was recorded and the system tells.
    pub memory: Option<StageMemory>,
}

/// The anonymous memory of the process during a stage, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct StageMemory {
    /// At the end, less what it was at the start.
    pub growth: i64,
    /// At the end.
    pub end: u64,
    /// The most that was seen, some hundred times a second.
    pub peak: u64,
}

impl Stage {
    /// Both parts of a stage that was interrupted by another one.
    #[must_use]
    pub fn and(self, later: Self) -> Self {
        let memory = self.memory.zip(later.memory).map(|(first, last)| StageMemory {
            growth: first.growth.saturating_add(last.growth),
            end: last.end,
            peak: first.peak.max(last.peak),
        });
        Self { name: self.name, time: self.time.saturating_add(later.time), memory }
    }
}

/// A stage that goes on; dropped, it has no result but its span.
#[must_use = "it ends when it is dropped"]
pub struct OpenStage {
    name: &'static str,
    start: Instant,
    /// Anonymous memory at the start.
    before: Option<u64>,
    span: Span,
}

/// Begins a stage.
pub fn stage(name: &'static str) -> OpenStage {
    let before = current().and_then(|trace| {
        let bytes = trace.look(true)?;
        trace.recording.peak.store(bytes, Ordering::Relaxed);
        Some(bytes)
    });
    let start = Instant::now();
    OpenStage { name, before, span: span_since("stage", || name, || start), start }
}

impl OpenStage {
    /// Ends it.
    pub fn end(self) -> Stage {
        let Self { name, start, before, mut span } = self;
        let end = Instant::now();
        span.end(|| end);
        let time = end.saturating_duration_since(start);
        let memory = before.and_then(|before| {
            let trace = current()?;
            let end = trace.look(true)?;
            let peak = trace.recording.peak.load(Ordering::Relaxed);
            let growth = i64::try_from(end).ok()?.checked_sub(i64::try_from(before).ok()?)?;
            Some(StageMemory { growth, end, peak })
        });
        Stage { name, time, memory }
    }
}
