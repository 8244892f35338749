//! Sizes of axes.

use crate::abi::lowering::{DimRecord, dim_kind};

/// The size of an axis: a number, an expression of the program, or unknown.
///
/// Equal expressions compare equal; two unknown sizes do too, but say nothing about each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dim {
    /// A number.
    Const(i64),
    /// An expression of the program, by its handle.
    Expr(u32),
    /// Not known.
    Unknown,
}

impl Dim {
    /// The number, if the size is one.
    pub const fn as_const(self) -> Option<i64> {
        match self {
            Dim::Const(n) => Some(n),
            _ => None,
        }
    }

    /// Whether the size is the number `n`.
    pub fn is(self, n: i64) -> bool {
        self == Dim::Const(n)
    }

    pub(crate) fn record(self) -> DimRecord {
        match self {
            Dim::Const(value) => DimRecord { kind: dim_kind::CONST, expr: 0, value },
            Dim::Expr(expr) => DimRecord { kind: dim_kind::EXPR, expr, value: 0 },
            Dim::Unknown => DimRecord { kind: dim_kind::UNKNOWN, expr: 0, value: 0 },
        }
    }

    pub(crate) fn from_record(record: DimRecord) -> Self {
        match record.kind {
            dim_kind::CONST => Dim::Const(record.value),
            dim_kind::EXPR => Dim::Expr(record.expr),
            _ => Dim::Unknown,
        }
    }
}

impl From<i64> for Dim {
    fn from(n: i64) -> Self {
        Dim::Const(n)
    }
}

/// Inclusive bounds of a size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// The smallest value; `i64::MIN` is unbounded.
    pub min: i64,
    /// The largest value; `i64::MAX` is unbounded.
    pub max: i64,
}
