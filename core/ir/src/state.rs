//! The kinds of state of a model.

use std::str::FromStr;

/// The kind of state that a program mutates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum StateKind {
    /// A buffer of the module.
    Buffer,
    /// A parameter of the module.
    Parameter,
    /// A tensor that the user passed.
    Input,
}

impl StateKind {
    /// `buffer`, `parameter` or `input`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Buffer => "buffer",
            Self::Parameter => "parameter",
            Self::Input => "input",
        }
    }
}

impl FromStr for StateKind {
    type Err = ();
    fn from_str(text: &str) -> Result<Self, ()> {
        let all = [Self::Buffer, Self::Parameter, Self::Input];
        all.into_iter().find(|kind| kind.as_str() == text).ok_or(())
    }
}
