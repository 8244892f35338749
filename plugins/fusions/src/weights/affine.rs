//! `x * factor + shift` behind a product with weights, and in front of one.

use onnxport_sdk::Weight;
use onnxport_sdk::prelude::*;

/// Whether `x` is of a type in which the bounds hold: weights of narrow floats are rounded after they were changed.
pub(super) fn exact_type(x: ValueRef<'_>) -> Res<()> {
    match x.dtype() {
        Some(DType::F32 | DType::F64) => Ok(()),
        _ => Err("it is neither f32 nor f64".into()),
    }
}

/// An affine map of the result of a product: a number for each channel, `[channels]`, or one for all, `[1]`, in f64.
pub(super) struct Affine<'h> {
    pub(super) factor: Option<Weight<'h>>,
    pub(super) shift: Option<Weight<'h>>,
}

/// A convolution, or a product with a matrix, with weights that nothing else reads.
pub(super) struct Product<'h> {
    node: NodeRef<'h>,
    x: ValueRef<'h>,
    weight: ValueRef<'h>,
    extents: Vec<u64>,
    kind: Kind,
}

/// The meaning of the first axes of a weight.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// `[O, I / groups, ..]`.
    Conv(u64),
    /// `[I, O / groups, ..]`.
    Transposed(u64),
    /// `[I, O]`.
    Columns,
    /// `[O, I]`.
    Rows,
}

impl<'h> Product<'h> {
    /// The product of `node`, a `Conv`, `ConvTranspose`, `Gemm` or `MatMul` with a weight or a weight that is transposed.
    ///
    /// # Errors
    /// If there is no weight, or another node reads it: it would have to be stored twice.
    pub(super) fn from_node(node: NodeRef<'h>) -> Res<Self> {
        let (Some(x), Some(second)) = (node.input(0), node.input(1)) else {
            return Err("it has no weight".into());
        };
        exact_type(x)?;
        let transpose = second.producer().map(|(node, _)| node).filter(|node| node.is(op::Transpose));
        let weight = match transpose {
            Some(node) if node.ints("perm").is_none_or(|perm| perm == [1, 0]) => node.input(0),
            _ => Some(second),
        };
        let weight = weight.ok_or("it has no weight")?;
        let extents = weight.initializer().ok_or("the weight is computed")?.shape;
        if weight.only_use().is_none() || second.only_use().is_none() {
            return Err("somebody else reads the weight".into());
        }
        let groups = node.int("group").map(|groups| groups.unsigned_abs().max(1));
        let trans_b = node.int("transB").filter(|_| transpose.is_none());
        let kind = match (node.op().as_str(), groups, trans_b) {
            ("Conv", Some(groups), _) => Kind::Conv(groups),
            ("ConvTranspose", Some(groups), _) => Kind::Transposed(groups),
            ("Gemm", _, Some(1)) => Kind::Rows,
            ("Gemm", _, Some(0)) => Kind::Columns,
            ("MatMul", ..) if extents.len() == 2 && transpose.is_some() => Kind::Rows,
            ("MatMul", ..) if extents.len() == 2 => Kind::Columns,
            _ => return Err("it is not a product with a weight".into()),
        };
        let [first, second, ..] = extents[..] else { return Err("the weight has not two axes".into()) };
        if matches!(kind, Kind::Conv(groups) | Kind::Transposed(groups) if first % groups != 0) || second == 0
        {
            return Err("the weight has no channels".into());
        }
        Ok(Self { node, x, weight, extents, kind })
    }

    /// The channels that it makes.
    pub(super) fn channels(&self) -> u64 {
        let [first, second, ..] = self.extents[..] else { return 0 };
        match self.kind {
            Kind::Conv(_) | Kind::Rows => first,
            Kind::Transposed(groups) => second.saturating_mul(groups),
            Kind::Columns => second,
        }
    }

    /// The channels that it reads.
    pub(super) fn reads(&self) -> u64 {
        let [first, second, ..] = self.extents[..] else { return 0 };
        match self.kind {
            Kind::Conv(groups) => second.saturating_mul(groups),
            Kind::Transposed(_) | Kind::Columns => first,
            Kind::Rows => second,
        }
    }

    /// The axis of the channels that it makes, of `rank`.
    pub(super) fn axis(&self, rank: usize) -> usize {
        match self.kind {
            Kind::Conv(_) | Kind::Transposed(_) => 1,
            Kind::Columns | Kind::Rows => rank.saturating_sub(1),
        }
    }

    /// The weight with each channel that is made times its factor, `[channels]` or `[1]`.
    fn scaled(&self, factor: Weight<'h>, one_for_all: bool) -> Res<ValueRef<'h>> {
        let dtype = self.weight.dtype().ok_or("the weight has no type")?;
        let wide = self.weight.weight().cast(DType::F64);
        let rank = self.extents.len();
        let made = match self.kind {
            _ if one_for_all => wide * factor.reshape(&vec![1; rank]),
            Kind::Columns => wide * factor.reshape(&[1, self.channels()]),
            Kind::Conv(_) | Kind::Rows => {
                let mut column = vec![1; rank];
                column.iter_mut().take(1).for_each(|first| *first = self.channels());
                wide * factor.reshape(&column)
            }
            Kind::Transposed(groups) => {
                let [first, second, places @ ..] = &self.extents[..] else {
                    return Err("the weight has not two axes".into());
                };
                let grouped = [&[groups, first / groups, *second], places].concat();
                let mut column = vec![1; grouped.len()];
                column.iter_mut().zip([groups, 1, *second]).for_each(|(own, extent)| *own = extent);
                (wide.reshape(&grouped) * factor.reshape(&column)).reshape(&self.extents)
            }
        };
        made.cast(dtype).value()
    }

    /// The product with `map` behind it. `bias` is its addend; a `MatMul` adds it in a node of its own.
    pub(super) fn with(
        &self,
        cx: &Rewrite<'h>,
        bias: Option<ValueRef<'h>>,
        map: Affine<'h>,
    ) -> Res<ValueRef<'h>> {
        let Affine { factor, shift } = map;
        let dtype = cx.dtype(self.x)?;
        let weight = match &factor {
            Some(factor) => self.scaled(factor.clone(), is_single(factor)?)?,
            None => self.weight,
        };
        let count = self.channels();
        let own = match (self.bias(bias)?, factor) {
            (Some(own), Some(factor)) => Some(own * factor),
            (own, _) => own,
        };
        let sum = match (own, shift) {
            (Some(own), Some(shift)) => Some(shift + own),
            (own, shift) => own.or(shift),
        };
        let sum = match sum {
            Some(sum) if is_single(&sum)? => Some(sum.expand(&[count])),
            sum => sum,
        };
        let bias = sum.map(|sum| sum.cast(dtype).value()).transpose()?;
        Ok(self.emit(cx, self.x, weight, bias))
    }

    /// The product of `x` times `factor`, a single number.
    pub(super) fn of_scaled(
        &self,
        cx: &Rewrite<'h>,
        x: ValueRef<'h>,
        factor: Weight<'h>,
    ) -> Res<ValueRef<'h>> {
        let weight = self.scaled(factor, true)?;
        Ok(self.emit(cx, x, weight, self.node.input(2)))
    }

    /// The product of `x * factor + shift`, both a number for each channel that it reads, in f64. What the shift comes to
    /// is added to the bias.
    ///
    /// # Errors
    /// If positions at the border do not see the shift: those of a padded convolution, or of a transposed one.
    pub(super) fn of_mapped(
        &self,
        cx: &Rewrite<'h>,
        x: ValueRef<'h>,
        bias: Option<ValueRef<'h>>,
        [factor, shift]: [Weight<'h>; 2],
    ) -> Res<ValueRef<'h>> {
        let dtype = self.weight.dtype().ok_or("the weight has no type")?;
        let (count, reads) = (self.channels(), self.reads());
        let all = self.extents.iter().try_fold(1u64, |all, extent| all.checked_mul(*extent));
        let each = all.and_then(|all| all.checked_div(count)).ok_or("the weight is too large")?;
        // The weight, split at the summed axes, and the position of each input channel in it.
        let (split, numbers, rows, axis) = match self.kind {
            Kind::Conv(groups) => {
                self.sees_all()?;
                let own = reads / groups;
                let places = each.checked_div(own).ok_or("the weight has no channels")?;
                (vec![groups, count / groups, own, places], vec![groups, 1, own, 1], [count, each], 1)
            }
            Kind::Rows => (vec![count, reads], vec![1, reads], [count, reads], 1),
            Kind::Columns => (vec![reads, count], vec![reads, 1], [reads, count], 0),
            Kind::Transposed(_) => {
                return Err("it is a transposed convolution, whose borders see less".into());
            }
        };
        let alpha = match (self.node.op().as_str(), self.node.int("transA"), self.node.float("alpha")) {
            ("Gemm", Some(0), Some(alpha)) => f64::from(alpha),
            ("Gemm", ..) => return Err("its channels are rows".into()),
            _ => 1.0,
        };
        let split = self.weight.weight().cast(DType::F64).reshape(&split);
        let weight = (&split * factor.reshape(&numbers)).reshape(&self.extents).cast(dtype).value()?;
        let more = (split * (shift * alpha).reshape(&numbers)).reshape(&rows).sum(&[axis]);
        let sum = self.bias(bias)?.map_or(more.clone(), |own| more + own);
        Ok(self.emit(cx, x, weight, Some(sum.cast(dtype).value()?)))
    }

    /// The addend of each output channel, `[channels]` or `[1]`, in f64, from the operand `bias`.
    fn bias(&self, bias: Option<ValueRef<'h>>) -> Res<Option<Weight<'h>>> {
        let Some(bias) = bias else { return Ok(None) };
        let own = by_channel(bias, self.axis(2), 2.max(bias.rank().unwrap_or(0)), self.channels())?;
        let beta = self.node.float("beta").filter(|beta| *beta != 1.0);
        Ok(Some(beta.map_or(own.clone(), |beta| own * f64::from(beta))))
    }

    /// Whether every element of the result of a convolution is a sum over all of its weights.
    fn sees_all(&self) -> Res<()> {
        let is_padded = self.node.ints("pads").is_some_and(|pads| pads.iter().any(|pad| *pad != 0));
        let is_stated = self.node.str("auto_pad").is_some_and(|pad| pad == "NOTSET" || pad == "VALID");
        if is_padded || !is_stated { Err("it is padded, and borders see less".into()) } else { Ok(()) }
    }

    fn emit(
        &self,
        cx: &Rewrite<'h>,
        x: ValueRef<'h>,
        weight: ValueRef<'h>,
        bias: Option<ValueRef<'h>>,
    ) -> ValueRef<'h> {
        if self.node.is(op::MatMul) {
            let weight = if self.kind == Kind::Rows { cx.transpose(weight, &[1, 0]) } else { weight };
            let product = cx.matmul(x, weight);
            return bias.map_or(product, |bias| cx.add(product, bias));
        }
        let attributes = self.node.attributes_but(if bias == self.node.input(2) { &[] } else { &["beta"] });
        let op = self.node.op();
        let node = cx.op(op::Named::new(&op)).input(x).input(weight).maybe(bias);
        attributes.iter().fold(node, |node, (name, value)| node.set(name, value.clone())).one()
    }
}

/// Whether a formula is one number for all channels.
fn is_single(weight: &Weight<'_>) -> Res<bool> {
    let made = weight.clone().value()?.initializer().ok_or("a weight is computed")?;
    Ok(made.shape == [1])
}

/// `numbers`, which are the same along all axes of a value of `rank` but `axis`, in f64: `[channels]`, or `[1]`.
pub(super) fn by_channel<'h>(
    numbers: ValueRef<'h>,
    axis: usize,
    rank: usize,
    channels: u64,
) -> Res<Weight<'h>> {
    let own = numbers.initializer().ok_or("a number is computed")?.shape;
    let added = rank.checked_sub(own.len()).ok_or("it has more axes than the value that it scales")?;
    let others = own.iter().enumerate().filter(|(at, _)| at + added != axis);
    if others.clone().any(|(_, extent)| *extent != 1) {
        return Err("there is not one number for each channel".into());
    }
    let extent = axis.checked_sub(added).and_then(|at| own.get(at)).copied().unwrap_or(1);
    if extent != 1 && extent != channels {
        return Err("there is not one number for each channel".into());
    }
    Ok(numbers.weight().cast(DType::F64).reshape(&[extent]))
}
