//! Work without the interpreter's lock.

use std::time::{Duration, Instant};

use onnxport::{Now, Outcome, Watch};
use onnxport_core::host::watch::{self, Working};
use pyo3::prelude::*;

use crate::error::raised;

/// The interval for checking signals and reporting progress.
const STEP: Duration = Duration::from_millis(50);

/// The time that cancelled work may take to end before it is abandoned. It no longer publishes anything.
const PATIENCE: Duration = Duration::from_secs(10);

/// Does `work` on a thread with a large stack, without the lock. Python's signal handlers run meanwhile, and `progress`
/// is called with the stage, the bytes done and the bytes in all, on the thread of the caller. An exception in either
/// ends the work.
pub(crate) fn run<T: Send + 'static>(
    py: Python<'_>,
    progress: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&Watch) -> Result<T, Outcome> + Send + 'static,
) -> PyResult<T> {
    let watch = Watch::default();
    let theirs = watch.clone();
    let mut working = watch::start(move || work(&theirs)).map_err(|problem| raised(py, &problem.into()))?;
    let mut told = Now::default();
    let mut tell = |watch: &Watch| {
        let now = watch.now();
        let Some(progress) = progress.filter(|_| now != told) else { return Ok(()) };
        progress.call1((now.stage.as_str(), now.done, now.total))?;
        told = now;
        Ok(())
    };
    loop {
        match py.detach(|| working.wait(STEP)) {
            Some(Ok(Ok(done))) => return tell(&watch).map(|()| done),
            Some(Ok(Err(outcome))) => return Err(raised(py, &outcome)),
            Some(Err(problem)) => return Err(raised(py, &problem.into())),
            None => {}
        }
        if let Err(stop) = py.check_signals().and_then(|()| tell(&watch)) {
            watch.cancel();
            py.detach(|| end(&mut working));
            return Err(stop);
        }
    }
}

/// Waits until the work has ended, so that none of it is left when its caller continues.
fn end<T: Send>(working: &mut Working<T>) {
    let start = Instant::now();
    while start.elapsed() < PATIENCE && working.wait(STEP).is_none() {}
}
