//! Traits of operators, as their lines state them: see [`Traits`]; and how axes pass through them.

use super::{Op, infer::broadcast, lookup};
use crate::ir::Node;

pub use onnxport_abi::Traits;

/// How a transpose passes through an operator: the changes of a node whose operands are transposed. The result of an
/// operator without such a mapping depends on the order of the axes, unless it is elementwise or broadcasting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axes {
    /// Nothing: the inputs broadcast to the first one.
    Together,
    /// The attribute `axis`, since this opset; before, the operator flattens its input around that axis.
    Along(i64),
    /// The list of axes that is this input; older versions have an attribute `axes` in its place.
    Listed(usize),
    /// The order of the elements of these inputs, which have this many for each axis. No input or attribute `axes` picks axes.
    PerAxis(&'static [(usize, usize)]),
}

/// The traits of the operator of a node; none for an unknown operator.
pub fn traits(node: &Node) -> Traits {
    traits_of(&node.domain, &node.op)
}

/// The traits of the operator `name`; none for an unknown one.
pub fn traits_of(domain: &str, name: &str) -> Traits {
    lookup(domain, name).map_or(Traits::NONE, Op::traits)
}

/// The methods of operator lines.
impl Op {
    const fn with(mut self, traits: Traits) -> Self {
        self.traits = self.traits.with(traits);
        self
    }

    /// Where all inputs but the first have one element, each element of the result is computed from the element of the first
    /// input at the same indices. The result has the shape of the first input.
    pub(super) const fn elementwise(self) -> Self {
        self.with(Traits::ELEMENTWISE).infer(broadcast::same)
    }

    /// Each element of the result is computed from one element of each input; the inputs are broadcast together.
    pub(super) const fn broadcasting(self) -> Self {
        self.with(Traits::BROADCASTING).infer(broadcast::all)
    }

    /// The first two inputs can be swapped: the result stays the same, bit for bit.
    pub(super) const fn commutative(self) -> Self {
        self.with(Traits::COMMUTATIVE)
    }

    /// Each element of the results is an element of the first input.
    pub(super) const fn moves(self) -> Self {
        self.with(Traits::MOVES)
    }

    /// The result has the elements of the first input in the same row-major order, and possibly another shape.
    pub(super) const fn reshapes(self) -> Self {
        self.moves().with(Traits::RESHAPES)
    }

    /// It reduces the axes that its second input lists to one element each.
    pub(super) const fn reduction(self) -> Self {
        self.with(Traits::REDUCTION).axes(Axes::Listed(1))
    }

    /// It adds or multiplies elements of one input: results depend on the order in which a runtime does so.
    pub(super) const fn accumulates(self) -> Self {
        self.with(Traits::ACCUMULATES)
    }

    /// Results differ between runs, or between implementations.
    pub(super) const fn random(self) -> Self {
        self.with(Traits::RANDOM)
    }

    /// The result depends on the element types: it converts, saturates or scales.
    pub(super) const fn typed(self) -> Self {
        self.with(Traits::TYPED)
    }

    /// It converts between numbers and quantised codes, and stays where it is.
    pub(super) const fn quantizes(self) -> Self {
        self.with(Traits::QUANTIZES).typed()
    }

    /// It rounds, compares or selects: a tiny difference in an input can make a large one in a result.
    pub(super) const fn discontinuous(self) -> Self {
        self.with(Traits::DISCONTINUOUS)
    }

    /// Results differ by no more than the first input does.
    pub(super) const fn nonexpansive(self) -> Self {
        self.with(Traits::NONEXPANSIVE)
    }

    /// The result is the first input with some elements replaced by those of other inputs.
    pub(super) const fn updates(self) -> Self {
        self.with(Traits::UPDATES)
    }

    /// It works on the bits of integers.
    pub(super) const fn bitwise(self) -> Self {
        self.with(Traits::BITWISE)
    }

    /// It works along the axis that `axis` names, since this opset.
    pub(super) const fn along(self, since: i64) -> Self {
        self.axes(Axes::Along(since))
    }

    /// How a transpose passes through it.
    pub(super) const fn axes(mut self, axes: Axes) -> Self {
        self.axes = Some(axes);
        self
    }
}
