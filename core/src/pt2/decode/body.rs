//! Graphs: their values, inputs, calls and outputs.

use std::collections::HashMap;

use super::Decoder;
use super::argument::canonical_target;
use super::types::Refusal;
use crate::arena::Arena;
use crate::diagnose::{Code, OriginId};
use crate::program::{Arg, Body, Call, NamedArg, Output, Val, Value, ValueType};
use crate::pt2::schema::{
    Argument, CustomObjArgument, Graph, Node, OptionalTensorArgument, SymBool, SymBoolArgument, SymFloat,
    SymFloatArgument, SymInt, SymIntArgument, TensorMeta,
};

/// What has been defined while a graph is decoded.
#[derive(Default)]
pub(super) struct Scope {
    values: Arena<Value>,
    names: HashMap<String, Val>,
    tensors: HashMap<String, TensorMeta>,
    ints: HashMap<String, SymInt>,
    floats: HashMap<String, SymFloat>,
    bools: HashMap<String, SymBool>,
    objects: HashMap<String, CustomObjArgument>,
    /// Uses of names that are not defined yet, and may never be.
    unresolved: Vec<(String, Option<OriginId>)>,
    /// The node that is decoded.
    pub(super) origin: Option<OriginId>,
}

impl Scope {
    /// A use of the value called `name`.
    pub(super) fn value(&mut self, name: String) -> Arg {
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
    /// Decodes a graph with the graphs inside it. Time is linear in its size: the tables of types
    /// are consulted only for names that something defines.
    pub(super) fn body(&mut self, graph: Graph) -> Body {
        let mut scope = Scope {
            tensors: graph.tensor_values,
            ints: graph.sym_int_values,
            floats: graph.sym_float_values,
            bools: graph.sym_bool_values,
            objects: graph.custom_obj_values,
            ..Scope::default()
        };
        let inputs = graph.inputs.into_iter().map(|input| self.input(&mut scope, input)).collect();
        let calls = graph.nodes.into_iter().map(|node| self.call(&mut scope, node)).collect();
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
        let target = canonical_target(&node.target);
        let name = node.name.unwrap_or_else(|| {
            let operator = target.split('.').nth(1).unwrap_or(&target);
            first_name(&node.outputs).unwrap_or(operator).to_owned()
        });
        let origin = super::origin::origin(&mut self.stacks, name, &target, node.metadata);
        let origin = self.program.origins.push(origin);
        scope.origin = Some(origin);
        let args = node
            .inputs
            .into_iter()
            .map(|input| NamedArg { name: input.name.into(), arg: self.argument(scope, input.arg) })
            .collect();
        let outputs = node.outputs.into_iter().map(|output| self.output(scope, output)).collect();
        Call { target: target.into(), args, outputs, origin }
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

    /// Defines the value called `name`. After an error it is defined all the same, so that its uses
    /// are not reported too.
    fn define(&mut self, scope: &mut Scope, name: String, kind: Defined) -> Val {
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
        let val = scope.values.push(Value { name: name.as_str().into(), ty });
        scope.names.insert(name, val);
        val
    }

    fn value_type(&mut self, scope: &mut Scope, name: &str, kind: Defined) -> Result<ValueType, Refusal> {
        let missing = |what: &str| (Code::READ_PROGRAM, format!("its {what} is not recorded"));
        Ok(match kind {
            Defined::Tensor => {
                let meta = scope.tensors.remove(name).ok_or_else(|| missing("shape"))?;
                ValueType::Tensor(self.tensor_type(&meta)?)
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
                ValueType::Custom(scope.objects.remove(name).map_or(class, |object| object.class_fqn))
            }
        })
    }
}

/// The name of the first value that a node defines: nodes of older programs have none of their own.
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
