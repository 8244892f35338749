//! `Attention`.

use super::call::Call;
use super::text::Text;
use crate::ir::Function;
use crate::tensor::DType;

/// The properties of a call on which its body depends.
struct Kind {
    /// The version of the operator.
    since: u16,
    /// The heads lie in the last axis of three.
    packed: bool,
    causal: bool,
    /// Keys lie in a cache that the caller keeps: the last query stands at the last key of each row that counts.
    external: bool,
    /// How many places a query sees to the left and to the right, where that is bounded.
    windows: [bool; 2],
}

impl Kind {
    /// `None` for calls that ONNX has no body for.
    fn from_call(call: &Call<'_>) -> Option<Self> {
        let heads = |name: &str| call.int(name).unwrap_or(0) > 0;
        let since = call.schema.since;
        let window = |name: &str| call.int(name).unwrap_or(-1);
        let windows = [window("left_window_size"), window("right_window_size")];
        if since >= 25 {
            let given = |name: &str| call.node.attr(name).is_some();
            let refused = windows.iter().any(|n| *n < -1)
                || call.has(4) != call.has(5)
                || call.asks(1) != call.asks(2)
                || call.has(6) && (call.has(4) || call.asks(1))
                || call.rank(0) == Some(4) && (given("q_num_heads") || given("kv_num_heads"));
            if refused {
                return None;
            }
        }
        Some(Self {
            since,
            packed: heads("q_num_heads") && heads("kv_num_heads"),
            causal: call.int("is_causal")? == 1,
            external: since >= 24 && call.has(6) && !call.has(4),
            windows: windows.map(|n| since >= 25 && n >= 0),
        })
    }
}

/// Products of queries and keys, a bias that masks, a softmax, and products with the values.
pub(super) fn attention(call: &Call<'_>) -> Option<Function> {
    let kind = Kind::from_call(call)?;
    let precision = match call.node.attr("softmax_precision") {
        Some(_) => DType::from_onnx(call.int("softmax_precision")?.try_into().ok()?)?,
        None => call.dtype(0)?,
    };
    if !matches!(precision, DType::F16 | DType::BF16 | DType::F32 | DType::F64) {
        return None;
    }
    let mut text = Text::for_call(call);
    text.set("precision", precision.onnx());
    heads(call, &kind, &mut text);
    states(call, &kind, &mut text);
    mask(call, &kind, &mut text)?;
    padding(call, &kind, &mut text);
    repeated(&mut text);
    probabilities(call, &mut text);
    text.add("%YPreReshape = MatMul(%SoftmaxOutSafe, %VAttentionInput)");
    text.either(
        kind.packed,
        "%YTranspose = Transpose(%YPreReshape) {perm = [0, 2, 1, 3]}
        %YNewShape = Concat(%Zero1D, %Zero1D, %NegOne) {axis = 0}
        %Y = Reshape(%YTranspose, %YNewShape)",
        "%Y = Identity(%YPreReshape)",
    );
    // An output that is not requested, but precedes a requested one, is returned under its own name.
    let outputs = [
        ("Y", "Y"),
        ("present_key", "PresentKey"),
        ("present_value", "PresentValue"),
        ("qk_matmul_output", "QKAttnWeight"),
    ];
    let outputs = outputs.iter().take(call.node.outputs.len()).enumerate();
    let outputs: Vec<&str> =
        outputs.map(|(at, (asked, other))| if call.asks(at) { *asked } else { *other }).collect();
    text.function(None, &outputs)
}

/// The inputs with an axis of heads, and the scale.
fn heads(call: &Call<'_>, kind: &Kind, text: &mut Text<'_, '_>) {
    text.add(
        "%BatchSize = Shape(%Q) {end = 1, start = 0}
        %QSeqLen = Shape(%Q) {end = -1, start = -2}
        %KVSeqLen = Shape(%K) {end = -1, start = -2}",
    );
    text.either(
        kind.packed,
        "%QNumHeadsAttr = Constant() {value = tensor i64[1] [$q_num_heads]}
        %KVNumHeadsAttr = Constant() {value = tensor i64[1] [$kv_num_heads]}
        %NegOne = Constant() {value = tensor i64[1] [-1]}
        %QIntermediateShape = Concat(%BatchSize, %QSeqLen, %QNumHeadsAttr, %NegOne) {axis = 0}
        %KVIntermediateShape = Concat(%BatchSize, %KVSeqLen, %KVNumHeadsAttr, %NegOne) {axis = 0}
        %QIntermediate = Reshape(%Q, %QIntermediateShape)
        %KIntermediate = Reshape(%K, %KVIntermediateShape)
        %VIntermediate = Reshape(%V, %KVIntermediateShape)
        %QReshaped = Transpose(%QIntermediate) {perm = [0, 2, 1, 3]}
        %KReshaped = Transpose(%KIntermediate) {perm = [0, 2, 1, 3]}
        %VReshaped = Transpose(%VIntermediate) {perm = [0, 2, 1, 3]}",
        "%QReshaped = Identity(%Q)
        %KReshaped = Identity(%K)
        %VReshaped = Identity(%V)",
    );
    text.add(
        "%QNumHeads = Shape(%QReshaped) {end = 2, start = 1}
        %KVNumHeads = Shape(%KReshaped) {end = 2, start = 1}
        %QKHeadSize = Shape(%QReshaped) {end = 4, start = 3}
        %QKHeadSizeF = Cast(%QKHeadSize) {to = 1}
        %VHeadSize = Shape(%VReshaped) {end = 4, start = 3}
        %SqrtHeadSize = Sqrt(%QKHeadSizeF)
        %One1D = Constant() {value = tensor i64[1] [1]}",
    );
    text.add_if(kind.since >= 24, "%NegOne1D = Constant() {value = tensor i64[1] [-1]}");
    let scaled = call.float("scale");
    text.set("scale", format!("{:?}", scaled.unwrap_or(1.0)));
    text.set("factor", if scaled.is_some() { "ScaleF" } else { "CalculatedScale" });
    text.add(
        "%One1DF = Constant() {value = tensor f32[1] [1.0]}
        %Zero1D = Constant() {value = tensor i64[1] [0]}
        %CalculatedScale = Div(%One1DF, %SqrtHeadSize)
        %ScaleF = Constant() {value = tensor f32[] [$scale]}
        %ScaleFactor = Identity(%$factor)
        %ScaleFactorSqrt = Sqrt(%ScaleFactor)
        %ScaleFactorF = Cast(%ScaleFactorSqrt) {to = $type0}",
    );
}

/// Keys and values, with those of the past in front.
fn states(call: &Call<'_>, kind: &Kind, text: &mut Text<'_, '_>) {
    text.either(
        call.has(4),
        "%PresentKey = Concat(%past_key, %KReshaped) {axis = 2}
        %PastKVSeqLen = Shape(%past_key) {end = -1, start = -2}",
        "%PresentKey = Identity(%KReshaped)
        %PastKVSeqLen = Constant() {value = tensor i64[1] [0]}",
    );
    text.add_if(kind.causal && kind.external, "%CausalOffsetPerBatch = Sub(%nonpad_kv_seqlen, %QSeqLen)");
    text.add_if(call.asks(1), "%present_key = Identity(%PresentKey)");
    text.either(
        call.has(5),
        "%PresentValue = Concat(%past_value, %VReshaped) {axis = 2}",
        "%PresentValue = Identity(%VReshaped)",
    );
    text.add_if(call.asks(2), "%present_value = Identity(%PresentValue)");
}

/// The mask of the call and the causal one, as a bias.
fn mask(call: &Call<'_>, kind: &Kind, text: &mut Text<'_, '_>) -> Option<()> {
    text.add(
        "%NewKVSeqLen = Shape(%PresentKey) {end = -1, start = -2}
        %AttnBiasShape = Concat(%QSeqLen, %NewKVSeqLen) {axis = 0}
        %FloatNegInf = Constant() {value = tensor f32[1] [-inf]}
        %ScalarZero = Constant() {value = tensor f32[1] [0.0]}",
    );
    if call.has(3) {
        text.either(
            call.dtype(3)? == DType::Bool,
            "%AttnBiasShort = Where(%attn_mask, %ScalarZero, %FloatNegInf)",
            "%AttnBiasShort = Identity(%attn_mask)",
        );
        text.either(
            kind.since >= 24,
            "%MaskKVSeqLen = Shape(%attn_mask) {start = -1}
            %PaddingKVSeqLen = Sub(%NewKVSeqLen, %MaskKVSeqLen)
            %Pads = Concat(%Zero1D, %PaddingKVSeqLen) {axis = 0}
            %FloatNegInfCast = CastLike(%FloatNegInf, %AttnBiasShort)
            %AttnBias = Pad(%AttnBiasShort, %Pads, %FloatNegInfCast, %NegOne1D)",
            "%AttnBias = Identity(%AttnBiasShort)",
        );
    } else {
        text.add("%AttnBias = ConstantOfShape(%AttnBiasShape)");
    }
    if !kind.causal {
        text.add("%AttnBiasCausalOrNot = Identity(%AttnBias)");
        return Some(());
    }
    text.add(
        "%Zero = Constant() {value = tensor i64[1] [0]}
        %One = Constant() {value = tensor i64[1] [1]}
        %ZeroNoDim = Squeeze(%Zero, %Zero)
        %OneNoDim = Squeeze(%One, %Zero)
        %SequenceLength = Gather(%AttnBiasShape, %ZeroNoDim)
        %TotalSequenceLength = Gather(%AttnBiasShape, %OneNoDim)
        %RangeRow = Range(%ZeroNoDim, %SequenceLength, %OneNoDim)
        %RangeRow2D = Unsqueeze(%RangeRow, %One)
        %RangeCol = Range(%ZeroNoDim, %TotalSequenceLength, %OneNoDim)
        %RangeCol2D = Unsqueeze(%RangeCol, %Zero)",
    );
    text.either(
        kind.external,
        "%Axes01 = Constant() {value = tensor i64[2] [0, 1]}
        %Axes123 = Constant() {value = tensor i64[3] [1, 2, 3]}
        %RangeRow4D = Unsqueeze(%RangeRow2D, %Axes01)
        %RangeCol4D = Unsqueeze(%RangeCol2D, %Axes01)
        %OffsetB4D = Unsqueeze(%CausalOffsetPerBatch, %Axes123)
        %RowPlusOff = Add(%RangeRow4D, %OffsetB4D)
        %BoolMaskTri = Less(%RowPlusOff, %RangeCol4D)",
        "%RangeRow2DPast = Add(%RangeRow2D, %PastKVSeqLen)
        %BoolMaskTri = Less(%RangeRow2DPast, %RangeCol2D)",
    );
    text.add(
        "%MaskTriFloat = Where(%BoolMaskTri, %FloatNegInf, %ScalarZero)
        %MaskTri = CastLike(%MaskTriFloat, %AttnBias)
        %AttnBiasCausalOrNot = Add(%AttnBias, %MaskTri)",
    );
    Some(())
}

/// The mask of windows and of the lengths of rows.
fn padding(call: &Call<'_>, kind: &Kind, text: &mut Text<'_, '_>) {
    if kind.windows.contains(&true) {
        windows(kind, text);
    } else if kind.since >= 25 {
        text.add("%AttnBiasCausalWindow = Identity(%AttnBiasCausalOrNot)");
    }
    if kind.since < 24 {
        text.add("%AttnBiasT = Cast(%AttnBiasCausalOrNot) {to = $type0}");
        return;
    }
    text.set("bias", if kind.since >= 25 { "AttnBiasCausalWindow" } else { "AttnBiasCausalOrNot" });
    text.either(
        call.has(6),
        "%KVSeqLenExpanded = Unsqueeze(%nonpad_kv_seqlen, %One1D)
        %KVSeqLen0D = Squeeze(%KVSeqLen)
        %Zero0D = Constant() {value = tensor i64[] [0]}
        %One0D = Constant() {value = tensor i64[] [1]}
        %Range = Range(%Zero0D, %KVSeqLen0D, %One0D)
        %PaddingMaskBool = Less(%Range, %KVSeqLenExpanded)
        %PaddingMaskFloat = Where(%PaddingMaskBool, %ScalarZero, %FloatNegInf)
        %PaddingMask3D = Unsqueeze(%PaddingMaskFloat, %One1D)
        %PaddingMask4DFloat = Unsqueeze(%PaddingMask3D, %One1D)
        %PaddingMask4D = CastLike(%PaddingMask4DFloat, %$bias)
        %AttnBiasCausalPad = Add(%$bias, %PaddingMask4D)",
        "%AttnBiasCausalPad = Identity(%$bias)",
    );
    text.add("%AttnBiasT = Cast(%AttnBiasCausalPad) {to = $type0}");
}

/// Masks keys that are too far to the left or to the right of a query.
fn windows(kind: &Kind, text: &mut Text<'_, '_>) {
    let [left, right] = kind.windows;
    text.add(
        "%WinZero = Constant() {value = tensor i64[1] [0]}
        %WinOne = Constant() {value = tensor i64[1] [1]}
        %WinZeroNoDim = Squeeze(%WinZero, %WinZero)
        %WinOneNoDim = Squeeze(%WinOne, %WinZero)
        %WinSeqLen = Squeeze(%QSeqLen, %WinZero)
        %WinTotalSeqLen = Squeeze(%NewKVSeqLen, %WinZero)
        %WinRangeRow = Range(%WinZeroNoDim, %WinSeqLen, %WinOneNoDim)
        %WinRangeCol = Range(%WinZeroNoDim, %WinTotalSeqLen, %WinOneNoDim)",
    );
    text.add_if(
        left,
        "%LeftWindowSize = Constant() {value = tensor i64[1] [$left_window_size]}
        %LeftWindowSizeNoDim = Squeeze(%LeftWindowSize, %WinZero)",
    );
    text.add_if(
        right,
        "%RightWindowSize = Constant() {value = tensor i64[1] [$right_window_size]}
        %RightWindowSizeNoDim = Squeeze(%RightWindowSize, %WinZero)",
    );
    text.either(
        kind.external,
        "%WinOffset = Sub(%nonpad_kv_seqlen, %QSeqLen)
        %WinAxes123 = Constant() {value = tensor i64[3] [1, 2, 3]}
        %WinAxes01 = Constant() {value = tensor i64[2] [0, 1]}
        %WinOffset4D = Unsqueeze(%WinOffset, %WinAxes123)
        %WinRow2D = Unsqueeze(%WinRangeRow, %WinOne)
        %WinRow4D = Unsqueeze(%WinRow2D, %WinAxes01)
        %WinCol2D = Unsqueeze(%WinRangeCol, %WinZero)
        %WinCol4D = Unsqueeze(%WinCol2D, %WinAxes01)
        %WinAbsPos = Add(%WinRow4D, %WinOffset4D)
        %WinDiff = Sub(%WinAbsPos, %WinCol4D)",
        "%WinRow2D = Unsqueeze(%WinRangeRow, %WinOne)
        %WinCol2D = Unsqueeze(%WinRangeCol, %WinZero)
        %WinAbsPos = Add(%WinRow2D, %PastKVSeqLen)
        %WinDiff = Sub(%WinAbsPos, %WinCol2D)",
    );
    text.add(match (left, right) {
        (true, true) => {
            "%WinLeftOk = LessOrEqual(%WinDiff, %LeftWindowSizeNoDim)
            %WinRightDiff = Neg(%WinDiff)
            %WinRightOk = LessOrEqual(%WinRightDiff, %RightWindowSizeNoDim)
            %WinOk = And(%WinLeftOk, %WinRightOk)"
        }
        (true, false) => "%WinOk = LessOrEqual(%WinDiff, %LeftWindowSizeNoDim)",
        (false, _) => {
            "%WinRightDiff = Neg(%WinDiff)
            %WinOk = LessOrEqual(%WinRightDiff, %RightWindowSizeNoDim)"
        }
    });
    text.add(
        "%WinMaskFloat = Where(%WinOk, %ScalarZero, %FloatNegInf)
        %WinMask = CastLike(%WinMaskFloat, %AttnBiasCausalOrNot)
        %AttnBiasCausalWindow = Add(%AttnBiasCausalOrNot, %WinMask)",
    );
}

/// Keys and values for each head of the queries.
fn repeated(text: &mut Text<'_, '_>) {
    text.add(
        "%NGQACond1 = Equal(%QNumHeads, %KVNumHeads)
        %GQACond1 = Not(%NGQACond1)
        %DivNumHeads = Div(%QNumHeads, %KVNumHeads)
        %IDivNumHeads = Cast(%DivNumHeads) {to = 7}
        %RemainderNumHeads = Mod(%QNumHeads, %KVNumHeads)
        %GQACond2 = Equal(%RemainderNumHeads, %Zero1D)
        %GQACond = And(%GQACond1, %GQACond2)
        %InterleaveDim = Where(%GQACond, %IDivNumHeads, %One1D)
        %Two1D = Constant() {value = tensor i64[1] [2]}
        %KUnsqueezed = Unsqueeze(%PresentKey, %Two1D)
        %VUnsqueezed = Unsqueeze(%PresentValue, %Two1D)
        %KExpandShape = Concat(%BatchSize, %KVNumHeads, %InterleaveDim, %NewKVSeqLen, %QKHeadSize) {axis = 0}
        %KExpanded = Expand(%KUnsqueezed, %KExpandShape)
        %VExpandShape = Concat(%BatchSize, %KVNumHeads, %InterleaveDim, %NewKVSeqLen, %VHeadSize) {axis = 0}
        %VExpanded = Expand(%VUnsqueezed, %VExpandShape)
        %KAttentionShape = Concat(%BatchSize, %QNumHeads, %NewKVSeqLen, %QKHeadSize) {axis = 0}
        %VAttentionShape = Concat(%BatchSize, %QNumHeads, %NewKVSeqLen, %VHeadSize) {axis = 0}
        %KAttentionInput = Reshape(%KExpanded, %KAttentionShape)
        %VAttentionInput = Reshape(%VExpanded, %VAttentionShape)",
    );
}

/// The probabilities of keys, and the intermediate result that the call requests.
fn probabilities(call: &Call<'_>, text: &mut Text<'_, '_>) {
    let capped = call.float("softcap").is_some_and(|cap| cap != 0.0);
    text.add(
        "%KTranspose = Transpose(%KAttentionInput) {perm = [0, 1, 3, 2]}
        %QScaled = Mul(%QReshaped, %ScaleFactorF)
        %KScaled = Mul(%KTranspose, %ScaleFactorF)
        %QKAttnWeight = MatMul(%QScaled, %KScaled)
        %QKAttnCast = Cast(%QKAttnWeight) {to = $type0}",
    );
    text.either(
        capped,
        "%Softcap = Constant() {value = tensor f32[1] [$softcap]}
        %SoftcapF = Cast(%Softcap) {to = $type0}
        %SoftcapDiv = Div(%QKAttnCast, %SoftcapF)
        %SoftcapTanh = Tanh(%SoftcapDiv)
        %QKAttnSoftcapped = Mul(%SoftcapTanh, %SoftcapF)
        %QKAttnWeightSoftcap = Add(%QKAttnSoftcapped, %AttnBiasT)",
        "%QKAttnWeightSoftcap = Add(%QKAttnCast, %AttnBiasT)",
    );
    text.add(
        "%SoftmaxCast = Cast(%QKAttnWeightSoftcap) {to = $precision}
        %AttnWeightSoftmax = Softmax(%SoftmaxCast)
        %SoftmaxOut = Cast(%AttnWeightSoftmax) {to = $type0}
        %BiasRowMaxAxes = Constant() {value = tensor i64[1] [-1]}
        %BiasRowMax = ReduceMax(%AttnBiasT, %BiasRowMaxAxes)
        %FloatNegInfT = CastLike(%FloatNegInf, %AttnBiasT)
        %RowAllMasked = Equal(%BiasRowMax, %FloatNegInfT)
        %ZeroProbT = CastLike(%ScalarZero, %SoftmaxOut)
        %SoftmaxOutSafe = Where(%RowAllMasked, %ZeroProbT, %SoftmaxOut)",
    );
    text.set(
        "shown",
        match call.int("qk_matmul_output_mode") {
            Some(1) if capped => "QKAttnSoftcapped",
            Some(1) => "QKAttnCast",
            Some(2) => "QKAttnWeightSoftcap",
            Some(3) => "SoftmaxOutSafe",
            _ => "QKAttnWeight",
        },
    );
    text.add_if(call.asks(3), "%qk_matmul_output = Identity(%$shown)");
}
