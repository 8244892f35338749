//! The windows of convolutions and pools.

use smallvec::{SmallVec, smallvec};

use crate::ops::infer::cx::Cx;
use crate::sym::Dim;

/// The attributes that convolutions and pools share, one entry per spatial axis.
pub(in crate::ops) struct Window {
    pub(in crate::ops) kernel: SmallVec<[Option<i64>; 3]>,
    pub(in crate::ops) strides: SmallVec<[i64; 3]>,
    pub(in crate::ops) dilations: SmallVec<[i64; 3]>,
    pub(in crate::ops) pads: Pads,
}

pub(in crate::ops) enum Pads {
    Given(SmallVec<[(i64, i64); 3]>),
    /// As many as make the output `ceil(input / stride)`.
    Same,
}

impl Window {
    pub(in crate::ops) fn for_kernel(cx: &mut Cx<'_>, kernel: SmallVec<[Option<i64>; 3]>) -> Option<Self> {
        let rank = kernel.len();
        let ends = rank.saturating_mul(2);
        for (name, count) in [("strides", rank), ("dilations", rank), ("pads", ends)] {
            let given = cx.node.ints(name).map_or(count, <[i64]>::len);
            cx.demand(given == count, || format!("`{name}` has {given} elements for {rank} axes"))?;
        }
        let list = |name: &str| -> Option<SmallVec<[i64; 3]>> {
            match cx.node.ints(name) {
                None => Some(smallvec![1; rank]),
                Some(items) if items.len() == rank && items.iter().all(|n| *n > 0) => Some(items.into()),
                Some(_) => None,
            }
        };
        let pads = match cx.text("auto_pad") {
            None | Some("NOTSET") => match cx.node.ints("pads") {
                None => Pads::Given(smallvec![(0, 0); rank]),
                Some(p) if p.len() == ends => {
                    let (before, after) = p.split_at(rank);
                    Pads::Given(before.iter().copied().zip(after.iter().copied()).collect())
                }
                Some(_) => return None,
            },
            Some("VALID") => Pads::Given(smallvec![(0, 0); rank]),
            Some(_) => Pads::Same,
        };
        Some(Self { kernel, strides: list("strides")?, dilations: list("dilations")?, pads })
    }

    /// The span of the dilated kernel.
    pub(in crate::ops) fn reach(&self, axis: usize) -> Option<i64> {
        self.kernel[axis]?.checked_sub(1)?.checked_mul(self.dilations[axis])?.checked_add(1)
    }

    /// Refutes a window that is longer than its axis.
    pub(in crate::ops) fn reaches(&self, cx: &mut Cx<'_>, out: Option<Dim>, axis: usize) -> Option<()> {
        let short = out.is_some_and(|d| cx.symbols.range(d).max.is_some_and(|n| n < 0));
        let reach = self.reach(axis).map_or_else(String::new, |reach| format!(" of {reach}"));
        cx.demand(!short, || format!("the window{reach} is longer than spatial axis {axis}"))
    }

    /// The size of the output along `axis`.
    pub(in crate::ops) fn slide(
        &self,
        cx: &mut Cx<'_>,
        axis: usize,
        dim: Option<Dim>,
        ceil: bool,
    ) -> Option<Dim> {
        let (dim, stride) = (dim?, self.strides[axis]);
        let Pads::Given(pads) = &self.pads else {
            let rounded = cx.plus(dim, stride.checked_sub(1)?);
            return Some(cx.symbols.floor_div(rounded, Dim::Const(stride)));
        };
        let (before, after) = pads[axis];
        let padded = before.checked_add(after)?.checked_sub(self.reach(axis)?)?;
        let span = cx.plus(dim, padded);
        let floor = cx.symbols.floor_div(span, Dim::Const(stride));
        let floor = cx.plus(floor, 1);
        if !ceil || stride == 1 {
            return Some(floor);
        }
        // Implementations differ on whether a last window that starts in the padding counts.
        let rounded = cx.plus(span, stride.checked_sub(1)?);
        let up = cx.symbols.floor_div(rounded, Dim::Const(stride));
        let (up, Dim::Const(n)) = (cx.plus(up, 1).as_const()?, dim) else { return None };
        let starts_inside = up.checked_sub(1)?.checked_mul(stride)? < n.checked_add(before)?;
        (starts_inside || floor == Dim::Const(up)).then_some(Dim::Const(up))
    }
}

/// The kernel of `rank` axes: the attribute, else the spatial sizes of the weight.
pub(in crate::ops) fn kernel(
    cx: &mut Cx<'_>,
    weight: &[Option<Dim>],
    rank: usize,
) -> Option<SmallVec<[Option<i64>; 3]>> {
    let Some(stated) = cx.node.ints("kernel_shape") else {
        return Some(weight.iter().skip(2).map(|d| d.and_then(Dim::as_const)).collect());
    };
    cx.demand(stated.len() == rank, || format!("the kernel has {} axes for {rank}", stated.len()))?;
    for (stated, dim) in stated.iter().zip(weight.iter().skip(2)) {
        cx.equal(Some(Dim::Const(*stated)), *dim, "`kernel_shape` is not that of the weight")?;
    }
    Some(stated.iter().map(|n| Some(*n)).collect())
}
