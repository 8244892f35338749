//! Element types, sizes and the types of values.

use super::Decoder;
use crate::diagnose::Code;
use crate::program::TensorType;
use crate::pt2::schema::{SymExpr, SymExprHint, SymInt, TensorMeta};
use crate::sym::Dim;
use crate::tensor::DType;

/// Longer expressions are refused: reading a sum takes time quadratic in its terms.
const MAX_EXPRESSION: usize = 20_000;

/// Why a type is refused.
pub(super) type Refusal = (Code, String);

impl Decoder {
    pub(super) fn tensor_type(&mut self, meta: &TensorMeta) -> Result<TensorType, Refusal> {
        let dtype = dtype(meta.dtype)?;
        let shape = self.dims(&meta.sizes)?;
        if let Some(negative) =
            shape.iter().find(|d| self.program.symbols.range(**d).max.is_some_and(|m| m < 0))
        {
            let message = format!("a size of {}", self.program.symbols.display(*negative));
            return Err((Code::READ_SIZE, message));
        }
        // Layouts other than strided have no strides; calls on them are refused where they are lowered.
        let strides = self.dims(&meta.strides)?;
        if !strides.is_empty() && strides.len() != shape.len() {
            let message = format!("{} sizes and {} strides", shape.len(), strides.len());
            return Err((Code::READ_PROGRAM, message));
        }
        Ok(TensorType { dtype, shape, strides })
    }

    fn dims(&mut self, sizes: &[SymInt]) -> Result<Vec<Dim>, Refusal> {
        sizes.iter().map(|size| self.dim(size)).collect()
    }

    pub(super) fn dim(&mut self, size: &SymInt) -> Result<Dim, Refusal> {
        match size {
            SymInt::Int(n) => i64::try_from(*n)
                .map(Dim::Const)
                .map_err(|_| (Code::READ_SIZE, format!("{n} does not fit into 64 bits"))),
            SymInt::Expr(expr) => self.expression(expr),
        }
    }

    fn expression(&mut self, expr: &SymExpr) -> Result<Dim, Refusal> {
        let dim = if let Some(dim) = self.dims.get(&expr.expr_str) {
            *dim
        } else {
            if expr.expr_str.len() > MAX_EXPRESSION {
                let message = format!("an expression of {} characters", expr.expr_str.len());
                return Err((Code::READ_SIZE, message));
            }
            // An expression without an integer form is an unknown number; equal texts are still equal
            // numbers.
            let symbols = &mut self.program.symbols;
            let dim = symbols.parse(&expr.expr_str).unwrap_or_else(|_| symbols.opaque());
            self.dims.insert(expr.expr_str.clone(), dim);
            dim
        };
        if let Some(SymExprHint::Int(hint)) = &expr.hint
            && let Some(symbol) = self.program.symbols.as_symbol(dim)
        {
            self.program.symbols.get_mut(symbol).hint.get_or_insert(*hint);
        }
        Ok(dim)
    }
}

/// The element type with this number in the schema.
pub(crate) fn dtype(code: i64) -> Result<DType, Refusal> {
    DType::from_pt2(code).ok_or_else(|| match code {
        9 => (Code::LOWER_DTYPE, "the element type complex32 does not exist in ONNX".to_owned()),
        _ => (Code::READ_SCHEMA, format!("element type {code} is not one of the schema")),
    })
}
