//! Graphs: their values, inputs, calls and outputs.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::Decoder;
use super::argument::canonical_target;
use super::types::Refusal;
use crate::Name;
use crate::arena::Arena;
use crate::diagnose::{Code, OriginId};
use crate::program::{Arg, Body, Call, NamedArg, Output, TensorType, Val, Value, ValueType};
use crate::pt2::schema::{
    Argument, CustomObjArgument, Graph, Node, Nodes, OptionalTensorArgument, SymBool, SymBoolArgument,
    SymFloat, SymFloatArgument, SymInt, SymIntArgument, TensorValues,
};

/// The definitions so far while a graph is decoded.
#[derive(Default)]
pub(super) struct Scope {
    values: Arena<Value>,
    names: FxHashMap<Name, Val>,
    tensors: TensorValues,
    /// The decoded types of `tensors`.
    types: Vec<Option<Arc<TensorType>>>,
    ints: FxHashMap<Name, SymInt>,
    floats: FxHashMap<Name, SymFloat>,
    bools: FxHashMap<Name, SymBool>,
    objects: FxHashMap<Name, CustomObjArgument>,
    /// Uses of names that are not defined yet, and may never be.
    unresolved: Vec<(Name, Option<OriginId>)>,
    /// The current node.
    pub(super) origin: Option<OriginId>,
}

impl Scope {
    /// A use of the value called `name`.
    pub(super) fn value(&mut self, name: Name) -> Arg {
        if let Some(val) = self.names.get(&name) {
            return Arg::Value(*val);
        }
        self.unresolved.push((name, self.origin));
        Arg::None
    }
}

enum Defined {
    Tensor,
    Int,
    Float,
    Bool,
    Object(String),
}

impl Decoder {
    /// Decodes a graph and its nested graphs. Takes time linear in its size: the tables of types are
    /// consulted only for defined names.
    pub(super) fn body<N: Nodes>(&mut self, graph: Graph<N>) -> Body {
        let mut scope = Scope {
            types: vec![None; graph.tensor_values.types.len()],
            tensors: graph.tensor_values,
            ints: graph.sym_int_values,
            floats: graph.sym_float_values,
            bools: graph.sym_bool_values,
            objects: graph.custom_obj_values,
            ..Scope::default()
        };
        let inputs = graph.inputs.into_iter().map(|input| self.input(&mut scope, input)).collect();
        let mut calls = Vec::new();
        let read = graph.nodes.each(|node| calls.push(self.call(&mut scope, node)));
        self.malformed |= read.is_err();
        scope.origin = None;
        let outputs = graph.outputs.into_iter().map(|output| self.argument(&mut scope, output)).collect();
        for (name, origin) in std::mem::take(&mut scope.unresolved) {
            let problem = if scope.names.contains_key(&name) {
                "is used before it is defined: the graph is out of order, or a cycle"
            } else {
                "is used and nowhere defined"
            };
            let at = self.describe(origin, "an output of the graph");
            self.error(Code::READ_PROGRAM, &format!("`{name}` {problem} (in {at})"), origin);
        }
        Body { values: scope.values, inputs, calls, outputs }
    }

    fn describe(&self, origin: Option<OriginId>, otherwise: &str) -> String {
        match origin {
            Some(id) => {
                let origin = self.program.origins.get(id);
                format!("node `{}` of {}", origin.node, origin.target)
            }
            None => otherwise.to_owned(),
        }
    }

    fn input(&mut self, scope: &mut Scope, input: Argument) -> Arg {
        let (name, kind) = match input {
            Argument::Tensor(tensor) => (tensor.name, Defined::Tensor),
            Argument::SymInt(SymIntArgument::Name(name)) => (name, Defined::Int),
            Argument::SymFloat(SymFloatArgument::Name(name)) => (name, Defined::Float),
            Argument::SymBool(SymBoolArgument::Name(name)) => (name, Defined::Bool),
            Argument::CustomObj(object) => (object.name, Defined::Object(object.class_fqn)),
            constant @ (Argument::None(_)
            | Argument::Int(_)
            | Argument::Float(_)
            | Argument::Bool(_)
            | Argument::String(_)
            | Argument::Complex(_)
            | Argument::SymInt(_)
            | Argument::SymFloat(_)
            | Argument::SymBool(_)) => return self.argument(scope, constant),
            _ => {
                self.error(Code::READ_PROGRAM, "an input of a graph is neither a value nor a constant", None);
                return Arg::None;
            }
        };
        Arg::Value(self.define(scope, name, kind))
    }

    fn call(&mut self, scope: &mut Scope, node: Node) -> Call {
        let target = self.names.get(&canonical_target(&node.target));
        let name = node.name.unwrap_or_else(|| {
            let operator = target.split('.').nth(1).unwrap_or(&target);
            first_name(&node.outputs).unwrap_or(operator).into()
        });
        let origin = self.origin(name, target.clone(), node.metadata);
        let origin = self.program.origins.push(origin);
        scope.origin = Some(origin);
        // `collect` would keep the allocation of the parsed text.
        let mut args = Vec::with_capacity(node.inputs.len());
        for input in node.inputs {
            args.push(NamedArg { name: self.names.get(&input.name), arg: self.argument(scope, input.arg) });
        }
        let outputs = node.outputs.into_iter().map(|output| self.output(scope, output)).collect();
        Call { target, args, outputs, origin }
    }

    fn output(&mut self, scope: &mut Scope, output: Argument) -> Output {
        let (name, kind) = match output {
            Argument::None(_) | Argument::OptionalTensor(OptionalTensorArgument::None(_)) => {
                return Output::None;
            }
            Argument::Tensor(tensor) | Argument::OptionalTensor(OptionalTensorArgument::Tensor(tensor)) => {
                (tensor.name, Defined::Tensor)
            }
            Argument::Tensors(tensors) => {
                let define = |tensor: crate::pt2::schema::TensorArgument| {
                    Some(self.define(scope, tensor.name, Defined::Tensor))
                };
                return Output::List(tensors.into_iter().map(define).collect());
            }
            Argument::OptionalTensors(tensors) => {
                let define = |tensor| match tensor {
                    OptionalTensorArgument::Tensor(tensor) => {
                        Some(self.define(scope, tensor.name, Defined::Tensor))
                    }
                    OptionalTensorArgument::None(_) => None,
                };
                return Output::List(tensors.into_iter().map(define).collect());
            }
            Argument::SymInt(SymIntArgument::Name(name)) => (name, Defined::Int),
            Argument::SymFloat(SymFloatArgument::Name(name)) => (name, Defined::Float),
            Argument::SymBool(SymBoolArgument::Name(name)) => (name, Defined::Bool),
            Argument::CustomObj(object) => (object.name, Defined::Object(object.class_fqn)),
            _ => {
                let at = self.describe(scope.origin, "a node");
                let message = format!("an output of {at} is neither a value nor a list of tensors");
                self.error(Code::READ_PROGRAM, &message, scope.origin);
                return Output::None;
            }
        };
        Output::Value(self.define(scope, name, kind))
    }

    /// Defines the value called `name`, even after an error, so that its uses are not reported too.
    fn define(&mut self, scope: &mut Scope, name: Name, kind: Defined) -> Val {
        if let Some(val) = scope.names.get(&name) {
            let at = self.describe(scope.origin, "an input of the graph");
            let message = format!("value `{name}` is defined twice (again by {at})");
            self.error(Code::READ_PROGRAM, &message, scope.origin);
            return *val;
        }
        let ty = self.value_type(scope, &name, kind).unwrap_or_else(|(code, problem)| {
            self.error(code, &format!("value `{name}`: {problem}"), scope.origin);
            ValueType::Token
        });
        let val = scope.values.push(Value { name: name.clone(), ty });
        scope.names.insert(name, val);
        val
    }

    fn value_type(&mut self, scope: &mut Scope, name: &str, kind: Defined) -> Result<ValueType, Refusal> {
        let missing = |what: &str| (Code::READ_PROGRAM, format!("its {what} is not recorded"));
        Ok(match kind {
            Defined::Tensor => {
                let position = *scope.tensors.names.get(name).ok_or_else(|| missing("shape"))? as usize;
                ValueType::Tensor(self.shared_type(scope, position)?)
            }
            Defined::Int => {
                let size = scope.ints.remove(name).ok_or_else(|| missing("expression"))?;
                ValueType::SymInt(self.dim(&size)?)
            }
            Defined::Float => {
                scope.floats.remove(name).ok_or_else(|| missing("expression"))?;
                ValueType::SymFloat
            }
            Defined::Bool => {
                scope.bools.remove(name).ok_or_else(|| missing("expression"))?;
                ValueType::SymBool
            }
            Defined::Object(class) => {
                let stated = scope.objects.remove(name).map(|object| object.class_fqn);
                ValueType::Custom(stated.unwrap_or(class).into())
            }
        })
    }
}

impl Decoder {
    /// The tensor type at `position`, which is decoded once.
    fn shared_type(&mut self, scope: &mut Scope, position: usize) -> Result<Arc<TensorType>, Refusal> {
        if let Some(known) = scope.types.get(position).and_then(Option::as_ref) {
            return Ok(Arc::clone(known));
        }
        let meta = scope.tensors.types.get(position);
        let meta = meta.ok_or_else(|| (Code::READ_PROGRAM, "its shape is not recorded".to_owned()))?;
        let ty = Arc::new(self.tensor_type(meta)?);
        if let Some(place) = scope.types.get_mut(position) {
            *place = Some(Arc::clone(&ty));
        }
        Ok(ty)
    }
}

/// Returns the name of the first value that a node defines: nodes of older programs have no names.
fn first_name(outputs: &[Argument]) -> Option<&str> {
    outputs.iter().find_map(|output| match output {
        Argument::Tensor(tensor) => Some(tensor.name.as_str()),
        Argument::Tensors(tensors) => tensors.first().map(|tensor| tensor.name.as_str()),
        Argument::SymInt(SymIntArgument::Name(name))
        | Argument::SymFloat(SymFloatArgument::Name(name))
        | Argument::SymBool(SymBoolArgument::Name(name)) => Some(name),
        _ => None,
    })
}
