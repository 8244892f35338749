//! Checks the outputs of a runtime against the model's declarations.

use super::Computed;
use crate::diagnose::{Code, Diagnostic};
use crate::onnx::{Extent, Port};

/// Checks `outputs` of `executor` against the declarations of the model.
///
/// # Errors
/// `OP709` for an output that is missing, unexpected, out of order or of another type or shape, or whose bytes do not
/// fit its shape.
pub(super) fn check(executor: &str, declared: &[Port], outputs: &[Computed]) -> Result<(), Diagnostic> {
    let wrong = |message: String| Err(Diagnostic::error(Code::VERIFY_ANSWER, message));
    for (port, output) in declared.iter().zip(outputs) {
        let name = &port.name;
        if output.name != *name {
            return wrong(format!("{executor} returned the output `{}` instead of `{name}`", output.name));
        }
        let given = format!("{}{:?}", output.dtype, output.shape);
        let elements = output.shape.iter().try_fold(1u64, |n, d| n.checked_mul(*d));
        let length = elements.and_then(|elements| output.dtype.byte_len(elements));
        if length != Some(output.bytes.len() as u64) {
            let bytes = output.bytes.len();
            return wrong(format!("{executor} returned the output `{name}` as {given}, with {bytes} bytes"));
        }
        let fits = port.dtype.is_none_or(|dtype| dtype == output.dtype)
            && port.dims.as_ref().is_none_or(|dims| {
                let fits = |(stated, own): (&Extent, &u64)| match stated {
                    Extent::Known(n) => u64::try_from(*n) == Ok(*own),
                    Extent::Named(_) | Extent::Unknown => true,
                };
                dims.len() == output.shape.len() && dims.iter().zip(&output.shape).all(fits)
            });
        if !fits {
            let stated = stated(port);
            return wrong(format!(
                "{executor} returned the output `{name}` as {given}, but the model declares {stated}"
            ));
        }
    }
    if let Some(missing) = declared.get(outputs.len()) {
        return wrong(format!("{executor} did not return the output `{}`", missing.name));
    }
    match outputs.get(declared.len()) {
        Some(more) => {
            wrong(format!("{executor} returned an output `{}`, which the model does not have", more.name))
        }
        None => Ok(()),
    }
}

/// Describes the declaration of an output.
fn stated(port: &Port) -> String {
    let dtype = port.dtype.map_or("a tensor".to_owned(), |dtype| dtype.to_string());
    let Some(dims) = &port.dims else { return dtype };
    let extent = |extent: &Extent| match extent {
        Extent::Known(n) => n.to_string(),
        Extent::Named(name) => name.clone(),
        Extent::Unknown => "?".to_owned(),
    };
    format!("{dtype}[{}]", dims.iter().map(extent).collect::<Vec<_>>().join(", "))
}
