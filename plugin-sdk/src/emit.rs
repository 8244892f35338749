//! Emitting nodes, shared by lowerings, builders of rules, and passes.
//!
//! The verbs follow the operators' pages of the ONNX documentation; where an input became an attribute or the other way
//! round between opsets 18 and 23, the verb emits the right form. An operand further to the left of an expression is
//! emitted first.

use crate::build::Node;
use crate::literal::{element, holds};
use crate::op::{self, Named, Operator};
use crate::{DType, Dim, Fact, Literal, NodeBuilder, Refusal, Res, Scalar, Term};

/// Defines verbs that are one operator over values.
macro_rules! unary {
    ($($name:ident $op:ident;)*) => {
        $(#[doc = concat!("Emits `", stringify!($op), "`.")]
        fn $name(&self, x: Self::Value) -> Self::Value {
            self.op(op::$op).input(x).one()
        })*
    };
}

/// Defines verbs that are one operator over two operands.
macro_rules! binary {
    ($($name:ident $op:ident;)*) => {
        $(#[doc = concat!("Emits `", stringify!($op), "`; the operands are of one type and broadcast.")]
        fn $name(
            &self,
            a: impl Into<Term<Self::Value>>,
            b: impl Into<Term<Self::Value>>,
        ) -> Self::Value {
            let [a, b] = self.pair(a, b);
            self.op(op::$op).input(a).input(b).one()
        })*
    };
}

/// Adds nodes and constants to a graph: [`Lower`](crate::Lower), [`Rewrite`](crate::Rewrite) and
/// [`Edit`](crate::Edit).
///
/// Values take part in formulas: `(x - mean) * cx.reciprocal(deviation)`. A number takes the element type of the value
/// beside it.
///
/// Emitting never fails in the author's code: an error is recorded, and whatever the lowering, the rule or
/// the pass returns is refused with the reason.
pub trait Emit: Sized {
    /// A value of the graph.
    type Value: Copy + Into<Term<Self::Value>>;

    /// The facts about `value`.
    fn fact(&self, value: Self::Value) -> Fact;

    /// The contents of `value`, when it is a small constant.
    fn literal(&self, value: Self::Value) -> Option<Literal>;

    /// A constant of these bytes: little-endian, row-major.
    fn constant(&self, dtype: DType, shape: &[u64], bytes: &[u8]) -> Self::Value;

    /// A 0-d constant of `dtype`, or the symbolic number cast to it (of shape `[1]`, unless the
    /// first result of the call is 0-d).
    fn number(&self, number: &Scalar, dtype: DType) -> Self::Value {
        self.filled(number, dtype, &[])
    }

    /// Adds a node; if the host refuses it, records the error and leaves `outputs` unchanged.
    #[doc(hidden)]
    fn add_node(&self, node: &Node<'_, Self::Value>, outputs: &mut [Self::Value]);

    /// A placeholder for a value that could not be created.
    #[doc(hidden)]
    fn nothing(&self) -> Self::Value;

    /// Remembers a failure, the first of which counts; returns [`Emit::nothing`].
    #[doc(hidden)]
    fn fail(&self, message: String) -> Self::Value;

    /// Begins a node of the operator `op`.
    fn op<'c, 'a, O: Operator<'a>>(&'c self, op: O) -> NodeBuilder<'c, 'a, Self, O> {
        NodeBuilder::new(self, op)
    }

    /// Begins a node of another domain's operator by its name.
    fn op_in<'c, 'a>(&'c self, domain: &'a str, version: i64, op: &'a str) -> NodeBuilder<'c, 'a, Self> {
        NodeBuilder::new(self, Named::in_domain(domain, version, op))
    }

    /// The element type of `value`.
    ///
    /// # Errors
    /// When the host cannot tell.
    fn dtype(&self, value: Self::Value) -> Res<DType> {
        self.fact(value).dtype.ok_or_else(|| Refusal::new("the element type of an operand is not known"))
    }

    /// The sizes of `value`.
    ///
    /// # Errors
    /// When the rank is not known.
    fn shape(&self, value: Self::Value) -> Res<Vec<Dim>> {
        self.fact(value).shape.ok_or_else(|| Refusal::new("the rank of an operand is not known"))
    }

    /// The number of axes of `value`.
    ///
    /// # Errors
    /// When it is not known.
    fn rank(&self, value: Self::Value) -> Res<usize> {
        self.shape(value).map(|s| s.len())
    }

    /// The size of axis `axis` of `value`; unknown when the rank is.
    fn dim(&self, value: Self::Value, axis: usize) -> Dim {
        self.fact(value).shape.and_then(|s| s.get(axis).copied()).unwrap_or(Dim::Unknown)
    }

    /// The axis that `axis` means for `rank` axes: negative ones count from the end, and a scalar
    /// has one axis for this purpose, as in PyTorch.
    ///
    /// # Errors
    /// When it is out of range.
    fn axis(&self, axis: i64, rank: usize) -> Res<usize> {
        let extent = rank.max(1) as i64;
        let positive = if axis < 0 { axis + extent } else { axis };
        if (0..extent).contains(&positive) {
            return Ok(positive as usize);
        }
        Err(Refusal::new(format!("dim {axis} is out of range for {rank} axes")))
    }

    /// Two terms as values of one element type.
    #[doc(hidden)]
    fn pair(&self, a: impl Into<Term<Self::Value>>, b: impl Into<Term<Self::Value>>) -> [Self::Value; 2] {
        let terms = [a.into(), b.into()];
        if let [Term::Value(a), Term::Value(b)] = terms {
            return [a, b];
        }
        let dtype = terms.iter().find_map(|term| match term {
            Term::Value(value) => self.fact(*value).dtype,
            Term::Number(_) | Term::Exact(_) => None,
        });
        terms.map(|term| match (term, dtype) {
            (Term::Value(value), _) => value,
            (Term::Exact(number), Some(dtype)) if !holds(dtype, &number) => {
                let number = number.as_f64().unwrap_or_default();
                self.fail(format!("{number} is combined with a value of type {dtype}"))
            }
            (Term::Exact(number) | Term::Number(number), Some(dtype)) => self.number(&number, dtype),
            (Term::Number(_) | Term::Exact(_), None) => {
                self.fail("a number is combined with no value of known element type".to_owned())
            }
        })
    }

    /// A constant of `dtype` and `shape` with every element equal to `number`; meant for small ones.
    fn filled(&self, number: &Scalar, dtype: DType, shape: &[u64]) -> Self::Value {
        match element(number, dtype) {
            Some(bytes) => {
                let count = shape.iter().product::<u64>() as usize;
                self.constant(dtype, shape, &bytes.repeat(count))
            }
            None => self.fail(format!("{number:?} is not a constant of type {dtype}")),
        }
    }

    /// A vector of numbers, all cast to `dtype`.
    fn numbers(&self, numbers: &[f64], dtype: DType) -> Self::Value {
        self.numbers_shaped(numbers, &[numbers.len() as u64], dtype)
    }

    /// Numbers in row-major order, all cast to `dtype`.
    fn numbers_shaped(&self, numbers: &[f64], shape: &[u64], dtype: DType) -> Self::Value {
        let bytes: Option<Vec<Vec<u8>>> =
            numbers.iter().map(|n| element(&Scalar::Float(*n), dtype)).collect();
        match bytes {
            Some(bytes) => self.constant(dtype, shape, &bytes.concat()),
            None => self.fail(format!("there are no constants of type {dtype}")),
        }
    }

    /// An i64 vector.
    fn ints(&self, ints: &[i64]) -> Self::Value {
        self.ints_shaped(ints, &[ints.len() as u64])
    }

    /// An i64 tensor, row-major.
    fn ints_shaped(&self, ints: &[i64], shape: &[u64]) -> Self::Value {
        let bytes: Vec<u8> = ints.iter().flat_map(|n| n.to_le_bytes()).collect();
        self.constant(DType::I64, shape, &bytes)
    }

    /// A 0-d i64.
    fn int(&self, n: i64) -> Self::Value {
        self.filled(&Scalar::Int(n), DType::I64, &[])
    }

    /// A 0-d float of `dtype`.
    fn float(&self, x: f64, dtype: DType) -> Self::Value {
        self.filled(&Scalar::Float(x), dtype, &[])
    }

    /// A 0-d truth value.
    fn bool(&self, b: bool) -> Self::Value {
        self.filled(&Scalar::Bool(b), DType::Bool, &[])
    }

    unary! {
        abs Abs;
        neg Neg;
        exp Exp;
        log Log;
        sqrt Sqrt;
        reciprocal Reciprocal;
        sigmoid Sigmoid;
        tanh Tanh;
        erf Erf;
        floor Floor;
        ceil Ceil;
        round Round;
        sign Sign;
        relu Relu;
        not Not;
        identity Identity;
        is_nan IsNaN;
    }

    binary! {
        add Add;
        sub Sub;
        mul Mul;
        div Div;
        pow Pow;
        equal Equal;
        less Less;
        less_equal LessOrEqual;
        greater Greater;
        greater_equal GreaterOrEqual;
        and And;
        or Or;
        xor Xor;
        max Max;
        min Min;
    }

    /// `MatMul`.
    fn matmul(&self, a: Self::Value, b: Self::Value) -> Self::Value {
        self.op(op::MatMul).input(a).input(b).one()
    }

    /// `Mod`; `fmod` takes the sign of the dividend and is the only form for floats.
    fn modulo(
        &self,
        a: impl Into<Term<Self::Value>>,
        b: impl Into<Term<Self::Value>>,
        fmod: bool,
    ) -> Self::Value {
        let [a, b] = self.pair(a, b);
        self.op(op::Mod).input(a).input(b).fmod(fmod).one()
    }

    /// `x` as `dtype`: nothing when it already is.
    fn cast(&self, x: Self::Value, dtype: DType) -> Self::Value {
        if self.fact(x).dtype == Some(dtype) {
            return x;
        }
        self.op(op::Cast).input(x).to(dtype.onnx()).one()
    }

    /// `Where`: `a` where `condition`, else `b`; all broadcast. Types that ONNX Runtime has no kernel
    /// for go through a wider one.
    fn select(
        &self,
        condition: Self::Value,
        a: impl Into<Term<Self::Value>>,
        b: impl Into<Term<Self::Value>>,
    ) -> Self::Value {
        let [a, b] = self.pair(a, b);
        let dtype = self.fact(a).dtype;
        let wide = match dtype {
            Some(DType::Bool) => Some(DType::U8),
            Some(DType::I16 | DType::U16) => Some(DType::I32),
            Some(DType::U64) => Some(DType::I64),
            _ => None,
        };
        let choose = |a, b| self.op(op::Where).input(condition).input(a).input(b).one();
        match (dtype, wide) {
            (Some(dtype), Some(wide)) => self.cast(choose(self.cast(a, wide), self.cast(b, wide)), dtype),
            _ => choose(a, b),
        }
    }

    /// `Clip` to `low` and `high`.
    fn clamp(
        &self,
        x: Self::Value,
        low: impl Into<Term<Self::Value>>,
        high: impl Into<Term<Self::Value>>,
    ) -> Self::Value {
        let ([_, low], [_, high]) = (self.pair(x, low), self.pair(x, high));
        self.clip(x, Some(low), Some(high))
    }

    /// `Clip`; a bound that is absent does not bind.
    fn clip(&self, x: Self::Value, min: Option<Self::Value>, max: Option<Self::Value>) -> Self::Value {
        self.op(op::Clip).input(x).maybe(min).maybe(max).one()
    }

    /// `Transpose`; nothing when `perm` is the identity.
    fn transpose(&self, x: Self::Value, perm: &[usize]) -> Self::Value {
        if perm.iter().enumerate().all(|(i, p)| i == *p) {
            return x;
        }
        let perm: Vec<i64> = perm.iter().map(|p| *p as i64).collect();
        self.op(op::Transpose).input(x).perm(&perm).one()
    }

    /// `Reshape` to constant dimensions: -1 is inferred, 0 keeps the dimension.
    fn reshape(&self, x: Self::Value, shape: &[i64]) -> Self::Value {
        self.reshape_dynamic(x, self.ints(shape))
    }

    /// `Reshape` to sizes that are known at run time: an i64 vector.
    fn reshape_dynamic(&self, x: Self::Value, shape: Self::Value) -> Self::Value {
        self.op(op::Reshape).input(x).input(shape).one()
    }

    /// `Expand` to an i64 vector of extents.
    fn expand(&self, x: Self::Value, shape: Self::Value) -> Self::Value {
        self.op(op::Expand).input(x).input(shape).one()
    }

    /// `Tile`; `repeats` is an i64 vector.
    fn tile(&self, x: Self::Value, repeats: Self::Value) -> Self::Value {
        self.op(op::Tile).input(x).input(repeats).one()
    }

    /// `Unsqueeze`; axes of the result.
    fn unsqueeze(&self, x: Self::Value, axes: &[i64]) -> Self::Value {
        if axes.is_empty() {
            return x;
        }
        self.op(op::Unsqueeze).input(x).input(self.ints(axes)).one()
    }

    /// `Squeeze` of axes whose size is 1.
    fn squeeze(&self, x: Self::Value, axes: &[i64]) -> Self::Value {
        if axes.is_empty() {
            return x;
        }
        self.op(op::Squeeze).input(x).input(self.ints(axes)).one()
    }

    /// `Concat`; a single value is returned as it is.
    fn concat(&self, values: &[Self::Value], axis: i64) -> Self::Value {
        match values {
            [single] => *single,
            _ => self.op(op::Concat).inputs(values.iter().copied()).axis(axis).one(),
        }
    }

    /// `Slice` along one axis with constant bounds; `i64::MAX` as end is the axis's end.
    fn slice(&self, x: Self::Value, axis: i64, start: i64, end: i64, step: i64) -> Self::Value {
        self.slice_dynamic(x, axis, self.ints(&[start]), self.ints(&[end]), step)
    }

    /// `Slice` along one axis; the bounds are i64 of shape `[1]`.
    fn slice_dynamic(
        &self,
        x: Self::Value,
        axis: i64,
        start: Self::Value,
        end: Self::Value,
        step: i64,
    ) -> Self::Value {
        let axis = self.ints(&[axis]);
        let step = (step != 1).then(|| self.ints(&[step]));
        self.op(op::Slice).input(x).input(start).input(end).input(axis).maybe(step).one()
    }

    /// `Gather` along `axis`.
    fn gather(&self, x: Self::Value, indices: Self::Value, axis: i64) -> Self::Value {
        self.op(op::Gather).input(x).input(indices).axis(axis).one()
    }

    /// A reduction such as `ReduceSum` over `axes`; none of them reduces over all axes.
    fn reduce<'a>(&self, op: impl Operator<'a>, x: Self::Value, axes: &[i64], keepdim: bool) -> Self::Value {
        let axes = (!axes.is_empty()).then(|| self.ints(axes));
        self.op(op.named()).input(x).maybe(axes).int("keepdims", i64::from(keepdim)).one()
    }

    /// `Softmax` along `axis`.
    fn softmax(&self, x: Self::Value, axis: i64) -> Self::Value {
        self.op(op::Softmax).input(x).axis(axis).one()
    }

    /// `ConstantOfShape`: `shape` (an i64 vector at run time) filled with the constant `fill`, a
    /// one-element tensor.
    fn constant_of_shape(&self, shape: Self::Value, fill: Self::Value) -> Self::Value {
        self.op(op::ConstantOfShape).input(shape).value(fill).one()
    }

    /// `Range` of 0-d values.
    fn range(&self, start: Self::Value, limit: Self::Value, delta: Self::Value) -> Self::Value {
        self.op(op::Range).input(start).input(limit).input(delta).one()
    }

    /// The size of one axis at run time, an i64 of shape `[1]`.
    fn extent(&self, value: Self::Value, axis: usize) -> Self::Value {
        if let Dim::Const(n) = self.dim(value, axis) {
            return self.ints(&[n]);
        }
        self.op(op::Shape).input(value).start(axis as i64).end(axis as i64 + 1).one()
    }

    /// The shape at run time, an i64 vector; a constant when every size is a number.
    fn shape_value(&self, value: Self::Value) -> Self::Value {
        let known =
            self.shape(value).ok().and_then(|s| s.iter().map(|d| d.as_const()).collect::<Option<Vec<_>>>());
        match known {
            Some(shape) => self.ints(&shape),
            None => self.op(op::Shape).input(value).one(),
        }
    }
}
