//! Common parts of resampling to another size: the arguments, and the `Resize` node.

use onnxport_sdk::NodeBuilder;
use onnxport_sdk::prelude::*;

/// A `Resize` under construction.
pub(super) type Resize<'c, 'h> = NodeBuilder<'c, 'static, Lower<'h>, op::Resize>;

/// The sizes before and after, and the factors that PyTorch computes coordinates with.
pub(super) struct Sizes {
    lead: usize,
    pub(super) inner: Vec<Dim>,
    pub(super) outer: Vec<Dim>,
    /// Factors that the call states, for every axis.
    pub(super) scales: Option<Vec<f64>>,
}

impl Sizes {
    pub(super) fn new(cx: &Lower, x: Value) -> Res<Self> {
        const LEAD: usize = 2;
        let (inner, outer) = (cx.shape(x)?, cx.result(0)?.shape);
        let tail = |shape: Vec<Dim>| shape.into_iter().skip(LEAD).collect::<Vec<_>>();
        let (inner, outer) = (tail(inner), tail(outer));
        let mut scales: Option<Vec<f64>> = cx.argument("scale_factors")?;
        if scales.is_none() {
            let names: &[&str] = match inner.len() {
                1 => &["scales"],
                2 => &["scales_h", "scales_w"],
                _ => &["scales_d", "scales_h", "scales_w"],
            };
            let stated = names.iter().map(|n| cx.argument::<Option<f64>>(n)).collect::<Res<Vec<_>>>()?;
            scales = stated.into_iter().collect();
        }
        let scales = scales.filter(|s| s.len() == inner.len() && s.iter().all(|s| *s > 0.0));
        Ok(Self { lead: LEAD, inner, outer, scales })
    }

    /// The constant sizes before and after of each axis.
    pub(super) fn constant(&self) -> Option<Vec<(i64, i64)>> {
        self.inner.iter().zip(&self.outer).map(|(n, m)| Some((n.as_const()?, m.as_const()?))).collect()
    }

    pub(super) fn axis(&self, i: usize) -> usize {
        self.lead + i
    }

    /// The factors for `Resize`, unless it would compute other sizes from them than the program
    /// states, or they say no more than the extents.
    pub(super) fn factors(&self) -> Option<Vec<f32>> {
        let scales = self.scales.as_ref()?;
        let factors: Vec<f32> = scales.iter().map(|s| *s as f32).collect();
        let Some(extents) = self.constant() else { return Some(factors) };
        if extents.iter().zip(scales).all(|((n, m), s)| *n as f64 * s == *m as f64) {
            return None;
        }
        // A factor that single precision rounded down may fall short of a whole size.
        let meets = |n: i64, m: i64, f: f32| {
            (n as f32 * f).floor() as i64 == m && (n as f64 * f64::from(f)).floor() as i64 == m
        };
        let choose =
            |((n, m), f): (&(i64, i64), f32)| [f, f.next_up()].into_iter().find(|f| meets(*n, *m, *f));
        extents.iter().zip(factors).map(choose).collect()
    }

    /// Emits `Resize` with the attributes that `describe` adds.
    pub(super) fn resize<'c, 'h>(
        &self,
        cx: &'c Lower<'h>,
        x: Value,
        corners: bool,
        describe: impl FnOnce(Resize<'c, 'h>) -> Resize<'c, 'h>,
    ) -> Res<Value> {
        // With aligned corners PyTorch and ONNX use factors for the sizes alone.
        let known = corners && !self.outer.contains(&Dim::Unknown) && self.constant().is_some();
        let factors = if known { None } else { self.factors() };
        if factors.is_none() && self.scales.is_some() && !corners {
            let exact = |((n, m), s): (&(i64, i64), &f64)| *n as f64 * s == *m as f64;
            let extents = self.constant().unwrap_or_default();
            if !extents.iter().zip(self.scales.iter().flatten()).all(exact) {
                return Err("ONNX computes other sizes from the argument `scale_factors`".into());
            }
        }
        let (mut scales, mut sizes) = (None, None);
        let axes: Vec<i64> = (0..self.inner.len()).map(|i| self.axis(i) as i64).collect();
        let by_size = factors.is_none();
        match factors {
            Some(factors) => {
                let all: Vec<f64> =
                    [1.0; 2].into_iter().chain(factors.iter().map(|f| f64::from(*f))).collect();
                scales = Some(cx.numbers(&all, DType::F32));
            }
            None => sizes = Some(cx.dims_value(&self.outer)),
        }
        let node = describe(cx.op(op::Resize).input(x).maybe(None).maybe(scales).maybe(sizes));
        Ok(if by_size { node.axes(axes).one() } else { node.one() })
    }
}
