//! Blocks of places that become channels.

use onnxport_sdk::prelude::*;

rules! {
    /// A block of places that becomes a block of channels: the places of a block stand in front of the channels.
    space_to_depth (class = exact, opset = 13..):
        let blocks = Reshape(x, _, ..);
        let turned = Transpose(blocks: [B, C, H, R, W, R], perm = [0, 3, 5, 1, 2, 4]);
        Reshape(turned: [B, R, R, C, H, W], _, ..) if gathers(matched, x, [B, C, R, H, W])
        => SpaceToDepth(x, blocksize = R.as_const().ok_or("the block is not known")?);
}

/// Whether `x: [B, C, H * R, W * R]` becomes `[B, C * R², H, W]`.
fn gathers(matched: &Matched<'_>, x: ValueRef<'_>, extents: [Dim; 5]) -> Res<()> {
    let after = matched.root().output(0).and_then(ValueRef::shape).ok_or("a shape is not known")?;
    let before = x.shape().ok_or("a shape is not known")?;
    let [batch, channels, block, height, width] = extents;
    let times = |a: Dim, b: i64| a.as_const().and_then(|a| a.checked_mul(b)).map(Dim::Const);
    let found = block.as_const().filter(|block| *block > 0).and_then(|block| {
        let deep = times(channels, block.checked_mul(block)?)?;
        let (high, wide) = (times(height, block)?, times(width, block)?);
        Some(before == [batch, channels, high, wide] && after == [batch, deep, height, width])
    });
    match found {
        Some(true) if batch != Dim::Unknown => Ok(()),
        Some(_) => Err("the blocks are not those of the channels".into()),
        None => Err("an extent is not known".into()),
    }
}
