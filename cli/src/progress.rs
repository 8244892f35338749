//! The progress of a command: on standard error, only on terminals, and for a caller inside another program.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use onnxport_core::diagnose::{Code, Diagnostic};

/// The time between two pictures of the line.
const STEP: Duration = Duration::from_millis(100);

/// A line that shows the current work; clones share it.
#[derive(Clone)]
pub(crate) struct Progress {
    bar: ProgressBar,
    /// Whether a thread turns it.
    turns: Arc<AtomicBool>,
    watch: Watch,
}

/// A caller's handle on running work: observes the progress, and cancels it.
#[derive(Clone, Default)]
pub struct Watch {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    now: Mutex<Now>,
    cancelled: AtomicBool,
}

/// The current work.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Now {
    /// The stage, such as `writing`; empty before the first.
    pub stage: String,
    /// Bytes done.
    pub done: u64,
    /// The total number of bytes; 0 if they are not counted.
    pub total: u64,
}

impl Watch {
    /// Returns the current work.
    pub fn now(&self) -> Now {
        self.lock().clone()
    }

    /// Requests the end. The work then fails before it publishes anything.
    pub fn cancel(&self) {
        self.shared.cancelled.store(true, Ordering::Release);
    }

    /// Whether the end was requested.
    pub fn is_cancelled(&self) -> bool {
        self.shared.cancelled.load(Ordering::Acquire)
    }

    fn lock(&self) -> MutexGuard<'_, Now> {
        self.shared.now.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Progress {
    /// Creates a line that is shown only if `visible` and standard error is a terminal.
    pub(crate) fn new(visible: bool) -> Self {
        let target = if visible { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(None, target);
        bar.set_style(spinner());
        Self { bar, turns: Arc::default(), watch: Watch::default() }
    }

    /// Creates an invisible one for the holder of `watch`.
    pub(crate) fn watched(watch: &Watch) -> Self {
        Self { watch: watch.clone(), ..Self::new(false) }
    }

    /// Fails if the end was requested.
    pub(crate) fn go_on(&self) -> Result<(), Diagnostic> {
        if self.watch.is_cancelled() {
            Err(Diagnostic::error(Code::INTERRUPTED, "interrupted"))
        } else {
            Ok(())
        }
    }

    /// Shows the start of a stage.
    pub(crate) fn stage(&self, text: impl Into<String>) {
        let text = text.into();
        *self.watch.lock() = Now { stage: text.clone(), ..Now::default() };
        self.bar.set_message(text);
        if !self.bar.is_hidden() {
            self.turn();
        }
    }

    /// Animates the line from now on. Without a thread it stays still.
    fn turn(&self) {
        if self.turns.swap(true, Ordering::Relaxed) {
            return;
        }
        let bar = self.bar.downgrade();
        let turn = move || {
            while let Some(bar) = bar.upgrade().filter(|bar| !bar.is_finished()) {
                bar.tick();
                drop(bar);
                thread::sleep(STEP);
            }
        };
        let _ = thread::Builder::new().name("progress".to_owned()).spawn(turn);
    }

    /// Shows the progress of a long stage; the function receives the bytes done and the bytes in all, and returns
    /// whether to go on.
    pub(crate) fn bytes(&self, text: &str) -> impl Fn(u64, u64) -> ControlFlow<()> + Send + Sync + use<> {
        self.stage(text);
        let (bar, text, start) = (self.bar.clone(), text.to_owned(), Instant::now());
        let watch = self.watch.clone();
        move |done, all| {
            let mut now = watch.lock();
            (now.done, now.total) = (done.max(now.done), all);
            drop(now);
            if watch.is_cancelled() {
                return ControlFlow::Break(());
            }
            if bar.is_hidden() {
                return ControlFlow::Continue(());
            }
            let percent = done.saturating_mul(100).checked_div(all).unwrap_or(100);
            let rate = done as f64 / start.elapsed().as_secs_f64().max(1e-3);
            let (all, rate) = (crate::format::bytes(all), crate::format::bytes(rate as u64));
            bar.set_message(format!("{text} {percent} % of {all}, {rate}/s"));
            ControlFlow::Continue(())
        }
    }

    /// Removes the line.
    pub(crate) fn clear(&self) {
        self.bar.finish_and_clear();
    }
}

fn spinner() -> ProgressStyle {
    ProgressStyle::with_template("{spinner:.cyan} {msg} {elapsed:.dim}")
        .unwrap_or_else(|_| ProgressStyle::default_spinner())
}
