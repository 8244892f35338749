//! Constraints of a pattern besides operands: attributes, and shapes of values.

use std::cmp::Ordering;

use super::{Bound, Search, bind};
use crate::ir::opset::OpSchema;
use crate::ir::{Attr, Shape, ValueId};
use crate::optimise::mismatch::Why;
use crate::rules::pattern::{Attribute, AttributeWants, DimTerm, TermId};
use crate::sym::Dim;

impl Search<'_> {
    pub(super) fn attribute(
        &mut self,
        term: TermId,
        wanted: &Attribute,
        found: Option<&Attr>,
        schema: Option<&OpSchema>,
    ) -> Result<(), Why> {
        let no = || Err(Why::Attribute(term, wanted.name.clone()));
        let default = || schema.and_then(|schema| schema.default_of(&wanted.name)).map(Attr::from);
        let found = found.cloned().or_else(default);
        let fits = match (&wanted.wants, found) {
            (_, None) if !wanted.optional => false,
            (AttributeWants::Capture(variable), found) => match self.captures.get(*variable) {
                Some(Some(bound)) => match (bound, &found) {
                    (None, None) => true,
                    (Some(a), Some(b)) => same(a, b),
                    _ => false,
                },
                _ => {
                    bind(&mut self.captures, &mut self.trail, *variable, found, Bound::Capture);
                    true
                }
            },
            (_, None) => true,
            (AttributeWants::Int(a), Some(Attr::Int(b))) => *a == b,
            (AttributeWants::Float(a), Some(Attr::Float(b))) => a.is(f64::from(b), single),
            // `1` in a text is a float as well as an integer.
            (AttributeWants::Int(a), Some(Attr::Float(b))) => *a as f64 == f64::from(b),
            (AttributeWants::Str(a), Some(Attr::Str(b))) => *a == b,
            (AttributeWants::Ints(a), Some(Attr::Ints(b))) => *a == b,
            (AttributeWants::Floats(a), Some(Attr::Floats(b))) => *a == b,
            _ => false,
        };
        if fits { Ok(()) } else { no() }
    }

    /// Checks that `value` has the shape that the term states.
    pub(super) fn shape(&mut self, term: TermId, value: ValueId) -> Result<(), Why> {
        let pattern = self.pattern;
        let Some(wanted) = pattern.terms.get(term).and_then(|term| term.shape.as_deref()) else {
            return Ok(());
        };
        let graph = self.graph;
        let no = Err(Why::Shape(term, value));
        let Some(found) = graph.values[value].ty.shape().and_then(Shape::dims) else { return no };
        let rest = wanted.iter().position(|dim| *dim == DimTerm::Rest);
        let head = rest.unwrap_or(wanted.len());
        let tail = rest.map_or(0, |rest| wanted.len() - rest - 1);
        match (found.len().cmp(&(head + tail)), rest) {
            (Ordering::Equal, _) | (Ordering::Greater, Some(_)) => {}
            _ => return no,
        }
        let front = wanted.iter().zip(found).take(head);
        let back = wanted.iter().rev().zip(found.iter().rev()).take(tail);
        for (dim, found) in front.chain(back) {
            match (dim, found) {
                (DimTerm::Any | DimTerm::Rest, _) => {}
                (DimTerm::Number(a), Some(Dim::Const(b))) if a == b => {}
                (DimTerm::Variable(variable), Some(found)) => {
                    match self.dims.get(*variable).copied().flatten() {
                        Some(bound) if bound == *found => {}
                        Some(_) => return Err(Why::Dim(*variable)),
                        None => bind(&mut self.dims, &mut self.trail, *variable, *found, Bound::Dim),
                    }
                }
                _ => return no,
            }
        }
        Ok(())
    }
}

/// Rounds `number` to float32.
fn single(number: f64) -> f64 {
    f64::from(number as f32)
}

/// Whether two attributes are equal.
pub(super) fn same(a: &Attr, b: &Attr) -> bool {
    match (a, b) {
        (Attr::Int(a), Attr::Int(b)) => a == b,
        (Attr::Float(a), Attr::Float(b)) => a == b,
        (Attr::Str(a), Attr::Str(b)) | (Attr::Ref(a, _), Attr::Ref(b, _)) => a == b,
        (Attr::Ints(a), Attr::Ints(b)) => a == b,
        (Attr::Floats(a), Attr::Floats(b)) => a == b,
        (Attr::Strs(a), Attr::Strs(b)) => a == b,
        (Attr::Tensor(a), Attr::Tensor(b)) => a.same_bytes(b),
        _ => false,
    }
}
