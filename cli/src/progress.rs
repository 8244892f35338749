//! Progress on standard error, only on terminals.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// The time between two pictures of the line.
const STEP: Duration = Duration::from_millis(100);

/// One line that says what is going on; clones show the same one.
#[derive(Clone)]
pub(crate) struct Progress {
    bar: ProgressBar,
    /// Whether a thread turns it.
    turns: Arc<AtomicBool>,
}

impl Progress {
    /// A line that is shown only when `visible` and standard error is a terminal.
    pub(crate) fn new(visible: bool) -> Self {
        let target = if visible { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(None, target);
        bar.set_style(spinner());
        Self { bar, turns: Arc::default() }
    }

    /// Shows what starts now.
    pub(crate) fn stage(&self, text: impl Into<String>) {
        self.bar.set_message(text.into());
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

    /// Shows how much of a long stage is done; the function is told bytes done and bytes in all.
    pub(crate) fn bytes(&self, text: &str) -> impl Fn(u64, u64) + Send + Sync + use<> {
        self.stage(text);
        let (bar, text, start) = (self.bar.clone(), text.to_owned(), Instant::now());
        move |done, all| {
            if bar.is_hidden() {
                return;
            }
            let percent = done.saturating_mul(100).checked_div(all).unwrap_or(100);
            let rate = done as f64 / start.elapsed().as_secs_f64().max(1e-3);
            let (all, rate) = (crate::format::bytes(all), crate::format::bytes(rate as u64));
            bar.set_message(format!("{text} {percent} % of {all}, {rate}/s"));
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
