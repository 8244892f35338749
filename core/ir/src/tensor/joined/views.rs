//! Views of joined tensors: they move in front of the operation, to every input.

use super::super::LazyTensor;
use super::super::data::count;
use super::super::strides::{View, pick};
use super::{Binary, Joined, Operation, empty, is_joinable};

impl LazyTensor {
    /// `operator` applied to this tensor and `other` element by element, each broadcast to the shape of
    /// both as ONNX does.
    ///
    /// `None` when the operator does not take their types, they do not broadcast, one of them is to be
    /// repeated behind a transform that is bound to its sizes, or the graph of transforms becomes too
    /// large.
    pub fn binary(&self, operator: Binary, other: &Self) -> Option<Self> {
        let shape = broadcast(&self.shape, &other.shape)?;
        join(operator, self, other, shape)
    }
}

/// The shape to which both broadcast.
fn broadcast(a: &[u64], b: &[u64]) -> Option<Vec<u64>> {
    let (long, short) = if a.len() < b.len() { (b, a) } else { (a, b) };
    let mut shape = long.to_vec();
    for (place, extent) in shape.iter_mut().rev().zip(short.iter().rev()) {
        *place = match (*place, *extent) {
            (a, b) if a == b => a,
            (1, other) | (other, 1) => other,
            _ => return None,
        };
    }
    Some(shape)
}

fn join(operator: Binary, a: &LazyTensor, b: &LazyTensor, shape: Vec<u64>) -> Option<LazyTensor> {
    if a.dtype != b.dtype || !operator.takes(a.dtype) || !is_joinable(a) {
        return None;
    }
    let operands = [operand(a, &shape)?, operand(b, &shape)?];
    if count(&shape)? == 0 {
        return Some(empty(a.dtype, shape));
    }
    Joined::from_inputs(Operation::Binary(operator), operands.into(), shape)
}

/// `tensor` with the sizes of `shape`, but for the last axes along which it is one element: it is made
/// once for all of them.
fn operand(tensor: &LazyTensor, shape: &[u64]) -> Option<LazyTensor> {
    let added = shape.len().checked_sub(tensor.shape.len())?;
    let mut own = vec![1; added];
    own.extend(&tensor.shape);
    let tail = own.iter().rev().take_while(|extent| **extent == 1).count();
    let mut wanted = shape.to_vec();
    wanted.iter_mut().rev().take(tail).for_each(|extent| *extent = 1);
    let tensor = if added == 0 { tensor.clone() } else { tensor.reshape(&own)? };
    if tensor.shape == wanted { Some(tensor) } else { tensor.expand(&wanted) }
}

impl Joined {
    /// Applies `view` to the inputs; `None` if it cannot move in front of the operation.
    pub(in crate::tensor) fn view(&self, view: View<'_>) -> Option<LazyTensor> {
        match self.operation {
            Operation::Concat { axis } => self.view_of_concat(axis, view),
            Operation::Binary(operator) => self.view_of_binary(operator, view),
            Operation::Product => self.view_of_product(view),
        }
    }

    fn view_of_concat(&self, axis: usize, view: View<'_>) -> Option<LazyTensor> {
        let each = |view: &dyn Fn(&LazyTensor) -> Option<LazyTensor>, axis| {
            let inputs: Option<Vec<LazyTensor>> = self.inputs.iter().map(view).collect();
            LazyTensor::concat(&inputs?, axis)
        };
        match view {
            View::Permute(axes) => {
                let place = axes.iter().position(|from| *from == axis)?;
                each(&|input| input.permute(axes), place)
            }
            View::Slice { axis: cut, start, end, step } if cut != axis => {
                each(&|input| input.slice(cut, start, end, step), axis)
            }
            View::Slice { start, end, step, .. } => {
                let mut parts = Vec::new();
                let mut passed = 0;
                // The first wanted index from here on.
                let mut next = start;
                for input in &self.inputs {
                    let extent = *input.shape.get(axis)?;
                    let until = end.min(passed + extent);
                    if next < until {
                        parts.push(input.slice(axis, next - passed, until - passed, step)?);
                        next = next.checked_add((until - next).div_ceil(step).checked_mul(step)?)?;
                    }
                    passed += extent;
                }
                if parts.is_empty() {
                    parts.push(self.inputs.first()?.slice(axis, 0, 0, 1)?);
                }
                LazyTensor::concat(&parts, axis)
            }
            View::Expand(shape) => {
                let place = shape.len().checked_sub(self.shape.len())?.checked_add(axis)?;
                let expand = |input: &LazyTensor| {
                    let mut shape = shape.to_vec();
                    *shape.get_mut(place)? = *input.shape.get(axis)?;
                    input.expand(&shape)
                };
                (shape.get(place) == self.shape.get(axis)).then(|| each(&expand, place)).flatten()
            }
            View::Reshape(shape) => {
                let outer = count(self.shape.get(..axis)?)?;
                let place = (0..shape.len()).find(|place| {
                    let unit = |axes: &[u64]| count(axes).filter(|n| *n > 0);
                    let inner = shape.get(place + 1..).and_then(unit);
                    shape.get(..*place).and_then(count) == Some(outer)
                        && inner.is_some_and(|inner| {
                            let of = |input: &LazyTensor| input.elements().map(|n| n / outer.max(1));
                            self.inputs.iter().all(|input| of(input).is_some_and(|n| n.is_multiple_of(inner)))
                        })
                })?;
                let inner = count(shape.get(place + 1..)?)?;
                let reshape = |input: &LazyTensor| {
                    let mut shape = shape.to_vec();
                    *shape.get_mut(place)? = input.elements()? / outer / inner;
                    input.reshape(&shape)
                };
                each(&reshape, place)
            }
        }
    }

    fn view_of_binary(&self, operator: Binary, view: View<'_>) -> Option<LazyTensor> {
        let [a, b] = self.inputs.as_slice() else { return None };
        let both = |view: &dyn Fn(&LazyTensor) -> Option<LazyTensor>, shape| {
            join(operator, &view(a)?, &view(b)?, shape)
        };
        match view {
            View::Permute(axes) => both(&|input| input.permute(axes), pick(&self.shape, axes)?),
            View::Slice { axis, start, end, step } => {
                let mut shape = self.shape.clone();
                *shape.get_mut(axis)? = (end - start).div_ceil(step);
                // Along a broadcast axis, the operand has a single element.
                let is_repeated = |input: &LazyTensor| input.shape.get(axis) != self.shape.get(axis);
                let cut = |input: &LazyTensor| {
                    if is_repeated(input) { Some(input.clone()) } else { input.slice(axis, start, end, step) }
                };
                both(&cut, shape)
            }
            View::Expand(shape) => {
                let added = shape.len().checked_sub(self.shape.len())?;
                let fits = |(own, wanted): (&u64, &u64)| own == wanted || *own == 1;
                let fits = self.shape.iter().zip(shape.get(added..)?).all(fits);
                fits.then(|| both(&|input| Some(input.clone()), shape.to_vec())).flatten()
            }
            View::Reshape(shape) => both(&|input| self.reshaped(input, shape), shape.to_vec()),
        }
    }

    /// An operand as it takes part in the result of another shape, repeated as little as before where the
    /// shapes allow it.
    fn reshaped(&self, input: &LazyTensor, shape: &[u64]) -> Option<LazyTensor> {
        let elements = input.elements()?;
        let heads = (0..=shape.len()).filter_map(|at| Some((at, count(shape.get(..at)?)?)));
        if let Some((at, _)) = heads.into_iter().find(|(_, head)| *head == elements) {
            let mut own = vec![1; shape.len()];
            own.get_mut(..at)?.copy_from_slice(shape.get(..at)?);
            return input.reshape(&own);
        }
        input.expand(&self.shape)?.reshape(shape)
    }
}
