//! Why a lowering refuses a call.

use std::borrow::Cow;

/// The result of a lowering.
pub type Res<T> = Result<T, Refusal>;

/// Why a call cannot be lowered, and a next step for the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// A code of the plugin's own; empty for the host's general one.
    pub code: Cow<'static, str>,
    /// One sentence that names the argument or dtype, without a final stop.
    pub message: String,
    /// The next step; may be empty.
    pub help: String,
}

impl Refusal {
    /// A refusal with the host's general code.
    pub fn new(message: impl Into<String>) -> Self {
        Self { code: Cow::Borrowed(""), message: message.into(), help: String::new() }
    }

    /// Sets the next step.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = help.into();
        self
    }

    /// Sets a code of the plugin's own.
    #[must_use]
    pub fn code(mut self, code: &'static str) -> Self {
        self.code = Cow::Borrowed(code);
        self
    }
}

impl From<String> for Refusal {
    fn from(message: String) -> Self {
        Self::new(message)
    }
}

impl From<&str> for Refusal {
    fn from(message: &str) -> Self {
        Self::new(message)
    }
}
