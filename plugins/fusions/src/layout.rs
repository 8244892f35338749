//! Rearranged elements.

use onnxport_sdk::prelude::*;

rules! {
    /// Fuses the rearrangement of channels into blocks of pixels into a `DepthToSpace`, if the channels of a block are
    /// adjacent.
    depth_to_space (class = exact, opset = 13..):
        let blocks = Reshape(x, _, ..);
        let transposed = Transpose(blocks: [B, C, R, R, H, W], perm = [0, 1, 4, 2, 5, 3]);
        Reshape(transposed: [B, C, H, R, W, R], _, ..) if are_blocks(Some(x), matched.root().output(0), [B, C, R, H, W])
        => DepthToSpace(x, blocksize = R.as_const().ok_or("the block is not known")?, mode = "CRD");

    /// Fuses the rearrangement of channels into blocks of pixels into a `DepthToSpace`, if equal positions in the
    /// blocks are adjacent.
    depth_to_space_dcr (class = exact, opset = 13..):
        let blocks = Reshape(x, _, ..);
        let transposed = Transpose(blocks: [B, R, R, C, H, W], perm = [0, 3, 4, 1, 5, 2]);
        Reshape(transposed: [B, C, H, R, W, R], _, ..) if are_blocks(Some(x), matched.root().output(0), [B, C, R, H, W])
        => DepthToSpace(x, blocksize = R.as_const().ok_or("the block is not known")?);

    /// Fuses the rearrangement of blocks of pixels into channels into a `SpaceToDepth`, with the pixels before the
    /// channels.
    space_to_depth (class = exact, opset = 13..):
        let blocks = Reshape(x, _, ..);
        let transposed = Transpose(blocks: [B, C, H, R, W, R], perm = [0, 3, 5, 1, 2, 4]);
        Reshape(transposed: [B, R, R, C, H, W], _, ..) if are_blocks(matched.root().output(0), Some(x), [B, C, R, H, W])
        => SpaceToDepth(x, blocksize = R.as_const().ok_or("the block is not known")?);
}

/// Whether `deep: [B, C * R², H, W]` and `wide: [B, C, H * R, W * R]` are the two sides of an exchange of blocks.
fn are_blocks(deep: Option<ValueRef<'_>>, wide: Option<ValueRef<'_>>, extents: [Dim; 5]) -> Res<()> {
    let shape = |side: Option<ValueRef<'_>>| side.and_then(ValueRef::shape).ok_or("a shape is not known");
    let (deep, wide) = (shape(deep)?, shape(wide)?);
    let [batch, channels, block, height, width] = extents;
    let times = |a: Dim, b: i64| a.as_const().and_then(|a| a.checked_mul(b)).map(Dim::Const);
    let found = block.as_const().filter(|block| *block > 0).and_then(|block| {
        let depth = times(channels, block.checked_mul(block)?)?;
        let (rows, columns) = (times(height, block)?, times(width, block)?);
        Some(deep == [batch, depth, height, width] && wide == [batch, channels, rows, columns])
    });
    match found {
        Some(true) if batch != Dim::Unknown => Ok(()),
        Some(_) => Err("the blocks are not those of the channels".into()),
        None => Err("a size is not known".into()),
    }
}
