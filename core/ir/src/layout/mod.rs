//! Layouts: where the channels of images lie, last or behind the batch.
//!
//! Exporters of other frameworks put a `Transpose` on both sides of each convolution, since ONNX has channels in front. What
//! stands between treats elements alone, or by axes that have names, and computes the same on what was not turned. Each such
//! node is asked whether it should: a transpose is needed for every value that one node has in a layout and another one wants
//! in the other. The answers are improved one by one, from all that turn and from none, until no single one saves bytes;
//! a part of the graph changes when it then moves fewer bytes by no more transposes, or as many by fewer.
//!
//! Sums of a reduction may be added in another order then; whatever else changes stays the same, bit for bit.

mod kind;
mod region;
mod rewrite;

use crate::ir::Model;
use crate::schedule::Sizes;
use crate::tidy;

/// The ranks of images, with a batch and channels.
const RANKS: std::ops::RangeInclusive<usize> = 3..=5;

/// How often each layout is tried at most.
const ROUNDS: usize = 3;

/// Computes parts of the main graph in another layout where this takes transposes away; returns how many nodes do. With
/// `sums` also those whose results may differ in the last places. The types of its values are known.
pub fn layouts(model: &mut Model, sums: bool) -> usize {
    let mut count = 0;
    if !model.graph.nodes.iter().any(|(_, node)| node.is("Transpose") && node.block.is_some()) {
        return 0;
    }
    for _ in 0..ROUNDS {
        let before = count;
        for rank in RANKS {
            // First to channels in front, which convolutions take.
            for perm in [last(rank), first(rank)] {
                let mut sizes = Sizes::of(&model.symbols);
                let region = region::Region::of(&model.graph, &perm, &mut sizes, sums);
                let turned = region.decide();
                let more = rewrite::apply(model, &region, &turned);
                if more > 0 {
                    // What nothing reads any more would count as a reader.
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
