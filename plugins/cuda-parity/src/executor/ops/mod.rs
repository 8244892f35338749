//! Operators as kernels: from a node whose inputs have known types and shapes to launches.
//!
//! A planner is pure: it sees types, shapes, attributes and the small inputs that become parameters, and returns
//! the steps. It answers `None` for a form that it does not support, which is then evaluated on the processor.

mod attention;
mod boxes;
pub(crate) mod chain;
mod codes;
mod convolution;
mod formula;
mod fourier;
mod generate;
mod grid;
mod index;
mod layout;
mod matmul;
mod moves;
mod narrow;
mod norm;
mod parts;
mod pool;
mod recurrent;
mod reduce;
mod resize;
mod sort;
mod unique;

use onnxport_ir::ops::{Call, Error, Res};
use onnxport_ir::tensor::DType;

use super::device::{Grid, Product};
use super::source::Kernel;

pub(crate) use formula::{Formula, formula, is_elementwise};
pub(crate) use parts::{joined, part};

/// The type of an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Operand {
    pub(crate) dtype: DType,
    pub(crate) shape: Vec<usize>,
}

/// A node to plan.
pub(crate) struct Request<'a, 'c> {
    /// Its attributes, and those of its inputs that are parameters.
    pub(crate) call: &'a Call<'c>,
    /// The types of all inputs.
    pub(crate) operands: &'a [Option<Operand>],
}

impl<'a> Request<'a, '_> {
    /// The type of input `index`, if it is there.
    pub(crate) fn optional(&self, index: usize) -> Option<&'a Operand> {
        self.operands.get(index)?.as_ref()
    }

    /// The type of input `index`.
    pub(crate) fn operand(&self, index: usize) -> Res<&'a Operand> {
        self.optional(index).ok_or_else(|| Error::invalid(format!("input {index} is missing")))
    }

    /// The types of all inputs that are there.
    pub(crate) fn present(&self) -> impl Iterator<Item = &'a Operand> {
        self.operands.iter().flatten()
    }
}

/// A pointer argument of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pointer {
    Input(usize),
    Output(usize),
    Scratch(usize),
    Nothing,
}

/// A launch, before there is memory.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(crate) kernel: Kernel,
    pub(crate) places: Vec<Pointer>,
    pub(crate) numbers: Vec<i64>,
    pub(crate) reals: Vec<f64>,
    pub(crate) grid: Grid,
    pub(crate) product: Option<Product>,
}

impl Step {
    /// A kernel over these elements or groups.
    pub(crate) fn new(kernel: Kernel, grid: Grid, places: Vec<Pointer>, numbers: Vec<i64>) -> Self {
        Self { kernel, places, numbers, reals: Vec::new(), grid, product: None }
    }

    /// Whether there is nothing to compute.
    pub(crate) fn is_empty(&self) -> bool {
        match self.grid {
            Grid::Each(count) | Grid::Groups(count) => count == 0,
            Grid::Tiles(tiles) => tiles.contains(&0),
        }
    }
}

/// A result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Output {
    pub(crate) dtype: DType,
    pub(crate) shape: Vec<usize>,
    /// The input whose elements these are, in another shape.
    pub(crate) same: Option<usize>,
    /// An axis whose size is an upper bound, and the scratch in which steps store the actual one: a 64-bit
    /// integer.
    pub(crate) counted: Option<(usize, usize)>,
}

impl Output {
    /// A result that steps write.
    pub(crate) fn new(dtype: DType, shape: Vec<usize>) -> Self {
        Self { dtype, shape, same: None, counted: None }
    }

    /// A result of which only the steps know how long it is along `axis`.
    pub(crate) fn counted(dtype: DType, shape: Vec<usize>, axis: usize, scratch: usize) -> Self {
        Self { counted: Some((axis, scratch)), ..Self::new(dtype, shape) }
    }
}

/// Memory that only the steps of one node use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Scratch {
    pub(crate) bytes: u64,
    /// Its initial contents.
    pub(crate) contents: Vec<u8>,
}

/// The computation of a node.
#[derive(Clone, Debug, Default)]
pub(crate) struct Work {
    pub(crate) made: Vec<Output>,
    pub(crate) scratch: Vec<Scratch>,
    pub(crate) steps: Vec<Step>,
}

impl Work {
    /// One result that steps write.
    pub(crate) fn new(dtype: DType, shape: Vec<usize>, steps: Vec<Step>) -> Self {
        Self { made: vec![Output::new(dtype, shape)], scratch: Vec::new(), steps }
    }

    /// Input `index` in another shape.
    pub(crate) fn view(index: usize, dtype: DType, shape: Vec<usize>) -> Self {
        Self { made: vec![Output { same: Some(index), ..Output::new(dtype, shape) }], ..Self::default() }
    }
}

/// Plans a node; `None` for a form without a kernel.
pub(crate) type Planner = fn(&Request<'_, '_>) -> Res<Option<Work>>;

/// An operator.
#[derive(Clone, Copy)]
pub(crate) struct Op {
    /// The inputs that are parameters: their elements are needed to plan.
    pub(crate) parameters: &'static [usize],
    pub(crate) plan: Planner,
}

/// The line of an operator in the table of its family.
pub(super) type Line = (&'static str, &'static [usize], Planner);

const FAMILIES: &[&[Line]] = &[
    attention::OPS,
    boxes::OPS,
    convolution::OPS,
    fourier::OPS,
    generate::OPS,
    grid::OPS,
    index::OPS,
    layout::OPS,
    matmul::OPS,
    narrow::OPS,
    norm::OPS,
    parts::OPS,
    pool::OPS,
    recurrent::OPS,
    reduce::OPS,
    resize::OPS,
    sort::OPS,
    unique::OPS,
];

/// The planner of an operator of ONNX's own domain, if there is one.
pub(crate) fn lookup(name: &str) -> Option<Op> {
    let found = FAMILIES.iter().flat_map(|family| family.iter()).find(|(op, ..)| *op == name)?;
    Some(Op { parameters: found.1, plan: found.2 })
}

/// The number of elements of a shape.
pub(crate) fn volume(shape: &[usize]) -> usize {
    onnxport_ir::ops::strides::volume(shape)
}

/// Sizes as numbers of a kernel.
pub(crate) fn longs(shape: &[usize]) -> impl Iterator<Item = i64> {
    shape.iter().map(|d| *d as i64)
}

/// The steps per axis of a dense tensor.
pub(crate) fn dense(shape: &[usize]) -> Vec<i64> {
    onnxport_ir::ops::strides::dense(shape).into_iter().map(|s| s as i64).collect()
}

/// The steps of a tensor of shape `from` in a walk over `to`, which it broadcasts to.
pub(crate) fn spread(from: &[usize], to: &[usize]) -> Vec<i64> {
    let mut steps = vec![0; to.len()];
    let skip = to.len().saturating_sub(from.len());
    for ((step, own), extent) in steps.iter_mut().skip(skip).zip(dense(from)).zip(from) {
        *step = if *extent == 1 { 0 } else { own };
    }
    steps
}
