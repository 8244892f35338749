//! The verbs of an emitter: those of the SDK, which emit nothing if nothing is to be done.

// For the code that PyO3 generates for methods that our macro lists.
#![allow(unsafe_op_in_unsafe_fn)]

use onnxport_sdk::{Emit, Res};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

use super::call;
use super::context::Context;
use super::emitter::{self, Any, Emitter};
use super::operand::{self, Operand};
use super::value::Value;

macro_rules! verbs {
    (unary { $($unary:ident)* } binary { $($binary:ident)* }) => {
        #[pymethods]
        impl Emitter {
            $(fn $unary(&self, x: Any<'_, '_>) -> PyResult<Value> {
                let x = self.value(x)?;
                self.make(|cx| Ok(cx.$unary(x)))
            })*

            $(fn $binary(&self, a: Any<'_, '_>, b: Any<'_, '_>) -> PyResult<Value> {
                let (a, b) = (self.term(a)?, self.term(b)?);
                self.make(|cx| Ok(cx.$binary(a, b)))
            })*
        }
    };
}

verbs! {
    unary {
        abs neg exp log sqrt reciprocal sigmoid tanh erf floor ceil round sign relu identity is_nan shape_value
    }
    binary { add sub mul div pow equal less less_equal greater greater_equal xor max min }
}

#[pymethods]
impl Emitter {
    /// An i64 vector of extents: numbers, `Dim`s, and i64 values of shape `[1]`.
    fn extents(&self, extents: Any<'_, '_>) -> PyResult<Value> {
        Ok(Value::new(self.call, self.value(extents)?))
    }

    /// The size of one axis at run time, an i64 of shape `[1]`.
    fn extent(&self, x: Any<'_, '_>, axis: i64) -> PyResult<Value> {
        let x = self.value(x)?;
        self.make(|cx| Ok(cx.extent(x, cx.axis(axis, cx.rank(x)?)?)))
    }

    /// `Not`.
    #[pyo3(name = "not_")]
    fn logical_not(&self, x: Any<'_, '_>) -> PyResult<Value> {
        let x = self.value(x)?;
        self.make(|cx| Ok(cx.not(x)))
    }

    /// `And`.
    #[pyo3(name = "and_")]
    fn logical_and(&self, a: Any<'_, '_>, b: Any<'_, '_>) -> PyResult<Value> {
        let (a, b) = (self.term(a)?, self.term(b)?);
        self.make(|cx| Ok(cx.and(a, b)))
    }

    /// `Or`.
    #[pyo3(name = "or_")]
    fn logical_or(&self, a: Any<'_, '_>, b: Any<'_, '_>) -> PyResult<Value> {
        let (a, b) = (self.term(a)?, self.term(b)?);
        self.make(|cx| Ok(cx.or(a, b)))
    }

    /// `MatMul`.
    fn matmul(&self, a: Any<'_, '_>, b: Any<'_, '_>) -> PyResult<Value> {
        let (a, b) = (self.value(a)?, self.value(b)?);
        self.make(|cx| Ok(cx.matmul(a, b)))
    }

    /// `Mod`; `fmod` takes the sign of the dividend and is the only form for floats.
    #[pyo3(signature = (a, b, fmod=false))]
    fn modulo(&self, a: Any<'_, '_>, b: Any<'_, '_>, fmod: bool) -> PyResult<Value> {
        let (a, b) = (self.term(a)?, self.term(b)?);
        self.make(|cx| Ok(cx.modulo(a, b, fmod)))
    }

    /// Casts `x` to `dtype`; emits nothing if it already has this type.
    fn cast(&self, x: Any<'_, '_>, dtype: Any<'_, '_>) -> PyResult<Value> {
        let (x, dtype) = (self.value(x)?, emitter::dtype(dtype)?);
        self.make(|cx| Ok(cx.cast(x, dtype)))
    }

    /// `Where`: selects `a` where `condition` holds, else `b`.
    fn select(&self, condition: Any<'_, '_>, a: Any<'_, '_>, b: Any<'_, '_>) -> PyResult<Value> {
        let (condition, a, b) = (self.value(condition)?, self.term(a)?, self.term(b)?);
        self.make(|cx| Ok(cx.select(condition, a, b)))
    }

    /// `Clip` to `low` and `high`.
    fn clamp(&self, x: Any<'_, '_>, low: Any<'_, '_>, high: Any<'_, '_>) -> PyResult<Value> {
        let (x, low, high) = (self.value(x)?, self.term(low)?, self.term(high)?);
        self.make(|cx| Ok(cx.clamp(x, low, high)))
    }

    /// `Transpose`; emits nothing if `perm` is the identity.
    fn transpose(&self, x: Any<'_, '_>, perm: Vec<usize>) -> PyResult<Value> {
        let x = self.value(x)?;
        self.make(|cx| Ok(cx.transpose(x, &perm)))
    }

    /// `Reshape` to numbers, `Dim`s or an i64 vector: -1 is inferred, 0 keeps the size.
    fn reshape(&self, x: Any<'_, '_>, shape: Any<'_, '_>) -> PyResult<Value> {
        let (x, shape) = (self.value(x)?, self.value(shape)?);
        self.make(|cx| Ok(cx.reshape_dynamic(x, shape)))
    }

    /// `x` with the stated sizes of result `index`.
    #[pyo3(signature = (x, index=0))]
    fn reshape_to_result(&self, x: Any<'_, '_>, index: usize) -> PyResult<Value> {
        let x = self.value(x)?;
        let made = self.with(|cx| {
            let cx = cx.call()?;
            cx.reshape_to_result(Context::value_of_call(cx, x), index).map_err(call::refused)
        })?;
        Ok(Value::new(self.call, made.into()))
    }

    /// `Expand` to numbers, `Dim`s or an i64 vector.
    fn expand(&self, x: Any<'_, '_>, shape: Any<'_, '_>) -> PyResult<Value> {
        let (x, shape) = (self.value(x)?, self.value(shape)?);
        self.make(|cx| Ok(cx.expand(x, shape)))
    }

    /// `Tile`.
    fn tile(&self, x: Any<'_, '_>, repeats: Any<'_, '_>) -> PyResult<Value> {
        let (x, repeats) = (self.value(x)?, self.value(repeats)?);
        self.make(|cx| Ok(cx.tile(x, repeats)))
    }

    /// `Unsqueeze`; axes of the result.
    fn unsqueeze(&self, x: Any<'_, '_>, axes: Vec<i64>) -> PyResult<Value> {
        let x = self.value(x)?;
        self.make(|cx| Ok(cx.unsqueeze(x, &axes)))
    }

    /// `Squeeze` of axes whose size is 1.
    fn squeeze(&self, x: Any<'_, '_>, axes: Vec<i64>) -> PyResult<Value> {
        let x = self.value(x)?;
        self.make(|cx| Ok(cx.squeeze(x, &axes)))
    }

    /// `Concat`; a single value is returned as it is.
    #[pyo3(signature = (values, axis))]
    fn concat(&self, values: Vec<Bound<'_, PyAny>>, axis: i64) -> PyResult<Value> {
        let values = values.iter().map(|value| self.value(value)).collect::<PyResult<Vec<_>>>()?;
        if values.is_empty() {
            return Err(PyValueError::new_err("there is nothing to join"));
        }
        self.make(|cx| Ok(cx.concat(&values, axis)))
    }

    /// `Slice` along one axis with constant bounds; without `end` up to the axis's end.
    #[pyo3(signature = (x, axis, start, end=i64::MAX, step=1))]
    fn slice(&self, x: Any<'_, '_>, axis: i64, start: i64, end: i64, step: i64) -> PyResult<Value> {
        let x = self.value(x)?;
        self.make(|cx| Ok(cx.slice(x, axis, start, end, step)))
    }

    /// `Gather` along `axis`.
    #[pyo3(signature = (x, indices, axis=0))]
    fn gather(&self, x: Any<'_, '_>, indices: Any<'_, '_>, axis: i64) -> PyResult<Value> {
        let (x, indices) = (self.value(x)?, self.value(indices)?);
        self.make(|cx| Ok(cx.gather(x, indices, axis)))
    }

    /// A reduction such as `ReduceSum` over `axes`; none of them reduces over all axes.
    #[pyo3(signature = (name, x, axes=Vec::new(), keepdim=false))]
    fn reduce(&self, name: &str, x: Any<'_, '_>, axes: Vec<i64>, keepdim: bool) -> PyResult<Value> {
        let x = self.value(x)?;
        self.make(|cx| {
            let rank = cx.rank(x)?;
            let axes = axes.iter().map(|axis| Ok(cx.axis(*axis, rank)? as i64)).collect::<Res<Vec<i64>>>()?;
            Ok(cx.reduce(onnxport_sdk::op::Named::new(name), x, &axes, keepdim))
        })
    }

    /// `Softmax` along `axis`.
    #[pyo3(signature = (x, axis=-1))]
    fn softmax(&self, x: Any<'_, '_>, axis: i64) -> PyResult<Value> {
        let x = self.value(x)?;
        self.make(|cx| Ok(cx.softmax(x, axis)))
    }

    /// `ConstantOfShape`: sizes filled with a number of type `dtype`.
    #[pyo3(signature = (shape, number, dtype=None))]
    fn filled(&self, shape: Any<'_, '_>, number: Any<'_, '_>, dtype: Option<Any<'_, '_>>) -> PyResult<Value> {
        let shape = self.value(shape)?;
        let wanted = dtype.map(emitter::dtype).transpose()?;
        let Some(Operand::Number(number)) = operand::read(self.call, number)? else {
            return Err(PyTypeError::new_err("the fill value is not a number"));
        };
        self.make(|cx| {
            let dtype = wanted.unwrap_or_else(|| operand::natural(&[number]));
            Ok(cx.constant_of_shape(shape, operand::constant(cx, &[1], &[number], dtype)))
        })
    }

    /// `Range` of numbers or 0-d values.
    fn range(&self, start: Any<'_, '_>, limit: Any<'_, '_>, delta: Any<'_, '_>) -> PyResult<Value> {
        let (start, limit, delta) = (self.value(start)?, self.value(limit)?, self.value(delta)?);
        self.make(|cx| Ok(cx.range(start, limit, delta)))
    }

    /// `Clip`; an absent bound does not limit.
    #[pyo3(signature = (x, min=None, max=None))]
    fn clip(&self, x: Any<'_, '_>, min: Option<Any<'_, '_>>, max: Option<Any<'_, '_>>) -> PyResult<Value> {
        let (x, min, max) = (self.value(x)?, self.optional(min)?, self.optional(max)?);
        self.make(|cx| Ok(cx.clip(x, min, max)))
    }
}
