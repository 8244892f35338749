//! Higher-order operators: branches, loops and scans over nested graphs.

mod branch;
mod repeat;
pub(crate) mod rounds;
