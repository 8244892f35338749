//! How far a command has come: on standard error, only on terminals, and for who runs it inside of another program.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use onnxport_core::diagnose::{Code, Diagnostic};

/// The time between two pictures of the line.
const STEP: Duration = Duration::from_millis(100);

/// One line that says what is going on; clones show the same one.
#[derive(Clone)]
pub(crate) struct Progress {
    bar: ProgressBar,
    /// Whether a thread turns it.
    turns: Arc<AtomicBool>,
    watch: Watch,
}

/// What a caller sees of work that goes on, and how it ends it early.
#[derive(Clone, Default)]
pub struct Watch {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    now: Mutex<Now>,
    cancelled: AtomicBool,
}

/// What goes on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Now {
    /// The stage, such as `writing`; empty before the first.
    pub stage: String,
    /// Bytes done.
    pub done: u64,
    /// Bytes in all; 0 where they are not counted.
    pub total: u64,
}

impl Watch {
    /// What goes on.
    pub fn now(&self) -> Now {
        self.lock().clone()
    }

    /// Asks for the end. The work fails then, before it gives anything its name.
    pub fn cancel(&self) {
        self.shared.cancelled.store(true, Ordering::Release);
    }

    /// Whether somebody asked for the end.
    pub fn is_cancelled(&self) -> bool {
        self.shared.cancelled.load(Ordering::Acquire)
    }

    fn lock(&self) -> MutexGuard<'_, Now> {
        self.shared.now.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Progress {
    /// A line that is shown only when `visible` and standard error is a terminal.
    pub(crate) fn new(visible: bool) -> Self {
        let target = if visible { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(None, target);
        bar.set_style(spinner());
        Self { bar, turns: Arc::default(), watch: Watch::default() }
    }

    /// One that nobody sees but who holds `watch`.
    pub(crate) fn watched(watch: &Watch) -> Self {
        Self { watch: watch.clone(), ..Self::new(false) }
    }

    /// Fails when somebody asked for the end.
    pub(crate) fn go_on(&self) -> Result<(), Diagnostic> {
        if self.watch.is_cancelled() {
            Err(Diagnostic::error(Code::INTERRUPTED, "interrupted"))
        } else {
            Ok(())
        }
    }

    /// Shows what starts now.
    pub(crate) fn stage(&self, text: impl Into<String>) {
        let text = text.into();
        *self.watch.lock() = Now { stage: text.clone(), ..Now::default() };
        self.bar.set_message(text);
        if !self.bar.is_hidden() {
            self.turn();
        }
    }

    /// Turns the line from now on. Where no thread can be had it stands still.
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

    /// Shows how much of a long stage is done; the function is told bytes done and bytes in all, and says whether to go on.
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
