//! Convolutions and pools of float64 for targets that compute them in float32 only: products with, and sums of, windows
//! that are gathered axis by axis.
//!
//! The number of nodes depends on the number of axes, so that these forms are written for each node.

use std::fmt::Write;

use super::condition::stated;
use crate::ir::opset::OpSchema;
use crate::ir::{Attr, Graph, Node};
use crate::op;
use crate::tensor::DType;

/// The elements that a window may have, and the indices that are stored rather than computed.
const MOST: i64 = 1 << 20;
/// The largest stride, dilation or padding, below which sums and products of a few do not overflow.
const FARTHEST: u64 = 1 << 24;

/// The body of the form for `node`, as in the files of forms; `None` where it has none.
pub(super) fn body(graph: &Graph, node: &Node, schema: &OpSchema) -> Option<String> {
    let write = match node.op.as_str() {
        op::Conv => Site::convolution,
        op::ConvTranspose => Site::transposed,
        op::AveragePool => Site::mean,
        _ => return None,
    };
    write(&Site::new(graph, node, schema)?)
}

/// A node and how its window moves.
struct Site<'a> {
    graph: &'a Graph,
    node: &'a Node,
    schema: &'a OpSchema,
    kernel: Vec<i64>,
    strides: Vec<i64>,
    dilations: Vec<i64>,
    /// Before every axis, then after each.
    pads: Vec<i64>,
}

impl<'a> Site<'a> {
    fn new(graph: &'a Graph, node: &'a Node, schema: &'a OpSchema) -> Option<Self> {
        let x = node.inputs.first().copied().flatten()?;
        let plain = |name: &str| matches!(node.attr(name), None | Some(Attr::Int(0)));
        let placed = match node.attr("auto_pad") {
            None => true,
            // Without padding, as `VALID` states.
            Some(Attr::Str(text)) => text == "NOTSET" || text == "VALID",
            Some(_) => false,
        };
        if graph.values[x].ty.dtype() != Some(DType::F64)
            || !placed
            || !plain("ceil_mode")
            || node.attr("output_shape").is_some()
        {
            return None;
        }
        let mut site = Self {
            graph,
            node,
            schema,
            kernel: Vec::new(),
            strides: Vec::new(),
            dilations: Vec::new(),
            pads: Vec::new(),
        };
        site.kernel = match site.ints("kernel_shape") {
            Some(kernel) => kernel,
            None => site.extents(1)?.into_iter().skip(2).collect::<Option<_>>()?,
        };
        let spatial = site.kernel.len();
        site.strides = site.ints("strides").unwrap_or_else(|| vec![1; spatial]);
        site.dilations = site.ints("dilations").unwrap_or_else(|| vec![1; spatial]);
        site.pads = site.ints("pads").unwrap_or_else(|| vec![0; 2 * spatial]);
        let complete = site.strides.len() == spatial
            && site.dilations.len() == spatial
            && site.pads.len() == 2 * spatial
            && site.kernel.iter().chain(&site.strides).chain(&site.dilations).all(|n| *n > 0)
            && site.extents(0)?.len() == spatial + 2;
        let volume = site.kernel.iter().try_fold(1i64, |volume, n| volume.checked_mul(*n));
        let within = volume.is_some_and(|n| n <= MOST)
            && [&site.strides, &site.dilations, &site.pads]
                .into_iter()
                .flatten()
                .all(|n| n.unsigned_abs() <= FARTHEST);
        (complete && within).then_some(site)
    }

    fn ints(&self, name: &str) -> Option<Vec<i64>> {
        match stated(self.node, self.schema, name)? {
            Attr::Ints(ints) => Some(ints.clone()),
            _ => None,
        }
    }

    fn int(&self, name: &str) -> Option<i64> {
        match stated(self.node, self.schema, name)? {
            Attr::Int(int) => Some(int),
            _ => None,
        }
    }

    /// The sizes of an input, where they are constant.
    fn extents(&self, input: usize) -> Option<Vec<Option<i64>>> {
        let value = self.node.inputs.get(input).copied().flatten()?;
        let dims = self.graph.values[value].ty.shape()?.dims()?;
        Some(dims.iter().map(|d| d.as_ref().and_then(|d| d.as_const())).collect())
    }

    /// The sizes behind the channels.
    fn spatial(&self) -> Option<Vec<Option<i64>>> {
        Some(self.extents(0)?.split_off(2))
    }

    /// The constant sizes of the weight.
    fn weight(&self) -> Option<Vec<i64>> {
        self.extents(1)?.into_iter().collect()
    }

    fn convolution(&self) -> Option<String> {
        let (mut text, weight, group) = (Text::default(), self.weight()?, self.int("group")?);
        let names = self.inputs(&mut text)?;
        let windows = text.windows("x", &self.spatial()?, self);
        text.product(&windows, "weight", &weight, group, names);
        Some(text.finish())
    }

    /// The convolution of `x`, with zeros between its elements, with the kernel in reverse.
    #[expect(clippy::indexing_slicing, reason = "lists have an entry for each axis, as `Site::new` checks")]
    fn transposed(&self) -> Option<String> {
        let (mut text, weight, group) = (Text::default(), self.weight()?, self.int("group")?);
        let names = self.inputs(&mut text)?;
        let [channels, per_group, kernel @ ..] = weight.as_slice() else { return None };
        let spatial = kernel.len();
        let more = self.ints("output_padding").unwrap_or_else(|| vec![0; spatial]);
        let within = more.iter().all(|n| n.unsigned_abs() <= FARTHEST);
        if !within || more.len() != spatial || channels.checked_rem(group)? != 0 {
            return None;
        }
        let mut extents = self.spatial()?;
        let mut x = "x".to_owned();
        if self.strides.iter().any(|stride| *stride > 1) {
            let axes: Vec<i64> = (0..spatial as i64).map(|i| 3 + 2 * i).collect();
            let axes = text.ints(&axes);
            let apart = text.node(&format!("Unsqueeze(%{x}, %{axes})"));
            let behind = self.strides.iter().flat_map(|stride| [0, stride - 1]);
            let counts: Vec<i64> = std::iter::repeat_n(0, 4 + 2 * spatial).chain(behind).collect();
            let counts = text.ints(&counts);
            let filled = text.node(&format!("Pad(%{apart}, %{counts})"));
            let shape = text.node(&format!("Shape(%{x}) {{start = 2}}"));
            let (strides, lead) = (text.ints(&self.strides), text.ints(&[0, 0]));
            let longer = text.node(&format!("Mul(%{shape}, %{strides})"));
            let target = text.node(&format!("Concat(%{lead}, %{longer}) {{axis = 0}}"));
            x = text.node(&format!("Reshape(%{filled}, %{target})"));
            for (extent, stride) in extents.iter_mut().zip(&self.strides) {
                *extent = extent.and_then(|n| n.checked_mul(*stride));
            }
        }
        let (per, rest) = (channels / group, self.pads.get(spatial..)?);
        let apart = text.ints(&[&[group, per, *per_group], kernel].concat());
        let apart = text.node(&format!("Reshape(%weight, %{apart})"));
        let mut perm: Vec<usize> = (0..spatial + 3).collect();
        perm.swap(1, 2);
        let transposed = text.node(&format!("Transpose(%{apart}) {{perm = {perm:?}}}"));
        let shape = [&[group * per_group, per], kernel].concat();
        let target = text.ints(&shape);
        let joined = text.node(&format!("Reshape(%{transposed}, %{target})"));
        let [from, to, axes, steps] = [
            text.ints(&vec![-1; spatial]),
            text.ints(&vec![i64::MIN + 1; spatial]),
            text.ints(&(2..spatial as i64 + 2).collect::<Vec<_>>()),
            text.ints(&vec![-1; spatial]),
        ];
        let reversed = text.node(&format!("Slice(%{joined}, %{from}, %{to}, %{axes}, %{steps})"));
        let reach = |i: usize| self.dilations[i] * (self.kernel[i] - 1);
        let before = (0..spatial).map(|i| reach(i) - self.pads[i]);
        let after = (0..spatial).map(|i| reach(i) - rest[i] + more[i] + 1 - self.strides[i]);
        let inner = Site {
            pads: before.chain(after).collect(),
            strides: vec![1; spatial],
            kernel: self.kernel.clone(),
            dilations: self.dilations.clone(),
            ..*self
        };
        let windows = text.windows(&x, &extents, &inner);
        text.product(&windows, &reversed, &shape, group, names);
        Some(text.finish())
    }

    fn mean(&self) -> Option<String> {
        let mut text = Text::default();
        text.line("input %x");
        let extents = self.spatial()?;
        let windows = text.windows("x", &extents, self);
        let axes = text.ints(&(0..self.kernel.len() as i64).map(|i| 2 + 2 * i).collect::<Vec<_>>());
        let sum = text.node(&format!("ReduceSum(%{windows}, %{axes}) {{keepdims = 0}}"));
        let counted = self.int("count_include_pad") == Some(1) || self.pads.iter().all(|n| *n == 0);
        let count = if counted {
            text.float(self.kernel.iter().product::<i64>() as f64)
        } else {
            // Ones where elements are, and zeros in the padding.
            let (one, lead) = (text.float(1.0), text.ints(&[1, 1]));
            let shape = text.node("Shape(%x) {start = 2}");
            let shape = text.node(&format!("Concat(%{lead}, %{shape}) {{axis = 0}}"));
            let ones = text.node(&format!("Expand(%{one}, %{shape})"));
            let windows = text.windows(&ones, &extents, self);
            text.node(&format!("ReduceSum(%{windows}, %{axes}) {{keepdims = 0}}"))
        };
        let mean = text.node(&format!("Div(%{sum}, %{count})"));
        text.line(&format!("output %{mean}"));
        Some(text.finish())
    }

    /// Declares the inputs of a convolution; returns whether it has a bias.
    fn inputs(&self, text: &mut Text) -> Option<bool> {
        self.node.inputs.get(1).copied().flatten()?;
        let bias = self.node.inputs.get(2).copied().flatten().is_some();
        text.line("input %x");
        text.line("input %weight");
        if bias {
            text.line("input %bias");
        }
        Some(bias)
    }
}

/// A body that grows line by line; constants stand before inputs.
#[derive(Default)]
struct Text {
    constants: String,
    lines: String,
    count: usize,
}

impl Text {
    fn line(&mut self, line: &str) {
        let _ = writeln!(self.lines, "  {line}");
    }

    fn name(&mut self) -> String {
        self.count += 1;
        format!("v{}", self.count)
    }

    fn node(&mut self, call: &str) -> String {
        let name = self.name();
        self.line(&format!("%{name} = {call}"));
        name
    }

    fn constant(&mut self, ty: &str, elements: &str) -> String {
        let name = self.name();
        let _ = writeln!(self.constants, "  constant %{name}: {ty} = {elements}");
        name
    }

    fn ints(&mut self, ints: &[i64]) -> String {
        self.constant(&format!("i64[{}]", ints.len()), &format!("{ints:?}"))
    }

    fn int(&mut self, int: i64) -> String {
        self.constant("i64[]", &format!("[{int}]"))
    }

    fn float(&mut self, float: f64) -> String {
        self.constant("f64[]", &format!("[{float:?}]"))
    }

    fn finish(self) -> String {
        self.constants + &self.lines
    }

    /// The windows of `x`, `[N, C, kernel 1, windows 1, kernel 2, windows 2, ..]`.
    #[expect(clippy::indexing_slicing, reason = "lists have an entry for each axis, as `Site::new` checks")]
    fn windows(&mut self, x: &str, extents: &[Option<i64>], site: &Site<'_>) -> String {
        let mut x = x.to_owned();
        let (before, after) = site.pads.split_at(site.kernel.len());
        if site.pads.iter().any(|n| *n != 0) {
            let counts = self.ints(&[&[0, 0], before, &[0, 0], after].concat());
            x = self.node(&format!("Pad(%{x}, %{counts})"));
        }
        for (i, extent) in extents.iter().enumerate() {
            let axis = 2 + 2 * i;
            let (kernel, stride, dilation) = (site.kernel[i], site.strides[i], site.dilations[i]);
            let reach = dilation * (kernel - 1);
            let limit = extent.and_then(|n| n.checked_add(before[i] + after[i] - reach));
            let indices = match limit.filter(|limit| limit / stride.max(1) <= MOST / kernel.max(1)) {
                Some(limit) => {
                    let starts = || (0..limit).step_by(stride.max(1) as usize);
                    let all: Vec<i64> =
                        (0..kernel).flat_map(|k| starts().map(move |s| k * dilation + s)).collect();
                    self.constant(&format!("i64[{kernel}, {}]", starts().count()), &format!("{all:?}"))
                }
                None => {
                    let [zero, stride, reach] = [0, stride, reach].map(|int| self.int(int));
                    let first = self.ints(&[0]);
                    let extent = self.node(&format!("Shape(%{x}) {{end = {}, start = {axis}}}", axis + 1));
                    let extent = self.node(&format!("Squeeze(%{extent}, %{first})"));
                    let limit = self.node(&format!("Sub(%{extent}, %{reach})"));
                    let starts = self.node(&format!("Range(%{zero}, %{limit}, %{stride})"));
                    let offsets: Vec<i64> = (0..kernel).map(|k| k * dilation).collect();
                    let offsets = self.constant(&format!("i64[{kernel}, 1]"), &format!("{offsets:?}"));
                    self.node(&format!("Add(%{offsets}, %{starts})"))
                }
            };
            x = self.node(&format!("Gather(%{x}, %{indices}) {{axis = {axis}}}"));
        }
        x
    }

    /// The product of every group's weights and windows, and the bias.
    fn product(&mut self, windows: &str, weight: &str, shape: &[i64], group: i64, bias: bool) {
        let [outputs, channels, kernel @ ..] = shape else { return };
        let spatial = kernel.len();
        let volume = channels * kernel.iter().product::<i64>();
        let behind = |first: usize| (0..spatial).map(move |i| first + 2 * i);
        let perm: Vec<usize> = (0..2).chain(behind(2)).chain(behind(3)).collect();
        let columns = self.node(&format!("Transpose(%{windows}) {{perm = {perm:?}}}"));
        let target = self.ints(&[0, group, volume, -1]);
        let columns = self.node(&format!("Reshape(%{columns}, %{target})"));
        let target = self.ints(&[group, outputs / group.max(1), volume]);
        let weight = self.node(&format!("Reshape(%{weight}, %{target})"));
        let product = self.node(&format!("MatMul(%{weight}, %{columns})"));
        let extents = self.node(&format!("Shape(%{windows})"));
        let places = self.ints(&behind(3).map(|i| i as i64).collect::<Vec<_>>());
        let extents = self.node(&format!("Gather(%{extents}, %{places}) {{axis = 0}}"));
        let lead = self.ints(&[0, *outputs]);
        let target = self.node(&format!("Concat(%{lead}, %{extents}) {{axis = 0}}"));
        let mut y = self.node(&format!("Reshape(%{product}, %{target})"));
        if bias {
            let column = self.ints(&[&[*outputs], vec![1; spatial].as_slice()].concat());
            let column = self.node(&format!("Reshape(%bias, %{column})"));
            y = self.node(&format!("Add(%{y}, %{column})"));
        }
        self.line(&format!("output %{y}"));
    }
}
