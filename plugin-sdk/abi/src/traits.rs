//! Traits of operators.

use crate::graph::op_trait;

/// A set of traits of an operator: facts of its definition, which hold for every node of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traits(u64);

/// A constant for each trait of the contract, and their names.
macro_rules! traits {
    ($($(#[$doc:meta])* $name:ident, $text:literal;)*) => {
        impl Traits {
            $($(#[$doc])* pub const $name: Self = Self(op_trait::$name);)*

            /// The names of the traits, in the order of their bits.
            pub fn names(self) -> impl Iterator<Item = &'static str> {
                let all = [$((Self::$name, $text)),*];
                all.into_iter().filter(move |(one, _)| self.has(*one)).map(|(_, text)| text)
            }
        }
    };
}

traits! {
    /// Where all inputs but the first have one element, each element of the result is computed from the element of the first
    /// input at the same indices.
    ELEMENTWISE, "elementwise";
    /// Each element of the result is computed from one element of each input; the inputs are broadcast together.
    BROADCASTING, "broadcasting";
    /// The first two inputs can be swapped: the result stays the same, bit for bit.
    COMMUTATIVE, "commutative";
    /// Each element of the results is an element of the first input.
    MOVES, "moves data";
    /// The result has the elements of the first input, in the same row-major order, and possibly another shape.
    RESHAPES, "reshapes";
    /// It reduces axes to one element each.
    REDUCTION, "reduction";
    /// It adds or multiplies elements of one input: floating-point results depend on the order in which a runtime does so.
    ACCUMULATES, "accumulates";
    /// Results differ between runs, or between implementations.
    RANDOM, "random";
    /// The result depends on the element types: it converts, saturates or scales.
    TYPED, "typed";
    /// It converts between numbers and quantised codes. Runtimes look for it beside each operator, so it stays where it is.
    QUANTIZES, "quantizes";
    /// It rounds, compares or selects: a tiny difference in an input can make a large one in a result.
    DISCONTINUOUS, "discontinuous";
    /// Results differ by no more than the first input does.
    NONEXPANSIVE, "nonexpansive";
    /// It works on the bits of integers.
    BITWISE, "bitwise";
    /// The result is the first input with some elements replaced by those of other inputs.
    UPDATES, "updates";
}

impl Traits {
    /// No traits.
    pub const NONE: Self = Self(0);

    /// The traits whose bits are set in `bits`, a number that crossed the boundary.
    pub const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    /// The bits of [`op_trait`].
    pub const fn bits(self) -> u64 {
        self.0
    }

    /// These traits and those of `other`.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether all traits of `other` are among these.
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether one of the traits of `other` is among these.
    pub const fn has_any(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}
