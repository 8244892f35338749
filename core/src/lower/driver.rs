//! The driver: one body after the other, one call after the other, every problem reported.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use onnxport_abi::lowering::Context;
use onnxport_abi::status;

use super::callbacks::host_table;
use super::interface::{real_type, rename_dims};
use super::{LowerOptions, Lowered, OutputNames, Provided};
use crate::Name;
use crate::diagnose::{Code, Diagnostic, OriginId, Origins, Report, Severity};
use crate::host::Validated;
use crate::host::{Host, Site, cross, log};
use crate::ir::{self, Attribute, BlockId, Model, OpsetImport, Shape, ValueId};
use crate::ops::infer;
use crate::program::{Arg, Body, Call, Output, Program, TensorType, Val, ValueType};
use crate::registry::Resolved;
use crate::sym::Dim;
use crate::tensor::{DType, LazyTensor};
use crate::valid::StatedTypes;

/// The translation of a value of the program.
#[derive(Clone, Copy, Debug)]
pub(super) enum Bound {
    /// A value of the model.
    Value(ValueId),
    /// Nothing: a problem with its definition was reported.
    Poisoned,
    /// Nothing: the lowering does not compute it, which matters only if it is used.
    Absent(OriginId),
}

/// The values of one body.
#[derive(Default)]
pub(super) struct Scope {
    bound: Vec<Option<Bound>>,
}

impl Scope {
    pub(super) fn bind(&mut self, val: Val, bound: Bound) {
        if val.index() >= self.bound.len() {
            self.bound.resize(val.index() + 1, None);
        }
        if let Some(place) = self.bound.get_mut(val.index()) {
            *place = Some(bound);
        }
    }

    pub(super) fn get(&self, val: Val) -> Option<Bound> {
        self.bound.get(val.index()).copied().flatten()
    }
}

/// Constants by their contents: element type, sizes and bytes.
pub(super) type Constants = FxHashMap<(DType, Vec<u64>, Vec<u8>), ValueId>;

/// A type of the program, which is kept as long as its address is a key, and the same type in ONNX.
type Typed = (Arc<TensorType>, Arc<(DType, Shape)>);

/// The state of a lowering.
pub(super) struct Driver<'p> {
    pub(super) host: &'p Host,
    pub(super) program: &'p Program,
    pub(super) model: Model,
    pub(super) stated: StatedTypes,
    /// The types in ONNX of the program's, by address.
    types: FxHashMap<*const TensorType, Typed>,
    /// The block to which nodes are appended.
    pub(super) block: BlockId,
    /// The call whose nodes are emitted.
    pub(super) origin: Option<OriginId>,
    /// Sizes and symbolic integers that exist as values, per block.
    pub(super) dims: super::dims::DimValues,
    pub(super) constants: Constants,
    /// The open bodies of functions, innermost last.
    pub(super) functions: Vec<super::functions::Open>,
    diagnostics: Vec<Diagnostic>,
    /// The number of an operator's calls that each plugin lowered.
    provided: FxHashMap<(usize, Name), usize>,
    /// The number of plugins that the host had set aside at the start.
    set_aside: usize,
    /// Operators for which a lowering was suggested.
    pub(super) suggested: FxHashSet<Name>,
}

/// Runs a lowering of `program`; the driver borrows it for as long as plugins read it.
pub(super) fn run(
    host: &Host,
    mut program: Program,
    options: &LowerOptions,
    output_names: &OutputNames,
) -> Result<Lowered, Report> {
    let symbols = std::mem::take(&mut program.symbols);
    let origins = std::mem::take(&mut program.origins);
    let calls = std::mem::take(&mut program.body.calls);
    let opsets = vec![OpsetImport { domain: String::new(), version: options.opset }];
    let model = Model { opsets, symbols, origins, ..Model::default() };
    let mut driver = Driver {
        host,
        program: &program,
        block: model.graph.main(),
        model,
        stated: StatedTypes::default(),
        types: FxHashMap::default(),
        origin: None,
        dims: super::dims::DimValues::default(),
        constants: Constants::default(),
        functions: Vec::new(),
        diagnostics: Vec::new(),
        provided: FxHashMap::default(),
        set_aside: host.quarantine.len(),
        suggested: FxHashSet::default(),
    };
    rename_dims(&mut driver, options);
    let mut scope = Scope::default();
    driver.make_inputs(&mut scope, options);
    let ((), messages) = log::collect(|| driver.consume(&program.body, calls, &mut scope));
    driver.origin = None;
    let lost = driver.make_outputs(&scope, options, output_names);
    let Driver { mut model, stated, mut diagnostics, provided, .. } = driver;
    diagnostics.extend(messages);
    let mut set_aside = host.set_aside();
    if !diagnostics.iter().any(|d| d.severity == Severity::Error) {
        // The panic was in an earlier conversion; without these calls the model is not whole.
        for note in &mut set_aside {
            note.severity = Severity::Error;
        }
    }
    diagnostics.extend(set_aside);
    model.opsets.sort();
    if !diagnostics.iter().any(|d| d.severity == Severity::Error) {
        diagnostics.extend(lost.iter().map(|name| {
            let message = format!("no call of the program computes its output `{name}`");
            Diagnostic::error(Code::LOWER_ARGUMENT, message)
        }));
    }
    if diagnostics.iter().any(|d| d.severity == Severity::Error) {
        return Err(Report { diagnostics, origins: model.origins });
    }
    let mut provided: Vec<Provided> = (provided.into_iter())
        .map(|((plugin, operator), calls)| {
            let plugin = host.plugins.get(plugin).map_or("", |plugin| plugin.id).to_owned();
            Provided { plugin, operator: operator.to_string(), calls }
        })
        .collect();
    provided.sort();
    Ok(Lowered { model, stated, diagnostics, provided })
}

impl<'p> Driver<'p> {
    pub(super) fn report(&mut self, diagnostic: Diagnostic) {
        self.diagnostics.push(diagnostic);
    }

    /// Binds `val` to `value` and records the type that the program states for it.
    pub(super) fn bind(&mut self, scope: &mut Scope, val: Val, value: ValueId) {
        let program = self.program;
        self.bind_typed(scope, val, value, &program.body.values[val].ty);
    }

    /// The type in ONNX of a tensor of the program.
    fn real(&mut self, ty: &Arc<TensorType>) -> Arc<(DType, Shape)> {
        let known = self.types.entry(Arc::as_ptr(ty));
        let (_, real) = known.or_insert_with(|| (Arc::clone(ty), Arc::new(real_type(ty.dtype, &ty.shape))));
        Arc::clone(real)
    }

    fn bind_typed(&mut self, scope: &mut Scope, val: Val, value: ValueId, ty: &ValueType) {
        scope.bind(val, Bound::Value(value));
        match ty {
            ValueType::Tensor(ty) => {
                let real = self.real(ty);
                for (axis, dim) in ty.shape.iter().enumerate() {
                    self.dims.offer_axis(&self.model.symbols, self.block, *dim, value, axis);
                }
                self.model.graph.values[value].ty.fill(real.0, &real.1);
                self.stated.offer(value, real);
            }
            ValueType::SymInt(dim) => {
                self.dims.offer_value(self.block, *dim, value);
                self.model.graph.values[value].ty.fill(DType::I64, &Shape::of([Dim::Const(1)]));
                self.model.graph.set_shape_value(value, smallvec::smallvec![*dim]);
            }
            _ => {}
        }
    }

    /// Lowers every call of a nested `body` into the current block.
    fn lower_calls<'c>(&mut self, body: &'c Body, scope: &mut Scope)
    where
        'p: 'c,
    {
        for call in &body.calls {
            if !self.lower_one(body, call, scope) {
                return;
            }
        }
    }

    /// Lowers `calls` of `body`, and frees each afterwards: otherwise a long program and its model would be in
    /// memory at the same time.
    fn consume(&mut self, body: &Body, mut calls: Vec<Call>, scope: &mut Scope) {
        calls.reverse();
        while let Some(call) = calls.pop() {
            if !self.lower_one(body, &call, scope) {
                return;
            }
            if calls.len() < calls.capacity() / 2 {
                calls.shrink_to_fit();
            }
        }
    }

    /// Lowers one call; returns whether the next one is to be lowered as well.
    fn lower_one<'c>(&mut self, body: &'c Body, call: &'c Call, scope: &mut Scope) -> bool
    where
        'p: 'c,
    {
        if self.host.quarantine.stops(self.set_aside) {
            return false;
        }
        self.origin = Some(call.origin);
        if self.lower_sym_int(body, call, scope) {
            return true;
        }
        match self.lower_call(body, call, scope) {
            Ok(values) => self.bind_results(body, call, &values, scope),
            Err(diagnostic) => {
                self.diagnostics.extend(diagnostic.map(|d| *d));
                for output in &call.outputs {
                    output.each_value(&mut |val| scope.bind(val, Bound::Poisoned));
                }
            }
        }
        true
    }

    /// A call whose only result is an integer with a known expression needs no operator: the expression is
    /// computed once, from existing values.
    fn lower_sym_int(&mut self, body: &Body, call: &Call, scope: &mut Scope) -> bool {
        let [Output::Value(val)] = call.outputs.as_slice() else { return false };
        let ValueType::SymInt(dim) = body.values[*val].ty else { return false };
        match self.dim_value(dim) {
            Some(value) => {
                self.name_result(value, &body.values[*val].name);
                scope.bind(*val, Bound::Value(value));
                true
            }
            None => false,
        }
    }

    /// Records that `value` is the result named `name` of the call. A value with several such calls keeps the name from
    /// the first.
    fn name_result(&mut self, value: ValueId, name: &Name) {
        let info = &mut self.model.graph.values[value];
        if info.name.is_none() && matches!(info.def, ir::Def::Node(..)) {
            info.name = Some(name.clone());
        }
    }

    fn bind_results(&mut self, body: &Body, call: &Call, values: &[Option<ValueId>], scope: &mut Scope) {
        for (val, value) in results(call).zip(values) {
            match (val, value) {
                (Some(val), Some(value)) => {
                    let stated = &body.values[val];
                    if let Some(problem) = self.contradiction(call, &stated.ty, *value) {
                        self.report(problem);
                        scope.bind(val, Bound::Poisoned);
                        continue;
                    }
                    self.name_result(*value, &stated.name);
                    self.bind_typed(scope, val, *value, &stated.ty);
                }
                (Some(val), None) => scope.bind(val, Bound::Absent(call.origin)),
                (None, _) => {}
            }
        }
    }

    /// Checks that the type that ONNX infers for a result agrees with the type that the program states.
    fn contradiction(&mut self, call: &Call, stated: &ValueType, value: ValueId) -> Option<Diagnostic> {
        let ValueType::Tensor(ty) = stated else { return None };
        let real = self.real(ty);
        let (dtype, shape) = (real.0, &real.1);
        let found = &self.model.graph.values[value].ty;
        let wrong = |what: String| {
            let message = format!("the lowering of `{}` returned {what}", call.target);
            let help = "this is a defect of the plugin that lowers the operator";
            Some(Diagnostic::error(Code::VALIDATE, message).at(call.origin).help(help))
        };
        if let Some(other) = found.dtype().filter(|d| *d != dtype) {
            return wrong(format!("{other}, but the program states {dtype}"));
        }
        let (Some(have), Some(want)) = (found.shape().and_then(Shape::dims), shape.dims()) else {
            return None;
        };
        if have.len() != want.len() {
            return wrong(format!("{} axes, but the program states {}", have.len(), want.len()));
        }
        let differ = |(h, w): &(&Option<Dim>, &Option<Dim>)| matches!((h, w), (Some(Dim::Const(h)), Some(Dim::Const(w))) if h != w);
        let (axis, (have, want)) = have.iter().zip(want).enumerate().find(|(_, pair)| differ(pair))?;
        let text = |dim: Option<Dim>| dim.map_or_else(|| "?".to_owned(), |d| self.model.symbols.display(d));
        wrong(format!("{} along axis {axis}, but the program states {}", text(*have), text(*want)))
    }

    /// Lowers one call through its plugin. `Err(None)` if a problem upstream was reported.
    fn lower_call<'c>(
        &mut self,
        body: &'c Body,
        call: &'c Call,
        scope: &Scope,
    ) -> Result<Vec<Option<ValueId>>, Option<Box<Diagnostic>>>
    where
        'p: 'c,
    {
        let complex = is_complex(body, call);
        let opset = self.model.opset();
        let provider = match self.host.registry.resolve(&call.target, opset, complex, &self.host.choice) {
            Resolved::Use(provider) => provider,
            other => return Err(Some(Box::new(self.unresolved(body, call, other)))),
        };
        let plugin = self.host.plugin_id(&provider);
        let table = self.host.plugins.get(provider.plugin).and_then(|p| p.lowering);
        let Some(table) = table else { return Err(None) };
        if self.host.quarantine.skips(provider.plugin) {
            return Err(None);
        }
        let mut frame = self.frame(body, call, scope)?;
        frame.driver = std::ptr::from_mut(self).cast();
        let cx = Context(std::ptr::from_mut(&mut frame).cast());
        let depth = self.block;
        let subject = table
            .entries
            .validated()
            .get(provider.entry as usize)
            .map_or("", |entry| entry.target.validated());
        let site = Site { plugin, task: "lowering", subject };
        let answer = cross(site, || (table.lower)(provider.entry, &host_table(), cx));
        // A plugin that failed inside a function or a block leaves it open.
        self.leave_functions();
        self.block = depth;
        self.origin = Some(call.origin);
        if let Some(mut problem) = frame.problem.take() {
            problem.origin = Some(call.origin);
            problem.provider = Some(plugin.to_owned());
            return Err(Some(problem));
        }
        let refusal = frame.refusal.take();
        let (code, text, help) = match refusal {
            Some(r) => (r.code, r.message, r.help),
            None => (String::new(), String::new(), String::new()),
        };
        let error = |code: Code, message: String| {
            let mut diagnostic = Diagnostic::error(code, message).at(call.origin);
            diagnostic.provider = Some(plugin.to_owned());
            diagnostic.help = (!help.is_empty()).then_some(help.clone());
            Err(Some(Box::new(diagnostic)))
        };
        match (answer, frame.answer.take()) {
            (status::OK, Some(values)) => {
                *self.provided.entry((provider.plugin, call.target.clone())).or_default() += 1;
                Ok(values)
            }
            (status::REFUSED, _) => {
                let code = if code.is_empty() { Code::LOWER_REFUSED } else { Code::of_plugin(plugin, &code) };
                error(code, format!("`{}` cannot be lowered: {text}", call.target))
            }
            (status::PANICKED, _) => {
                self.host.quarantine.add(provider.plugin);
                error(
                    Code::PLUGIN_PANIC,
                    format!("plugin `{plugin}` panicked while lowering `{}`: {text}", call.target),
                )
            }
            _ => error(
                Code::PLUGIN_CONTRACT,
                format!("plugin `{plugin}` did not finish lowering `{}`", call.target),
            ),
        }
    }

    /// Lowers a nested body into the current block.
    pub(super) fn inline<'c>(&mut self, body: &'c Body, inputs: &[ValueId]) -> Option<Vec<ValueId>>
    where
        'p: 'c,
    {
        let mut scope = Scope::default();
        if inputs.len() != body.inputs.len() {
            return None;
        }
        let known = self.dims.enter();
        for (arg, value) in body.inputs.iter().zip(inputs) {
            if let Some(val) = arg.as_value() {
                self.bind_typed(&mut scope, val, *value, &body.values[val].ty);
            }
        }
        let origin = self.origin;
        self.lower_calls(body, &mut scope);
        self.origin = origin;
        self.dims.leave(known);
        body.outputs.iter().map(|arg| self.nested_output(&scope, arg)).collect()
    }

    fn nested_output(&mut self, scope: &Scope, arg: &Arg) -> Option<ValueId> {
        match arg {
            Arg::Value(val) => match scope.get(*val)? {
                Bound::Value(value) => Some(value),
                Bound::Poisoned => None,
                Bound::Absent(origin) => {
                    self.report(not_computed(&self.model.origins, origin));
                    None
                }
            },
            Arg::Int(n) => Some(self.int_constant(&[*n])),
            Arg::Bool(b) => Some(self.constant(LazyTensor::inline(DType::Bool, vec![1], vec![u8::from(*b)]))),
            Arg::Float(x) => {
                Some(self.constant(LazyTensor::inline(DType::F64, vec![1], x.to_le_bytes().to_vec())))
            }
            _ => None,
        }
    }

    /// Emits a node of ONNX's own operator with one output.
    pub(super) fn append(&mut self, op: &str, inputs: &[ValueId]) -> ValueId {
        self.append_with(op, inputs, Vec::new())
    }

    /// The same with attributes.
    pub(super) fn append_with(
        &mut self,
        op: &str,
        inputs: &[ValueId],
        attributes: Vec<Attribute>,
    ) -> ValueId {
        let inputs = inputs.iter().map(|v| Some(*v));
        let node = self.model.graph.append(self.block, "", op, inputs, attributes, 1, self.origin);
        self.infer(node);
        let output = self.model.graph.nodes[node].outputs.first().copied().flatten();
        output.unwrap_or(ValueId::new(0))
    }

    /// Infers the types of `node`'s outputs.
    pub(super) fn infer(&mut self, node: ir::NodeId) {
        let opset = self.model.opset();
        infer::infer(&mut self.model.graph, &mut self.model.symbols, opset, node);
    }

    /// An initializer; equal small ones are one.
    pub(super) fn constant(&mut self, data: LazyTensor) -> ValueId {
        let bytes = data.read().map(std::borrow::Cow::into_owned).unwrap_or_default();
        let key = (data.dtype, data.shape.clone(), bytes);
        if let Some(value) = self.constants.get(&key) {
            return *value;
        }
        let value = self.model.graph.add_initializer(None, data);
        self.constants.insert(key, value);
        value
    }

    /// An i64 vector.
    pub(super) fn int_constant(&mut self, ints: &[i64]) -> ValueId {
        let bytes: Vec<u8> = ints.iter().flat_map(|n| n.to_le_bytes()).collect();
        self.constant(LazyTensor::inline(DType::I64, vec![ints.len() as u64], bytes))
    }
}

/// Returns the diagnostic for the use of a result that its lowering does not compute.
pub(super) fn not_computed(origins: &Origins, origin: OriginId) -> Diagnostic {
    let message = format!(
        "the program uses a result of `{}` that its lowering does not compute",
        origins.get(origin).target
    );
    Diagnostic::error(Code::LOWER_REFUSED, message).at(origin)
}

/// Returns the values that a call defines, lists flattened; `None` for an absent result.
pub(super) fn results(call: &Call) -> impl Iterator<Item = Option<Val>> {
    call.outputs.iter().flat_map(|output| match output {
        Output::None => vec![None],
        Output::Value(val) => vec![Some(*val)],
        Output::List(items) => items.clone(),
    })
}

fn is_complex(body: &Body, call: &Call) -> bool {
    let mut complex = false;
    let mut visit = |val: Val| {
        let dtype = body.values.find(val).and_then(|v| v.ty.as_tensor()).map(|t| t.dtype);
        complex |= dtype.is_some_and(DType::is_complex);
    };
    call.args.iter().for_each(|a| a.arg.each_value(&mut visit));
    call.outputs.iter().for_each(|o| o.each_value(&mut visit));
    complex
}
