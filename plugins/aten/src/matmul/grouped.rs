//! Products of the rows of one matrix with one of several, as mixtures of experts have them.

use std::ops::Range;

use onnxport_sdk::prelude::*;

use super::matmul;

/// The product of `self` with a stack of matrices, of which each takes the rows up to its entry in
/// `offs`; without `offs` the product of two stacks.
#[lowering("aten._grouped_mm.default")]
fn grouped_mm(cx: &Lower, x: Value, mat2: Value, offs: Option<Value>, bias: Option<Value>) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    if bias.is_some() {
        return Err("the argument `bias` is not supported".into());
    }
    match (cx.rank(x)?, cx.rank(mat2)?, offs) {
        (3, 3, None) => Ok(matmul(cx, x, mat2, dtype)),
        (2, 3, Some(offs)) => by_group(cx, x, mat2, offs, dtype),
        _ => Err("groups of columns are not supported, only groups of rows".into()),
    }
}

/// transformers' replacement where `torch._grouped_mm` has no kernel: rows after the last group are 0.
#[lowering("transformers.grouped_mm_fallback.default")]
fn fallback(cx: &Lower) -> Res<Value> {
    let (x, weight, offs) = (cx.positional(0)?, cx.positional(1)?, cx.positional(2)?);
    let dtype = cx.result(0)?.dtype;
    by_group(cx, x, weight, offs, dtype)
}

/// So many groups have their products side by side in one graph.
const FEW: i64 = 8;

/// More groups are refused: each is a node of the model. Mixtures of experts have hundreds.
const MOST: i64 = 4096;

/// Groups of rows, each with a matrix of its own.
struct Groups {
    x: Value,
    matrices: Value,
    columns: i64,
    /// The first row of each group, the end of the last group, and the number of rows.
    edges: Value,
    /// The rows of each group, and those behind the last.
    counts: Value,
    dtype: DType,
}

/// A product for each group, and a `Concat`. A group without rows costs a node that does nothing; a single matrix out of a stack of
/// weights is a weight of its own, which runtimes pack and which can be quantised.
fn by_group(cx: &Lower, x: Value, matrices: Value, ends: Value, dtype: DType) -> Res<Value> {
    let (Dim::Const(count), Dim::Const(columns)) = (cx.dim(matrices, 0), cx.dim(matrices, 2)) else {
        return Err("the number of groups or of columns is not constant".into());
    };
    if count > MOST {
        return Err(format!("there are {count} groups, and more than {MOST} are not supported").into());
    }
    let edges = cx.concat(&[cx.ints(&[0]), cx.cast(ends, DType::I64), cx.extent(x, 0)], 0);
    let counts = cx.slice(edges, 0, 1, count + 2, 1) - cx.slice(edges, 0, 0, count + 1, 1);
    let groups = Groups { x, matrices, columns, edges, counts, dtype };
    let mut found = if count <= FEW {
        let parts = split(cx, x, counts, count + 1);
        groups.products(cx, &parts, 0..count)
    } else {
        let size = together(count);
        let firsts = (0..count).step_by(size as usize);
        firsts.map(|first| groups.branch(cx, first..count.min(first + size))).collect::<Res<_>>()?
    };
    let rest = cx.concat(&[cx.slice(counts, 0, count, count + 1, 1), cx.ints(&[columns])], 0);
    found.push(cx.expand(cx.filled(&Scalar::Int(0), dtype, &[]), rest));
    Ok(cx.concat(&found, 0))
}

impl Groups {
    /// The products of `parts`, which are the rows of the groups `of`.
    fn products(&self, cx: &Lower, parts: &[Value], of: Range<i64>) -> Vec<Value> {
        let product =
            |(rows, group)| matmul(cx, rows, cx.gather(self.matrices, cx.int(group), 0), self.dtype);
        parts.iter().copied().zip(of).map(product).collect()
    }

    /// The products of the groups `of`, computed if one of them has rows.
    fn branch(&self, cx: &Lower, of: Range<i64>) -> Res<Value> {
        let edge = |at: i64| cx.slice(self.edges, 0, at, at + 1, 1);
        let (from, to) = (edge(of.start), edge(of.end));
        let then = cx.block(|cx| {
            let rows = cx.slice_dynamic(self.x, 0, from, to, 1);
            let parts = split(cx, rows, cx.slice(self.counts, 0, of.start, of.end, 1), of.end - of.start);
            Ok(vec![cx.concat(&self.products(cx, &parts, of), 0)])
        })?;
        let none = cx.filled(&Scalar::Int(0), self.dtype, &[0, self.columns as u64]);
        let otherwise = cx.block(|cx| Ok(vec![cx.identity(none)]))?;
        let taken = cx.op(op::If).input(cx.less(from, to));
        Ok(taken.then_branch(then).else_branch(otherwise).one())
    }
}

/// How many of `count` groups are in a branch. ONNX Runtime takes time with the square of the values of unknown size in a graph
/// to create a session: products side by side are too many where there are hundreds in each of dozens of layers.
fn together(count: i64) -> i64 {
    (count.unsigned_abs() * 2).isqrt().next_power_of_two() as i64
}

fn split(cx: &Lower, rows: Value, counts: Value, parts: i64) -> Vec<Value> {
    cx.op(op::Split).input(rows).input(counts).axis(0).many(parts as usize)
}
