//! The time that a runtime has. A run cannot be stopped from outside, so that the process ends with it.

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use onnxport_core::diagnose::{Code, Diagnostic};

use crate::ending;
use crate::outcome::Outcome;

/// A time limit for what goes on while this lives.
pub(crate) struct Deadline {
    doing: Arc<Mutex<String>>,
    _over: Option<Sender<()>>,
}

impl Deadline {
    /// Ends the process when `limit` is over first; the message says that `executor` was still `doing`.
    ///
    /// # Errors
    /// `OP617` where no thread can be started to watch, `OP001` where the process must not end.
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

    /// Says what goes on now.
    pub(crate) fn doing(&self, what: String) {
        *self.doing.lock().unwrap_or_else(PoisonError::into_inner) = what;
    }
}
