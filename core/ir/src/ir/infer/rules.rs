//! Which rule gives the shapes of which operator.

use super::cx::{Cx, Shapes};
use super::{broadcast, control, conv, fourier, index, matmul, norm, reduce, resize, slice, view};

pub(super) type Rule = fn(&mut Cx<'_>) -> Option<Shapes>;

/// Whether the shapes of ONNX's own operator `op` are inferred.
pub fn has_rule(op: &str) -> bool {
    rule(op).is_some()
}

/// The rule of ONNX's own operator `op`.
#[rustfmt::skip]
pub(super) fn rule(op: &str) -> Option<Rule> {
    Some(match op {
        "Abs" | "Acos" | "Acosh" | "Asin" | "Asinh" | "Atan" | "Atanh" | "Bernoulli" | "BitwiseNot" | "Cast"
        | "CastLike" | "Ceil" | "Celu" | "Clip" | "Cos" | "Cosh" | "CumSum" | "DequantizeLinear" | "Elu"
        | "Erf" | "Exp" | "EyeLike" | "Floor" | "Gelu" | "HardSigmoid" | "HardSwish" | "Hardmax" | "Identity"
        | "InstanceNormalization" | "GroupNormalization" | "IsInf" | "IsNaN" | "LRN" | "LeakyRelu" | "Log"
        | "LogSoftmax" | "LpNormalization" | "MeanVarianceNormalization" | "Mish" | "Neg" | "Not" | "PRelu"
        | "QuantizeLinear" | "RMSNormalization" | "RandomNormalLike" | "RandomUniformLike" | "Reciprocal"
        | "Relu" | "ReverseSequence" | "RotaryEmbedding" | "Round" | "ScatterElements" | "Scatter" | "ScatterND"
        | "Selu" | "Shrink" | "Sigmoid" | "Sign" | "Sin" | "Sinh" | "Softmax" | "Softplus" | "Softsign"
        | "Sqrt" | "Tan" | "Tanh" | "ThresholdedRelu" | "Trilu" => broadcast::same,
        "Add" | "And" | "BitShift" | "BitwiseAnd" | "BitwiseOr" | "BitwiseXor" | "Div" | "Equal" | "Greater"
        | "GreaterOrEqual" | "Less" | "LessOrEqual" | "Max" | "Mean" | "Min" | "Mod" | "Mul" | "Or" | "Pow"
        | "Sub" | "Sum" | "Where" | "Xor" => broadcast::all,
        "Expand" => broadcast::expand,
        "MatMul" | "MatMulInteger" => |cx| matmul::matmul(cx, 0, 1),
        "QLinearMatMul" => |cx| matmul::matmul(cx, 0, 3),
        "Gemm" => matmul::gemm,
        "Einsum" => matmul::einsum,
        "Det" => matmul::det,
        "Attention" => matmul::attention,
        "Transpose" => view::transpose,
        "Reshape" => view::reshape,
        "Flatten" => view::flatten,
        "Squeeze" => view::squeeze,
        "Unsqueeze" => view::unsqueeze,
        "Concat" => view::concat,
        "Split" => view::split,
        "Tile" => view::tile,
        "Pad" => view::pad,
        "DepthToSpace" => view::depth_to_space,
        "SpaceToDepth" => view::space_to_depth,
        "Shape" => view::shape,
        "Size" | "SequenceLength" | "OptionalHasElement" => view::scalar,
        "ConstantOfShape" => view::constant_of_shape,
        "Constant" => view::constant,
        "Range" => view::range,
        "RandomNormal" | "RandomUniform" => view::random,
        "Slice" => slice::slice,
        "Gather" => index::gather,
        "GatherElements" => index::gather_elements,
        "GatherND" => index::gather_nd,
        "OneHot" => index::one_hot,
        "NonZero" => index::non_zero,
        "TopK" => index::top_k,
        "Compress" => index::compress,
        "Unique" => index::unique,
        "NonMaxSuppression" => index::non_max_suppression,
        "ReduceL1" | "ReduceL2" | "ReduceLogSum" | "ReduceLogSumExp" | "ReduceMax" | "ReduceMean" | "ReduceMin"
        | "ReduceProd" | "ReduceSum" | "ReduceSumSquare" => reduce::reduce,
        "ArgMax" | "ArgMin" => reduce::arg,
        "Conv" | "ConvInteger" | "DeformConv" => |cx| conv::conv(cx, 1),
        "QLinearConv" => |cx| conv::conv(cx, 3),
        "ConvTranspose" => conv::conv_transpose,
        "MaxPool" | "AveragePool" | "LpPool" => conv::pool,
        "GlobalAveragePool" | "GlobalLpPool" | "GlobalMaxPool" => conv::global_pool,
        "Col2Im" => conv::col2im,
        "RoiAlign" => resize::roi_align,
        "Resize" => resize::resize,
        "GridSample" => resize::grid_sample,
        "AffineGrid" => resize::affine_grid,
        "CenterCropPad" => resize::center_crop_pad,
        "BatchNormalization" => norm::batch,
        "LayerNormalization" => norm::layer,
        "Dropout" => norm::dropout,
        "DynamicQuantizeLinear" => norm::dynamic_quantize,
        "LSTM" | "GRU" | "RNN" => norm::recurrent,
        "DFT" => fourier::dft,
        "BlackmanWindow" | "HammingWindow" | "HannWindow" => fourier::window,
        "Multinomial" => fourier::multinomial,
        "OptionalGetElement" => control::optional_element,
        _ => return None,
    })
}
