//! Why a call of the test kit gave nothing.

use std::fmt;

use crate::Refusal;

/// Why a call was not lowered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The test is wrong: a malformed type, an argument that the schema does not have.
    Setup(String),
    /// The plugin refused the call, as it tells its users.
    Refused(Refusal),
    /// The plugin panicked, with the text of the panic.
    Panicked(String),
    /// The plugin broke the contract: it said that it was done and set no results.
    Contract(String),
    /// What was emitted is not of the type that the program states; the host refuses that too.
    Contradiction(String),
}

impl Failure {
    /// The refusal, for tests of what a lowering refuses.
    ///
    /// # Panics
    /// When the call failed for another reason.
    #[track_caller]
    pub fn refusal(self) -> Refusal {
        match self {
            Self::Refused(refusal) => refusal,
            other => panic!("expected a refusal: {other}"),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Setup(what) => write!(f, "the test is wrong: {what}"),
            Self::Refused(refusal) => {
                write!(f, "the plugin refused the call: {}", refusal.message)?;
                let help = &refusal.help;
                if help.is_empty() { Ok(()) } else { write!(f, " (help: {help})") }
            }
            Self::Panicked(what) => write!(f, "the plugin panicked: {what}"),
            Self::Contract(what) => write!(f, "the plugin broke the contract: {what}"),
            Self::Contradiction(what) => write!(f, "the lowering contradicts the program: {what}"),
        }
    }
}

impl std::error::Error for Failure {}
