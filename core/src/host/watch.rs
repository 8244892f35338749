//! A time limit for the calls of plugins.
//!
//! A call cannot be stopped from outside: it may hold locks and memory. So the work runs on a separate
//! thread, which is abandoned, with everything that it owns, if a plugin does not return.

use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use super::crossing::{Observer, Run, Site};
use crate::diagnose::{Code, Diagnostic};

/// The stack of the thread: nested programs recurse.
const STACK: usize = 64 << 20;

/// Runs `work` on a separate thread. With a `limit`, no single call of a plugin may take longer; the total time does
/// not matter. A call that does not return is detected between one and two times the limit.
///
/// # Errors
/// [`Code::PLUGIN_TIMEOUT`], which names the plugin. The thread then still runs until the process ends: end it soon.
/// [`Code::THREAD`] if the thread cannot be started, [`Code::INTERNAL`] if it panics.
pub fn run<T: Send + 'static>(
    limit: Option<Duration>,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Diagnostic> {
    let mut working = start(work)?;
    let Some(limit) = limit else { return working.receiver.recv().map_err(|_| ended()) };
    let mut observer = Observer::new(working.run);
    loop {
        if let Some(result) = working.wait(limit) {
            return result;
        }
        if let Some(site) = observer.look() {
            return Err(stuck(site, limit));
        }
    }
}

/// Starts `work` on a separate thread, with a stack for programs that nest.
///
/// # Errors
/// [`Code::THREAD`] if the thread cannot be started.
pub fn start<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<Working<T>, Diagnostic> {
    let (sender, receiver) = mpsc::channel();
    let builder = thread::Builder::new().name("onnxport".to_owned()).stack_size(STACK);
    let run = Run::new();
    let started = builder.spawn(move || {
        run.join();
        // After a timeout nobody receives it.
        let _ = sender.send(work());
    });
    match started {
        Ok(_) => Ok(Working { run, receiver }),
        Err(error) => Err(Diagnostic::error(Code::THREAD, format!("a thread cannot be started: {error}"))),
    }
}

/// Work on a separate thread. If this is dropped, the work continues, and its result is lost.
#[derive(Debug)]
pub struct Working<T> {
    run: Run,
    receiver: Receiver<T>,
}

impl<T> Working<T> {
    /// Waits for the result, `longest` at most; `None` if it is not there by then.
    ///
    /// # Errors
    /// [`Code::INTERNAL`] if the thread panics.
    pub fn wait(&mut self, longest: Duration) -> Option<Result<T, Diagnostic>> {
        match self.receiver.recv_timeout(longest) {
            Ok(result) => Some(Ok(result)),
            Err(RecvTimeoutError::Disconnected) => Some(Err(ended())),
            Err(RecvTimeoutError::Timeout) => None,
        }
    }
}

fn ended() -> Diagnostic {
    Diagnostic::error(Code::INTERNAL, "the working thread ended early")
}

fn stuck(site: Site, limit: Duration) -> Diagnostic {
    let Site { plugin, task, subject } = site;
    let subject = if subject.is_empty() { String::new() } else { format!(" `{subject}`") };
    let message =
        format!("plugin `{plugin}` did not finish {task}{subject} within {} s", limit.as_secs_f64());
    let mut diagnostic = Diagnostic::error(Code::PLUGIN_TIMEOUT, message)
        .help("convert without the plugin, or give it more time with --plugin-timeout");
    diagnostic.provider = Some(plugin.to_owned());
    diagnostic
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread;
    use std::time::Duration;

    use super::run;
    use crate::diagnose::Code;
    use crate::host::crossing::{Site, cross};

    const SITE: Site = Site { plugin: "slow", task: "lowering", subject: "aten.relu.default" };

    #[test]
    fn work_without_plugins_may_take_its_time() {
        let limit = Some(Duration::from_millis(5));
        let result = run(limit, || {
            thread::sleep(Duration::from_millis(30));
            7
        });
        assert_eq!(result.ok(), Some(7));
    }

    #[test]
    fn a_call_that_does_not_come_back_is_named() {
        let (_keep, never) = mpsc::channel::<()>();
        let limit = Some(Duration::from_millis(20));
        let result = run(limit, move || cross(SITE, || never.recv().is_ok()));
        let problem = result.expect_err("it waits forever");
        assert_eq!(problem.code, Code::PLUGIN_TIMEOUT);
        let expected = "plugin `slow` did not finish lowering `aten.relu.default` within 0.02 s";
        assert_eq!(problem.message, expected);
    }
}
