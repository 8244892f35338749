//! The meaning of inputs and outputs, checked against the graph.

use std::collections::HashMap;

use super::Decoder;
use crate::Name;
use crate::diagnose::Code;
use crate::program::{Arg, Body, InputKind, InputSpec, OutputKind, OutputSpec, Signature, StateKind, Val};
use crate::pt2::schema::{
    self, Argument, ModuleCallEntry, OptionalTensorArgument, SymBoolArgument, SymFloatArgument,
    SymIntArgument,
};

impl Decoder {
    pub(super) fn signature(
        &mut self,
        signature: schema::GraphSignature,
        modules: Vec<ModuleCallEntry>,
        body: &Body,
    ) -> Signature {
        for (what, specs, values) in [
            ("inputs", signature.input_specs.len(), body.inputs.len()),
            ("outputs", signature.output_specs.len(), body.outputs.len()),
        ] {
            if specs != values {
                let message = format!("the signature states {specs} {what}, the graph has {values}");
                self.error(Code::READ_PROGRAM, &message, None);
                return Signature::default();
            }
        }
        let inputs: Vec<InputSpec> = signature
            .input_specs
            .into_iter()
            .zip(&body.inputs)
            .enumerate()
            .map(|(at, (spec, arg))| self.input_spec(spec, arg, body, at))
            .collect();
        let states = States::new(&inputs, body);
        let outputs = signature
            .output_specs
            .into_iter()
            .zip(&body.outputs)
            .map(|(spec, arg)| self.output_spec(spec, arg, body, &states))
            .collect();
        let root = modules.into_iter().find(|entry| entry.fqn.is_empty()).and_then(|entry| entry.signature);
        let (in_spec, out_spec) = root.map(|root| (root.in_spec, root.out_spec)).unzip();
        Signature { inputs, outputs, in_spec, out_spec }
    }

    fn input_spec(&mut self, spec: schema::InputSpec, arg: &Arg, body: &Body, at: usize) -> InputSpec {
        use schema::InputSpec as Spec;
        let (name, kind) = match spec {
            Spec::UserInput(spec) => (argument_name(&spec.arg).map(Name::from), InputKind::User),
            Spec::Parameter(spec) => (Some(spec.arg.name), InputKind::Parameter(spec.parameter_name)),
            Spec::Buffer(spec) => {
                let kind = InputKind::Buffer { name: spec.buffer_name, persistent: spec.persistent };
                (Some(spec.arg.name), kind)
            }
            Spec::TensorConstant(spec) => {
                (Some(spec.arg.name), InputKind::TensorConstant(spec.tensor_constant_name))
            }
            Spec::CustomObj(spec) => (Some(spec.arg.name), InputKind::CustomObject(spec.custom_obj_name)),
            Spec::Token(spec) => (Some(spec.arg.name), InputKind::Token),
            Spec::ConstantInput(spec) => {
                return InputSpec { name: spec.name, kind: InputKind::Constant };
            }
        };
        self.check_name(name.as_deref(), arg, body, "input");
        let kind = match arg {
            // A specialized user input is a constant, whatever the signature calls it.
            Arg::Value(_) => kind,
            _ => InputKind::Constant,
        };
        InputSpec { name: name.map_or_else(|| format!("arg{at}"), String::from), kind }
    }

    fn output_spec(
        &mut self,
        spec: schema::OutputSpec,
        arg: &Arg,
        body: &Body,
        states: &States,
    ) -> OutputSpec {
        use schema::OutputSpec as Spec;
        let (name, kind) = match spec {
            Spec::UserOutput(spec) => (argument_name(&spec.arg).map(Name::from), OutputKind::User),
            Spec::LossOutput(spec) => (Some(spec.arg.name), OutputKind::Loss),
            Spec::Token(spec) => (Some(spec.arg.name), OutputKind::Token),
            Spec::GradientToParameter(spec) => {
                (Some(spec.arg.name), OutputKind::Gradient(spec.parameter_name))
            }
            Spec::GradientToUserInput(spec) => {
                (Some(spec.arg.name), OutputKind::Gradient(spec.user_input_name))
            }
            Spec::BufferMutation(spec) => {
                (Some(spec.arg.name), self.state(StateKind::Buffer, spec.buffer_name, states))
            }
            Spec::ParameterMutation(spec) => {
                (Some(spec.arg.name), self.state(StateKind::Parameter, spec.parameter_name, states))
            }
            Spec::UserInputMutation(spec) => {
                (Some(spec.arg.name), self.state(StateKind::Input, spec.user_input_name, states))
            }
        };
        self.check_name(name.as_deref(), arg, body, "output");
        OutputSpec { kind }
    }

    fn state(&mut self, kind: StateKind, name: String, states: &States) -> OutputKind {
        let table = match kind {
            StateKind::Buffer => &states.buffers,
            StateKind::Parameter => &states.parameters,
            StateKind::Input => &states.inputs,
        };
        if let Some(input) = table.get(name.as_str()) {
            return OutputKind::State { kind, name, input: *input };
        }
        let message = format!("the signature mutates `{name}`, which is not an input");
        self.error(Code::READ_PROGRAM, &message, None);
        OutputKind::User
    }

    /// The signature must name the same values as the graph, in the same order.
    fn check_name(&mut self, stated: Option<&str>, arg: &Arg, body: &Body, what: &str) {
        let actual = arg.as_value().and_then(|val| body.values.find(val)).map(|value| value.name.as_str());
        if let (Some(stated), Some(actual)) = (stated, actual)
            && stated != actual
        {
            let message = format!("the signature calls an {what} `{stated}`, the graph `{actual}`");
            self.error(Code::READ_PROGRAM, &message, None);
        }
    }
}

/// The inputs that a program may mutate, by their names in the signature.
struct States<'a> {
    buffers: HashMap<&'a str, Val>,
    parameters: HashMap<&'a str, Val>,
    inputs: HashMap<&'a str, Val>,
}

impl<'a> States<'a> {
    fn new(inputs: &'a [InputSpec], body: &Body) -> Self {
        let mut states = Self { buffers: HashMap::new(), parameters: HashMap::new(), inputs: HashMap::new() };
        for (spec, arg) in inputs.iter().zip(&body.inputs) {
            let Some(val) = arg.as_value() else { continue };
            match &spec.kind {
                InputKind::Parameter(name) => states.parameters.insert(name, val),
                InputKind::Buffer { name, .. } => states.buffers.insert(name, val),
                InputKind::User => states.inputs.insert(&spec.name, val),
                _ => None,
            };
        }
        states
    }
}

fn argument_name(argument: &Argument) -> Option<&str> {
    match argument {
        Argument::Tensor(tensor) | Argument::OptionalTensor(OptionalTensorArgument::Tensor(tensor)) => {
            Some(&tensor.name)
        }
        Argument::SymInt(SymIntArgument::Name(name))
        | Argument::SymFloat(SymFloatArgument::Name(name))
        | Argument::SymBool(SymBoolArgument::Name(name)) => Some(name),
        Argument::CustomObj(object) => Some(&object.name),
        _ => None,
    }
}
