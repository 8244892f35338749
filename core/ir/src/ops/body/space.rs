//! `DepthToSpace` and `SpaceToDepth`: axes that are split, permuted and joined.

use super::call::Call;
use super::text::Text;
use crate::ir::Function;

/// The sizes of the input, in words.
const SIZES: &str = "%blocksize = Constant() {value = tensor i64[1] [$blocksize]}
    %block_area = Constant() {value = tensor i64[1] [$area]}
    %zero = Constant() {value = tensor i64[1] [0]}
    %one = Constant() {value = tensor i64[1] [1]}
    %two = Constant() {value = tensor i64[1] [2]}
    %three = Constant() {value = tensor i64[1] [3]}
    %four = Constant() {value = tensor i64[1] [4]}
    %input_shape = Shape(%input)
    %N = Slice(%input_shape, %zero, %one)
    %C = Slice(%input_shape, %one, %two)
    %H = Slice(%input_shape, %two, %three)
    %W = Slice(%input_shape, %three, %four)";

/// The common last steps.
const MOVED: &str = "%tmp = Reshape(%input, %tmp_shape) {allowzero = 1}
    %tmp_transposed = Transpose(%tmp) {perm = $perm}
    %output_shape = Concat(%N, %C_block, %H_block, %W_block) {axis = 0}
    %output = Reshape(%tmp_transposed, %output_shape) {allowzero = 1}";

/// Whether the depth is the outermost of the axes that it is split into, and `SIZES`.
fn begin<'c, 'a>(call: &'c Call<'a>) -> Option<(bool, Text<'c, 'a>)> {
    let block = call.int("blocksize").filter(|n| *n > 0)?;
    let outermost = match call.text("mode")?.as_str() {
        "CRD" => true,
        "DCR" => false,
        _ => return None,
    };
    let mut text = Text::for_call(call);
    text.set("area", block.checked_mul(block)?);
    text.add(SIZES);
    Some((outermost, text))
}

/// Blocks of channels become positions.
pub(super) fn depth_to_space(call: &Call<'_>) -> Option<Function> {
    let (outermost, mut text) = begin(call)?;
    text.add(
        "%H_block = Mul(%H, %blocksize)
        %W_block = Mul(%W, %blocksize)
        %C_block = Div(%C, %block_area)",
    );
    text.either(
        outermost,
        "%tmp_shape = Concat(%N, %C_block, %blocksize, %blocksize, %H, %W) {axis = 0}",
        "%tmp_shape = Concat(%N, %blocksize, %blocksize, %C_block, %H, %W) {axis = 0}",
    );
    text.set("perm", if outermost { "[0, 1, 4, 2, 5, 3]" } else { "[0, 3, 4, 1, 5, 2]" });
    text.add(MOVED);
    text.function(None, &["output"])
}

/// Blocks of positions become channels.
pub(super) fn space_to_depth(call: &Call<'_>) -> Option<Function> {
    let (outermost, mut text) = begin(call)?;
    text.add(
        "%H_block = Div(%H, %blocksize)
        %W_block = Div(%W, %blocksize)
        %C_block = Mul(%C, %block_area)
        %tmp_shape = Concat(%N, %C, %H_block, %blocksize, %W_block, %blocksize) {axis = 0}",
    );
    text.set("perm", if outermost { "[0, 1, 3, 5, 2, 4]" } else { "[0, 3, 5, 1, 2, 4]" });
    text.add(MOVED);
    text.function(None, &["output"])
}
