//! Why the bytes of a tensor are unavailable.

use std::fmt;
use std::io;

use crate::diagnose::{Code, Diagnostic};

/// Why the bytes of a tensor cannot be had.
#[derive(Debug)]
pub enum Error {
    /// The source is shorter than the view claims.
    Short,
    /// The source was cut short since it was opened.
    Truncated,
    /// The view cannot be: absurd strides, a packed element type with strides.
    View(&'static str),
    /// Nobody has given the bytes yet.
    Unbound(String),
    /// A value cannot be represented in the target type.
    Value(String),
    /// Even the smallest piece takes more memory than there is.
    Budget {
        /// The bytes that the smallest piece takes.
        needed: u64,
        /// The bytes that there are.
        budget: u64,
    },
    /// A plugin could not do it.
    Plugin(Box<Diagnostic>),
    /// Somebody asked for the end.
    Interrupted,
    /// Reading the source or writing the result failed.
    Io(io::Error),
    /// Any of these, about the tensor of this name.
    Of(String, Box<Error>),
}

impl Error {
    /// The code of the diagnostic.
    pub fn code(&self) -> Code {
        match self {
            Error::Short | Error::View(_) | Error::Unbound(_) => Code::READ_PAYLOAD,
            Error::Value(_) => Code::WEIGHT_VALUE,
            Error::Budget { .. } => Code::WEIGHT_BUDGET,
            Error::Plugin(diagnostic) => diagnostic.code.clone(),
            Error::Truncated => Code::WRITE_SOURCE_CHANGED,
            Error::Interrupted => Code::INTERRUPTED,
            Error::Io(_) => Code::WRITE_IO,
            Error::Of(_, error) => error.code(),
        }
    }

    /// The same, about the tensor called `name`.
    #[must_use]
    pub fn of(self, name: &str) -> Self {
        Error::Of(name.to_owned(), Box::new(self))
    }

    /// Returns the diagnostic of a plugin, if a plugin failed.
    pub fn plugin(&self) -> Option<&Diagnostic> {
        match self {
            Error::Plugin(diagnostic) => Some(diagnostic),
            Error::Of(_, error) => error.plugin(),
            _ => None,
        }
    }

    /// The error inside of one that went through [`io::Error`].
    pub fn inside(error: &io::Error) -> Option<&Self> {
        error.get_ref()?.downcast_ref()
    }

    fn kind(&self) -> io::ErrorKind {
        match self {
            Error::Truncated => io::ErrorKind::UnexpectedEof,
            Error::Short | Error::View(_) => io::ErrorKind::InvalidData,
            Error::Io(error) => error.kind(),
            Error::Of(_, error) => error.kind(),
            _ => io::ErrorKind::Other,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Short => f.write_str("the source of a weight is shorter than its shape"),
            Error::Truncated => f.write_str("the source of a weight was truncated"),
            Error::View(why) => write!(f, "the view of a weight cannot be read: {why}"),
            Error::Unbound(name) => write!(f, "the data of `{name}` is unbound"),
            Error::Value(why) => f.write_str(why),
            Error::Budget { needed, budget } => {
                write!(f, "the smallest piece of a weight takes {needed} bytes of the {budget} allowed")
            }
            Error::Plugin(diagnostic) => f.write_str(&diagnostic.message),
            Error::Interrupted => f.write_str("interrupted"),
            Error::Io(error) => error.fmt(f),
            Error::Of(name, error) => write!(f, "{error} (`{name}`)"),
        }
    }
}

impl std::error::Error for Error {}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        match error.downcast::<Error>() {
            Ok(own) => own,
            Err(error) => Error::Io(error),
        }
    }
}

impl From<Error> for io::Error {
    fn from(error: Error) -> Self {
        match error {
            Error::Io(error) => error,
            other => io::Error::new(other.kind(), other),
        }
    }
}
