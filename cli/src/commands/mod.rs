//! A file per command: its arguments, and how its result is shown.

pub(crate) mod check;
pub(crate) mod completions;
pub(crate) mod convert;
pub(crate) mod converting;
pub(crate) mod explain;
pub(crate) mod inspect;
pub(crate) mod man;
pub(crate) mod ops;
pub(crate) mod optimising;
pub(crate) mod optimize;
pub(crate) mod package;
pub(crate) mod plugin;
pub(crate) mod run;
pub(crate) mod verify;
pub(crate) mod verifying;
pub(crate) mod weights;
pub(crate) mod writing;
