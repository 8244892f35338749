//! The reference evaluator as an onnxport executor: models run without a runtime, node by node.
//!
//! `onnxport_ir::ops` defines the operators, with exactness before speed. Weights stay in their mapped files until a
//! node uses them. Options: `bytes`, `steps` and `seconds`, the budgets of a run.

mod session;

use std::path::Path;
use std::time::Duration;

use onnxport_ir::diagnose::Diagnostic;
use onnxport_ir::ir::import;
use onnxport_ir::ops::Limits;
use onnxport_sdk::executor::{Executor, Failure, Options};

use session::Evaluation;

onnxport_sdk::export_plugin! { id: "reference", executor: Reference, options: Settings }

onnxport_sdk::options! {
    /// Defaults for every evaluator that is opened without its own options.
    struct Settings {
        /// Bytes of the values that are alive at once; without it, 4 GiB.
        bytes: Option<u64>,
        /// Elements computed and products summed in one run; without it, 50 billion, which take about a minute.
        steps: Option<u64>,
        /// The seconds that one run may take; without it, 60.
        seconds: Option<u64>,
    }
}

struct Reference {
    limits: Limits,
}

impl Executor for Reference {
    const NAME: &'static str = "the reference evaluator";
    type Session = Evaluation;

    fn open(options: Options<'_>) -> Result<Self, Failure> {
        let settings = Settings::get()?;
        let default = Limits::default();
        let budget = |name: &str, set: Option<u64>, default: u64| match options.get(name) {
            None => Ok(set.unwrap_or(default)),
            Some(text) => {
                text.parse().map_err(|_| Failure::new(format!("{name} = {text:?} is not a number")))
            }
        };
        let bytes = budget("bytes", settings.bytes, default.bytes)?;
        let steps = budget("steps", settings.steps, default.steps)?;
        let seconds = budget("seconds", settings.seconds, default.time.as_secs())?;
        Ok(Self { limits: Limits { bytes, steps, time: Duration::from_secs(seconds) } })
    }

    fn describe(&self) -> String {
        format!("{} {}", Self::NAME, env!("CARGO_PKG_VERSION"))
    }

    fn load(&mut self, path: &Path) -> Result<Evaluation, Failure> {
        self.load_with(path, &[])
    }

    fn load_with(&mut self, path: &Path, values: &[&str]) -> Result<Evaluation, Failure> {
        let model = import::import(path).map_err(unreadable)?;
        Evaluation::new(model, values, self.limits)
    }
}

fn unreadable(problem: Diagnostic) -> Failure {
    let failure = Failure::new(format!("the model cannot be read: {}", problem.message));
    match problem.help {
        Some(help) => failure.help(help),
        None => failure,
    }
}
