//! `CausalConvWithState`.

use super::call::Call;
use super::text::Text;
use crate::ir::Function;

/// Past values in front of the input, a convolution of each channel by itself, and the last values as the next state.
pub(super) fn causal_conv(call: &Call<'_>) -> Option<Function> {
    let channels = call.extent(0, 1).or_else(|| call.extent(1, 0))?;
    let activated = match call.text("activation")?.as_str() {
        "silu" | "swish" => true,
        "none" => false,
        _ => return None,
    };
    let mut text = Text::for_call(call);
    text.set("channels", channels);
    text.add(
        "%One1D = Constant() {value = tensor i64[1] [1]}
        %KernelSize = Shape(%weight) {end = 3, start = 2}
        %Km1 = Sub(%KernelSize, %One1D)",
    );
    text.either(
        call.has(3),
        "%PaddedInput = Concat(%past_state, %input) {axis = 2}",
        "%BatchDim = Shape(%input) {end = 1, start = 0}
        %ChannelDim = Shape(%input) {end = 2, start = 1}
        %ZeroPadShape = Concat(%BatchDim, %ChannelDim, %Km1) {axis = 0}
        %ZeroPad = ConstantOfShape(%ZeroPadShape)
        %ZeroPadCast = CastLike(%ZeroPad, %input)
        %PaddedInput = Concat(%ZeroPadCast, %input) {axis = 2}",
    );
    text.either(
        call.has(2),
        "%ConvOut = Conv(%PaddedInput, %weight, %bias) {group = $channels}",
        "%ConvOut = Conv(%PaddedInput, %weight) {group = $channels}",
    );
    text.either(
        activated,
        "%ConvOutFloat = Cast(%ConvOut) {to = 1}
        %ConvSigmoid = Sigmoid(%ConvOutFloat)
        %MulOutFloat = Mul(%ConvOutFloat, %ConvSigmoid)
        %output = CastLike(%MulOutFloat, %ConvOut)",
        "%output = Identity(%ConvOut)",
    );
    text.add(
        "%PadLen = Shape(%PaddedInput) {end = 3, start = 2}
        %StartIdx = Sub(%PadLen, %Km1)
        %SliceAxes = Constant() {value = tensor i64[1] [2]}
        %present_state = Slice(%PaddedInput, %StartIdx, %PadLen, %SliceAxes)",
    );
    text.function(None, &["output", "present_state"])
}
