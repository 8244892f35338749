//! The option to record the time of a command.

use std::io::{BufWriter, Write};
use std::path::PathBuf;

use clap::Args;
use onnxport_core::diagnose::{Diagnostic, Report};
use onnxport_core::{Trace, trace, write};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A record of the work.
#[derive(Args, Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(default)]
pub struct Profiling {
    /// Write a trace with the time of each stage, plugin, rule and pass and the memory use to this file, for Perfetto
    /// or `chrome://tracing`
    #[arg(long, value_name = "JSON")]
    pub profile: Option<PathBuf>,
}

/// A recorded trace.
pub(crate) struct Recorded {
    /// Its file, if there is one.
    pub(crate) path: Option<PathBuf>,
    /// The problems that prevented it from being written.
    pub(crate) problems: Vec<Diagnostic>,
}

impl Profiling {
    /// A new trace, if one is to be recorded.
    pub fn trace(&self) -> Option<Trace> {
        self.profile.as_ref().map(|_| Trace::new())
    }

    /// Runs `work` for the command `name` within `trace`, and writes the recorded trace, even after a failure. The
    /// trace never replaces one of `others`. Returns the result of the work beside that of writing.
    pub fn around<T>(
        &self,
        trace: Option<&Trace>,
        name: &'static str,
        others: &[PathBuf],
        work: impl FnOnce() -> T,
    ) -> (T, Result<(), Report>) {
        let result = trace::within(trace, || {
            // Without a trace of its own it is part of another command's, if any.
            let _span = trace.map(|_| trace::span("command", name));
            work()
        });
        (result, self.write(trace, others))
    }

    /// Does the work of a request, as [`around`](Self::around) does, with its own trace. Returns the outcome, the file
    /// of the trace if it was written, and the problems of writing it.
    pub(crate) fn record<T>(
        &self,
        name: &'static str,
        others: &[PathBuf],
        work: impl FnOnce() -> Result<T, Report>,
    ) -> Result<(T, Recorded), Report> {
        let (result, recorded) = self.around(self.trace().as_ref(), name, others, work);
        match (result, recorded) {
            (Ok(outcome), Ok(())) => {
                Ok((outcome, Recorded { path: self.profile.clone(), problems: Vec::new() }))
            }
            (Ok(outcome), Err(report)) => {
                Ok((outcome, Recorded { path: None, problems: report.diagnostics }))
            }
            (Err(report), Ok(())) => Err(report),
            (Err(mut report), Err(problem)) => {
                report.diagnostics.extend(problem.diagnostics);
                Err(report)
            }
        }
    }

    /// Writes the trace recorded so far.
    ///
    /// # Errors
    /// `OP601`, `OP603`.
    pub fn write(&self, trace: Option<&Trace>, others: &[PathBuf]) -> Result<(), Report> {
        let (Some(path), Some(trace)) = (&self.profile, trace) else { return Ok(()) };
        write::file(path, others, |file| {
            let mut out = BufWriter::new(file);
            trace.write_chrome(&mut out)?;
            out.flush()
        })
    }
}
