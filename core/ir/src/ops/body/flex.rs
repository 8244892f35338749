//! `FlexAttention`.

use super::call::Call;
use super::text::Text;
use crate::ir::Function;
use crate::tensor::DType;

/// Attention whose scores and probabilities graphs of the call change.
pub(super) fn flex(call: &Call<'_>) -> Option<Function> {
    let dtype = call.dtype(0)?;
    if call.dtype(1)? != dtype || call.dtype(2)? != dtype {
        return None;
    }
    let usual = if dtype == DType::F64 { DType::F64 } else { DType::F32 };
    let precision = match call.node.attr("softmax_precision") {
        Some(_) => DType::from_onnx(call.int("softmax_precision")?.try_into().ok()?)?,
        None => usual,
    };
    if !matches!(precision, DType::F16 | DType::BF16 | DType::F32 | DType::F64) {
        return None;
    }
    let (scores, shares) = (changes(call, "score_mod")?, changes(call, "prob_mod")?);
    let mut text = Text::for_call(call);
    text.set("precision", precision.onnx());
    text.add(
        "%BatchSize = Shape(%Q) {end = 1, start = 0}
        %KVSeqLen = Shape(%K) {end = -1, start = -2}
        %QNumHeads = Shape(%Q) {end = 2, start = 1}
        %KVNumHeads = Shape(%K) {end = 2, start = 1}
        %KVRepeat = Div(%QNumHeads, %KVNumHeads)
        %Axis2 = Constant() {value = tensor i64[1] [2]}
        %KUnsqueezed = Unsqueeze(%K, %Axis2)
        %KHeadSize1D = Shape(%K) {end = 4, start = 3}
        %KExpandShape = Concat(%BatchSize, %KVNumHeads, %KVRepeat, %KVSeqLen, %KHeadSize1D) {axis = 0}
        %KExpanded = Expand(%KUnsqueezed, %KExpandShape)
        %KAlignedShape = Concat(%BatchSize, %QNumHeads, %KVSeqLen, %KHeadSize1D) {axis = 0}
        %KAligned = Reshape(%KExpanded, %KAlignedShape)
        %VUnsqueezed = Unsqueeze(%V, %Axis2)
        %VHeadSize1D = Shape(%V) {end = 4, start = 3}
        %VExpandShape = Concat(%BatchSize, %KVNumHeads, %KVRepeat, %KVSeqLen, %VHeadSize1D) {axis = 0}
        %VExpanded = Expand(%VUnsqueezed, %VExpandShape)
        %VAlignedShape = Concat(%BatchSize, %QNumHeads, %KVSeqLen, %VHeadSize1D) {axis = 0}
        %VAligned = Reshape(%VExpanded, %VAlignedShape)",
    );
    text.either(
        call.node.attr("scale").is_some(),
        "%ScaleFactorF32 = Constant() {value = tensor f32[] [$scale]}",
        "%QShapeAll = Shape(%Q)
        %Idx3Head = Constant() {value = tensor i64[] [3]}
        %QKHeadSize = Gather(%QShapeAll, %Idx3Head) {axis = 0}
        %QKHeadSizeF = Cast(%QKHeadSize) {to = 1}
        %SqrtHeadSize = Sqrt(%QKHeadSizeF)
        %OneF = Constant() {value = tensor f32[] [1.0]}
        %CalculatedScale = Div(%OneF, %SqrtHeadSize)
        %ScaleFactorF32 = Identity(%CalculatedScale)",
    );
    text.add(
        "%ScaleFactorSqrtF32 = Sqrt(%ScaleFactorF32)
        %ScaleFactorSqrt = Cast(%ScaleFactorSqrtF32) {to = $type0}
        %QScaled = Mul(%Q, %ScaleFactorSqrt)
        %KScaled = Mul(%KAligned, %ScaleFactorSqrt)
        %KTranspose = Transpose(%KScaled) {perm = [0, 1, 3, 2]}
        %Score = MatMul(%QScaled, %KTranspose)
        %SoftmaxCast = Cast(%Score) {to = $precision}",
    );
    text.either(
        scores,
        "%ScoreAfterScoreMod = Graft(%SoftmaxCast) {of = \"score_mod\"}",
        "%ScoreAfterScoreMod = Identity(%SoftmaxCast)",
    );
    text.add("%Prob = Softmax(%ScoreAfterScoreMod) {axis = 3}");
    text.either(
        shares,
        "%ProbAfterProbMod = Graft(%Prob) {of = \"prob_mod\"}",
        "%ProbAfterProbMod = Identity(%Prob)",
    );
    text.either(
        precision == dtype,
        "%Y = MatMul(%ProbAfterProbMod, %VAligned)",
        "%VSp = Cast(%VAligned) {to = $precision}
        %YSp = MatMul(%ProbAfterProbMod, %VSp)
        %Y = Cast(%YSp) {to = $type0}",
    );
    text.function(None, &["Y"])
}

/// Whether the call has a graph called `name` that changes its input; `None` where it has one that does not fit.
fn changes(call: &Call<'_>, name: &str) -> Option<bool> {
    if call.node.attr(name).is_none() {
        return Some(false);
    }
    let block = call.block(name)?;
    let (inputs, outputs) = (&call.graph.blocks[block].inputs, call.graph.blocks[block].outputs());
    match (inputs.as_slice(), outputs) {
        ([x], [y]) => Some(x != y || call.graph.order(block).next().is_some()),
        _ => None,
    }
}
