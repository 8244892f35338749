//! The interfaces of the contract, generated from its specification.
// Generated from plugin-sdk/abi/contract.rs by `cargo xtask gen contract`. Do not edit.

pub mod about;
pub mod backend;
pub mod compare;
pub mod executor;
pub mod graph;
pub mod log;
pub mod lowering;
pub mod pass;
pub mod rules;
pub mod status;
pub mod weights;

/// The newest revision that the specification states.
pub(crate) const CURRENT: crate::Version = crate::Version { major: 1, minor: 0 };
