//! The meaning of the indices of `self[…]`: which axes they index, and where their shape stands in the
//! result.

use onnxport_sdk::prelude::*;

use crate::view::expand_to;

/// Indices of integers, one per indexed axis, that broadcast against each other.
pub(super) struct Columns {
    /// The indexed axes, ascending.
    pub(super) axes: Vec<usize>,
    /// An index per axis, of type i64.
    pub(super) indices: Vec<Value>,
    /// Their common shape.
    pub(super) shape: Vec<Dim>,
    /// The other axes.
    pub(super) rest: Vec<usize>,
    /// Whether several masks gave indices, the numbers of which broadcast at run time.
    several: bool,
}

/// Whether `x` is a mask: `bool`, or the old spelling `u8`.
pub(super) fn is_mask(cx: &Lower, x: Value) -> bool {
    matches!(cx.fact(x).dtype, Some(DType::Bool | DType::U8))
}

/// The mask as `bool`.
pub(super) fn as_mask(cx: &Lower, mask: Value) -> Value {
    cx.cast(mask, DType::Bool)
}

/// An index as one of the types that ONNX takes.
pub(super) fn as_index(cx: &Lower, index: Value) -> Value {
    match cx.fact(index).dtype {
        Some(DType::I32) => index,
        _ => cx.cast(index, DType::I64),
    }
}

impl Columns {
    /// Reads `indices` into a tensor of `rank` axes. A mask stands for the positions where it is true,
    /// a column per axis.
    pub(super) fn read(cx: &Lower, indices: &[Option<Value>], rank: usize) -> Res<Self> {
        let (mut axes, mut columns, mut at, mut masks) = (Vec::new(), Vec::new(), 0, 0);
        for index in indices {
            match index {
                None => at += 1,
                Some(mask) if is_mask(cx, *mask) => {
                    let mask = as_mask(cx, *mask);
                    let found = cx.op(op::NonZero).input(mask).one();
                    masks += 1;
                    let depth = cx.rank(mask)?;
                    for row in 0..depth {
                        columns.push(if depth == 1 {
                            cx.squeeze(found, &[0])
                        } else {
                            cx.gather(found, cx.int(row as i64), 0)
                        });
                        axes.push(at + row);
                    }
                    at += depth;
                }
                Some(index) => {
                    columns.push(cx.cast(*index, DType::I64));
                    axes.push(at);
                    at += 1;
                }
            }
        }
        if at > rank || axes.is_empty() {
            return Err("argument `indices` does not fit the tensor's axes".into());
        }
        let shape = common_shape(cx, &columns)?;
        let rest = (0..rank).filter(|a| !axes.contains(a)).collect();
        Ok(Self { axes, indices: columns, shape, rest, several: masks > 1 })
    }

    /// Where the shape of the indices stands in the result: in the place of the indexed axes when these
    /// are neighbours, else in front.
    pub(super) fn place(&self) -> usize {
        match (self.axes.first(), self.axes.last()) {
            (Some(first), Some(last)) if last - first + 1 == self.axes.len() => *first,
            _ => 0,
        }
    }

    /// The axes of a tensor in the order `indexed, others`.
    pub(super) fn front(&self) -> Vec<usize> {
        [self.axes.as_slice(), &self.rest].concat()
    }

    /// The indices as one tensor with a last axis that runs over the indexed axes, for `GatherND`.
    pub(super) fn stacked(&self, cx: &Lower) -> Res<Value> {
        let mut target = self.shape.clone();
        target.push(Dim::Const(1));
        let mut columns = Vec::new();
        for index in &self.indices {
            columns.push(cx.unsqueeze(*index, &[cx.rank(*index)? as i64]));
        }
        if self.several {
            let sum = columns.iter().copied().reduce(|a, b| a + b);
            let shape = sum.map(|sum| cx.op(op::Shape).input(sum).one());
            let expand = |column: &Value| shape.map_or(*column, |shape| cx.expand(*column, shape));
            let columns: Vec<Value> = columns.iter().map(expand).collect();
            return Ok(cx.concat(&columns, self.shape.len() as i64));
        }
        // A size that only the run knows is read off the column that has it.
        let open = |cx: &Lower, x| cx.fact(x).shape.is_some_and(|s| s.contains(&Dim::Unknown));
        let donor = columns.iter().copied().find(|c| open(cx, *c));
        let mut parts = Vec::new();
        for mut column in columns.iter().copied() {
            if let Some(donor) = donor.filter(|_| !open(cx, column)) {
                column = cx.expand(column, cx.shape_value(donor));
            }
            parts.push(if columns.len() == 1 { column } else { broadcast(cx, column, &target)? });
        }
        Ok(cx.concat(&parts, self.shape.len() as i64))
    }
}

/// `x` broadcast to `shape`, of which unknown sizes are taken to be those of `x`.
pub(super) fn broadcast(cx: &Lower, x: Value, shape: &[Dim]) -> Res<Value> {
    let from = cx.shape(x)?;
    let added = shape.len().saturating_sub(from.len());
    let mut target = shape.to_vec();
    for (to, have) in target.iter_mut().skip(added).zip(&from) {
        if *to == Dim::Unknown && !have.is(1) {
            *to = Dim::Const(1);
        }
    }
    if target.iter().all(|d| d.is(1)) && added == 0 {
        return Ok(x);
    }
    expand_to(cx, x, &target)
}

fn common_shape(cx: &Lower, columns: &[Value]) -> Res<Vec<Dim>> {
    let mut shape: Vec<Dim> = Vec::new();
    for column in columns {
        let mut dims = cx.shape(*column)?;
        if dims.len() > shape.len() {
            std::mem::swap(&mut dims, &mut shape);
        }
        for (known, other) in shape.iter_mut().rev().zip(dims.iter().rev()) {
            if known.is(1) || (*known == Dim::Unknown && !other.is(1)) {
                *known = *other;
            }
        }
    }
    Ok(shape)
}
