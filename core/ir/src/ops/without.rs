//! Operators of ONNX that are not computed here.

/// The domain, the name, and why.
const WITHOUT: [(&str, &str, &str); 2] = [
    (
        "",
        "ImageDecoder",
        "it decodes seven formats of image files, JPEG 2000 among them, which belongs in front of a model",
    ),
    (
        "ai.onnx.preview.training",
        "Gradient",
        "it differentiates the graph around it, which is not a function of its inputs",
    ),
];

/// Why no evaluator computes an operator that ONNX has; `None` where one does, or ONNX has no such operator.
pub fn without(domain: &str, name: &str) -> Option<&'static str> {
    WITHOUT.iter().find(|(of, op, _)| (*of, *op) == (domain, name)).map(|(.., why)| *why)
}

#[cfg(test)]
mod tests {
    use super::WITHOUT;
    use crate::ir::opset;
    use crate::ops::lookup;

    #[test]
    fn what_is_not_computed_is_an_operator_without_an_evaluator() {
        for (domain, name, _) in WITHOUT {
            let (_, table) = opset::domains().into_iter().find(|(of, _)| *of == domain).unwrap();
            assert!(table.iter().any(|schema| schema.name == name), "{name}");
            assert!(lookup(domain, name).and_then(|op| op.evaluator()).is_none(), "{name}");
        }
    }
}
