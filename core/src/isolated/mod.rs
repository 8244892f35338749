//! Work in processes of their own: a crash, a hang or a kill there is a diagnostic here.
//!
//! [`Process`] is this program again. [`wire`] is what the two say to each other; runtimes and backends add who is asked,
//! and for what.

mod process;
pub(crate) mod wire;

pub(crate) use process::Process;
