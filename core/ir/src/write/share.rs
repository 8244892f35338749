//! Finds equal weights, so that one stored copy serves several.

use std::collections::BTreeMap;
use std::io;

use rustc_hash::FxHashMap;
use sha2::{Digest, Sha256};

use super::plan::Weight;
use super::{WriteOptions, stream, summary};
use crate::diagnose::{Code, Diagnostic, Report};
use crate::tensor::{Error, LazyTensor};

/// The memory in bytes through which weights are compared.
const COMPARING: u64 = 4 << 20;

/// The bytes at its start by which a weight is told from others of its length. Most differ there, so that
/// no more of them is read.
const SAMPLE: u64 = 4 << 10;

/// Weights that are not known to be equal to each other.
#[derive(Default)]
pub(super) struct DistinctWeights<'a> {
    by_print: FxHashMap<u64, Vec<(usize, &'a LazyTensor)>>,
}

impl<'a> DistinctWeights<'a> {
    /// The weight that shows the same bytes of the same source; without one, `data` is known as `index`
    /// from now on.
    pub(super) fn twin(&mut self, index: usize, data: &'a LazyTensor) -> Option<usize> {
        let alike = self.by_print.entry(data.stored_fingerprint()).or_default();
        let found = alike.iter().find(|(_, other)| other.same_stored(data));
        if let Some((twin, _)) = found {
            return Some(*twin);
        }
        alike.push((index, data));
        None
    }
}

/// The weights among `stored` that equal an earlier one byte by byte, and which: where they come from,
/// their types and their shapes do not matter.
///
/// Only weights of one length are compared: by their first bytes, and where these are the same by a hash
/// of all.
///
/// # Errors
/// Those of reading a weight. Where the memory does not suffice for it nothing is compared, and writing
/// is refused.
pub(super) fn twins(
    weights: &[Weight<'_>],
    stored: &[usize],
    options: &WriteOptions,
) -> Result<FxHashMap<usize, usize>, Report> {
    let stored: Vec<(usize, &Weight<'_>)> =
        stored.iter().filter_map(|at| Some((*at, weights.get(*at)?))).collect();
    let mut of_length: BTreeMap<u64, Vec<(usize, &Weight<'_>)>> = BTreeMap::new();
    for (index, weight) in stored {
        of_length.entry(weight.data.byte_len().unwrap_or(0)).or_default().push((index, weight));
    }
    of_length.retain(|_, group| group.len() > 1);
    let compared: Vec<Weight<'_>> = of_length.values().flatten().map(|(_, weight)| **weight).collect();
    let mut twins = FxHashMap::default();
    if compared.is_empty() {
        return Ok(twins);
    }
    let needs = stream::needs(&compared);
    let memory = summary::stream_memory(needs, options).min(COMPARING.max(needs.least));
    if memory < needs.least {
        return Ok(twins);
    }
    for (len, group) in of_length {
        for alike in equal(group, SAMPLE.min(len), memory)? {
            let alike = if len > SAMPLE { equal(alike, len, memory)? } else { vec![alike] };
            for same in alike {
                if let Some(((first, _), others)) = same.split_first() {
                    twins.extend(others.iter().map(|(index, _)| (*index, *first)));
                }
            }
        }
    }
    Ok(twins)
}

/// Those of `group` whose first `len` bytes are the same, together; each that is alone is left out.
fn equal<'w, 'a>(
    group: Vec<(usize, &'w Weight<'a>)>,
    len: u64,
    memory: u64,
) -> Result<Vec<Vec<(usize, &'w Weight<'a>)>>, Report> {
    let mut by_hash: BTreeMap<[u8; 32], Vec<(usize, &Weight<'_>)>> = BTreeMap::new();
    for (index, weight) in group {
        by_hash.entry(hash(weight, len, memory)?).or_default().push((index, weight));
    }
    Ok(by_hash.into_values().filter(|alike| alike.len() > 1).collect())
}

/// The hash of the first `len` of the dense bytes, made through `memory` bytes.
fn hash(weight: &Weight<'_>, len: u64, memory: u64) -> Result<[u8; 32], Report> {
    let mut hasher = Sha256::new();
    let budget = usize::try_from(memory).unwrap_or(usize::MAX);
    let mut add = |bytes: &[u8]| {
        hasher.update(bytes);
        Ok(())
    };
    weight.data.stream(0..len, budget, &mut add).map_err(|error| {
        let error = io::Error::from(error.of(weight.name));
        let code = Error::inside(&error).map_or(Code::WRITE_IO, Error::code);
        Diagnostic::error(code, format!("a weight cannot be read: {error}"))
    })?;
    Ok(hasher.finalize().into())
}
