//! Checks of sizes in the model itself: a Boolean output that is true for the sizes that the program takes.

use std::collections::BTreeMap;

use super::conditions::{self, Related};
use super::constraints::Relation;
use crate::ir::{BlockId, Model, ValueId};
use crate::onnx::GuardOutput;
use crate::op;
use crate::ops::infer::infer;
use crate::sym::{Dim, Expr, SymId, Symbols};
use crate::tensor::{DType, LazyTensor};

/// The name of the output.
const OUTPUT: &str = "onnxport.sizes_hold";

/// The conditions on the sizes of inputs, over symbols.
#[derive(Clone, Debug, Default)]
pub struct Checks {
    pub(super) symbols: Symbols,
    /// The axes of inputs, by the model's names, and their sizes.
    pub(super) axes: Vec<(String, usize, Dim)>,
    /// Conditions, of each of which at least one relation holds.
    pub(super) all: Vec<Vec<Related>>,
    /// Conditions that are not understood, as the program states them.
    pub(super) unread: Vec<String>,
}

/// The checks that a model got.
#[derive(Clone, Debug, Default)]
pub struct Emitted {
    /// The output, unless there is nothing to check.
    pub output: Option<GuardOutput>,
    /// Conditions that the model does not check: they are not understood, or depend on values.
    pub unchecked: Vec<String>,
}

/// Adds an output to the model that tells whether the sizes of its inputs satisfy `checks`.
pub fn emit(model: &mut Model, checks: &Checks) -> Emitted {
    let main = model.graph.main();
    let mut emitter = Emitter {
        main,
        symbols: checks.symbols.clone(),
        shapes: BTreeMap::new(),
        numbers: BTreeMap::new(),
        sizes: BTreeMap::new(),
        model,
    };
    let mut conditions = emitter.bind(&checks.axes);
    let mut unchecked = checks.unread.clone();
    for any in &checks.all {
        let is_known = any.iter().all(|(a, _, b)| emitter.knows(*a) && emitter.knows(*b));
        let values = if is_known { any.as_slice() } else { &[] };
        let values: Vec<ValueId> = values.iter().filter_map(|related| emitter.relation(*related)).collect();
        match emitter.fold(op::Or, values) {
            Some(value) => conditions.push(value),
            None => {
                let any = any.iter().map(|related| conditions::spelled(&checks.symbols, *related));
                unchecked.push(any.collect::<Vec<_>>().join(" or "));
            }
        }
    }
    let Some(all) = emitter.fold(op::And, conditions) else { return Emitted { output: None, unchecked } };
    let name = free_name(model);
    model.graph.add_output(main, all);
    model.output_names.push(name.clone());
    Emitted { output: Some(GuardOutput { output: name, unchecked: unchecked.clone() }), unchecked }
}

/// [`OUTPUT`], with a number if a value or an output has that name.
fn free_name(model: &Model) -> String {
    let values = &model.graph.values;
    let is_taken = |name: &str| {
        model.output_names.iter().any(|output| output == name)
            || values.ids().any(|id| values[id].name.as_deref() == Some(name))
    };
    let mut name = OUTPUT.to_owned();
    let mut number = 0_u32;
    while is_taken(&name) {
        number = number.saturating_add(1);
        name = format!("{OUTPUT}_{number}");
    }
    name
}

struct Emitter<'m> {
    model: &'m mut Model,
    main: BlockId,
    symbols: Symbols,
    /// The shape of each input.
    shapes: BTreeMap<String, ValueId>,
    numbers: BTreeMap<i64, ValueId>,
    /// Scalars with the sizes of symbols and expressions.
    sizes: BTreeMap<Dim, ValueId>,
}

impl Emitter<'_> {
    fn op(&mut self, op: &str, inputs: &[ValueId]) -> Option<ValueId> {
        let opset = self.model.opset();
        let graph = &mut self.model.graph;
        let inputs = inputs.iter().copied().map(Some);
        let node = graph.append(self.main, "", op, inputs, Vec::new(), 1, None);
        infer(graph, &mut self.model.symbols, opset, node);
        self.model.graph.nodes[node].outputs.first().copied().flatten()
    }

    fn number(&mut self, n: i64) -> ValueId {
        let graph = &mut self.model.graph;
        let add = || {
            graph.add_initializer(None, LazyTensor::inline(DType::I64, Vec::new(), n.to_le_bytes().to_vec()))
        };
        *self.numbers.entry(n).or_insert_with(add)
    }

    /// Joins truth values by `op`; `None` if there are none.
    fn fold(&mut self, op: &str, values: Vec<ValueId>) -> Option<ValueId> {
        let mut values = values.into_iter();
        let first = values.next()?;
        values.try_fold(first, |all, value| self.op(op, &[all, value]))
    }

    /// Reads the sizes of symbols from the shapes of inputs. Returns the truth values that tell whether axes whose sizes
    /// depend on the same symbols agree.
    fn bind(&mut self, axes: &[(String, usize, Dim)]) -> Vec<ValueId> {
        let mut conditions = Vec::new();
        let mut rest = Vec::new();
        for (input, axis, dim) in axes {
            if matches!(dim, Dim::Const(_)) {
                continue;
            }
            match self.symbols.as_symbol(*dim) {
                Some(_) if !self.sizes.contains_key(dim) => {
                    if let Some(size) = self.axis(input, *axis) {
                        self.sizes.insert(*dim, size);
                    }
                }
                _ => rest.push((input, *axis, *dim)),
            }
        }
        // Axes such as `4*s0`, where no axis is `s0`.
        for (input, axis, dim) in &rest {
            let Some((factor @ 1.., symbol, offset)) = self.symbols.linear(*dim) else { continue };
            let symbol = self.symbol(symbol);
            if self.sizes.contains_key(&symbol) {
                continue;
            }
            let divided = self.axis(input, *axis).and_then(|size| {
                let (factor, offset) = (self.number(factor), self.number(offset));
                let product = self.op(op::Sub, &[size, offset])?;
                self.op(op::Div, &[product, factor])
            });
            if let Some(size) = divided {
                self.sizes.insert(symbol, size);
            }
        }
        for (input, axis, dim) in rest {
            if self.knows(dim)
                && let Some(size) = self.axis(input, axis)
                && let Some(stated) = self.size(dim)
            {
                conditions.extend(self.op(op::Equal, &[size, stated]));
            }
        }
        conditions
    }

    fn symbol(&mut self, symbol: SymId) -> Dim {
        let name = self.symbols.get(symbol).name.clone();
        self.symbols.symbol(&name)
    }

    /// The size of an axis of an input, as a scalar.
    fn axis(&mut self, input: &str, axis: usize) -> Option<ValueId> {
        let shape = match self.shapes.get(input) {
            Some(shape) => *shape,
            None => {
                let graph = &self.model.graph;
                let mut inputs = graph.blocks[self.main].inputs.iter().copied();
                let value = inputs.find(|value| graph.values[*value].name.as_deref() == Some(input))?;
                let shape = self.op(op::Shape, &[value])?;
                self.shapes.insert(input.to_owned(), shape);
                shape
            }
        };
        let axis = self.number(i64::try_from(axis).ok()?);
        self.op(op::Gather, &[shape, axis])
    }

    /// Whether the value of an expression follows from sizes of inputs, without a division by a size, which may be zero.
    fn knows(&self, dim: Dim) -> bool {
        let Dim::Expr(id) = dim else { return true };
        self.sizes.contains_key(&dim)
            || match self.symbols.expr(id) {
                Expr::Sym(_) | Expr::Opaque(_) => false,
                Expr::Sum(terms) => {
                    terms.iter().flat_map(|term| &term.factors).all(|factor| self.knows(Dim::Expr(*factor)))
                }
                Expr::FloorDiv(a, b) | Expr::Mod(a, b) => matches!(b, Dim::Const(1..)) && self.knows(*a),
                Expr::Min(operands) | Expr::Max(operands) => operands.iter().all(|dim| self.knows(*dim)),
            }
    }

    /// A relation as a truth value.
    fn relation(&mut self, (a, relation, b): Related) -> Option<ValueId> {
        let (a, b) = (self.size(a)?, self.size(b)?);
        match relation {
            Relation::Equal => self.op(op::Equal, &[a, b]),
            Relation::Unequal => {
                let equal = self.op(op::Equal, &[a, b])?;
                self.op(op::Not, &[equal])
            }
            Relation::AtMost => self.op(op::LessOrEqual, &[a, b]),
            Relation::Below => self.op(op::Less, &[a, b]),
            Relation::AtLeast => self.op(op::GreaterOrEqual, &[a, b]),
            Relation::Above => self.op(op::Greater, &[a, b]),
        }
    }

    /// The value of an expression.
    fn size(&mut self, dim: Dim) -> Option<ValueId> {
        if let Some(known) = self.sizes.get(&dim) {
            return Some(*known);
        }
        let value = match dim {
            Dim::Const(n) => return Some(self.number(n)),
            Dim::Expr(id) => match self.symbols.expr(id).clone() {
                Expr::Sym(_) | Expr::Opaque(_) => return None,
                Expr::Sum(terms) => {
                    let mut sum: Option<ValueId> = None;
                    for term in &terms {
                        let mut product: Option<ValueId> = None;
                        if term.coefficient != 1 || term.factors.is_empty() {
                            product = Some(self.number(term.coefficient));
                        }
                        for factor in &term.factors {
                            let factor = self.size(Dim::Expr(*factor))?;
                            product = Some(self.with(op::Mul, product, factor)?);
                        }
                        sum = Some(self.with(op::Add, sum, product?)?);
                    }
                    sum?
                }
                // `Mod` has the sign of the divisor, `Div` rounds towards zero: the rest is subtracted first.
                Expr::FloorDiv(a, b @ Dim::Const(1..)) => {
                    let (a, b) = (self.size(a)?, self.size(b)?);
                    let rest = self.op(op::Mod, &[a, b])?;
                    let multiple = self.op(op::Sub, &[a, rest])?;
                    self.op(op::Div, &[multiple, b])?
                }
                Expr::Mod(a, b @ Dim::Const(1..)) => {
                    let (a, b) = (self.size(a)?, self.size(b)?);
                    self.op(op::Mod, &[a, b])?
                }
                Expr::FloorDiv(..) | Expr::Mod(..) => return None,
                Expr::Min(operands) => self.all(op::Min, &operands)?,
                Expr::Max(operands) => self.all(op::Max, &operands)?,
            },
        };
        self.sizes.insert(dim, value);
        Some(value)
    }

    fn with(&mut self, op: &str, before: Option<ValueId>, value: ValueId) -> Option<ValueId> {
        match before {
            None => Some(value),
            Some(before) => self.op(op, &[before, value]),
        }
    }

    fn all(&mut self, op: &str, operands: &[Dim]) -> Option<ValueId> {
        let values: Vec<ValueId> = operands.iter().map(|dim| self.size(*dim)).collect::<Option<_>>()?;
        self.op(op, &values)
    }
}
