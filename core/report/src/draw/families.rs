//! Kinds of operators, which a picture shows by colour.

/// The family of an operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    /// Sums of products: convolutions, matrix products, attention.
    Product,
    /// Normalisations.
    Norm,
    /// Functions between layers.
    Activation,
    /// Sums, means and extremes over axes.
    Reduction,
    /// Operators that move, select or convert elements without computing.
    Shape,
    /// All others.
    Other,
}

/// Parts of names and their families; the first match wins.
const NAMES: &[(&str, Family)] = &[
    ("layernorm", Family::Norm),
    ("layer_norm", Family::Norm),
    ("norm", Family::Norm),
    ("lrn", Family::Norm),
    ("conv", Family::Product),
    ("matmul", Family::Product),
    ("gemm", Family::Product),
    ("linear", Family::Product),
    ("addmm", Family::Product),
    ("bmm", Family::Product),
    ("einsum", Family::Product),
    ("attention", Family::Product),
    ("lstm", Family::Product),
    ("gru", Family::Product),
    ("rnn", Family::Product),
    ("softmax", Family::Activation),
    ("relu", Family::Activation),
    ("gelu", Family::Activation),
    ("silu", Family::Activation),
    ("swish", Family::Activation),
    ("sigmoid", Family::Activation),
    ("tanh", Family::Activation),
    ("softplus", Family::Activation),
    ("mish", Family::Activation),
    ("elu", Family::Activation),
    ("dropout", Family::Activation),
    ("pool", Family::Reduction),
    ("reduce", Family::Reduction),
    ("argm", Family::Reduction),
    ("topk", Family::Reduction),
    ("cumsum", Family::Reduction),
    ("mean", Family::Reduction),
    ("sum", Family::Reduction),
    ("amax", Family::Reduction),
    ("amin", Family::Reduction),
    ("reshape", Family::Shape),
    ("view", Family::Shape),
    ("transpose", Family::Shape),
    ("permute", Family::Shape),
    ("squeeze", Family::Shape),
    ("flatten", Family::Shape),
    ("expand", Family::Shape),
    ("concat", Family::Shape),
    ("cat.", Family::Shape),
    ("stack", Family::Shape),
    ("split", Family::Shape),
    ("chunk", Family::Shape),
    ("slice", Family::Shape),
    ("select", Family::Shape),
    ("gather", Family::Shape),
    ("scatter", Family::Shape),
    ("index", Family::Shape),
    ("embedding", Family::Shape),
    ("tile", Family::Shape),
    ("repeat", Family::Shape),
    ("pad", Family::Shape),
    ("cast", Family::Shape),
    ("_to_copy", Family::Shape),
    ("aten.to.", Family::Shape),
    ("clone", Family::Shape),
    ("contiguous", Family::Shape),
    ("identity", Family::Shape),
    ("shape", Family::Shape),
    ("sym_size", Family::Shape),
    ("range", Family::Shape),
    ("arange", Family::Shape),
    ("constant", Family::Shape),
    ("full", Family::Shape),
    ("quantizelinear", Family::Shape),
];

impl Family {
    /// The family of an operator of ONNX or PyTorch, by its name.
    pub(super) fn for_operator(operator: &str) -> Self {
        let name = operator.to_ascii_lowercase();
        NAMES.iter().find(|(part, _)| name.contains(part)).map_or(Self::Other, |(_, family)| *family)
    }

    /// The class of its colours.
    pub(super) const fn class(self) -> &'static str {
        match self {
            Self::Product => "product",
            Self::Norm => "norm",
            Self::Activation => "activation",
            Self::Reduction => "reduction",
            Self::Shape => "shape",
            Self::Other => "other",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_of_both_worlds_have_a_family() {
        for (name, family) in [
            ("Conv", Family::Product),
            ("aten.conv2d.default", Family::Product),
            ("LayerNormalization", Family::Norm),
            ("aten.relu_.default", Family::Activation),
            ("Softmax", Family::Activation),
            ("ReduceMean", Family::Reduction),
            ("Unsqueeze", Family::Shape),
            ("aten.cat.default", Family::Shape),
            ("Add", Family::Other),
        ] {
            assert_eq!(Family::for_operator(name), family, "{name}");
        }
    }
}
