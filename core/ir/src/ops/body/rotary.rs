//! `RotaryEmbedding`.

use super::call::Call;
use super::text::Text;
use crate::ir::Function;

/// Pairs of elements, rotated by the angles of the caches. Inputs of three axes have their heads in the last one.
pub(super) fn rotary(call: &Call<'_>) -> Option<Function> {
    let apart = match call.rank(0)? {
        3 => false,
        4 => true,
        _ => return None,
    };
    let pairs = call.int("interleaved")? != 0;
    let part = call.int("rotary_embedding_dim")? > 0;
    let mut text = Text::for_call(call);
    text.set("heads", call.int("num_heads").unwrap_or(0));
    text.add(
        "%Zero1D = Constant() {value = tensor i64[1] [0]}
        %NumHeads = Constant() {value = tensor i64[1] [$heads]}
        %NegOne = Constant() {value = tensor i64[1] [-1]}",
    );
    text.either(
        apart,
        "%XIn = Transpose(%X) {perm = [0, 2, 1, 3]}",
        "%NewShape = Concat(%Zero1D, %Zero1D, %NumHeads, %NegOne) {axis = 0}
        %XIn = Reshape(%X, %NewShape)",
    );
    text.add("%HeadSize = Shape(%XIn) {end = 4, start = 3}");
    text.either(
        part,
        "%RotaryEmbedDim = Constant() {value = tensor i64[1] [$rotary_embedding_dim]}",
        "%RotaryEmbedDim = Identity(%HeadSize)",
    );
    text.add(
        "%Two1D = Constant() {value = tensor i64[1] [2]}
        %NoRotateLength = Sub(%HeadSize, %RotaryEmbedDim)
        %RotateSplitLengths = Concat(%RotaryEmbedDim, %NoRotateLength) {axis = 0}
        %XToRotate, %XNoRotate = Split(%XIn, %RotateSplitLengths) {axis = -1}",
    );
    text.either(
        call.has(3),
        "%CosCacheGather = Gather(%cos_cache, %position_ids)
        %SinCacheGather = Gather(%sin_cache, %position_ids)",
        "%CosCacheGather = Identity(%cos_cache)
        %SinCacheGather = Identity(%sin_cache)",
    );
    text.add(
        "%RotaryEmbedDimHalf = Div(%RotaryEmbedDim, %Two1D)
        %RotaryEmbedDimHalfInt = Cast(%RotaryEmbedDimHalf) {to = 7}
        %CosCacheSliced = Slice(%CosCacheGather, %Zero1D, %RotaryEmbedDimHalfInt, %Two1D)
        %SinCacheSliced = Slice(%SinCacheGather, %Zero1D, %RotaryEmbedDimHalfInt, %Two1D)
        %CosCacheUnsqueezed = Unsqueeze(%CosCacheSliced, %Two1D)
        %SinCacheUnsqueezed = Unsqueeze(%SinCacheSliced, %Two1D)",
    );
    text.either(
        pairs,
        "%One1D = Constant() {value = tensor i64[1] [1]}
        %AxesRotaryDim = Constant() {value = tensor i64[1] [3]}
        %RotaryEmbedDimInclusive = Add(%RotaryEmbedDim, %One1D)
        %X1 = Slice(%XToRotate, %Zero1D, %RotaryEmbedDim, %AxesRotaryDim, %Two1D)
        %X2 = Slice(%XToRotate, %One1D, %RotaryEmbedDimInclusive, %AxesRotaryDim, %Two1D)",
        "%X1, %X2 = Split(%XToRotate) {axis = -1, num_outputs = 2}",
    );
    text.add(
        "%CosX1 = Mul(%CosCacheUnsqueezed, %X1)
        %SinX2 = Mul(%SinCacheUnsqueezed, %X2)
        %Real = Sub(%CosX1, %SinX2)
        %SinX1 = Mul(%SinCacheUnsqueezed, %X1)
        %CosX2 = Mul(%CosCacheUnsqueezed, %X2)
        %Imaginary = Add(%SinX1, %CosX2)",
    );
    text.either(
        pairs,
        "%RealInterleave = Unsqueeze(%Real, %NegOne)
        %ImaginaryInterleave = Unsqueeze(%Imaginary, %NegOne)
        %XRotatedInterleavedConcat = Concat(%RealInterleave, %ImaginaryInterleave) {axis = -1}
        %XRotatedShape = Shape(%XToRotate)
        %XRotated = Reshape(%XRotatedInterleavedConcat, %XRotatedShape)",
        "%XRotated = Concat(%Real, %Imaginary) {axis = -1}",
    );
    text.add("%XConcat = Concat(%XRotated, %XNoRotate) {axis = -1}");
    text.either(
        apart,
        "%YTransposed = Transpose(%XConcat) {perm = [0, 2, 1, 3]}",
        "%YTransposed = Identity(%XConcat)",
    );
    text.add(
        "%XShape = Shape(%X)
        %Y = Reshape(%YTransposed, %XShape)",
    );
    text.function(None, &["Y"])
}
