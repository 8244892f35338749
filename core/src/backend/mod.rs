//! Backends: regions of a model are compiled for specific hardware.
//!
//! ```text
//! model ─ offer ─→ claims ─ partition ─→ regions ─ compile ─→ replacements ─→ model
//!        profile   plugin                          plugin     checked
//! ```
//!
//! For each backend that the user names, in that order: the host offers the nodes that the backend's
//! capabilities cover, the plugin claims some of them, and the host forms regions. Then it has each region
//! compiled and replaces it. Unclaimed nodes stay plain ONNX; [`Partitioned`] has the reasons.
//!
//! The result depends only on the order of backends, claims and nodes: equal models give equal results.

#[allow(clippy::indexing_slicing, reason = "numbers of backends, in tables made for exactly these")]
mod asking;
mod blob;
mod cache;
mod call;
#[allow(clippy::indexing_slicing, reason = "numbers of nodes and backends, in tables made for exactly these")]
mod claiming;
#[allow(clippy::indexing_slicing, reason = "numbers of nodes and backends, in tables made for exactly these")]
mod compiling;
#[allow(clippy::indexing_slicing, reason = "numbers of nodes and backends, in tables made for exactly these")]
mod convexity;
mod epcontext;
#[allow(clippy::indexing_slicing, reason = "numbers of backends, in tables made for exactly these")]
mod estimating;
mod flow;
mod isolated;
mod key;
#[allow(clippy::indexing_slicing, reason = "numbers of nodes and backends, in tables made for exactly these")]
mod order;
#[allow(clippy::indexing_slicing, reason = "numbers of nodes and backends, in tables made for exactly these")]
mod partition;
mod placement;
mod profile;
mod region;
mod replace;
mod report;
mod saved;
mod select;
#[allow(clippy::indexing_slicing, reason = "numbers of backends, in tables made for exactly these")]
mod splitting;
mod stage;
mod stamp;

use std::str::FromStr;

pub use cache::{CACHE_BYTES, Cache};
pub(crate) use call::host_table;
pub use isolated::Isolated;
pub(crate) use isolated::Serving;
pub use placement::{NodeRefusal, PlacedModule, PlacedNode, Placement};
pub use profile::flaw;
pub use report::{BackendReport, Estimate, Partitioned, RefusalReport, RegionReport, Stage};
pub use stage::{Backed, run};
pub use stamp::check_compiled;

/// Under [`Blobs::Auto`], the size in bytes up to which blobs are attributes of their nodes. A model is
/// read into memory as a whole, so larger ones are better off in a file.
pub const EMBED_BYTES: u64 = 1 << 20;

/// The location of blobs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Blobs {
    /// In the model up to [`EMBED_BYTES`] each, else in files beside it.
    #[default]
    Auto,
    /// Into the model.
    Embed,
    /// In files beside the model.
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

/// The user's options for backends.
#[derive(Clone, Debug, Default)]
pub struct BackendOptions {
    /// The backends, by id, in the order in which they claim. None leaves the model as it is.
    pub backends: Vec<String>,
    /// The location of blobs.
    pub blobs: Blobs,
    /// The prefix of files beside the model: the name of the model's file.
    pub stem: String,
    /// Where compiled regions are kept for later runs, if anywhere.
    pub cache: Option<Cache>,
    /// Form regions, but compile none.
    pub dry_run: bool,
    /// How backends are started that compile in processes of their own; `None` for those in this one.
    pub isolated: Option<Isolated>,
}
