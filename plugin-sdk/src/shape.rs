//! Arithmetic on sizes, and sizes as values.

use crate::abi::lowering::{ShapeView, dim_op};
use crate::abi::status;
use crate::lent::Lent;
use crate::op;
use crate::{Dim, Emit, Lower, Range, SymInt, Value};
use onnxport_abi::RSlice;

macro_rules! arithmetic {
    ($($(#[doc = $doc:literal])* $name:ident $op:ident;)*) => {
        impl Lower<'_> {
            $($(#[doc = $doc])* pub fn $name(&self, a: impl Into<Dim>, b: impl Into<Dim>) -> Dim {
                let (a, b) = (a.into().record(), b.into().record());
                Dim::from_record((self.host().dim_op)(self.cx(), dim_op::$op, a, b))
            })*
        }
    };
}

arithmetic! {
    /// `a + b`, without emitting anything.
    dim_add ADD;
    /// `a - b`, without emitting anything.
    dim_sub SUB;
    /// `a * b`, without emitting anything.
    dim_mul MUL;
    /// `floor(a / b)`, without emitting anything.
    dim_div FLOOR_DIV;
    /// `a mod b`, without emitting anything.
    dim_mod MOD;
    /// The smaller, without emitting anything.
    dim_min MIN;
    /// The larger, without emitting anything.
    dim_max MAX;
}

impl Lower<'_> {
    /// The bounds of a size.
    pub fn dim_range(&self, dim: Dim) -> Range {
        let record = (self.host().dim_range)(self.cx(), dim.record());
        Range { min: record.min, max: record.max }
    }

    /// The symbolic contents of a vector of integers, where the host knows them.
    pub fn contents(&self, value: Value) -> Option<Vec<Dim>> {
        let mut view = ShapeView { known: 0, dims: RSlice::EMPTY };
        let answer = (self.host().shape_contents)(self.cx(), value.0, &mut view);
        (answer == status::OK && view.known == 1)
            .then(|| view.dims.lent().iter().copied().map(Dim::from_record).collect())
    }

    /// The size that a symbolic integer equals.
    pub fn as_dim(&self, n: &SymInt) -> Dim {
        match n {
            SymInt::Const(n) => Dim::Const(*n),
            SymInt::Value(value) => match self.contents(*value).as_deref() {
                Some([dim]) => *dim,
                _ => Dim::Unknown,
            },
        }
    }

    /// An i64 vector of dimensions: a constant if all are numbers, else computed from the model's inputs. An unknown
    /// size refuses the call.
    pub fn dims_value(&self, dims: &[Dim]) -> Value {
        if let Some(ints) = dims.iter().map(|d| d.as_const()).collect::<Option<Vec<i64>>>() {
            return self.ints(&ints);
        }
        let records = Self::records(dims);
        let mut out = 0;
        if (self.host().dims_value)(self.cx(), RSlice::from_slice(&records), &mut out) == status::OK {
            return Value(out);
        }
        self.fail("a size is not known at run time".to_owned())
    }

    /// An i64 vector of symbolic integers: a constant if all are numbers, else their concatenation.
    pub fn sym_ints(&self, ints: &[SymInt]) -> Value {
        if let Some(ints) = ints.iter().map(SymInt::as_const).collect::<Option<Vec<i64>>>() {
            return self.ints(&ints);
        }
        let mut parts = Vec::new();
        for run in ints.chunk_by(|a, b| a.as_const().is_some() && b.as_const().is_some()) {
            match run {
                [SymInt::Value(value)] => parts.push(*value),
                _ => {
                    let run: Vec<i64> = run.iter().filter_map(SymInt::as_const).collect();
                    parts.push(self.ints(&run));
                }
            }
        }
        match parts.as_slice() {
            [single] => *single,
            _ => self.concat(&parts, 0),
        }
    }

    /// A 0-d i64 of a symbolic integer.
    pub fn sym_int_scalar(&self, n: &SymInt) -> Value {
        match n {
            SymInt::Const(n) => self.int(*n),
            SymInt::Value(value) => self.squeeze(*value, &[0]),
        }
    }

    /// `value` reshaped to the stated shape of result `index`, as [`Lower::reshape_to`] does.
    pub fn reshape_to_result(&self, value: Value, index: usize) -> crate::Res<Value> {
        let shape = self.result(index)?.real_shape();
        Ok(self.reshape_to(value, &shape))
    }

    /// `value` reshaped to `shape`. Sizes that `value` has at the same place are copied by
    /// `Reshape`, one other that is not a number is left to it, and the rest is computed.
    pub fn reshape_to(&self, value: Value, shape: &[Dim]) -> Value {
        let from = self.fact(value).shape.unwrap_or_default();
        if from == shape && !shape.contains(&Dim::Unknown) {
            return value;
        }
        let mut open: Vec<usize> = (0..shape.len()).filter(|i| shape[*i].as_const().is_none()).collect();
        let mut target = shape.to_vec();
        let empty = shape.iter().any(|d| d.is(0));
        if !empty {
            if open.len() > 1 {
                let same = |i: &usize| from.get(*i) == shape.get(*i) && shape.get(*i) != Some(&Dim::Unknown);
                open.iter().filter(|i| same(i)).for_each(|i| target[*i] = Dim::Const(0));
                open.retain(|i| !same(i));
            }
            // Dimensions that no axis of `value` carries would be the most expensive to compute.
            let foreign = open.iter().find(|i| target[**i] == Dim::Unknown || !from.contains(&target[**i]));
            if let Some(rest) = foreign.or(open.first()) {
                target[*rest] = Dim::Const(-1);
            }
        }
        let target = self.dims_value(&target);
        let node = self.op(op::Reshape).input(value).input(target);
        if empty { node.allowzero(1).one() } else { node.one() }
    }
}
