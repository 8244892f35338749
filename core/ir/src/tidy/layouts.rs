//! Stores one copy of weights that view the same memory with permuted axes.

use rustc_hash::FxHashMap;

use crate::ir::{Attr, Attribute, Graph, ValueId};
use crate::op;
use crate::tensor::{LazyTensor, Source};

/// Smaller ones are stored as they are: a node costs as much.
const SMALL_BYTES: u64 = 1024;

/// Makes a weight that shows the memory of another one with permuted axes a `Transpose` of that, so that
/// it is stored once; returns how many weights became nodes. The one that is dense stays, else the first.
pub fn layouts(graph: &mut Graph) -> usize {
    let mut memories: FxHashMap<(usize, u64), Vec<ValueId>> = FxHashMap::default();
    for initializer in graph.initializers.iter().filter(|i| i.weight) {
        let data = &initializer.data;
        if let Some(memory) = memory(data).filter(|_| data.byte_len().is_some_and(|n| n >= SMALL_BYTES)) {
            memories.entry(memory).or_default().push(initializer.value);
        }
    }
    let mut transposed: Vec<(ValueId, ValueId, Vec<i64>)> = Vec::new();
    for initializer in &graph.initializers {
        let Some(memory) = memory(&initializer.data).filter(|_| initializer.data.strides.is_some()) else {
            continue;
        };
        let Some(alike) = memories.get(&memory).filter(|alike| alike.contains(&initializer.value)) else {
            continue;
        };
        let stored = |dense: bool| {
            alike.iter().take_while(move |other| dense || **other != initializer.value).find_map(|other| {
                let data = graph.initializer(*other).filter(|data| !dense || data.strides.is_none())?;
                Some((*other, permutation(data, &initializer.data)?))
            })
        };
        if let Some((kept, axes)) = stored(true).or_else(|| stored(false)) {
            transposed.push((initializer.value, kept, axes));
        }
    }
    for (value, kept, axes) in &transposed {
        let (ty, name) = (graph.values[*value].ty.clone(), graph.values[*value].name.take());
        let axes = Attribute { name: "perm".into(), value: Attr::Ints(axes.clone()) };
        let main = graph.main();
        let first = graph.order(main).next();
        let node = graph.append(main, "", op::Transpose, [Some(*kept)], vec![axes], 1, None);
        if let Some(first) = first {
            graph.move_before(node, first);
        }
        let Some(output) = graph.nodes[node].outputs.first().copied().flatten() else { continue };
        (graph.values[output].ty, graph.values[output].name) = (ty, name);
        graph.replace_uses(*value, output);
    }
    super::dead::initializers(graph);
    transposed.len()
}

/// Equal for tensors of one source; `None` for those that are in no file and not in memory.
fn memory(data: &LazyTensor) -> Option<(usize, u64)> {
    match &data.source {
        Source::Mapped { .. } | Source::Lent(_) | Source::Inline(_) => {
            let bytes = data.source.bytes();
            Some((bytes.as_ptr() as usize, bytes.len() as u64))
        }
        Source::Unbound(_) | Source::Produced(_) | Source::Derived(_) | Source::Joined(_) => None,
    }
}

/// The `perm` of the `Transpose` that makes `wanted` of `stored`, two tensors over one source; `None`
/// when there is none, and when both are the same view.
fn permutation(stored: &LazyTensor, wanted: &LazyTensor) -> Option<Vec<i64>> {
    if stored.dtype != wanted.dtype
        || stored.offset != wanted.offset
        || stored.shape.len() != wanted.shape.len()
        || stored.same_bytes(wanted)
    {
        return None;
    }
    let mut axes: Vec<Option<(u64, u64)>> =
        stored.shape.iter().copied().zip(stored.strides()?).map(Some).collect();
    let mut perm = Vec::with_capacity(axes.len());
    for (extent, stride) in wanted.shape.iter().zip(wanted.strides()?) {
        // The stride of an axis with one element means nothing.
        let fits = |axis: &Option<(u64, u64)>| {
            axis.is_some_and(|(own, step)| own == *extent && (own == 1 || step == stride))
        };
        let at = axes.iter().position(fits)?;
        *axes.get_mut(at)? = None;
        perm.push(at as i64);
    }
    Some(perm)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::DType;

    /// Two weights over one source, the second with its axes exchanged and at `offset`.
    fn pair(offset: u64) -> Graph {
        let source = LazyTensor::inline(DType::F32, vec![2, 16, 32], vec![0; 4096]);
        let view = |shape: &[u64], offset: u64, strides: Option<Vec<u64>>| LazyTensor {
            shape: shape.to_vec(),
            offset,
            strides,
            ..source.clone()
        };
        let mut graph = Graph::default();
        let main = graph.main();
        for data in [view(&[16, 32], 0, None), view(&[32, 16], offset, Some(vec![1, 32]))] {
            let value = graph.add_weight(None, data);
            graph.add_output(main, value);
        }
        graph
    }

    #[test]
    fn only_what_starts_at_the_same_element_is_the_same_weight() {
        assert_eq!(layouts(&mut pair(0)), 1);
        assert_eq!(layouts(&mut pair(512)), 0);
    }
}
