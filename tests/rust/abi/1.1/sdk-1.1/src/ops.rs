//! The ONNX operators that lowerings use all the time, by name.
//!
//! Each follows the operator's page of the ONNX documentation; where an input became an attribute or
//! the other way round between opsets 18 and 23, the helper emits the right form.

use crate::{DType, Lower, Value};

macro_rules! unary {
    ($($name:ident $op:literal;)*) => {
        impl Lower<'_> {
            $(#[doc = concat!("Emits `", $op, "`.")]
            pub fn $name(&mut self, x: Value) -> Value {
                self.op($op).input(x).one()
            })*
        }
    };
}

macro_rules! binary {
    ($($name:ident $op:literal;)*) => {
        impl Lower<'_> {
            $(#[doc = concat!("Emits `", $op, "`; the operands are of one type and broadcast.")]
            pub fn $name(&mut self, a: Value, b: Value) -> Value {
                self.op($op).input(a).input(b).one()
            })*
        }
    };
}

unary! {
    abs "Abs";
    neg "Neg";
    exp "Exp";
    log "Log";
    sqrt "Sqrt";
    reciprocal "Reciprocal";
    sigmoid "Sigmoid";
    tanh "Tanh";
    erf "Erf";
    floor "Floor";
    ceil "Ceil";
    round "Round";
    sign "Sign";
    relu "Relu";
    not "Not";
    identity "Identity";
    is_nan "IsNaN";
}

binary! {
    add "Add";
    sub "Sub";
    mul "Mul";
    div "Div";
    pow "Pow";
    matmul "MatMul";
    equal "Equal";
    less "Less";
    less_equal "LessOrEqual";
    greater "Greater";
    greater_equal "GreaterOrEqual";
    and "And";
    or "Or";
    xor "Xor";
    expand "Expand";
    reshape_dynamic "Reshape";
    tile "Tile";
}

impl Lower<'_> {
    /// `x` as `dtype`: nothing when it already is.
    pub fn cast(&mut self, x: Value, dtype: DType) -> Value {
        if self.fact(x).dtype == Some(dtype) {
            return x;
        }
        self.op("Cast").input(x).int("to", i64::from(dtype.onnx())).one()
    }

    /// `Where`: `a` where `condition`, else `b`; all broadcast. Types that ONNX Runtime has no kernel
    /// for go through a wider one.
    pub fn select(&mut self, condition: Value, a: Value, b: Value) -> Value {
        let dtype = self.fact(a).dtype;
        let wide = match dtype {
            Some(DType::Bool) => Some(DType::U8),
            Some(DType::I16 | DType::U16) => Some(DType::I32),
            Some(DType::U64) => Some(DType::I64),
            _ => None,
        };
        let (Some(dtype), Some(wide)) = (dtype, wide) else {
            return self.op("Where").input(condition).input(a).input(b).one();
        };
        let (a, b) = (self.cast(a, wide), self.cast(b, wide));
        let chosen = self.op("Where").input(condition).input(a).input(b).one();
        self.cast(chosen, dtype)
    }

    /// `Transpose`; nothing when `perm` is the identity.
    pub fn transpose(&mut self, x: Value, perm: &[usize]) -> Value {
        if perm.iter().enumerate().all(|(i, p)| i == *p) {
            return x;
        }
        let perm: Vec<i64> = perm.iter().map(|p| *p as i64).collect();
        self.op("Transpose").input(x).ints("perm", &perm).one()
    }

    /// `Reshape` to constant extents: -1 is what remains, 0 keeps the extent.
    pub fn reshape(&mut self, x: Value, shape: &[i64]) -> Value {
        let shape = self.ints(shape);
        self.op("Reshape").input(x).input(shape).one()
    }

    /// `Unsqueeze`; axes of the result.
    pub fn unsqueeze(&mut self, x: Value, axes: &[i64]) -> Value {
        if axes.is_empty() {
            return x;
        }
        let axes = self.ints(axes);
        self.op("Unsqueeze").input(x).input(axes).one()
    }

    /// `Squeeze` of axes whose extent is 1.
    pub fn squeeze(&mut self, x: Value, axes: &[i64]) -> Value {
        if axes.is_empty() {
            return x;
        }
        let axes = self.ints(axes);
        self.op("Squeeze").input(x).input(axes).one()
    }

    /// `Concat`; a single value is returned as it is.
    pub fn concat(&mut self, values: &[Value], axis: i64) -> Value {
        match values {
            [single] => *single,
            _ => self.op("Concat").inputs(values.iter().copied()).int("axis", axis).one(),
        }
    }

    /// `Slice` along one axis with constant bounds; `i64::MAX` as end is the axis's end.
    pub fn slice(&mut self, x: Value, axis: i64, start: i64, end: i64, step: i64) -> Value {
        let (start, end) = (self.ints(&[start]), self.ints(&[end]));
        self.slice_dynamic(x, axis, start, end, step)
    }

    /// `Slice` along one axis; the bounds are i64 of shape `[1]`.
    pub fn slice_dynamic(&mut self, x: Value, axis: i64, start: Value, end: Value, step: i64) -> Value {
        let axis = self.ints(&[axis]);
        let step = (step != 1).then(|| self.ints(&[step]));
        self.op("Slice").input(x).input(start).input(end).input(axis).maybe(step).one()
    }

    /// `Gather` along `axis`.
    pub fn gather(&mut self, x: Value, indices: Value, axis: i64) -> Value {
        self.op("Gather").input(x).input(indices).int("axis", axis).one()
    }

    /// A reduction such as `ReduceSum` over `axes`; none of them reduces over all axes.
    pub fn reduce(&mut self, op: &str, x: Value, axes: &[i64], keepdim: bool) -> Value {
        let axes = (!axes.is_empty()).then(|| self.ints(axes));
        self.op(op).input(x).maybe(axes).int("keepdims", i64::from(keepdim)).one()
    }

    /// `Softmax` along `axis`.
    pub fn softmax(&mut self, x: Value, axis: i64) -> Value {
        self.op("Softmax").input(x).int("axis", axis).one()
    }

    /// `Clip`; a bound that is absent does not bind.
    pub fn clip(&mut self, x: Value, min: Option<Value>, max: Option<Value>) -> Value {
        self.op("Clip").input(x).maybe(min).maybe(max).one()
    }

    /// `Max` of two.
    pub fn max(&mut self, a: Value, b: Value) -> Value {
        self.op("Max").input(a).input(b).one()
    }

    /// `Min` of two.
    pub fn min(&mut self, a: Value, b: Value) -> Value {
        self.op("Min").input(a).input(b).one()
    }

    /// `Mod`; `fmod` takes the sign of the dividend and is the only form for floats.
    pub fn modulo(&mut self, a: Value, b: Value, fmod: bool) -> Value {
        self.op("Mod").input(a).input(b).int("fmod", i64::from(fmod)).one()
    }

    /// `ConstantOfShape`: `shape` (an i64 vector at run time) filled with the constant `fill`, a
    /// one-element tensor.
    pub fn constant_of_shape(&mut self, shape: Value, fill: Value) -> Value {
        self.op("ConstantOfShape").input(shape).tensor("value", fill).one()
    }

    /// `Range` of 0-d values.
    pub fn range(&mut self, start: Value, limit: Value, delta: Value) -> Value {
        self.op("Range").input(start).input(limit).input(delta).one()
    }
}
