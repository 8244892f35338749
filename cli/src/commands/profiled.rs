//! `--profile`: how long the parts of a command took, in a file.

use std::io::{BufWriter, Write};
use std::path::PathBuf;

use clap::Args;
use onnxport_core::Trace;
use onnxport_core::diagnose::Report;
use onnxport_core::{trace, write};

use crate::outcome::{CommandResult, Outcome};

/// The argument about a record of the work.
#[derive(Debug, Args)]
pub(crate) struct ProfileArguments {
    /// Write how long each stage, plugin, rule and pass took, and the memory meanwhile, to this file: a trace that Perfetto
    /// and `chrome://tracing` show
    #[arg(long, value_name = "JSON")]
    profile: Option<PathBuf>,
}

impl ProfileArguments {
    /// A new trace, if one is to be recorded.
    pub(crate) fn trace(&self) -> Option<Trace> {
        self.profile.as_ref().map(|_| Trace::new())
    }

    /// Does the work of the command `name`, and writes what was recorded, however it ended. None of `others` is replaced
    /// by that.
    pub(crate) fn around(
        &self,
        name: &'static str,
        others: &[PathBuf],
        work: impl FnOnce() -> CommandResult,
    ) -> CommandResult {
        self.around_in(self.trace().as_ref(), name, others, work)
    }

    /// The same in a trace that may hold more already.
    pub(crate) fn around_in(
        &self,
        trace: Option<&Trace>,
        name: &'static str,
        others: &[PathBuf],
        work: impl FnOnce() -> CommandResult,
    ) -> CommandResult {
        let mut result = trace::within(trace, || {
            let _span = trace::span("command", name);
            work()
        });
        if let Err(report) = self.write(trace, others) {
            let (Ok(outcome) | Err(outcome)) = &mut result;
            outcome.add(Outcome::failed(report));
        } else if let (Some(path), Ok(outcome) | Err(outcome)) = (&self.profile, &mut result) {
            outcome.put("profile", path.display().to_string());
        }
        result
    }

    /// Writes what was recorded until now.
    ///
    /// # Errors
    /// `OP601`, `OP603`.
    pub(crate) fn write(&self, trace: Option<&Trace>, others: &[PathBuf]) -> Result<(), Report> {
        let (Some(path), Some(trace)) = (&self.profile, trace) else { return Ok(()) };
        write::file(path, others, |file| {
            let mut out = BufWriter::new(file);
            trace.write_chrome(&mut out)?;
            out.flush()
        })
    }
}
