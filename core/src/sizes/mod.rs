//! Which sizes a program takes, and programs at sizes that the user states.

#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

mod checks;
mod conditions;
mod constraints;
mod dynamic;
mod effective;
mod fix;
mod frozen;
mod grid;
mod named;
mod solver;
mod traced;

pub use crate::onnx::AxisSize;
pub use checks::{Checks, Emitted, emit};
pub(crate) use constraints::{Constraints, Sizes};
pub use dynamic::{InputAxis, require};
pub use effective::{Effective, InterfaceNames, Narrowed, Reason, Relating, effective};
pub use fix::{fix, merge};
pub use named::{of_symbol, symbols_of_inputs};
pub use traced::traced;

use crate::sym::Dim;

/// An input, as far as guards speak of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Port<'p> {
    /// The program's name.
    pub name: &'p str,
    /// Its place among the arguments of a call, each leaf of a structure counted.
    pub leaf: Option<usize>,
    /// The sizes of a tensor.
    pub dims: &'p [Dim],
    /// The expression that a number equals.
    pub number: Option<Dim>,
}

impl Port<'_> {
    /// Whether a guard means this input by `name`. Strict export numbers the arguments of a call: `flat_args_1`.
    fn is(&self, name: &str) -> bool {
        let leaf = || name.strip_prefix("flat_args_")?.parse::<usize>().ok();
        self.name == name || (self.leaf.is_some() && leaf() == self.leaf)
    }
}
