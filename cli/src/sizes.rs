//! The sizes that a model takes, as text.

use onnxport_core::onnx::SizeRanges;

use crate::format::{limited, plain};

/// The range of each dimension and the further conditions, each at most `shown`; nothing for a model of fixed sizes.
pub(crate) fn text(sizes: &SizeRanges, shown: usize) -> String {
    let mut out = String::new();
    let ranges =
        sizes.dims.iter().map(|dim| vec![plain(&dim.name), dim.to_string(), plain(&dim.axes.join(" "))]);
    limited(&mut out, "sizes", ranges.collect::<Vec<_>>().into_iter(), shown);
    let conditions = sizes.conditions.iter().map(|condition| {
        vec![plain(&condition.expression), condition.line.as_deref().map(plain).unwrap_or_default()]
    });
    limited(&mut out, "conditions", conditions.collect::<Vec<_>>().into_iter(), shown);
    out
}
