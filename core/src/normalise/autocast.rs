//! Applies the effect of autocast to a call: the program records operators as called, with the element
//! types of their results under autocast, but not the casts of their inputs.

use super::Context;
use super::edit::{Editor, named, parts};
use crate::diagnose::{Code, OriginId};
use crate::program::{Arg, Call, ValueType};
use crate::tensor::DType;

/// An autocast region in force.
#[derive(Clone, Copy)]
pub(super) struct Autocast {
    /// The lower-precision type.
    pub dtype: DType,
}

/// Adds the casts that autocast inserts before `call`; reports a call whose casts are not known.
///
/// The fact `autocast` marks operators that run in the lower precision (`lower`), or in the widest type of
/// their inputs (`promote`). The recorded element type of the result decides between them, because the lists
/// differ by device.
pub(super) fn cast_inputs(
    call: &mut Call,
    mode: Option<Autocast>,
    editor: &mut Editor,
    cx: &mut Context<'_>,
) {
    let Some(mode) = mode else { return };
    let is_region = parts(&call.target).0 == "higher_order";
    let rule = cx.schemas.get(&call.target).and_then(|s| s.facts.term("autocast"));
    let runs = |name: &str| rule.is_some_and(|term| term.name == name);
    let float = |ty: &ValueType| ty.as_tensor().map(|t| t.dtype).filter(|d| d.is_float());
    let mut result = None;
    for output in &call.outputs {
        output.each_value(&mut |val| result = result.or(float(editor.ty(val))));
    }
    let Some(result) = result else { return };
    let mut inputs = Vec::new();
    let mut stated = false;
    for arg in &call.args {
        stated |= matches!(arg.arg, Arg::DType(_));
        arg.arg.each_value(&mut |val| inputs.extend(float(editor.ty(val))));
    }
    let widest = inputs.iter().copied().max_by_key(|d| d.bits());
    // An explicit type, no float inputs or a higher-order operator: nothing was cast.
    let Some(first) = inputs.first().copied().filter(|_| !is_region && !stated) else { return };
    let mixed = inputs.iter().any(|d| *d != first);
    let target = if runs("lower") && result == mode.dtype {
        Some(mode.dtype)
    } else if runs("promote") && Some(result) == widest {
        mixed.then_some(result)
    } else if result == DType::F32 && inputs.iter().any(|d| d.bits() < 32) {
        // An operator that needs full precision, or widens to it anyway.
        Some(DType::F32)
    } else if inputs.contains(&result) {
        None
    } else {
        let message = format!(
            "it is not known which casts autocast makes for `{}`, which yields {result} from {first}",
            call.target
        );
        cx.error(Code::NORMALISE_REGION, message, call.origin);
        None
    };
    if let Some(target) = target {
        for arg in &mut call.args {
            cast(&mut arg.arg, target, call.origin, editor);
        }
    }
}

fn cast(arg: &mut Arg, target: DType, origin: OriginId, editor: &mut Editor) {
    match arg {
        Arg::Value(val) => {
            let Some(ty) = editor.ty(*val).as_tensor() else { return };
            // Doubles are not eligible.
            if !ty.dtype.is_float() || ty.dtype == target || ty.dtype == DType::F64 {
                return;
            }
            let mut ty = ty.clone();
            ty.dtype = target;
            let args = vec![named("self", *val), named("dtype", Arg::DType(target))];
            *val = editor.emit("aten._to_copy.default", args, ty.into(), origin);
        }
        Arg::List(items) => items.iter_mut().for_each(|item| cast(item, target, origin, editor)),
        _ => {}
    }
}
