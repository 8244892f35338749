//! Why a node has no result.

use std::fmt;

/// The kind of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Nobody here knows how to evaluate the operator, or this form of it.
    Unsupported,
    /// The inputs or attributes contradict the operator's definition.
    Invalid,
    /// A result does not fit into the budget of bytes.
    Memory,
    /// The budget of steps is used up.
    Steps,
    /// The budget of time is used up.
    Time,
}

/// A node that could not be evaluated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// The kind.
    pub fault: Fault,
    /// One sentence without a full stop.
    pub message: String,
}

/// The result of an evaluation.
pub type Res<T> = Result<T, Error>;

impl Error {
    /// Inputs or attributes that contradict the operator's definition.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self { fault: Fault::Invalid, message: message.into() }
    }

    /// An operator or type that cannot be evaluated.
    pub fn unsupported(message: impl Into<String>) -> Self {
        Self { fault: Fault::Unsupported, message: message.into() }
    }

    /// The same error, with the place in front of the message.
    #[must_use]
    pub fn within(mut self, place: &str) -> Self {
        self.message = format!("{place}: {}", self.message);
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

/// `Err(Error::invalid(format!(…)))`.
macro_rules! invalid {
    ($($t:tt)*) => { Err($crate::ops::Error::invalid(format!($($t)*))) };
}
/// `Err(Error::unsupported(format!(…)))`.
macro_rules! unsupported {
    ($($t:tt)*) => { Err($crate::ops::Error::unsupported(format!($($t)*))) };
}
pub(crate) use {invalid, unsupported};
