//! Work in processes of their own: a crash, a hang or a kill there is a diagnostic here.
//!
//! [`Process`] is this program again. [`wire`] has the messages between the two, for runtimes and for backends.

mod process;
pub(crate) mod wire;

pub(crate) use process::Process;
