//! Checking the library of a plugin.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use onnxport_check::{self as check, CheckOptions, Checked};
use onnxport_core::Host;
use onnxport_core::diagnose::{Code, Diagnostic, Report};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::exists;
use crate::Request;
use crate::progress::Progress;

/// Checks a plugin library, with each step in a separate process, which [`Progress::probe`] starts:
///
/// ```no_run
/// use std::process::Command;
///
/// use onnxport_core::{Host, Report, diagnose::Diagnostic};
/// use onnxport_requests::progress::{Progress, StartProbe};
/// use onnxport_requests::{PluginCheckRequest, Request};
///
/// /// This program, which calls `onnxport_check::probe` if it has these arguments.
/// struct ThisProgram;
///
/// impl Progress for ThisProgram {
///     fn probe(&self) -> Result<StartProbe, Diagnostic> {
///         Ok(Box::new(|probe| {
///             let mut command = Command::new(std::env::current_exe().unwrap_or_default());
///             command.arg(&probe.name).arg(&probe.library).arg(&probe.journal).arg(probe.skip.to_string());
///             command
///         }))
///     }
/// }
///
/// # fn main() -> Result<(), Report> {
/// let checked = PluginCheckRequest::new("libmine.so").run(&Host::new(&[])?, &mut ThisProgram)?;
/// println!("{} checks, {} failed", checked.findings.len(), checked.report().diagnostics.len());
/// # Ok(())
/// # }
/// ```
#[derive(Args, Clone, Debug, Deserialize, JsonSchema, PartialEq, Eq, Serialize)]
#[serde(default)]
pub struct PluginCheckRequest {
    /// The library
    pub library: PathBuf,
    /// Write the library's manifest beside it
    #[arg(long)]
    pub write_manifest: bool,
    /// Time limit for one step, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = TIMEOUT, value_parser = clap::value_parser!(u64).range(1..))]
    #[schemars(range(min = 1))]
    pub timeout: u64,
}

/// The default time limit for one step, in seconds.
const TIMEOUT: u64 = 10;

impl Default for PluginCheckRequest {
    fn default() -> Self {
        Self { library: PathBuf::new(), write_manifest: false, timeout: TIMEOUT }
    }
}

impl PluginCheckRequest {
    /// Creates a request that checks the library at `library`.
    pub fn new(library: impl Into<PathBuf>) -> Self {
        Self { library: library.into(), ..Self::default() }
    }
}

impl Request for PluginCheckRequest {
    type Outcome = Checked;

    fn check(&self) -> Result<(), Diagnostic> {
        if self.timeout == 0 {
            let message = "`timeout` is 0, and a step takes longer";
            return Err(Diagnostic::error(Code::USAGE, message).help("name at least 1 second"));
        }
        Ok(())
    }

    fn run(&self, _: &Host, progress: &mut dyn Progress) -> Result<Checked, Report> {
        self.check()?;
        exists(&self.library)?;
        // Found before the check begins, and the same for each probe.
        let probe = progress.probe()?;
        progress.stage("checking the plugin");
        let limit = Duration::from_secs(self.timeout);
        let options = CheckOptions { limit, write_manifest: self.write_manifest };
        Ok(check::run(&self.library, options, &*probe)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_needs_a_process_for_each_step() {
        let host = Host::new(&[]).unwrap();
        let message = |request: PluginCheckRequest| {
            request.run(&host, &mut ()).unwrap_err().diagnostics[0].message.clone()
        };
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
        let starts = "this process is another program's, which cannot be started once more";
        assert_eq!(message(PluginCheckRequest::new(file)), starts);
        let missing = PluginCheckRequest::new("no/such/library.so");
        assert_eq!(message(missing), "plugin library not found: no/such/library.so");
        let hurried = PluginCheckRequest { timeout: 0, ..PluginCheckRequest::new(file) };
        assert_eq!(message(hurried), "`timeout` is 0, and a step takes longer");
    }
}
