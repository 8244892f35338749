//! A verification in which no call ran.

use super::report::Verification;
use crate::diagnose::{Code, Diagnostic};

impl Verification {
    /// Returns an error if the executor ran no call, although no call counts as failed: nothing was verified.
    pub fn untried(&self) -> Option<Diagnostic> {
        let ran = self.cases.iter().any(|case| !case.not_tried() && case.not_applicable.is_none());
        if ran || !self.passed() {
            return None;
        }
        let tried = match self.cases.len() {
            0 => "there was no call to run".to_owned(),
            1 => "its only call was refused".to_owned(),
            n => format!("all {n} calls were refused"),
        };
        let message = format!("{} verified nothing: {tried}", self.executor);
        let help = "give calls that the model takes: `--inputs FILE`, or larger sizes with `--max-memory`";
        Some(Diagnostic::error(Code::VERIFY_EXPECTED, message).help(help))
    }
}
