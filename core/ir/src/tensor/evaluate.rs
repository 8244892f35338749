//! Evaluates one piece of a tensor.

use std::ops::Range;

use super::cost::{granule_input, step, unit};
use super::joined::{self, Operand, Operation, Span, Unary};
use super::transform::quantise::Carry;
use super::transform::{Cast, Foreign, Quantise, Transform};
use super::{Derived, Error, Joined, LazyTensor, Source, gather};

/// Buffers of one piece, used again for the next piece.
#[derive(Default)]
pub(super) struct Scratch {
    /// Those that nobody uses now. Who takes one gives it back before the one taken before it, so that each
    /// piece has the same buffers for the same things.
    free: Vec<Vec<u8>>,
    kept: Carry,
    /// The address of the tensor that [`Self::kept`] belongs to.
    owner: usize,
    /// The granules that were made last for somebody who wanted a part of them, by transform.
    granules: Vec<Granules>,
    /// Elements of a quantised weight that are looked at together.
    tile: u64,
    pub(super) result: Vec<u8>,
    /// The byte of the tensor at which the result starts.
    pub(super) start: u64,
}

/// Whole granules of a plugin's transform.
#[derive(Default)]
struct Granules {
    /// The address of the transform, which lives as long as the tensor that is made.
    owner: usize,
    elements: Range<u64>,
    bytes: Vec<u8>,
}

impl Scratch {
    /// Begins another tensor: nothing is left of the one before.
    pub(super) fn begin(&mut self, tile: u64) {
        self.kept.forget();
        self.owner = 0;
        for granules in &mut self.granules {
            (granules.owner, granules.elements) = (0, 0..0);
        }
        self.tile = tile;
    }

    fn take(&mut self) -> Vec<u8> {
        self.free.pop().unwrap_or_default()
    }

    fn give(&mut self, buffer: Vec<u8>) {
        self.free.push(buffer);
    }

    /// The granules that `owner` made last.
    fn granules(&mut self, owner: usize) -> Granules {
        let own = self.granules.iter().position(|granules| granules.owner == owner);
        match own.or_else(|| self.granules.iter().position(|granules| granules.owner == 0)) {
            Some(at) => self.granules.swap_remove(at),
            None => Granules::default(),
        }
    }
}

/// Makes elements `range` of `tensor` in `out`, which becomes as long as they are.
pub(super) fn evaluate(
    tensor: &LazyTensor,
    range: Range<u64>,
    scratch: &mut Scratch,
    out: &mut Vec<u8>,
) -> Result<(), Error> {
    match &tensor.source {
        Source::Derived(derived) => {
            resize(out, (range.end - range.start) * unit(tensor));
            let owner = std::sync::Arc::as_ptr(derived) as usize;
            match &derived.transform {
                Transform::Cast(to) => {
                    let cast = Cast::between(derived.input.dtype, *to);
                    let cast = cast.ok_or(Error::View("the cast is not supported"))?;
                    each(&derived.input, range, scratch, |bytes| cast.apply(bytes, out))
                }
                Transform::Unary(operator) => unary(*operator, &derived.input, range, scratch, out),
                Transform::Quantise(form) => quantise(form, owner, &derived.input, range, scratch, out),
                Transform::Foreign(form) => foreign(form, owner, tensor, derived, range, scratch, out),
            }
        }
        Source::Joined(joined) => {
            resize(out, (range.end - range.start) * unit(tensor));
            match joined.operation() {
                Operation::Concat { axis } => concat(joined, axis, &range, scratch, out),
                Operation::Binary(_) => binary(joined, &range, scratch, out),
                Operation::Product => product(joined, &range, scratch, out),
            }
        }
        _ => {
            let len = tensor.dtype.byte_len(range.end - range.start).ok_or(Error::Short)?;
            resize(out, len);
            gather::gather(tensor, range, out)
        }
    }
}

/// Makes elements `range` of `input` for `apply`.
fn each(
    input: &LazyTensor,
    range: Range<u64>,
    scratch: &mut Scratch,
    apply: impl FnOnce(&[u8]) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut bytes = scratch.take();
    evaluate(input, range, scratch, &mut bytes)?;
    apply(&bytes)?;
    scratch.give(bytes);
    Ok(())
}

fn unary(
    operator: Unary,
    input: &LazyTensor,
    range: Range<u64>,
    scratch: &mut Scratch,
    out: &mut [u8],
) -> Result<(), Error> {
    each(input, range, scratch, |bytes| joined::unary(operator, input.dtype, bytes, out))
}

fn quantise(
    form: &Quantise,
    owner: usize,
    input: &LazyTensor,
    range: Range<u64>,
    scratch: &mut Scratch,
    out: &mut [u8],
) -> Result<(), Error> {
    let mut kept = std::mem::take(&mut scratch.kept);
    if std::mem::replace(&mut scratch.owner, owner) != owner {
        kept.forget();
    }
    let tile = scratch.tile;
    let mut read = |tensor: &LazyTensor, range, bytes: &mut Vec<u8>| evaluate(tensor, range, scratch, bytes);
    form.evaluate(input, range, &mut read, (&mut kept, tile), out)?;
    (scratch.kept, scratch.owner) = (kept, owner);
    Ok(())
}

fn foreign(
    form: &Foreign,
    owner: usize,
    tensor: &LazyTensor,
    derived: &Derived,
    range: Range<u64>,
    scratch: &mut Scratch,
    out: &mut [u8],
) -> Result<(), Error> {
    let input = &derived.input;
    let made = step(tensor);
    let per_granule = granule_input(derived);
    let first = range.start / made;
    let granules = range.end.div_ceil(made) - first;
    let aligned = first * made..(first + granules).saturating_mul(made).min(elements(tensor)?);
    if aligned != range {
        // Somebody wants a part of a granule, and most often the next part after it.
        let mut whole = scratch.granules(owner);
        if (whole.owner, &whole.elements) != (owner, &aligned) {
            evaluate(tensor, aligned.clone(), scratch, &mut whole.bytes)?;
        }
        let size = unit(tensor);
        let part = (range.start - aligned.start) * size..(range.end - aligned.start) * size;
        let part = whole.bytes.get(part.start as usize..part.end as usize);
        out.copy_from_slice(part.ok_or(Error::Short)?);
        scratch.granules.push(Granules { owner, elements: aligned, ..whole });
        return Ok(());
    }
    let end = first.saturating_add(granules).saturating_mul(per_granule).min(elements(input)?);
    each(input, first * per_granule..end, scratch, |bytes| form.apply(input.dtype, first, bytes, out))
}

fn concat(
    joined: &Joined,
    axis: usize,
    range: &Range<u64>,
    scratch: &mut Scratch,
    out: &mut [u8],
) -> Result<(), Error> {
    let size = (joined.dtype().bits() / 8) as usize;
    for (input, span) in Span::all(joined, axis) {
        let inside = span.inside(range);
        if !inside.is_empty() {
            each(input, inside.clone(), scratch, |bytes| {
                span.put(inside, bytes, size, range.start, out);
                Ok(())
            })?;
        }
    }
    Ok(())
}

fn binary(joined: &Joined, range: &Range<u64>, scratch: &mut Scratch, out: &mut [u8]) -> Result<(), Error> {
    let (Operation::Binary(operator), [a, b]) = (joined.operation(), joined.inputs()) else {
        return Err(Error::View("an operator has two operands"));
    };
    let total = super::data::count(joined.shape()).ok_or(Error::Short)?;
    let repeats = [total / elements(a)?.max(1), total / elements(b)?.max(1)].map(|repeat| repeat.max(1));
    let mut buffers = [scratch.take(), scratch.take()];
    for ((input, repeat), bytes) in [a, b].into_iter().zip(repeats).zip(&mut buffers) {
        evaluate(input, range.start / repeat..range.end.div_ceil(repeat), scratch, bytes)?;
    }
    let [left, right] = &buffers;
    let operand = |bytes, repeat| Operand { bytes, repeat, skip: range.start % repeat };
    let [first, second] = repeats;
    joined::binary(operator, joined.dtype(), [operand(left, first), operand(right, second)], out)?;
    let [left, right] = buffers;
    scratch.give(right);
    scratch.give(left);
    Ok(())
}

fn product(joined: &Joined, range: &Range<u64>, scratch: &mut Scratch, out: &mut [u8]) -> Result<(), Error> {
    let [a, b] = joined.inputs() else { return Err(Error::View("a product has two factors")) };
    let [inner, columns] = *b.shape.as_slice() else { return Err(Error::View("a factor is a matrix")) };
    let rows = range.start / columns..range.end.div_ceil(columns);
    let mut buffers = [scratch.take(), scratch.take()];
    let [left, right] = &mut buffers;
    evaluate(a, rows.start * inner..rows.end * inner, scratch, left)?;
    evaluate(b, 0..inner * columns, scratch, right)?;
    joined::product(left, right, [inner as usize, columns as usize], range.start, out);
    let [left, right] = buffers;
    scratch.give(right);
    scratch.give(left);
    Ok(())
}

/// Resizes without clearing bytes that are overwritten anyway, and without spare capacity.
fn resize(out: &mut Vec<u8>, len: u64) {
    if out.capacity() < len as usize {
        *out = Vec::new();
        out.reserve_exact(len as usize);
    }
    out.resize(len as usize, 0);
}

fn elements(tensor: &LazyTensor) -> Result<u64, Error> {
    tensor.elements().ok_or(Error::Short)
}
