//! Which tensors of several models are the same.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::io;

use sha2::{Digest, Sha256};

use crate::diagnose::{Code, Diagnostic, Report};
use crate::ir::Model;
use crate::tensor::{DType, LazyTensor};
use crate::write::plan::Weight;
use crate::write::{SMALL_TENSOR_BYTES, WriteOptions, stream, summary};

/// The memory in bytes through which tensors are hashed.
const HASHING: u64 = 4 << 20;

/// Makes equal tensors one; returns the bytes of all as they would lie in files of their own.
///
/// Only tensors of one type and shape are compared, by hash, and only those that are not known to be one.
///
/// # Errors
/// Those of reading a weight. Where the memory does not suffice for it nothing is compared, and writing
/// is refused.
pub(super) fn equal(models: &mut [(String, Model)], options: &WriteOptions) -> Result<u64, Report> {
    let mut alike: BTreeMap<(DType, Vec<u64>), Vec<LazyTensor>> = BTreeMap::new();
    let mut separate = 0u64;
    let mut kinds: Vec<LazyTensor> = Vec::new();
    for (_, model) in models.iter_mut() {
        let mut own: Distinct = Distinct::default();
        for tensor in tensors(model).filter(|t| is_large(t)) {
            if own.insert(tensor) {
                separate = separate.saturating_add(tensor.byte_len().unwrap_or(0));
            }
        }
        kinds.extend(own.kept);
    }
    let weights: Vec<Weight<'_>> = kinds.iter().map(|data| Weight::named("", data)).collect();
    let needs = stream::needs(&weights);
    let memory = summary::stream_memory(needs, options).min(HASHING.max(needs.least));
    if memory < needs.least {
        return Ok(separate);
    }
    let mut distinct = Distinct::default();
    for tensor in &kinds {
        // One whose bytes are still to be given is refused later, by its name.
        if tensor.unbound().is_none() && distinct.insert(tensor) {
            alike.entry((tensor.dtype, tensor.shape.clone())).or_default().push(tensor.clone());
        }
    }
    let mut twins = Twins::default();
    for group in alike.into_values().filter(|group| group.len() > 1) {
        let mut first: BTreeMap<[u8; 32], LazyTensor> = BTreeMap::new();
        for tensor in group {
            match first.entry(hash(&tensor, memory)?) {
                Entry::Vacant(slot) => {
                    slot.insert(tensor);
                }
                Entry::Occupied(kept) => twins.insert(tensor, kept.get().clone()),
            }
        }
    }
    for (_, model) in models.iter_mut() {
        for tensor in tensors(model).filter(|t| is_large(t)) {
            if let Some(kept) = twins.get(tensor) {
                *tensor = kept.clone();
            }
        }
    }
    Ok(separate)
}

/// Every tensor of a model that may go to a data file: initializers, then first values of states.
fn tensors(model: &mut Model) -> impl Iterator<Item = &mut LazyTensor> {
    let initializers = model.graph.initializers.iter_mut().map(|initializer| &mut initializer.data);
    initializers.chain(model.states.iter_mut().filter_map(|state| state.initial.as_mut()))
}

fn is_large(tensor: &LazyTensor) -> bool {
    tensor.byte_len().is_some_and(|len| len >= SMALL_TENSOR_BYTES)
}

/// Tensors no two of which are known to be one, in the order in which they came.
#[derive(Default)]
struct Distinct {
    kept: Vec<LazyTensor>,
    by_print: BTreeMap<u64, Vec<usize>>,
}

impl Distinct {
    /// Adds a tensor; false when it is there.
    fn insert(&mut self, tensor: &LazyTensor) -> bool {
        let alike = self.by_print.entry(tensor.fingerprint()).or_default();
        if alike.iter().filter_map(|at| self.kept.get(*at)).any(|other| other.same_bytes(tensor)) {
            return false;
        }
        alike.push(self.kept.len());
        self.kept.push(tensor.clone());
        true
    }
}

/// Tensors that equal an earlier one, and which.
#[derive(Default)]
struct Twins {
    by_print: BTreeMap<u64, Vec<(LazyTensor, LazyTensor)>>,
}

impl Twins {
    fn insert(&mut self, tensor: LazyTensor, kept: LazyTensor) {
        self.by_print.entry(tensor.fingerprint()).or_default().push((tensor, kept));
    }

    fn get(&self, tensor: &LazyTensor) -> Option<&LazyTensor> {
        let alike = self.by_print.get(&tensor.fingerprint())?;
        alike.iter().find(|(twin, _)| twin.same_bytes(tensor)).map(|(_, kept)| kept)
    }
}

/// The hash of the dense bytes, made through `memory` bytes.
fn hash(tensor: &LazyTensor, memory: u64) -> Result<[u8; 32], Report> {
    let mut hasher = Sha256::new();
    let len = tensor.byte_len().unwrap_or(0);
    tensor
        .stream(0..len, usize::try_from(memory).unwrap_or(usize::MAX), &mut |bytes: &[u8]| {
            hasher.update(bytes);
            Ok(())
        })
        .map_err(|e| {
            let error = io::Error::from(e);
            Diagnostic::error(Code::WRITE_IO, format!("a weight cannot be read: {error}"))
        })?;
    Ok(hasher.finalize().into())
}
