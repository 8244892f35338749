//! The definition of each ONNX operator: the types and shapes of its results, and the results themselves.
//!
//! A file holds a family of operators. Beside the code of an operator stands its line in the family's table:
//!
//! ```ignore
//! pub(super) const OPS: &[Op] = &[
//!     Op::new("Relu").elementwise().eval(|c| numbers(c, |x| x.max(0.0), |n| n.max(0))),
//! ];
//! ```
//!
//! That line is all that registers it; a new family is a module and a word in `families!` below. The rules of inference stand in a
//! module `infer` of the family: at the end of its file, or in a file of their own where both would be too long.
//!
//! # Traits
//!
//! A line also states the operator's [`Traits`]: elementwise, commutative, random and so on, and its [`Axes`], how a transpose
//! passes through it. Whatever else needs to know which operators have a property asks [`traits()`]; nothing keeps a list of
//! names of its own. `.elementwise()` and `.broadcasting()` bring the rule of inference with them.
//!
//! # Inference
//!
//! A rule takes a [`Cx`](infer), reads the known facts of inputs and attributes, and returns the shapes of the
//! outputs, or nothing: a size is stated only if every run of the model has it. A node that is invalid at all sizes is
//! refuted with a sentence, and validation refuses it. A node that is valid at some sizes is not refuted.
//!
//! Element types follow from the operator's signature; where they do not, a line has `.dtypes(…)`. `.contents(…)` gives
//! the elements of small integers, of which shapes are made, and `.types(…)` for values that are not tensors.
//!
//! # Evaluators
//!
//! An evaluator takes a [`Call`], asks it for inputs and attributes, and returns the outputs in order. It follows the
//! [operator page](https://onnx.ai/onnx/operators/) of ONNX for every element type that stands there, and is the
//! oracle that rules, folding and targets are judged by. So it is plain and exact before it is fast:
//!
//! - integers are computed in `i128` and wrapped when they are stored, floats in `f64` and rounded once, unless the
//!   definition of the operator says otherwise ([`Elements`]);
//! - operators that only move elements use [`Tensor::pick`] and [`Tensor::mix`], which take every type;
//! - before room is made for a result, [`Call::count`] asks the budget; work beyond one step per element of the result
//!   is told to [`Call::spend`];
//! - inputs come from outside: an index out of range, a shape that does not fit is an [`Error`], never a panic.
//!
//! The node tests of the `onnx` package judge the evaluators: `cargo xtask conformance`.
//!
//! # Bodies
//!
//! ONNX defines some operators by others: [`body()`] is that definition, a function. It evaluates an operator that has
//! no evaluator of its own, and a second opinion on one that has.

// Sizes, attributes and shapes come from files. A file of kernels, which computes positions in tensors whose sizes were
// counted, says so at its head.
#![deny(clippy::arithmetic_side_effects)]

mod activation;
mod attention;
pub mod body;
mod boxes;
mod budget;
mod call;
mod cast;
mod control;
pub mod conv;
mod deform;
mod einsum;
mod error;
mod flex;
mod fold;
mod generator;
mod index;
pub mod infer;
mod interpret;
mod logic;
mod loss;
mod map;
mod matmul;
mod ml;
mod norm;
mod pointwise;
mod pool;
mod quantize;
mod random;
mod recurrent;
mod reduce;
pub mod resize;
mod runtime;
mod sample;
mod sequence;
mod signal;
mod slice;
mod sort;
mod stateful;
pub mod strides;
mod tensor;
mod text;
mod training;
mod traits;
mod value;
mod view;
pub mod window;
mod without;

#[cfg(test)]
mod tests;

pub use body::body;
pub use budget::{Budget, Limits};
pub use call::Call;
pub use error::{Error, Fault, Res};
pub(crate) use fold::foldable;
pub use fold::{Folding, Local, alone, evaluate, fold, fold_graph};
pub use interpret::{deaths, run, run_each};
pub use tensor::{Elements, Rounding, Tensor, decode_float};
pub use traits::{Axes, Traits, traits, traits_of};
pub use value::Value;
pub use without::without;

/// Computes the outputs of a node.
pub type Eval = fn(&mut Call<'_>) -> Res<Vec<Value>>;

/// The definition of an operator.
#[derive(Clone, Copy, Debug)]
pub struct Op {
    /// The domain; empty for ONNX's own operators.
    pub domain: &'static str,
    /// The name.
    pub name: &'static str,
    dtypes: Option<infer::DtypeRule>,
    infer: Option<infer::Rule>,
    types: Option<infer::TypeRule>,
    contents: Option<infer::ContentRule>,
    eval: Option<Eval>,
    traits: Traits,
    axes: Option<Axes>,
}

impl Op {
    const fn new(name: &'static str) -> Self {
        Self {
            domain: "",
            name,
            dtypes: None,
            infer: None,
            types: None,
            contents: None,
            eval: None,
            traits: Traits::NONE,
            axes: None,
        }
    }

    /// In another domain than ONNX's main one.
    const fn of(mut self, domain: &'static str) -> Self {
        self.domain = domain;
        self
    }

    /// With the rule that gives the element types of its results, where the signature does not.
    const fn dtypes(mut self, rule: infer::DtypeRule) -> Self {
        self.dtypes = Some(rule);
        self
    }

    /// With the rule that gives the whole types of its results, for values that are not tensors or come from a body.
    const fn types(mut self, rule: infer::TypeRule) -> Self {
        self.types = Some(rule);
        self
    }

    /// With the rule that gives the elements of small integer results.
    const fn contents(mut self, rule: infer::ContentRule) -> Self {
        self.contents = Some(rule);
        self
    }

    /// With the rule that gives the shapes of its results.
    const fn infer(mut self, rule: infer::Rule) -> Self {
        self.infer = Some(rule);
        self
    }

    const fn eval(mut self, eval: Eval) -> Self {
        self.eval = Some(eval);
        self
    }

    /// Properties of its definition besides types, shapes and results.
    pub fn traits(&self) -> Traits {
        self.traits
    }

    /// How a transpose passes through it, where it is neither elementwise nor broadcasting.
    pub fn axis_mapping(&self) -> Option<Axes> {
        self.axes
    }

    /// Whether other implementations, and this one with other seeds, return something else.
    pub fn is_random(&self) -> bool {
        self.traits.has(Traits::RANDOM)
    }

    /// Whether sizes are computed with it: the elements of small integer results are inferred.
    pub fn computes_sizes(&self) -> bool {
        self.contents.is_some()
    }

    /// Whether the shapes of its results are inferred.
    pub fn infers(&self) -> bool {
        self.infer.is_some() || self.types.is_some()
    }

    /// How its results are computed, where that is known.
    pub fn evaluator(&self) -> Option<Eval> {
        self.eval
    }
}

/// Gathers the tables of the families.
macro_rules! families {
    ($($($family:ident)::+)*) => {
        const FAMILIES: &[&[Op]] = &[$($($family)::+::OPS),*];
    };
}

families! {
    activation
    attention
    boxes
    cast
    control
    conv
    deform
    einsum
    flex
    generator
    index
    logic
    loss
    matmul
    ml::categories
    ml::features
    ml::linear
    ml::maps
    ml::svm
    ml::trees
    norm
    pointwise
    pool
    quantize
    random
    recurrent
    reduce
    resize
    runtime::activations
    runtime::attention
    runtime::norms
    runtime::products
    runtime::quantized
    sample
    sequence
    signal
    slice
    sort
    stateful
    text
    training
    view
}

/// Every operator that something is known of, sorted by domain and name.
pub fn all() -> &'static [Op] {
    static TABLE: std::sync::LazyLock<Vec<Op>> = std::sync::LazyLock::new(|| {
        let mut table = FAMILIES.concat();
        table.sort_by_key(|op| (op.domain, op.name));
        table
    });
    &TABLE
}

/// The definition of the operator `name`.
pub fn lookup(domain: &str, name: &str) -> Option<&'static Op> {
    let table = all();
    let at = table.binary_search_by_key(&(domain, name), |op| (op.domain, op.name)).ok()?;
    table.get(at)
}
