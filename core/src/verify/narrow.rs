//! The narrowest floating-point type that an output was rounded to on its way.
//!
//! A float32 output of a bfloat16 region, such as one under autocast, is as exact as bfloat16, and runtimes round in
//! such regions at other positions than PyTorch does.

use rustc_hash::FxHashSet;

use crate::ir::{Def, Graph, ValueId};
use crate::tensor::DType;

/// The narrowest floating-point type among the computed values that `output` depends on through floating-point values.
///
/// Weights and inputs do not count: they are the same numbers on both sides.
pub(super) fn narrowest(graph: &Graph, output: ValueId) -> Option<DType> {
    let (mut seen, mut left) = (FxHashSet::default(), vec![output]);
    let mut found: Option<DType> = None;
    while let Some(value) = left.pop() {
        if !seen.insert(value) {
            continue;
        }
        let (Some(dtype), Def::Node(id, _)) = (graph.values[value].ty.dtype(), &graph.values[value].def)
        else {
            continue;
        };
        let (Some(precision), Some(node)) = (precision(dtype), graph.nodes.find(*id)) else { continue };
        if found.and_then(self::precision).is_none_or(|narrowest| precision < narrowest) {
            found = Some(dtype);
        }
        left.extend(node.inputs.iter().flatten());
        left.extend(node.blocks().flat_map(|block| graph.blocks[block].outputs()));
    }
    found
}

/// The bits of the significand.
fn precision(dtype: DType) -> Option<u32> {
    Some(match dtype {
        DType::F64 | DType::C128 => 53,
        DType::F32 | DType::C64 => 24,
        DType::F16 => 11,
        DType::BF16 => 8,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::Model;

    fn of(body: &str) -> Option<DType> {
        let model = Model::parse(&format!("opset 20\ngraph {{\n{body}\n}}\n")).unwrap();
        let graph = &model.graph;
        narrowest(graph, graph.blocks[graph.main()].outputs()[0])
    }

    #[test]
    fn a_region_of_fewer_bits_counts() {
        let text = "  input %x: f32[2]\n  %0: bf16[2] = Cast(%x) {to = 16}\n  %1: bf16[2] = Exp(%0)\n  \
                    %2: f32[2] = Cast(%1) {to = 1}\n  %3: f32[2] = Add(%2, %x)\n  output %3 as y";
        assert_eq!(of(text), Some(DType::BF16));
    }

    #[test]
    fn weights_inputs_and_integers_do_not_count() {
        let text = "  constant %w: bf16[1] = [1.0]\n  input %x: f32[2]\n  input %h: f16[2]\n  \
                    %0: f32[1] = Cast(%w) {to = 1}\n  %1: f32[2] = Mul(%x, %0)\n  %2: f16[2] = Exp(%h)\n  \
                    %3: i64[2] = Cast(%2) {to = 7}\n  %4: f32[2] = Cast(%3) {to = 1}\n  \
                    %5: f32[2] = Add(%1, %4)\n  output %5 as y";
        assert_eq!(of(text), Some(DType::F32));
    }
}
