//! Attention.

use onnxport_ir::ops::{Error, Res};
use onnxport_ir::tensor::DType;

use super::moves::{Side, moved};
use super::{Line, Operand, Output, Pointer, Request, Scratch, Step, Work, spread, volume};
use crate::executor::device::Grid;
use crate::executor::source::{Kernel, suffix, tag};

pub(super) const OPS: &[Line] = &[("Attention", &[6], attention)];

const FILE: &str = include_str!("../../../kernels/attention.cu");

/// Queries, keys or values: batches, heads, positions and sizes, and the steps by the first three.
#[derive(Clone, Copy)]
struct Heads {
    extents: [usize; 4],
    steps: [i64; 3],
}

impl Heads {
    /// A tensor `[batch, heads, sequence, size]`; a flat one has the heads in its last axis.
    fn from_operand(r: &Request<'_, '_>, x: &Operand, name: &str) -> Res<Self> {
        match *x.shape {
            [batch, heads, sequence, size] => Ok(Self::dense([batch, heads, sequence, size])),
            [batch, sequence, hidden] => {
                let heads = usize::try_from(r.call.int(name)?).unwrap_or(0);
                if heads == 0 || !hidden.is_multiple_of(heads) {
                    return Err(Error::invalid(format!("{hidden} elements do not make {heads} heads")));
                }
                let steps = [sequence * hidden, hidden / heads, hidden].map(|n| n as i64);
                Ok(Self { extents: [batch, heads, sequence, hidden / heads], steps })
            }
            _ => Err(Error::invalid(format!("an input has {} axes, neither 3 nor 4", x.shape.len()))),
        }
    }

    fn dense(extents: [usize; 4]) -> Self {
        let [_, heads, sequence, size] = extents;
        let steps = [heads * sequence * size, sequence * size, size].map(|n| n as i64);
        Self { extents, steps }
    }

    fn side(&self, place: Pointer, offset: i64) -> Side {
        Side { place, offset, steps: self.steps.iter().copied().chain([1]).collect() }
    }
}

/// Concatenates past and new keys or values; returns where they are in the end.
fn present(
    r: &Request<'_, '_>,
    work: &mut Work,
    own: Heads,
    index: usize,
    past: Option<&Operand>,
) -> Res<Option<(Heads, Pointer)>> {
    let dtype = r.operand(index)?.dtype;
    let before = past.map_or(0, |past| past.shape.get(2).copied().unwrap_or(0));
    let [batch, heads, sequence, size] = own.extents;
    if past.is_some_and(|past| past.shape != [batch, heads, before, size] || past.dtype != dtype) {
        return Err(Error::invalid(format!("the cached keys or values do not fit input {index}")));
    }
    let all = Heads::dense([batch, heads, before + sequence, size]);
    let named = r.call.outputs() > index;
    if named {
        work.made.push(Output::new(dtype, all.extents.to_vec()));
    }
    if !named && past.is_none() {
        return Ok(Some((own, Pointer::Input(index))));
    }
    let to = if named {
        Pointer::Output(index)
    } else {
        let bytes = volume(&all.extents) as u64 * u64::from(dtype.bits() / 8);
        work.scratch.push(Scratch { bytes, contents: Vec::new() });
        Pointer::Scratch(work.scratch.len() - 1)
    };
    if past.is_some() {
        let old = Heads::dense([batch, heads, before, size]);
        let step = moved(dtype, &old.extents, &old.side(Pointer::Input(index + 3), 0), &all.side(to, 0));
        let Some(step) = step else { return Ok(None) };
        work.steps.push(step);
    }
    let behind = (before * size) as i64;
    let step = moved(dtype, &own.extents, &own.side(Pointer::Input(index), 0), &all.side(to, behind));
    let Some(step) = step else { return Ok(None) };
    work.steps.push(step);
    Ok(Some((all, to)))
}

/// `softmax(Q · Kᵀ · scale + mask) · V`; a query that sees nothing gives zeros. The scores themselves are not handed over.
fn attention(r: &Request<'_, '_>) -> Res<Option<Work>> {
    let (q, k, v) = (r.operand(0)?, r.operand(1)?, r.operand(2)?);
    let Some(own) = tag(q.dtype).filter(|_| q.dtype.is_float()) else { return Ok(None) };
    if r.call.outputs() > 3 || q.dtype != k.dtype || q.dtype != v.dtype {
        return Ok(None);
    }
    let query = Heads::from_operand(r, q, "q_num_heads")?;
    let [batch, q_heads, queries, size] = query.extents;
    let (key, value) =
        (Heads::from_operand(r, k, "kv_num_heads")?, Heads::from_operand(r, v, "kv_num_heads")?);
    let width = value.extents[3];
    let shape = if q.shape.len() == 3 {
        vec![batch, queries, q_heads * width]
    } else {
        vec![batch, q_heads, queries, width]
    };
    let mut work = Work::new(q.dtype, shape, Vec::new());
    let past = r.optional(4).filter(|_| r.optional(5).is_some());
    let Some((key, key_place)) = present(r, &mut work, key, 1, past)? else { return Ok(None) };
    let Some((value, value_place)) =
        present(r, &mut work, value, 2, r.optional(5).filter(|_| past.is_some()))?
    else {
        return Ok(None);
    };
    let [_, kv_heads, keys, _] = key.extents;
    let fits =
        key.extents == [batch, kv_heads, keys, size] && value.extents == [batch, kv_heads, keys, width];
    if !fits || kv_heads == 0 || !q_heads.is_multiple_of(kv_heads) {
        return Err(Error::invalid(format!(
            "{:?}, {:?} and {:?} do not fit each other",
            q.shape, k.shape, v.shape
        )));
    }
    let scores = [batch, q_heads, queries, keys];
    let mask = match r.optional(3) {
        None => None,
        // A mask that is shorter than the keys, or of another type, is left to the processor.
        Some(mask) if mask.shape.last() != Some(&keys) && mask.shape.last() != Some(&1) => return Ok(None),
        Some(mask) if mask.dtype != q.dtype && mask.dtype != DType::Bool => return Ok(None),
        Some(mask) if onnxport_ir::ops::strides::broadcast([&scores[..], &mask.shape])? != scores => {
            return Err(Error::invalid(format!("a mask of {:?} does not fit {scores:?}", mask.shape)));
        }
        Some(mask) if mask.shape.last() == Some(&1) && keys != 1 => return Ok(None),
        Some(mask) => Some(mask),
    };
    let lengths = r.call.longs(6)?;
    if lengths
        .as_ref()
        .is_some_and(|lengths| lengths.len() != batch || r.optional(6).is_none_or(|l| l.dtype != DType::I64))
    {
        return Ok(None);
    }
    let rows = batch * q_heads * queries;
    let scale = match r.call.attr("scale") {
        Some(_) => r.call.float("scale")?,
        None => (size as f64).sqrt().recip(),
    };
    let out = if q.shape.len() == 3 {
        [queries * q_heads * width, width, q_heads * width].map(|n| n as i64)
    } else {
        Heads::dense([batch, q_heads, queries, width]).steps
    };
    let mut numbers: Vec<i64> =
        [rows, keys, size, width, q_heads, kv_heads, queries].into_iter().map(|n| n as i64).collect();
    numbers.extend([query.steps, key.steps, value.steps, out].concat());
    numbers.extend(mask.map_or_else(|| vec![0; 4], |mask| spread(&mask.shape, &scores)));
    let before = past.map_or(0, |past| past.shape.get(2).copied().unwrap_or(0));
    numbers.extend([
        i64::from(r.call.flag("is_causal")),
        r.call.int("left_window_size")?,
        r.call.int("right_window_size")?,
        before as i64,
        i64::from(lengths.is_some() && before == 0),
    ]);
    let wide = if q.dtype == DType::F64 { 8 } else { 4 };
    work.scratch.push(Scratch { bytes: (rows * keys) as u64 * wide, contents: Vec::new() });
    let s = suffix(q.dtype);
    let [larger, exp, tanh] = ["larger", "exp", "tanh"].map(|name| format!("{name}_{s}"));
    let infinite = format!("INF_{s}");
    let truth = mask.is_some_and(|mask| mask.dtype == DType::Bool);
    let bias = if truth { format!("((x) ? 0 : -INF_{s})") } else { "(x)".to_owned() };
    let macros = [
        ("TYPE", own),
        ("MASK", if truth { "bool" } else { own }),
        ("BIAS(x)", bias.as_str()),
        ("INFINITE", &infinite),
        ("LARGER", &larger),
        ("EXP", &exp),
        ("TANH", &tanh),
    ];
    let given = |there: bool, index: usize| if there { Pointer::Input(index) } else { Pointer::Nothing };
    let places = vec![
        Pointer::Input(0),
        key_place,
        value_place,
        given(mask.is_some(), 3),
        Pointer::Output(0),
        Pointer::Scratch(work.scratch.len() - 1),
        given(lengths.is_some(), 6),
    ];
    let mut step =
        Step::new(Kernel::new("attention", FILE, &macros), Grid::Groups(rows as u64), places, numbers);
    step.reals = vec![scale, r.call.float("softcap")?];
    work.steps.push(step);
    Ok(Some(work))
}
