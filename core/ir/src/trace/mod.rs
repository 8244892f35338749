//! Records the parts of the work and how long each takes.
//!
//! A [`Trace`] belongs to its creator. It records the spans of threads inside [`Trace::record`]; on other threads,
//! a span costs one look at a thread-local variable. Work that moves to another thread takes the trace [`along`].

mod chrome;
pub mod memory;
mod stage;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::cell::RefCell;
use std::fmt;
use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

pub use stage::{OpenStage, Stage, StageMemory, stage};

/// How many spans a trace keeps; the rest is counted.
const KEPT: usize = 1 << 20;

/// A recording of spans. Clones share the recording.
#[derive(Clone)]
pub struct Trace {
    recording: Arc<Recording>,
}

struct Recording {
    start: Instant,
    said: Mutex<Events>,
    /// The most anonymous memory that was seen since somebody asked, in bytes.
    peak: AtomicU64,
}

#[derive(Default)]
struct Events {
    spans: Vec<Recorded>,
    dropped: usize,
    /// Anonymous memory in bytes, at times since the start.
    memory: Vec<(Duration, u64)>,
    /// Threads in order of appearance; a thread's number is its index here.
    threads: Vec<(ThreadId, String)>,
}

type Text = Cow<'static, str>;

/// A span that is over.
struct Recorded {
    category: &'static str,
    name: Text,
    details: Vec<(&'static str, Text)>,
    thread: usize,
    /// Since the start of the recording.
    start: Duration,
    time: Duration,
}

thread_local! {
    static CURRENT: RefCell<Option<Inside>> = const { RefCell::new(None) };
}

/// A thread that is inside of a recording.
#[derive(Clone)]
struct Inside {
    trace: Trace,
    thread: usize,
}

impl Default for Trace {
    fn default() -> Self {
        Self::new()
    }
}

impl Trace {
    /// An empty recording that begins now. A thread looks at the memory of the process as long as it lives.
    pub fn new() -> Self {
        let recording = Recording { start: Instant::now(), said: Mutex::default(), peak: AtomicU64::new(0) };
        let trace = Self { recording: Arc::new(recording) };
        memory::watch(&trace);
        trace
    }

    /// Does `work` and records the spans that begin in it on this thread, and on those that take the trace [`along`].
    pub fn record<T>(&self, work: impl FnOnce() -> T) -> T {
        let inside = Inside { trace: self.clone(), thread: self.thread() };
        let _outer = Outer(CURRENT.replace(Some(inside)));
        work()
    }

    /// Writes the recording so far in the JSON format of Chrome's trace viewer, which Perfetto reads as well.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write_chrome(&self, out: &mut dyn Write) -> io::Result<()> {
        chrome::write(&self.said(), out)
    }

    /// The number of this thread.
    fn thread(&self) -> usize {
        let this = thread::current();
        let threads = &mut self.said().threads;
        if let Some(at) = threads.iter().position(|(id, _)| *id == this.id()) {
            return at;
        }
        threads.push((this.id(), this.name().unwrap_or("worker").to_owned()));
        threads.len() - 1
    }

    fn said(&self) -> MutexGuard<'_, Events> {
        self.recording.said.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Samples the memory of the process; `None` if the system does not report it. A sample is written if `kept`.
    fn look(&self, kept: bool) -> Option<u64> {
        let bytes = memory::anonymous()?;
        self.recording.peak.fetch_max(bytes, Ordering::Relaxed);
        if kept {
            let at = self.recording.start.elapsed();
            self.said().memory.push((at, bytes));
        }
        Some(bytes)
    }
}

impl fmt::Debug for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Trace").field("spans", &self.said().spans.len()).finish_non_exhaustive()
    }
}

/// Restores the previous trace of the thread when dropped.
struct Outer(Option<Inside>);

impl Drop for Outer {
    fn drop(&mut self) {
        CURRENT.set(self.0.take());
    }
}

/// The trace that this thread is inside of.
pub fn current() -> Option<Trace> {
    CURRENT.with_borrow(|inside| inside.as_ref().map(|inside| inside.trace.clone()))
}

/// `work` for another thread, which is then inside of the trace of this one.
pub fn along<T>(work: impl FnOnce() -> T) -> impl FnOnce() -> T {
    let trace = current();
    move || within(trace.as_ref(), work)
}

/// Does `work` inside of `trace`, if there is one: for work that is shared among threads.
pub fn within<T>(trace: Option<&Trace>, work: impl FnOnce() -> T) -> T {
    match trace {
        Some(trace) => trace.record(work),
        None => work(),
    }
}

/// A span that begins now and ends when it is dropped.
pub fn span(category: &'static str, name: &'static str) -> Span {
    span_of(category, || Text::Borrowed(name))
}

/// A span whose name is made only where it is recorded.
pub fn span_of<N: Into<Cow<'static, str>>>(category: &'static str, name: impl FnOnce() -> N) -> Span {
    span_since(category, name, Instant::now)
}

fn span_since<N: Into<Cow<'static, str>>>(
    category: &'static str,
    name: impl FnOnce() -> N,
    start: impl FnOnce() -> Instant,
) -> Span {
    // A thread that is being torn down is inside of nothing.
    let inside = CURRENT.try_with(|inside| inside.borrow().clone()).ok().flatten();
    Span {
        open: inside.map(|inside| Open {
            inside,
            category,
            name: name().into(),
            details: Vec::new(),
            start: start(),
        }),
    }
}

/// A part of the work that goes on.
#[must_use = "it ends when it is dropped"]
pub struct Span {
    open: Option<Open>,
}

struct Open {
    inside: Inside,
    category: &'static str,
    name: Text,
    details: Vec<(&'static str, Text)>,
    start: Instant,
}

impl Span {
    /// Says more about it.
    pub fn with(mut self, key: &'static str, value: &'static str) -> Self {
        if let Some(open) = &mut self.open {
            open.details.push((key, Text::Borrowed(value)));
        }
        self
    }
}

impl Drop for Span {
    fn drop(&mut self) {
        self.end(Instant::now);
    }
}

impl Span {
    /// Ends it at a time that is not far from now.
    fn end(&mut self, end: impl FnOnce() -> Instant) {
        let Some(Open { inside, category, name, details, start }) = self.open.take() else { return };
        let end = end();
        let recording = &inside.trace.recording;
        // Both times are relative to one origin, so that nested spans stay nested after rounding to nanoseconds.
        let begun = start.saturating_duration_since(recording.start);
        let ended = end.saturating_duration_since(recording.start);
        let mut said = inside.trace.said();
        if said.spans.len() >= KEPT {
            said.dropped += 1;
            return;
        }
        let time = ended.saturating_sub(begun);
        said.spans.push(Recorded { category, name, details, thread: inside.thread, start: begun, time });
    }
}
