//! Pools.

#![expect(clippy::arithmetic_side_effects, reason = "indices into tensors whose sizes were counted")]

use super::call::{Call, one, sizes};
use super::error::invalid;
use super::pointwise::larger;
use super::strides::{dense, volume};
use super::window::Window;
use super::{Op, Res, Tensor, Value};

pub(super) const OPS: &[Op] = &[
    Op::new("AveragePool").infer(infer::pool).eval(average_pool),
    Op::new("GlobalAveragePool")
        .infer(infer::global_pool)
        .eval(|c| global(c, |items| items.iter().sum::<f64>() / items.len() as f64)),
    Op::new("GlobalLpPool").infer(infer::global_pool).eval(|c| {
        let p = c.int("p")? as f64;
        global(c, |items| norm(items.iter().copied(), p))
    }),
    Op::new("GlobalMaxPool")
        .infer(infer::global_pool)
        .eval(|c| global(c, |items| items.iter().copied().fold(f64::NEG_INFINITY, larger))),
    Op::new("LpPool").infer(infer::pool).eval(lp_pool),
    Op::new("MaxPool").nonexpansive().infer(infer::pool).eval(max_pool),
    Op::new("MaxUnpool").infer(infer::max_unpool).eval(max_unpool),
];

fn norm(items: impl Iterator<Item = f64>, p: f64) -> f64 {
    items.map(|x| x.abs().powf(p)).sum::<f64>().powf(p.recip())
}

/// `f` of all spatial positions of each channel.
fn global(c: &Call<'_>, f: impl Fn(&[f64]) -> f64) -> Res<Vec<Value>> {
    let x = c.tensor(0)?;
    let [n, channels, spatial @ ..] = x.shape() else { return invalid!("the input has no channels") };
    let shape: Vec<usize> = [*n, *channels].into_iter().chain(spatial.iter().map(|_| 1)).collect();
    c.count(&shape)?;
    c.spend(x.len() as u64)?;
    let items = x.floats()?;
    let out = match volume(spatial) {
        0 => vec![f64::NAN; n * channels],
        size => items.chunks(size).map(f).collect(),
    };
    one(Tensor::of_numbers(x.dtype(), shape, out)?)
}

/// A pool over an input.
struct Pool {
    window: Window,
    /// The spatial sizes of the input and of the output.
    input: Vec<usize>,
    output: Vec<usize>,
    /// For each position of the output, the positions of the input in its window.
    windows: Vec<Vec<usize>>,
    /// The shape of the result.
    shape: Vec<usize>,
}

impl Pool {
    fn from_call(c: &Call<'_>, x: &Tensor) -> Res<Self> {
        let [n, channels, input @ ..] = x.shape() else { return invalid!("the input has no channels") };
        let mut window = Window::for_kernel(c, sizes(c.ints("kernel_shape").unwrap_or_default())?)?;
        let output = window.slide(input, c.flag("ceil_mode"))?;
        let shape: Vec<usize> = [*n, *channels].into_iter().chain(output.iter().copied()).collect();
        c.count(&shape)?;
        c.spend((volume(&shape) as u64).saturating_mul(volume(&window.kernel) as u64))?;
        let mut windows = vec![Vec::new(); volume(&output)];
        for (to, at) in window.taps(c, input, &output)?.into_iter().flatten() {
            windows[to].push(at);
        }
        Ok(Self { window, input: input.to_vec(), output, windows, shape })
    }

    /// `f` of each window: the place of the output, the positions of the input, and the elements of the channel.
    fn each<T>(&self, items: &[f64], mut f: impl FnMut(usize, &[usize], &[f64], usize) -> T) -> Vec<T> {
        let size = volume(&self.input).max(1);
        let planes = items.chunks(size).enumerate();
        planes
            .flat_map(|(channel, plane)| {
                let windows = self.windows.iter().enumerate();
                windows.map(|(to, places)| f(to, places, plane, channel)).collect::<Vec<T>>()
            })
            .collect()
    }

    /// How many positions of the window at `to` lie in the input or its padding.
    fn padded(&self, mut to: usize) -> usize {
        let mut count = 1;
        for axis in (0..self.output.len()).rev() {
            let start = (to % self.output[axis] * self.window.strides[axis]) as i64;
            to /= self.output[axis];
            let end = self.window.before[axis] + self.input[axis] as i64 + self.window.after[axis];
            let inside = |k: &usize| start + ((*k * self.window.dilations[axis]) as i64) < end;
            count *= (0..self.window.kernel[axis]).filter(inside).count();
        }
        count
    }
}

/// The mean of the elements in the window; with `count_include_pad`, padding counts as zeros.
fn average_pool(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let x = c.tensor(0)?;
    let pool = Pool::from_call(c, x)?;
    let padding = c.flag("count_include_pad");
    let out = pool.each(&x.floats()?, |to, places, plane, _| {
        let count = if padding { pool.padded(to) } else { places.len() };
        places.iter().map(|at| plane[*at]).sum::<f64>() / count as f64
    });
    one(Tensor::of_floats(x.dtype(), pool.shape, out)?)
}

fn lp_pool(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let x = c.tensor(0)?;
    let pool = Pool::from_call(c, x)?;
    let p = c.int("p")? as f64;
    let out = pool.each(&x.floats()?, |_, places, plane, _| norm(places.iter().map(|at| plane[*at]), p));
    one(Tensor::of_floats(x.dtype(), pool.shape, out)?)
}

/// The largest element, and its place in the whole input, of which the last axes may be counted column by column.
fn max_pool(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let x = c.tensor(0)?;
    let pool = Pool::from_call(c, x)?;
    let columns = c.flag("storage_order");
    let size = volume(&pool.input);
    // The place of each element when the first spatial axis is the fastest.
    let steps = dense(&pool.input);
    let column_major = |at: usize| {
        let axes = pool.input.iter().zip(&steps);
        axes.fold((0, 1), |(place, stride), (extent, step)| {
            (place + at / (*step as usize).max(1) % extent * stride, stride * extent)
        })
        .0
    };
    let found = pool.each(&x.floats()?, |_, places, plane, channel| {
        let best = places.iter().copied().reduce(|best, at| {
            if plane[at] > plane[best] || (plane[at].is_nan() && !plane[best].is_nan()) { at } else { best }
        });
        match best {
            Some(best) => {
                (plane[best], (channel * size + if columns { column_major(best) } else { best }) as i64)
            }
            None => (f64::NEG_INFINITY, -1),
        }
    });
    let (out, indices): (Vec<f64>, Vec<i64>) = found.into_iter().unzip();
    Ok(vec![
        Tensor::of_numbers(x.dtype(), pool.shape.clone(), out)?.into(),
        Tensor::of_longs(pool.shape, indices)?.into(),
    ])
}

/// Writes each element to the place that its index names, into zeros.
fn max_unpool(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let (x, indices) = (c.tensor(0)?, c.longs(1)?.unwrap_or_default());
    let [n, channels, input @ ..] = x.shape() else { return invalid!("the input has no channels") };
    let window = Window::for_kernel(c, sizes(c.ints("kernel_shape").unwrap_or_default())?)?;
    if window.kernel.len() != input.len() {
        return invalid!("a kernel of {} axes does not slide over {}", window.kernel.len(), input.len());
    }
    let natural = input.iter().enumerate().map(|(axis, extent)| {
        let covered = window.covered(axis, *extent);
        covered.saturating_sub(window.before[axis]).saturating_sub(window.after[axis])
    });
    let own: Vec<usize> = [*n, *channels].into_iter().chain(sizes(&natural.collect::<Vec<_>>())?).collect();
    let shape = match c.longs(2)? {
        Some(shape) => sizes(&shape)?,
        None => own.clone(),
    };
    if shape.len() != own.len() {
        return invalid!("the shape {shape:?} is not one of {} axes", own.len());
    }
    // Indices count in the natural shape; a larger one has the same coordinates.
    let (from, to) = (dense(&own), dense(&shape));
    let mut out = vec![0.0; c.count(&shape)?];
    for (item, index) in x.floats()?.into_iter().zip(indices) {
        let Ok(index) = usize::try_from(index) else { return invalid!("an index is negative") };
        let axes = from.iter().zip(&to).zip(&own);
        let place: usize = axes.map(|((f, t), d)| index / (*f as usize).max(1) % d * *t as usize).sum();
        match out.get_mut(place) {
            Some(slot) => *slot = item,
            None => return invalid!("the index {index} is out of range"),
        }
    }
    one(Tensor::of_floats(x.dtype(), shape, out)?)
}

#[deny(clippy::arithmetic_side_effects)]
pub(super) mod infer {
    //! Shapes.

    use smallvec::smallvec;

    use crate::ir::Shape;
    use crate::ops::infer::cx::{Cx, Dims, Shapes, one};
    use crate::ops::infer::window::{Pads, Window, kernel};
    use crate::sym::Dim;

    /// `MaxPool`, `AveragePool` and `LpPool`; the indices of `MaxPool` have the shape of the output.
    pub(in crate::ops) fn pool(cx: &mut Cx<'_>) -> Option<Shapes> {
        cx.rank_from(0, 3)?;
        let [n, c, spatial @ ..] = cx.dims(0)? else { return None };
        let kernel = kernel(cx, &[], spatial.len())?;
        let window = Window::for_kernel(cx, kernel)?;
        let ceil = cx.flag("ceil_mode")?;
        let mut out: Dims = smallvec![*n, *c];
        for (axis, dim) in spatial.iter().enumerate() {
            let extent = window.slide(cx, axis, *dim, ceil);
            window.reaches(cx, extent, axis)?;
            out.push(extent);
        }
        Some(smallvec![Shape::Ranked(out.clone()), Shape::Ranked(out)])
    }

    /// The pools over all spatial axes.
    pub(in crate::ops) fn global_pool(cx: &mut Cx<'_>) -> Option<Shapes> {
        let [n, c, spatial @ ..] = cx.dims(0)? else { return None };
        one([*n, *c].into_iter().chain(spatial.iter().map(|_| Some(Dim::Const(1)))))
    }

    /// `MaxUnpool`: the given shape, or else the shape from which a pool of this window computes the input.
    pub(super) fn max_unpool(cx: &mut Cx<'_>) -> Option<Shapes> {
        cx.rank_from(0, 3)?;
        let [n, c, spatial @ ..] = cx.dims(0)? else { return None };
        if cx.input(2).is_some() {
            return one(cx.shape_from(2)?);
        }
        let kernel = kernel(cx, &[], spatial.len())?;
        let window = Window::for_kernel(cx, kernel)?;
        let Pads::Given(pads) = &window.pads else { return None };
        let mut out: Dims = smallvec![*n, *c];
        for (axis, dim) in spatial.iter().enumerate() {
            let (before, after) = pads[axis];
            let rest = window.reach(axis)?.checked_sub(before)?.checked_sub(after)?;
            out.push(dim.map(|dim| {
                let last = cx.plus(dim, -1);
                let reached = cx.symbols.mul(last, Dim::Const(window.strides[axis]));
                cx.plus(reached, rest)
            }));
        }
        one(out)
    }
}
