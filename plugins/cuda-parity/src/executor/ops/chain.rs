//! Chains of elementwise operators: one kernel, whose code is generated.

use std::fmt::Write;
use std::sync::Arc;

use onnxport_ir::tensor::DType;

use super::{Operand, Pointer, Step, longs, spread, volume};
use crate::executor::device::{Grid, NUMBERS, POINTERS};
use crate::executor::source::{Kernel, stored};

/// The tensors that a chain reads at most: beside them stand the result and the fault.
pub(crate) const LEAVES: usize = POINTERS - 2;
/// The operators of a chain at most.
pub(crate) const TERMS: usize = 40;

/// An argument of an operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Of {
    Leaf(usize),
    Term(usize),
}

/// An operator of a chain: `formula` names its arguments `$0`, `$1` and so on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Term {
    pub(crate) dtype: DType,
    pub(crate) formula: String,
    pub(crate) from: Vec<Of>,
}

/// A chain; its last term is the result, of shape `shape`, which every leaf broadcasts to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Chain {
    pub(crate) leaves: Vec<Operand>,
    pub(crate) terms: Vec<Term>,
    pub(crate) shape: Vec<usize>,
}

/// How a leaf is read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reading {
    /// It has the shape of the result.
    Dense,
    /// It is one element.
    Single,
    /// It is spread by steps: those of this place among such leaves.
    Spread(usize),
}

impl Chain {
    /// The element type of the result.
    pub(crate) fn dtype(&self) -> Option<DType> {
        self.terms.last().map(|term| term.dtype)
    }

    /// The launch: inputs are the leaves in their order. `None` where it does not fit a kernel's arguments.
    pub(crate) fn step(&self) -> Option<Step> {
        let count = volume(&self.shape);
        let mut tables: Vec<Vec<i64>> = Vec::new();
        let mut readings = Vec::new();
        for leaf in &self.leaves {
            let elements = volume(&leaf.shape);
            readings.push(
                if elements == count && spread(&leaf.shape, &self.shape) == spread(&self.shape, &self.shape) {
                    Reading::Dense
                } else if elements == 1 {
                    Reading::Single
                } else {
                    tables.push(spread(&leaf.shape, &self.shape));
                    Reading::Spread(tables.len() - 1)
                },
            );
        }
        let axes = collapse(&self.shape, &tables);
        let mut numbers = vec![count as i64];
        numbers.extend(axes.iter().map(|(extent, _)| *extent));
        for table in 0..tables.len() {
            numbers.extend(axes.iter().filter_map(|(_, steps)| steps.get(table).copied()));
        }
        if numbers.len() > NUMBERS || self.leaves.len() > LEAVES {
            return None;
        }
        let mut places: Vec<Pointer> = (0..self.leaves.len()).map(Pointer::Input).collect();
        places.push(Pointer::Output(0));
        let source: Arc<str> = self.code(&readings, axes.len(), tables.len())?.into();
        Some(Step::new(Kernel { name: "chain", source }, Grid::Each(count as u64), places, numbers))
    }

    fn code(&self, readings: &[Reading], rank: usize, tables: usize) -> Option<String> {
        let mut code = String::from("EXPORT void chain(Args a) {\n    EACH(i, a.n[0]) {\n");
        if tables > 0 {
            code.push_str("        long long rest = i, at;\n");
            for table in 0..tables {
                let _ = writeln!(code, "        long long o{table} = 0;");
            }
            for axis in (0..rank).rev() {
                let _ = if axis == 0 {
                    writeln!(code, "        at = rest;")
                } else {
                    let extent = 1 + axis;
                    writeln!(code, "        at = rest % a.n[{extent}];\n        rest /= a.n[{extent}];")
                };
                for table in 0..tables {
                    let step = 1 + rank + table * rank + axis;
                    let _ = writeln!(code, "        o{table} += at * a.n[{step}];");
                }
            }
        }
        for (index, (leaf, reading)) in self.leaves.iter().zip(readings).enumerate() {
            let tag = stored(leaf.dtype)?;
            let at = match reading {
                Reading::Dense => "i".to_owned(),
                Reading::Single => "0".to_owned(),
                Reading::Spread(table) => format!("o{table}"),
            };
            let _ = writeln!(code, "        W_{tag} l{index} = load_{tag}(a.p[{index}], {at});");
        }
        for (index, term) in self.terms.iter().enumerate() {
            let tag = stored(term.dtype)?;
            let mut text = term.formula.clone();
            for (argument, of) in term.from.iter().enumerate().rev() {
                let name = match of {
                    Of::Leaf(leaf) => format!("l{leaf}"),
                    Of::Term(term) => format!("t{term}"),
                };
                text = text.replace(&format!("${argument}"), &name);
            }
            let _ = writeln!(code, "        W_{tag} t{index} = round_{tag}({text});");
        }
        let (last, dtype) = (self.terms.len().checked_sub(1)?, stored(self.dtype()?)?);
        let _ = writeln!(code, "        store_{dtype}(a.p[{}], i, t{last});\n    }}\n}}", self.leaves.len());
        Some(code)
    }
}

/// Axes that all tables walk together are one; those of size 1 are none.
fn collapse(shape: &[usize], tables: &[Vec<i64>]) -> Vec<(i64, Vec<i64>)> {
    let mut axes: Vec<(i64, Vec<i64>)> = Vec::new();
    for (axis, extent) in longs(shape).enumerate() {
        let steps: Vec<i64> = tables.iter().filter_map(|table| table.get(axis).copied()).collect();
        match axes.last_mut() {
            _ if extent == 1 => {}
            Some((outer, before)) if before.iter().zip(&steps).all(|(b, s)| *b == s * extent) => {
                (*outer, *before) = (*outer * extent, steps);
            }
            _ => axes.push((extent, steps)),
        }
    }
    axes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leaf(shape: &[usize]) -> Operand {
        Operand { dtype: DType::F32, shape: shape.to_vec() }
    }

    fn chain(leaves: &[&[usize]], shape: &[usize]) -> Chain {
        let add = |from| Term { dtype: DType::F32, formula: "$0 + $1".to_owned(), from };
        let mut terms = vec![add(vec![Of::Leaf(0), Of::Leaf(1)])];
        terms.extend((2..leaves.len()).map(|k| add(vec![Of::Term(k - 2), Of::Leaf(k)])));
        Chain { leaves: leaves.iter().map(|s| leaf(s)).collect(), terms, shape: shape.to_vec() }
    }

    #[test]
    fn leaves_of_the_shape_of_the_result_need_no_walk() {
        let step = chain(&[&[2, 3], &[2, 3], &[]], &[2, 3]).step().unwrap();
        assert_eq!(step.numbers[0], 6);
        assert!(!step.kernel.source.contains("rest"), "{}", step.kernel.source);
        assert!(step.kernel.source.contains("load_f32(a.p[2], 0)"), "{}", step.kernel.source);
    }

    #[test]
    fn axes_that_every_leaf_walks_alike_are_one() {
        let step = chain(&[&[4, 5, 2, 3], &[5, 1, 1]], &[4, 5, 2, 3]).step().unwrap();
        // Sizes 4, 5, 6, and the steps of the second leaf.
        assert_eq!(step.numbers, [120, 4, 5, 6, 0, 1, 0]);
    }

    #[test]
    fn a_chain_of_too_many_leaves_is_no_launch() {
        let shapes: Vec<&[usize]> = vec![&[2]; LEAVES + 1];
        assert!(chain(&shapes, &[2]).step().is_none());
        assert!(chain(&shapes[1..], &[2]).step().is_some());
    }
}
