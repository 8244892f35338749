//! This program, or the one around it, as the caller of a request.

use std::sync::Arc;
use std::time::Duration;

use onnxport_core::bisect::modules::{Caller as Python, Tell};
use onnxport_core::diagnose::Diagnostic;
use onnxport_core::write;
use onnxport_requests::progress::{Deadline as Watched, Progress as Caller, Restart, StartProbe};

use crate::deadline::Deadline;
use crate::format::plain;
use crate::guests;
use crate::plugins;
use crate::progress::Progress;

impl Caller for Progress {
    fn stage(&mut self, stage: &str) {
        Progress::stage(self, stage);
    }

    fn go_on(&mut self) -> Result<(), Diagnostic> {
        Progress::go_on(self)
    }

    fn bytes(&mut self, stage: &str) -> Option<write::Progress> {
        Some(Arc::new(Progress::bytes(self, stage)))
    }

    fn steps(&mut self) -> Tell {
        let progress = self.clone();
        Arc::new(move |step: &str| {
            progress.stage(plain(step));
            progress.go_on().is_ok()
        })
    }

    fn python(&self) -> Option<Python> {
        guests::caller()
    }

    fn deadline(
        &mut self,
        limit: Option<Duration>,
        executor: &str,
        doing: &str,
    ) -> Result<Box<dyn Watched>, Diagnostic> {
        Ok(Box::new(Deadline::start(limit, executor, doing)?))
    }

    fn restart(&self) -> Restart {
        plugins::restart
    }

    fn probe(&self) -> Result<StartProbe, Diagnostic> {
        plugins::probe()
    }
}

impl Watched for Deadline {
    fn doing(&self, step: String) {
        Deadline::doing(self, step);
    }
}
