//! Which weights go where, decided before a byte is written.

use std::hash::Hasher;

use rustc_hash::{FxHashMap, FxHasher};

use super::names::Names;
use super::{AUTO_INLINE_BYTES, ExternalData, SMALL_TENSOR_BYTES};
use crate::diagnose::{Code, Diagnostic, Report};
use crate::ir::Model;
use crate::tensor::{LazyTensor, Source};

/// Half of the largest offset in a file.
const MAX_BYTES: u64 = 1 << 62;

/// A tensor of the main graph that has a name.
#[derive(Clone, Copy, Debug)]
pub(super) struct Weight<'a> {
    /// The name of the initializer.
    pub(super) name: &'a str,
    /// The data.
    pub(super) data: &'a LazyTensor,
}

/// Every initializer of the main graph, and the first values of states.
pub(super) fn weights<'a>(model: &'a Model, names: &'a Names) -> Vec<Weight<'a>> {
    let initializers = model.graph.initializers.iter().map(|i| (i.value, &i.data));
    let states = model.states.iter().filter_map(|s| Some((s.input, s.initial.as_ref()?)));
    initializers.chain(states).map(|(value, data)| Weight { name: names.graph.value(value), data }).collect()
}

/// A place in the data file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Extent {
    /// The first byte.
    pub(super) offset: u64,
    /// The number of bytes.
    pub(super) len: u64,
}

/// Where every weight goes.
#[derive(Debug, Default)]
pub(super) struct Plan {
    /// By weight: its place in the data file, or `None` for the model itself.
    pub(super) places: Vec<Option<Extent>>,
    /// What the data file holds, in order: the weight and where it starts.
    pub(super) stored: Vec<(usize, Extent)>,
    /// The size of the data file.
    pub(super) data_bytes: u64,
    /// The number of weights that share another one's bytes.
    pub(super) tied: usize,
}

impl Plan {
    /// Places `weights`.
    ///
    /// # Errors
    /// `OP602` when a size is beyond what a file can have.
    pub(super) fn of(weights: &[Weight<'_>], mode: ExternalData) -> Result<Self, Report> {
        let mut sizes = Vec::with_capacity(weights.len());
        let mut total = 0;
        for weight in weights {
            let size = weight.data.byte_len().filter(|s| *s <= MAX_BYTES);
            // Summing half of what a file can have leaves room for the alignment.
            let sum = size.and_then(|s| s.checked_add(total)).filter(|sum| *sum <= MAX_BYTES);
            let (Some(size), Some(sum)) = (size, sum) else {
                let message =
                    format!("the weights take more bytes than a file can have, at `{}`", weight.name);
                return Err(Diagnostic::error(Code::WRITE_SIZE, message).into());
            };
            sizes.push(size);
            total = sum;
        }
        let external = match mode {
            ExternalData::Auto => total > AUTO_INLINE_BYTES,
            ExternalData::Inline => false,
            ExternalData::External => true,
        };
        let mut plan = Self { places: vec![None; weights.len()], ..Self::default() };
        if !external {
            return Ok(plan);
        }
        let mut known: FxHashMap<u64, Vec<usize>> = FxHashMap::default();
        for (index, (weight, len)) in weights.iter().zip(sizes).enumerate() {
            if len < SMALL_TENSOR_BYTES {
                continue;
            }
            let twins = known.entry(fingerprint(weight.data)).or_default();
            if let Some(twin) = twins.iter().find(|t| same_bytes(weights[**t].data, weight.data)) {
                plan.places[index] = plan.places[*twin];
                plan.tied += 1;
                continue;
            }
            twins.push(index);
            let align = alignment(len);
            let place = Extent { offset: plan.data_bytes.next_multiple_of(align), len };
            plan.data_bytes = place.offset.saturating_add(len);
            plan.places[index] = Some(place);
            plan.stored.push((index, place));
        }
        Ok(plan)
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

/// Equal for tensors whose stored bytes are the same.
fn fingerprint(data: &LazyTensor) -> u64 {
    let mut hash = FxHasher::default();
    hash.write_u64(data.byte_len().unwrap_or(0));
    match (&data.source, data.dense_range()) {
        (Source::Mapped { offset, .. }, Some(range)) => hash.write_u64(offset.saturating_add(range.start)),
        (Source::Mapped { offset, .. }, None) => {
            hash.write_u64(*offset);
            hash.write_u64(data.offset);
            data.strides.iter().flatten().for_each(|s| hash.write_u64(*s));
        }
        (Source::Inline(bytes), _) => hash.write(bytes),
        (Source::Unbound(unbound), _) => hash.write(unbound.storage.as_bytes()),
    }
    hash.finish()
}

/// Whether one stored copy serves both: the same dense range, whatever shape it is given, or the
/// same view.
fn same_bytes(a: &LazyTensor, b: &LazyTensor) -> bool {
    let range = |data: &LazyTensor| match (&data.source, data.dense_range()) {
        (Source::Mapped { file, offset, .. }, Some(range)) => {
            Some((file.clone(), offset.checked_add(range.start)?, range.end - range.start))
        }
        _ => None,
    };
    match (range(a), range(b)) {
        (Some((file, start, len)), Some((other, at, size))) => {
            file.same(&other) && start == at && len == size
        }
        _ => a.same_bytes(b),
    }
}
