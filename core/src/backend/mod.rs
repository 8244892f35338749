//! Backends: parts of a model become what a piece of hardware runs.
//!
//! ```text
//! model ─ offer ─→ claims ─ partition ─→ regions ─ compile ─→ replacements ─→ model
//!        profile   plugin                          plugin     checked
//! ```
//!
//! For every backend that the user names, in that order: the nodes that its capabilities cover are
//! offered, the plugin claims some of them, and regions are formed. Then every region is compiled and
//! replaced. What nobody claims stays plain ONNX, with the reasons in the [`Partitioned`].
//!
//! The order of backends, claims and nodes decides everything; equal models give equal results.

mod blob;
mod call;
#[allow(clippy::indexing_slicing, reason = "numbers of nodes and backends, in tables made for exactly these")]
mod claiming;
#[allow(clippy::indexing_slicing, reason = "numbers of nodes and backends, in tables made for exactly these")]
mod compiling;
#[allow(clippy::indexing_slicing, reason = "numbers of nodes and backends, in tables made for exactly these")]
mod convexity;
mod flow;
#[allow(clippy::indexing_slicing, reason = "numbers of nodes and backends, in tables made for exactly these")]
mod order;
#[allow(clippy::indexing_slicing, reason = "numbers of nodes and backends, in tables made for exactly these")]
mod partition;
mod profile;
mod region;
mod replace;
mod report;
mod select;
mod stage;

use std::str::FromStr;

pub(crate) use call::host_table;
pub use profile::flaw;
pub use report::{BackendReport, Partitioned, RefusalReport, RegionReport, Stage};
pub use stage::{Backed, run};

/// Under [`Blobs::Auto`], blobs of at most this many bytes are attributes of their nodes. A model is
/// read into memory as a whole, so that larger ones are better off in a file.
pub const EMBED_BYTES: u64 = 1 << 20;

/// Where blobs go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Blobs {
    /// Into the model up to [`EMBED_BYTES`] each, else beside it.
    #[default]
    Auto,
    /// Into the model.
    Embed,
    /// Into files beside the model.
    File,
}

impl FromStr for Blobs {
    type Err = ();
    fn from_str(s: &str) -> Result<Self, ()> {
        match s {
            "auto" => Ok(Self::Auto),
            "embed" => Ok(Self::Embed),
            "file" => Ok(Self::File),
            _ => Err(()),
        }
    }
}

/// What the user asks of backends.
#[derive(Clone, Debug, Default)]
pub struct BackendOptions {
    /// The backends, by id, in the order in which they claim. None leaves the model as it is.
    pub backends: Vec<String>,
    /// Where blobs go.
    pub blobs: Blobs,
    /// What files beside the model start with: the name of the model's file.
    pub stem: String,
    /// Form regions, but compile none.
    pub dry_run: bool,
}
