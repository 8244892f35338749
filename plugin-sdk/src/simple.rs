//! Operators that are one node over their tensors.

use crate::op::Operator;
use crate::{DType, Emit, Lower, Operand, Res, Results};

/// Lowers the call to one node `op` whose inputs are the arguments called `names`, cast to the element type of the
/// result unless that is `bool`. Registered by `simple!`.
///
/// # Errors
/// When an argument is neither a tensor nor a number.
pub fn simple(cx: &Lower<'_>, op: impl Operator<'static>, names: &[&str]) -> Res<()> {
    let dtype = cx.result(0)?.dtype;
    let mut operands = Vec::with_capacity(names.len());
    for name in names {
        let name = if *name == "self" { "this" } else { name };
        operands.push(cx.argument::<Operand>(name)?);
    }
    let compute = if dtype == DType::Bool { cx.promoted(&operands)? } else { dtype };
    let inputs: Vec<_> = operands.iter().map(|o| cx.operand(o, compute)).collect();
    let value = cx.op(op.named()).inputs(inputs).one();
    value.finish(cx)
}
