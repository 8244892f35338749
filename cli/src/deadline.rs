//! The time limit of a runtime. A run cannot be stopped from outside, so the process ends with it.

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use onnxport_core::diagnose::{Code, Diagnostic};

use crate::ending;
use crate::outcome::Outcome;

/// A time limit for the work done while this value lives.
pub(crate) struct Deadline {
    doing: Arc<Mutex<String>>,
    _over: Option<Sender<()>>,
}

impl Deadline {
    /// Ends the process if `limit` passes first; the message says that `executor` was still `doing`.
    ///
    /// # Errors
    /// `OP617` if no watching thread can be started, `OP001` if the process must not end.
    pub(crate) fn start(limit: Option<Duration>, executor: &str, doing: &str) -> Result<Self, Diagnostic> {
        let doing = Arc::new(Mutex::new(doing.to_owned()));
        let Some(limit) = limit else { return Ok(Self { doing, _over: None }) };
        if !ending::is_ours() {
            let message = "a time limit is not supported here: the runtime cannot be stopped without \
                 ending the calling program";
            return Err(Diagnostic::error(Code::USAGE, message).help("leave out the time limit"));
        }
        let (over, wait) = mpsc::channel::<()>();
        let (at, executor) = (Arc::clone(&doing), executor.to_owned());
        let watch = move || {
            if wait.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
                let doing = at.lock().unwrap_or_else(PoisonError::into_inner).clone();
                let seconds = limit.as_secs_f64();
                let message = format!("{executor} did not finish {doing} within {seconds} s");
                let problem = Diagnostic::error(Code::VERIFY_TIMEOUT, message);
                ending::end(&Outcome::from(problem.help("raise the limit with --timeout")));
            }
        };
        let started = thread::Builder::new().name("deadline".to_owned()).spawn(watch);
        started.map_err(|error| {
            Diagnostic::error(Code::THREAD, format!("cannot start the thread for the time limit: {error}"))
        })?;
        Ok(Self { doing, _over: Some(over) })
    }

    /// Sets the description of the current work.
    pub(crate) fn doing(&self, what: String) {
        *self.doing.lock().unwrap_or_else(PoisonError::into_inner) = what;
    }
}
