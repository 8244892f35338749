//! Layouts: whether the channels of images come last or right after the batch.
//!
//! Exporters of other frameworks put a `Transpose` on both sides of each convolution, since ONNX expects channels
//! first. The nodes between them are elementwise or refer to axes by index, and can compute on untransposed data.
//! The pass decides for each such node: a value needs a transpose if one node produces it in one layout and another
//! reads it in the other. A local search starts from all nodes transposed and from none, and flips one decision at
//! a time until no flip saves bytes. A region changes if it then moves fewer bytes with no more transposes, or as
//! many bytes with fewer.
//!
//! Terms of a reduction may then be added in another order; all other results stay the same, bit for bit.

mod kind;
mod region;
mod rewrite;

use crate::ir::Model;
use crate::op;
use crate::schedule::Sizes;
use crate::tidy;

/// The ranks of images, with a batch and channels.
const RANKS: std::ops::RangeInclusive<usize> = 3..=5;

/// How often each layout is tried at most.
const ROUNDS: usize = 3;

/// Computes regions of the main graph in another layout if that removes transposes; returns how many nodes changed.
/// `sums` includes nodes whose results may differ in the last digits. The types of its values are known.
pub fn layouts(model: &mut Model, sums: bool) -> usize {
    let (opset, mut count) = (model.opset(), 0);
    if !model.graph.nodes.iter().any(|(_, node)| node.is(op::Transpose) && node.block.is_some()) {
        return 0;
    }
    for _ in 0..ROUNDS {
        let before = count;
        for rank in RANKS {
            // First to channels in front, which convolutions take.
            for perm in [last(rank), first(rank)] {
                let mut sizes = Sizes::from_symbols(&model.symbols);
                let region = region::Region::from_graph(&model.graph, opset, &perm, &mut sizes, sums);
                let transposed = region.decide();
                let more = rewrite::apply(model, &region, &transposed);
                if more > 0 {
                    // A dead node would count as a reader.
                    tidy::tidy(&mut model.graph);
                }
                count += more;
            }
        }
        if count == before {
            break;
        }
    }
    count
}

/// Channels from behind the batch to the end.
fn last(rank: usize) -> Vec<usize> {
    std::iter::once(0).chain(2..rank).chain([1]).collect()
}

/// Channels from the end to behind the batch.
fn first(rank: usize) -> Vec<usize> {
    [0, rank - 1].into_iter().chain(1..rank - 1).collect()
}
