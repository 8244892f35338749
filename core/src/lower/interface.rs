//! The model's interface: inputs, initializers, states and outputs, with the names of the program or those
//! of the user.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use super::driver::{Bound, Driver, Scope, not_computed};
use super::names::error as name_error;
use super::{LowerOptions, Names, OutputNames, suggest};
use crate::diagnose::{Code, Diagnostic};
use crate::ir::{Shape, State, Type, ValueId};
use crate::op;
use crate::program::{Arg, InputKind, InputSpec, OutputKind, Program, Val, ValueType};
use crate::provenance;
use crate::sym::{Dim, SymId, Symbols, is_name};
use crate::tensor::{DType, LazyTensor};

/// A name for one dimension of an input: `x:0=batch`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DimName {
    /// The input's name.
    pub input: String,
    /// The axis, from 0.
    pub axis: usize,
    /// The new name of the dimension, wherever it appears.
    pub name: String,
}

impl Driver<'_> {
    /// Creates the inputs and initializers and binds them.
    pub(super) fn make_inputs(&mut self, scope: &mut Scope, options: &LowerOptions) {
        let program = self.program;
        let mutated: FxHashMap<Val, (crate::program::StateKind, &str)> = program
            .signature
            .outputs
            .iter()
            .filter_map(|output| match &output.kind {
                OutputKind::State { kind, name, input } => Some((*input, (*kind, name.as_str()))),
                _ => None,
            })
            .collect();
        let names = self.chosen_inputs(options);
        // The user's names take precedence; a weight with the same name is renamed.
        let mut taken: BTreeSet<String> = names.iter().cloned().collect();
        let mut names = names.into_iter();
        for (spec, arg) in program.signature.inputs.iter().zip(&program.body.inputs) {
            let Some(val) = arg.as_value() else { continue };
            let made = match &spec.kind {
                InputKind::User => {
                    let name = names.next().unwrap_or_default();
                    self.user_input(scope, val, name)
                }
                InputKind::Constant | InputKind::Token => None,
                InputKind::CustomObject(name) => {
                    let message =
                        format!("the program takes the custom object `{name}`, which ONNX cannot represent");
                    self.report(Diagnostic::error(Code::LOWER_UNSUPPORTED, message));
                    scope.bind(val, Bound::Poisoned);
                    None
                }
                kind => {
                    let name = kind.tensor_name().unwrap_or(&spec.name);
                    let label = unique(name.to_owned(), &mut taken);
                    let constant = matches!(kind, InputKind::TensorConstant(_));
                    self.weight(scope, val, (name, label), constant, mutated.get(&val).copied())
                }
            };
            if let Some(value) = made.filter(|_| options.provenance) {
                let name = self.model.graph.values[value].name.clone().unwrap_or_default();
                let note = self.model.graph.notes.values.entry(value).or_default();
                note.about.metadata = provenance::input(spec, &name);
            }
        }
        for (val, (kind, name)) in mutated {
            if kind == crate::program::StateKind::Input
                && let Some(Bound::Value(input)) = scope.get(val)
            {
                self.model.states.push(State {
                    input,
                    output: usize::MAX,
                    kind,
                    name: name.to_owned(),
                    initial: None,
                });
            }
        }
        self.model.states.sort_by_key(|s| s.input);
    }

    /// The names of the user's inputs, in order.
    fn chosen_inputs(&mut self, options: &LowerOptions) -> Vec<String> {
        let own: Vec<String> = user_inputs(self.program).map(|(spec, _)| spec.name.clone()).collect();
        let mut problems = Vec::new();
        let names = options.input_names.of(&own, "input", &mut problems);
        for problem in problems {
            self.report(problem);
        }
        let mut given = BTreeSet::new();
        for (name, _) in names.iter().filter(|(name, chosen)| *chosen && !given.insert(name)) {
            let message = format!("the name `{name}` is given to two inputs");
            self.report(name_error(message, "choose names that differ"));
        }
        names.into_iter().map(|(name, _)| name).collect()
    }

    /// Creates an input of the user; returns it.
    fn user_input(&mut self, scope: &mut Scope, val: Val, name: String) -> Option<ValueId> {
        let block = self.model.graph.main();
        match &self.program.body.values[val].ty {
            ValueType::Tensor(ty) => {
                let (dtype, shape) = real_type(ty.dtype, &ty.shape);
                let value = self.model.graph.add_input(block, Some(name.into()), Type::tensor(dtype, shape));
                self.bind(scope, val, value);
                Some(value)
            }
            ValueType::SymInt(_) => Some(self.number_input(scope, val, name, DType::I64)),
            ValueType::SymFloat => Some(self.number_input(scope, val, name, DType::F64)),
            ValueType::SymBool => Some(self.number_input(scope, val, name, DType::Bool)),
            ValueType::Token | ValueType::Custom(_) => {
                scope.bind(val, Bound::Poisoned);
                None
            }
        }
    }

    /// Creates an input for a number: 0-d outside, a value of shape `[1]` inside.
    fn number_input(&mut self, scope: &mut Scope, val: Val, name: String, dtype: DType) -> ValueId {
        let block = self.model.graph.main();
        let ty = Type::tensor(dtype, Shape::of([]));
        let input = self.model.graph.add_input(block, Some(name.into()), ty);
        let axes = self.int_constant(&[0]);
        let value = self.append(op::Unsqueeze, &[input, axes]);
        self.bind(scope, val, value);
        input
    }

    /// Creates a weight, or an input for one that is mutated; returns it.
    fn weight(
        &mut self,
        scope: &mut Scope,
        val: Val,
        (name, label): (&str, String),
        constant: bool,
        mutated: Option<(crate::program::StateKind, &str)>,
    ) -> Option<ValueId> {
        let Some(data) = self.program.tensors.get(name) else {
            let message = format!("the program has no data for `{name}`");
            self.report(Diagnostic::error(Code::READ_PAYLOAD, message));
            scope.bind(val, Bound::Poisoned);
            return None;
        };
        let data = if data.dtype.is_complex() { data.pairs() } else { data.clone() };
        let value = if let Some((kind, state)) = mutated {
            let block = self.model.graph.main();
            let shape = Shape::of(data.shape.iter().map(|d| Dim::Const(*d as i64)));
            let ty = Type::tensor(data.dtype, shape);
            let input = self.model.graph.add_input(block, Some(label.into()), ty);
            let state =
                State { input, output: usize::MAX, kind, name: state.to_owned(), initial: Some(data) };
            self.model.states.push(state);
            input
        } else if constant {
            self.model.graph.add_initializer(Some(label.into()), data)
        } else {
            self.model.graph.add_weight(Some(label.into()), data)
        };
        self.bind(scope, val, value);
        Some(value)
    }

    /// Creates the outputs: those of the user in order, then one per state. Returns the names of those that no call
    /// computes.
    pub(super) fn make_outputs(
        &mut self,
        scope: &Scope,
        options: &LowerOptions,
        recorded: &OutputNames,
    ) -> Vec<String> {
        let program = self.program;
        let mut taken: BTreeSet<String> = self.input_names();
        let (mut states, mut returned) = (Vec::new(), Vec::new());
        for (spec, arg) in program.signature.outputs.iter().zip(&program.body.outputs) {
            match &spec.kind {
                OutputKind::State { name, input, .. } => states.push((name, *input, spec, arg)),
                OutputKind::Token => {}
                OutputKind::User | OutputKind::Loss | OutputKind::Gradient(_) => returned.push((spec, arg)),
            }
        }
        // A missing output has already been reported, but its name is known.
        let mut own = Vec::new();
        let mut found = Vec::new();
        // The user's and the convention's names for inputs do not change the program's names for outputs.
        let mut known: BTreeSet<String> =
            user_inputs(program).map(|(spec, _)| spec.name.clone()).chain(self.initializer_names()).collect();
        for (at, (spec, arg)) in returned.into_iter().enumerate() {
            let given = recorded.values.get(at).filter(|name| !name.is_empty()).cloned();
            let value = self.output_value(scope, arg);
            if value.is_none() && arg.as_value().is_none() {
                continue;
            }
            let name = arg.as_value().map(|val| program.body.values[val].name.to_string());
            let original = given.or(name);
            let name = recorded.returned.get(at).cloned().flatten().or_else(|| original.clone());
            own.push(unique(name.unwrap_or(format!("output_{}", own.len())), &mut known));
            found.push((spec, value, original));
        }
        let mut problems = Vec::new();
        let mut names = options.output_names.of(&own, "output", &mut problems);
        for (name, new) in names.iter_mut().zip(options.naming.outputs(&own)) {
            if let (false, Some(new)) = (name.1, new) {
                *name = (new, true);
            }
        }
        let mut lost = Vec::new();
        for ((spec, value, original), (name, chosen)) in found.into_iter().zip(names) {
            if chosen && taken.contains(&name) {
                let message = format!("the name `{name}` is taken by an input or another output");
                problems.push(name_error(message, "choose names that differ"));
            }
            let name = unique(name, &mut taken);
            let Some(value) = value else {
                lost.push(name);
                continue;
            };
            if options.provenance {
                self.model.output_metadata.push(provenance::output(spec, original.as_deref(), &name));
            }
            self.add_output(value, name);
        }
        for problem in problems {
            self.report(problem);
        }
        for (name, input, spec, arg) in states {
            let Some(Bound::Value(input)) = scope.get(input) else { continue };
            let Some(value) = self.output_value(scope, arg) else {
                lost.push(name.clone());
                continue;
            };
            let output = self.model.output_names.len();
            if options.provenance {
                let own = arg.as_value().map(|val| program.body.values[val].name.as_str());
                self.model.output_metadata.push(provenance::output(spec, own, name));
            }
            self.add_output(value, unique(format!("{name}.next"), &mut taken));
            if let Some(state) = self.model.states.iter_mut().find(|s| s.input == input) {
                state.output = output;
            }
        }
        self.model.states.retain(|s| s.output != usize::MAX);
        lost
    }

    fn input_names(&self) -> BTreeSet<String> {
        let graph = &self.model.graph;
        let inputs = graph.blocks[graph.main()].inputs.iter();
        let names = inputs.filter_map(|v| graph.values[*v].name.as_ref().map(String::from));
        names.chain(self.initializer_names()).collect()
    }

    fn initializer_names(&self) -> impl Iterator<Item = String> {
        let graph = &self.model.graph;
        graph.initializers.iter().filter_map(|i| graph.values[i.value].name.as_ref().map(String::from))
    }

    fn add_output(&mut self, value: ValueId, name: String) {
        let main = self.model.graph.main();
        self.model.graph.add_output(main, value);
        self.model.output_names.push(name);
    }

    /// The value of an output: tensors as they are, numbers as 0-d tensors, nothing for `None`.
    fn output_value(&mut self, scope: &Scope, arg: &Arg) -> Option<ValueId> {
        match arg {
            Arg::Value(val) => match scope.get(*val).unwrap_or(Bound::Poisoned) {
                Bound::Value(value) => match self.program.body.values[*val].ty {
                    ValueType::Tensor(_) => Some(value),
                    ValueType::SymInt(Dim::Const(n)) => self.output_value(scope, &Arg::Int(n)),
                    _ => {
                        let axes = self.int_constant(&[0]);
                        Some(self.append(op::Squeeze, &[value, axes]))
                    }
                },
                Bound::Poisoned => None,
                Bound::Absent(origin) => {
                    self.report(not_computed(&self.model.origins, origin));
                    None
                }
            },
            Arg::Int(n) => {
                Some(self.constant(LazyTensor::inline(DType::I64, vec![], n.to_le_bytes().to_vec())))
            }
            Arg::Float(x) => {
                Some(self.constant(LazyTensor::inline(DType::F64, vec![], x.to_le_bytes().to_vec())))
            }
            Arg::Bool(b) => Some(self.constant(LazyTensor::inline(DType::Bool, vec![], vec![u8::from(*b)]))),
            Arg::None => None,
            other => {
                let message = format!("an output of the program is not a tensor or a number: {other:?}");
                self.report(Diagnostic::error(Code::LOWER_UNSUPPORTED, message));
                None
            }
        }
    }
}

/// Returns the user's inputs, and their values.
fn user_inputs(program: &Program) -> impl Iterator<Item = (&InputSpec, Val)> {
    let inputs = program.signature.inputs.iter().zip(&program.body.inputs);
    inputs.filter_map(|(spec, arg)| match spec.kind {
        InputKind::User => Some((spec, arg.as_value()?)),
        _ => None,
    })
}

/// Finds the input by its name in the model or in the program; returns its name in the program, and its value.
pub fn program_input<'p>(program: &'p Program, names: &Names, name: &str) -> Option<(&'p str, Val)> {
    let own: Vec<String> = user_inputs(program).map(|(spec, _)| spec.name.clone()).collect();
    let chosen = names.of(&own, "input", &mut Vec::new());
    let place = chosen.iter().position(|(chosen, _)| chosen == name);
    let place = place.or_else(|| own.iter().position(|own| own == name))?;
    user_inputs(program).nth(place).map(|(spec, val)| (spec.name.as_str(), val))
}

/// The program's names of the inputs, each with the model's.
pub fn input_names(program: &Program, names: &Names) -> Vec<(String, String)> {
    let own: Vec<String> = user_inputs(program).map(|(spec, _)| spec.name.clone()).collect();
    let chosen = names.of(&own, "input", &mut Vec::new()).into_iter().map(|(chosen, _)| chosen);
    own.iter().cloned().zip(chosen).collect()
}

/// Renames dimensions as the user chose.
pub(super) fn rename_dims(driver: &mut Driver<'_>, options: &LowerOptions) {
    let mut named: FxHashMap<SymId, &str> = FxHashMap::default();
    for DimName { input, axis, name } in &options.dims {
        if !is_name(name) {
            let message = format!("`{name}` cannot be the name of a dimension");
            driver
                .report(name_error(message, "a name has letters, digits and `_`, and starts with no digit"));
            continue;
        }
        let program = driver.program;
        let dim = program_input(program, &options.input_names, input)
            .map(|(_, val)| val)
            .and_then(|val| program.body.values[val].ty.as_tensor())
            .and_then(|ty| ty.shape.get(*axis).copied());
        let symbols: &mut Symbols = &mut driver.model.symbols;
        let problem = match dim {
            None => format!("no input `{input}` with an axis {axis}"),
            Some(dim) => match symbols.as_symbol(dim) {
                None => {
                    let problem = not_free(program, symbols, &options.input_names, (input, *axis), dim);
                    driver.report(problem);
                    continue;
                }
                Some(symbol) => match (symbols.find(name), named.insert(symbol, name)) {
                    (Some(other), _) if other != symbol => {
                        format!("the dimension name `{name}` is already taken by another dimension")
                    }
                    (_, Some(first)) if first != name => {
                        format!("axis {axis} of `{input}` is called both `{first}` and `{name}`")
                    }
                    _ => {
                        symbols.rename(symbol, name);
                        continue;
                    }
                },
            },
        };
        driver.report(name_error(problem, "`onnxport inspect` lists the inputs and their free dimensions"));
    }
}

/// The axis to be named is `dim`, which is not a symbol.
fn not_free(
    program: &Program,
    symbols: &Symbols,
    names: &Names,
    (input, axis): (&str, usize),
    dim: Dim,
) -> Diagnostic {
    let size = symbols.display(dim);
    if !matches!(dim, Dim::Const(_)) {
        let problem = format!("axis {axis} of `{input}` is {size}, which follows from other dimensions");
        return name_error(
            problem,
            "name a dimension that it follows from, on an axis that is nothing but this",
        );
    }
    let problem = format!(
        "axis {axis} of `{input}` is always {size}: it was not dynamic when the program was exported"
    );
    let own = program_input(program, names, input).map_or(input, |(own, _)| own);
    match suggest::dynamic(program, own, axis) {
        Some(shapes) => {
            let help = format!("export the program again, and name the axis then:\n{}", shapes.text);
            name_error(problem, help).suggest([shapes])
        }
        None => name_error(
            problem,
            "export the program again with `dynamic_shapes` in which this axis is dynamic",
        ),
    }
}

/// The type in ONNX of a tensor of the program: complex numbers are pairs in a last axis.
pub(super) fn real_type(dtype: DType, dims: &[Dim]) -> (DType, Shape) {
    let pair = |real| (real, Shape::of(dims.iter().copied().chain([Dim::Const(2)])));
    match dtype {
        DType::C64 => pair(DType::F32),
        DType::C128 => pair(DType::F64),
        _ => (dtype, Shape::of(dims.iter().copied())),
    }
}

/// Returns `wanted`, or the first of `wanted_1`, `wanted_2` … that is not taken, and marks it as taken.
fn unique(wanted: String, taken: &mut BTreeSet<String>) -> String {
    if taken.insert(wanted.clone()) {
        return wanted;
    }
    // Of one candidate more than there are names, one is free.
    let mut candidates = (1..=taken.len() + 1).map(|n| format!("{wanted}_{n}"));
    let name = candidates.find(|name| !taken.contains(name)).unwrap_or(wanted);
    taken.insert(name.clone());
    name
}
