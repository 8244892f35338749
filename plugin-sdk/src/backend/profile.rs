//! The operators that a backend supports, as data.

use std::ops::RangeInclusive;

use onnxport_abi::{RSlice, RStr};

use crate::DType;
use crate::abi::backend::{BackendEntry, OpRecord, backend_flags, layout, op_flags};

/// A backend: its name and its operators. The host offers it the nodes that one of the operators covers.
#[derive(Clone, Debug)]
pub struct Profile {
    id: &'static str,
    description: &'static str,
    domain: &'static str,
    domain_version: i64,
    priority: i32,
    min_nodes: u32,
    flags: u32,
    ops: Vec<Op>,
}

impl Profile {
    /// A backend that users call `id`: lower-case letters, digits, `-` and `_`.
    pub fn new(id: &'static str) -> Self {
        Self {
            id,
            description: "",
            domain: "",
            domain_version: 0,
            priority: 0,
            min_nodes: 1,
            flags: 0,
            ops: Vec::new(),
        }
    }

    /// One sentence about it.
    #[must_use]
    pub fn description(self, description: &'static str) -> Self {
        Self { description, ..self }
    }

    /// The domain of its own operators, and the version that models import.
    #[must_use]
    pub fn domain(self, domain: &'static str, version: i64) -> Self {
        Self { domain, domain_version: version, ..self }
    }

    /// Among the backends of a plugin, the highest claims first when the user names the plugin.
    #[must_use]
    pub fn priority(self, priority: i32) -> Self {
        Self { priority, ..self }
    }

    /// Regions of fewer nodes are left as they are.
    #[must_use]
    pub fn min_nodes(self, min_nodes: u32) -> Self {
        Self { min_nodes, ..self }
    }

    /// Every claim is a region: the host does not join neighbours.
    #[must_use]
    pub fn separate(self) -> Self {
        Self { flags: self.flags | backend_flags::SEPARATE, ..self }
    }

    /// The runtime takes one region of a model: the host keeps the one with the most nodes, and leaves the others as they
    /// are.
    #[must_use]
    pub fn single(self) -> Self {
        Self { flags: self.flags | backend_flags::SINGLE, ..self }
    }

    /// [`Backend::compile`](super::Backend::compile) may be called for several regions at once, each on a thread of its own.
    #[must_use]
    pub fn parallel(self) -> Self {
        Self { flags: self.flags | backend_flags::PARALLEL, ..self }
    }

    /// Adds operators. Where several cover a node, one is enough.
    #[must_use]
    pub fn op(mut self, op: Op) -> Self {
        self.ops.push(op);
        self
    }

    /// The record as it crosses; it lives for the rest of the process.
    pub(super) fn leak(self) -> BackendEntry {
        let ops: Vec<OpRecord> = self.ops.into_iter().flat_map(Op::leak).collect();
        BackendEntry {
            id: RStr::from_str(self.id),
            description: RStr::from_str(self.description),
            priority: self.priority,
            flags: self.flags,
            min_nodes: self.min_nodes,
            domain_version: self.domain_version,
            domain: RStr::from_str(self.domain),
            ops: RSlice::from_slice(Vec::leak(ops)),
        }
    }
}

/// Where the channels of images are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Anywhere, or the operator has none.
    Any,
    /// `N, C, H, W`, as in ONNX's own operators.
    ChannelsFirst,
    /// `N, H, W, C`.
    ChannelsLast,
}

/// Operators that a backend supports, and constraints on them. Without a constraint, anything is supported, except for
/// dimensions: they must be numbers unless [`Op::dynamic`] says otherwise.
#[derive(Clone, Debug)]
pub struct Op {
    domain: &'static str,
    names: Vec<&'static str>,
    versions: (u32, u32),
    inputs: Vec<i32>,
    outputs: Vec<i32>,
    ranks: (u32, u32),
    layout: u32,
    flags: u32,
}

impl Op {
    /// Operators of ONNX's own domain.
    pub fn named(names: impl IntoIterator<Item = &'static str>) -> Self {
        Self::of("", names)
    }

    /// Operators of another domain; `*` is all of them.
    pub fn of(domain: &'static str, names: impl IntoIterator<Item = &'static str>) -> Self {
        Self {
            domain,
            names: names.into_iter().collect(),
            versions: (1, u32::MAX),
            inputs: Vec::new(),
            outputs: Vec::new(),
            ranks: (0, u32::MAX),
            layout: layout::ANY,
            flags: 0,
        }
    }

    /// The versions of the domain's operator set.
    #[must_use]
    pub fn versions(self, range: RangeInclusive<u32>) -> Self {
        Self { versions: (*range.start(), *range.end()), ..self }
    }

    /// The element types that inputs may have.
    #[must_use]
    pub fn inputs(self, dtypes: &[DType]) -> Self {
        Self { inputs: dtypes.iter().map(|d| d.onnx()).collect(), ..self }
    }

    /// The element types that outputs may have.
    #[must_use]
    pub fn outputs(self, dtypes: &[DType]) -> Self {
        Self { outputs: dtypes.iter().map(|d| d.onnx()).collect(), ..self }
    }

    /// The numbers of axes that the first input and the outputs may have.
    #[must_use]
    pub fn ranks(self, range: RangeInclusive<u32>) -> Self {
        Self { ranks: (*range.start(), *range.end()), ..self }
    }

    /// Where it expects the channels of images.
    #[must_use]
    pub fn layout(self, of: Layout) -> Self {
        let layout = match of {
            Layout::Any => layout::ANY,
            Layout::ChannelsFirst => layout::CHANNELS_FIRST,
            Layout::ChannelsLast => layout::CHANNELS_LAST,
        };
        Self { layout, ..self }
    }

    /// Sizes may be expressions over symbols, or unknown.
    #[must_use]
    pub fn dynamic(self) -> Self {
        Self { flags: self.flags | op_flags::DYNAMIC, ..self }
    }

    fn leak(self) -> impl Iterator<Item = OpRecord> {
        let record = OpRecord {
            domain: RStr::from_str(self.domain),
            op: RStr::from_str(""),
            min_version: self.versions.0,
            max_version: self.versions.1,
            inputs: RSlice::from_slice(Vec::leak(self.inputs)),
            outputs: RSlice::from_slice(Vec::leak(self.outputs)),
            min_rank: self.ranks.0,
            max_rank: self.ranks.1,
            layout: self.layout,
            flags: self.flags,
        };
        self.names.into_iter().map(move |name| OpRecord { op: RStr::from_str(name), ..record })
    }
}
