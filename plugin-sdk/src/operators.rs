//! Operators on values: `(x - mean) * inverse`, `2.0 * x`, `!mask & near`.
//!
//! They emit where the value belongs: into the call that is being lowered on this thread, or into the
//! graph of the [`ValueRef`].

use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Sub};

use crate::lower::running;
use crate::{Editor, Emit, Operand, Scalar, Value, ValueRef};

/// An operand of a formula: a value, or a number that takes the element type of the other operand.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Term<V> {
    /// A value.
    Value(V),
    /// A number of the program, converted as `Tensor.to` does.
    Number(Scalar),
    /// A number of the author's own, which the element type must hold.
    Exact(Scalar),
}

impl From<Value> for Term<Value> {
    fn from(value: Value) -> Self {
        Term::Value(value)
    }
}

impl<'h> From<ValueRef<'h>> for Term<ValueRef<'h>> {
    fn from(value: ValueRef<'h>) -> Self {
        Term::Value(value)
    }
}

impl From<Operand> for Term<Value> {
    fn from(operand: Operand) -> Self {
        match operand {
            Operand::Tensor(value) => Term::Value(value),
            Operand::Number(number) => Term::Number(number),
        }
    }
}

impl<V> From<Scalar> for Term<V> {
    fn from(number: Scalar) -> Self {
        Term::Number(number)
    }
}

impl<V> From<f64> for Term<V> {
    fn from(number: f64) -> Self {
        Term::Exact(Scalar::Float(number))
    }
}

impl<V> From<i64> for Term<V> {
    fn from(number: i64) -> Self {
        Term::Exact(Scalar::Int(number))
    }
}

macro_rules! arithmetic {
    ($($trait:ident::$method:ident, $op:literal;)*) => {
        $(
            #[doc = concat!("Emits `", $op, "`.")]
            impl<T: Into<Term<Value>>> $trait<T> for Value {
                type Output = Value;

                fn $method(self, other: T) -> Value {
                    running().$method(self, other)
                }
            }

            #[doc = concat!("Emits `", $op, "`.")]
            impl<'h, T: Into<Term<ValueRef<'h>>>> $trait<T> for ValueRef<'h> {
                type Output = ValueRef<'h>;

                fn $method(self, other: T) -> ValueRef<'h> {
                    Editor::for_value(self).$method(self, other)
                }
            }

            arithmetic! { $trait::$method of f64, i64, Scalar }
        )*
    };
    ($trait:ident::$method:ident of $($number:ty),*) => {
        $(
            impl $trait<Value> for $number {
                type Output = Value;

                fn $method(self, other: Value) -> Value {
                    running().$method(self, other)
                }
            }

            impl<'h> $trait<ValueRef<'h>> for $number {
                type Output = ValueRef<'h>;

                fn $method(self, other: ValueRef<'h>) -> ValueRef<'h> {
                    Editor::for_value(other).$method(self, other)
                }
            }
        )*
    };
}

arithmetic! {
    Add::add, "Add";
    Sub::sub, "Sub";
    Mul::mul, "Mul";
    Div::div, "Div";
}

macro_rules! logic {
    ($($trait:ident::$method:ident as $verb:ident, $op:literal;)*) => {
        $(
            #[doc = concat!("Emits `", $op, "`.")]
            impl $trait for Value {
                type Output = Value;

                fn $method(self, other: Value) -> Value {
                    running().$verb(self, other)
                }
            }

            #[doc = concat!("Emits `", $op, "`.")]
            impl<'h> $trait for ValueRef<'h> {
                type Output = ValueRef<'h>;

                fn $method(self, other: ValueRef<'h>) -> ValueRef<'h> {
                    Editor::for_value(self).$verb(self, other)
                }
            }
        )*
    };
}

logic! {
    BitAnd::bitand as and, "And";
    BitOr::bitor as or, "Or";
    BitXor::bitxor as xor, "Xor";
}

macro_rules! unary {
    ($($trait:ident::$method:ident, $op:literal;)*) => {
        $(
            #[doc = concat!("Emits `", $op, "`.")]
            impl $trait for Value {
                type Output = Value;

                fn $method(self) -> Value {
                    running().$method(self)
                }
            }

            #[doc = concat!("Emits `", $op, "`.")]
            impl<'h> $trait for ValueRef<'h> {
                type Output = ValueRef<'h>;

                fn $method(self) -> ValueRef<'h> {
                    Editor::for_value(self).$method(self)
                }
            }
        )*
    };
}

unary! {
    Neg::neg, "Neg";
    Not::not, "Not";
}
