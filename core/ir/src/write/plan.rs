//! Decides which weights go where, before a byte is written.

use std::path::Path;

use rustc_hash::FxHashMap;

use super::names::Names;
use super::reference::Pointers;
use super::share::{self, DistinctWeights};
use super::{AUTO_INLINE_BYTES, ExternalData, SMALL_TENSOR_BYTES, WriteOptions};
use crate::diagnose::{Code, Diagnostic, Report};
use crate::ir::{About, BlockId, Constant, Def, Graph, Initializer, Model, ValueId};
use crate::onnx::SourceFile;
use crate::table::TensorKind;
use crate::tensor::LazyTensor;

/// Half of the largest offset in a file.
const MAX_BYTES: u64 = 1 << 62;

/// An initializer, or the first value of a state.
#[derive(Clone, Copy, Debug)]
pub(super) struct Weight<'a> {
    /// The name of the initializer.
    pub(super) name: &'a str,
    /// The kind of the tensor.
    pub(super) kind: TensorKind,
    /// The value.
    pub(super) value: ValueId,
    /// The data.
    pub(super) data: &'a LazyTensor,
    /// Whether it is declared as an input as well. States are inputs already.
    pub(super) is_input: bool,
    /// Whether the model holds its data.
    pub(super) is_written: bool,
    /// Whether a graph inside of a node holds it. Its bytes are streamed into data files alone: in the model they are a
    /// part of the node.
    pub(super) is_nested: bool,
    /// The tensor's metadata.
    pub(super) about: Option<&'a About>,
}

impl<'a> Weight<'a> {
    /// An initializer of a model that is not converted but read from a file.
    pub(super) fn named(name: &'a str, data: &'a LazyTensor) -> Self {
        let kind = TensorKind::Initializer;
        Self::from_data(name, kind, ValueId::new(0), data)
    }

    /// As [`named`](Self::named), of a graph inside of a node.
    pub(super) fn inside(name: &'a str, data: &'a LazyTensor) -> Self {
        Self { is_nested: true, ..Self::named(name, data) }
    }

    /// One of the main graph that is written, and no input besides.
    fn from_data(name: &'a str, kind: TensorKind, value: ValueId, data: &'a LazyTensor) -> Self {
        Self { name, kind, value, data, is_input: false, is_written: true, is_nested: false, about: None }
    }
}

/// Returns every initializer, and the initial values of states; those of nested graphs come last, in the order of
/// their graphs.
///
/// A weight with a name in the program can become an input or be left out, unless it is in a nested graph;
/// constants that the conversion added stay, as the `Constant` nodes of PyTorch's exporter do.
pub(super) fn weights<'a>(model: &'a Model, names: &'a Names, options: &WriteOptions) -> Vec<Weight<'a>> {
    let graph = &model.graph;
    let about = |value| graph.notes.values.get(&value).map(|note| &note.tensor);
    let kind = |initializer: &Initializer| {
        if initializer.weight { TensorKind::Weight } else { TensorKind::Constant }
    };
    let made_here = !model.origin.is_imported();
    let held = graph.initializers.iter().filter(|initializer| initializer.block == graph.main());
    let initializers = held.map(|initializer| {
        let value = initializer.value;
        let named = graph.values[value].name.as_deref().is_some_and(|name| !name.is_empty());
        Weight {
            is_input: made_here && named && options.initializers_as_inputs,
            is_written: !made_here || !named || options.initializers,
            about: about(value),
            ..Weight::from_data(names.graph.value(value), kind(initializer), value, &initializer.data)
        }
    });
    let states = model.states.iter().filter_map(|state| {
        let (value, data) = (state.input, state.initial.as_ref()?);
        let name = names.graph.value(value);
        let is_written = options.initializers;
        Some(Weight { is_written, ..Weight::from_data(name, TensorKind::State, value, data) })
    });
    let defaults = graph.defaults.iter().filter_map(|default| {
        let (value, Constant::Dense(data)) = (default.value, &default.data) else { return None };
        let name = names.graph.value(value);
        let is_main = matches!(graph.values[value].def, Def::Input(of, _) if of == graph.main());
        let default = Weight::from_data(name, TensorKind::Initializer, value, data);
        is_main.then_some(Weight { about: about(value), ..default })
    });
    let nested = nested(graph).into_iter().map(|initializer| {
        let value = initializer.value;
        let own = Weight::from_data(names.graph.value(value), kind(initializer), value, &initializer.data);
        Weight { is_nested: true, about: about(value), ..own }
    });
    initializers.chain(states).chain(defaults).chain(nested).collect()
}

/// The initializers of nested graphs, in the order in which the graphs stand in the model.
fn nested(graph: &Graph) -> Vec<&Initializer> {
    let mut by_block: FxHashMap<BlockId, Vec<&Initializer>> = FxHashMap::default();
    for initializer in graph.initializers.iter().filter(|initializer| initializer.block != graph.main()) {
        by_block.entry(initializer.block).or_default().push(initializer);
    }
    let mut found = Vec::new();
    if by_block.is_empty() {
        return found;
    }
    let inner = |block| {
        let nodes: Vec<BlockId> = graph.order(block).flat_map(|node| graph.nodes[node].blocks()).collect();
        nodes.into_iter().rev()
    };
    let mut waiting: Vec<BlockId> = inner(graph.main()).collect();
    while let Some(block) = waiting.pop() {
        found.extend(by_block.remove(&block).unwrap_or_default());
        waiting.extend(inner(block));
    }
    found
}

/// A range of a data file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Extent {
    /// Which data file.
    pub(super) file: usize,
    /// The first byte.
    pub(super) offset: u64,
    /// The number of bytes.
    pub(super) len: u64,
}

/// Where a weight goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Destination {
    /// Nowhere: the model is written without it.
    Left,
    /// Into the model.
    Inline,
    /// Into a data file.
    Data(Extent),
    /// Where it is: the model points into one of [`Plan::pointed`].
    Pointed(Extent),
    /// Nowhere yet: the model waits for this many bytes.
    Unbound(u64),
}

impl Destination {
    /// Where in a data file it is.
    pub(super) fn in_data(&self) -> Option<Extent> {
        match self {
            Self::Data(extent) => Some(*extent),
            _ => None,
        }
    }
}

/// A weight whose position is not known yet.
enum Draft {
    /// It is known.
    Placed(Destination),
    /// That of an earlier weight with as many bytes.
    Twin(usize, u64),
    /// In a data file: this many bytes, unless they equal those of an earlier weight.
    Stored(u64),
}

/// A data file: its contents, in order.
#[derive(Debug, Default)]
pub(super) struct DataFile {
    /// The weights and their ranges.
    pub(super) stored: Vec<(usize, Extent)>,
    /// The size.
    pub(super) bytes: u64,
}

/// Where every weight goes.
#[derive(Debug, Default)]
pub(super) struct Plan {
    /// By weight.
    pub(super) places: Vec<Destination>,
    /// The data files.
    pub(super) files: Vec<DataFile>,
    /// The files that are not written, into which the model points.
    pub(super) pointed: Vec<SourceFile>,
    /// The number of weights that share another one's bytes.
    pub(super) tied: usize,
    /// The bytes of the weights in the model.
    pub(super) inline_bytes: u64,
}

impl Plan {
    /// Assigns positions to `weights`, in their order: each starts at the next multiple of its alignment in the
    /// current data file or, if that would grow beyond [`WriteOptions::shard_bytes`], in the next one. A weight
    /// that is larger than that has a file of its own.
    ///
    /// # Errors
    /// `OP602` if a size exceeds the limit of files, and errors of reading weights to compare them. `OP640` if the
    /// model at `path` cannot point at weights in existing files.
    pub(super) fn for_weights(
        weights: &[Weight<'_>],
        path: &Path,
        options: &WriteOptions,
    ) -> Result<Self, Report> {
        let mut sizes = Vec::with_capacity(weights.len());
        let mut total = 0;
        for weight in weights {
            let size = weight.data.byte_len().filter(|s| *s <= MAX_BYTES);
            // Half of the largest file size leaves room for alignment.
            let added = if weight.is_written { size } else { Some(0) };
            let sum = added.and_then(|s| s.checked_add(total)).filter(|sum| *sum <= MAX_BYTES);
            let (Some(size), Some(sum)) = (size, sum) else {
                let message =
                    format!("the weights take more bytes than a file can have, at `{}`", weight.name);
                return Err(Diagnostic::error(Code::WRITE_SIZE, message).into());
            };
            sizes.push(size);
            total = sum;
        }
        let external = match options.external_data {
            ExternalData::Auto => total > AUTO_INLINE_BYTES,
            ExternalData::Inline => false,
            ExternalData::External | ExternalData::Reference => true,
        };
        let mut plan = Self { places: Vec::with_capacity(weights.len()), ..Self::default() };
        let mut pointers = match options.external_data {
            ExternalData::Reference => Some(Pointers::from_weights(path, weights)?),
            _ => None,
        };
        let mut known = DistinctWeights::default();
        let mut drafts = Vec::with_capacity(weights.len());
        for (index, (weight, len)) in weights.iter().zip(sizes).enumerate() {
            drafts.push(if !weight.is_written {
                Draft::Placed(Destination::Left)
            } else if len > 0 && weight.data.unbound().is_some() {
                Draft::Placed(Destination::Unbound(len))
            } else if !external || len < SMALL_TENSOR_BYTES {
                plan.inline_bytes += len;
                Draft::Placed(Destination::Inline)
            } else if let Some(twin) = known.twin(index, weight.data) {
                Draft::Twin(twin, len)
            } else {
                let pointed = pointers.as_mut().and_then(|p| p.point(weight.data));
                pointed.map_or(Draft::Stored(len), |extent| Draft::Placed(Destination::Pointed(extent)))
            });
        }
        let stored = |(index, draft): (usize, &Draft)| matches!(draft, Draft::Stored(_)).then_some(index);
        let stored: Vec<usize> = drafts.iter().enumerate().filter_map(stored).collect();
        let twins = share::twins(weights, &stored, options)?;
        for (index, draft) in drafts.into_iter().enumerate() {
            let (twin, len) = match draft {
                Draft::Placed(place) => {
                    plan.places.push(place);
                    continue;
                }
                Draft::Twin(twin, len) => (Some(twin), len),
                Draft::Stored(len) => (twins.get(&index).copied(), len),
            };
            let place = if let Some(place) = twin.and_then(|twin| plan.places.get(twin).copied()) {
                plan.tied += 1;
                place
            } else {
                Destination::Data(plan.append(index, len, options.shard_bytes))
            };
            plan.places.push(place);
        }
        plan.pointed = pointers.map(Pointers::into_files).unwrap_or_default();
        Ok(plan)
    }

    /// Puts a weight of `len` bytes behind the others.
    fn append(&mut self, index: usize, len: u64, limit: Option<u64>) -> Extent {
        let align = alignment(len);
        let fits = |file: &DataFile| {
            let end = file.bytes.next_multiple_of(align).saturating_add(len);
            limit.is_none_or(|limit| end <= limit)
        };
        let mut file = self.files.pop_if(|file| fits(file)).unwrap_or_default();
        let extent = Extent { file: self.files.len(), offset: file.bytes.next_multiple_of(align), len };
        file.bytes = extent.offset.saturating_add(len);
        file.stored.push((index, extent));
        self.files.push(file);
        extent
    }

    /// The bytes of all data files.
    pub(super) fn data_bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).fold(0, u64::saturating_add)
    }

    /// The bytes that the model reads where they are; those that several tensors show count once.
    pub(super) fn pointed_bytes(&self) -> u64 {
        let extents = self.places.iter().filter_map(|place| match place {
            Destination::Pointed(extent) => Some((extent.file, extent.offset, extent.len)),
            _ => None,
        });
        let extents: std::collections::BTreeSet<_> = extents.collect();
        extents.iter().map(|(_, _, len)| *len).fold(0, u64::saturating_add)
    }

    /// The bytes of weights in data files.
    pub(super) fn stored_bytes(&self) -> u64 {
        self.files.iter().flat_map(|f| &f.stored).map(|(_, extent)| extent.len).fold(0, u64::saturating_add)
    }
}

/// Tensors of 1 MiB and more start at multiples of 64 KiB, so that every system can map them; of
/// 64 KiB and more at pages; smaller ones at cache lines.
const fn alignment(len: u64) -> u64 {
    match len {
        0x10_0000.. => 0x1_0000,
        0x1_0000.. => 0x1000,
        _ => 64,
    }
}
