//! The program: signature, ranges, versions; and the tables of payloads.

use indexmap::IndexMap;
use serde::Deserialize;

use super::super::json::unique;
use super::union::union;
use super::{Argument, Bound, CustomObjArgument, Float, Graph, TensorArgument, TensorMeta, TokenArgument};

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct UserInputSpec {
    pub(crate) arg: Argument,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct InputToConstantInputSpec {
    pub(crate) name: String,
    #[expect(dead_code, reason = "the graph's own input carries the value; this one is only checked")]
    pub(crate) value: ConstantValue,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct InputToParameterSpec {
    pub(crate) arg: TensorArgument,
    pub(crate) parameter_name: String,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct InputToBufferSpec {
    pub(crate) arg: TensorArgument,
    pub(crate) buffer_name: String,
    pub(crate) persistent: bool,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct InputToTensorConstantSpec {
    pub(crate) arg: TensorArgument,
    pub(crate) tensor_constant_name: String,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct InputToCustomObjSpec {
    pub(crate) arg: CustomObjArgument,
    pub(crate) custom_obj_name: String,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct InputTokenSpec {
    pub(crate) arg: TokenArgument,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct UserOutputSpec {
    pub(crate) arg: Argument,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct LossOutputSpec {
    pub(crate) arg: TensorArgument,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct BufferMutationSpec {
    pub(crate) arg: TensorArgument,
    pub(crate) buffer_name: String,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct ParameterMutationSpec {
    pub(crate) arg: TensorArgument,
    pub(crate) parameter_name: String,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct GradientToParameterSpec {
    pub(crate) arg: TensorArgument,
    pub(crate) parameter_name: String,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct GradientToUserInputSpec {
    pub(crate) arg: TensorArgument,
    pub(crate) user_input_name: String,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct UserInputMutationSpec {
    pub(crate) arg: TensorArgument,
    pub(crate) user_input_name: String,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct OutputTokenSpec {
    pub(crate) arg: TokenArgument,
}

union! {
    ConstantValue {
        "as_none" => None(bool),
        "as_int" => Int(i64),
        "as_float" => Float(Float),
        "as_string" => String(String),
        "as_bool" => Bool(bool),
    }

    InputSpec {
        "user_input" => UserInput(UserInputSpec),
        "parameter" => Parameter(InputToParameterSpec),
        "buffer" => Buffer(InputToBufferSpec),
        "tensor_constant" => TensorConstant(InputToTensorConstantSpec),
        "custom_obj" => CustomObj(InputToCustomObjSpec),
        "token" => Token(InputTokenSpec),
        "constant_input" => ConstantInput(InputToConstantInputSpec),
    }

    OutputSpec {
        "user_output" => UserOutput(UserOutputSpec),
        "loss_output" => LossOutput(LossOutputSpec),
        "buffer_mutation" => BufferMutation(BufferMutationSpec),
        "gradient_to_parameter" => GradientToParameter(GradientToParameterSpec),
        "gradient_to_user_input" => GradientToUserInput(GradientToUserInputSpec),
        "user_input_mutation" => UserInputMutation(UserInputMutationSpec),
        "token" => Token(OutputTokenSpec),
        "parameter_mutation" => ParameterMutation(ParameterMutationSpec),
    }
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct GraphSignature {
    pub(crate) input_specs: Vec<InputSpec>,
    pub(crate) output_specs: Vec<OutputSpec>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
pub(crate) struct RangeConstraint {
    pub(crate) min_val: Option<Bound>,
    pub(crate) max_val: Option<Bound>,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct ModuleCallSignature {
    pub(crate) in_spec: String,
    pub(crate) out_spec: String,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct ModuleCallEntry {
    pub(crate) fqn: String,
    #[serde(default)]
    pub(crate) signature: Option<ModuleCallSignature>,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct GraphModule<N> {
    pub(crate) graph: Graph<N>,
    pub(crate) signature: GraphSignature,
    pub(crate) module_call_graph: Vec<ModuleCallEntry>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
pub(crate) struct SchemaVersion {
    pub(crate) major: u32,
    pub(crate) minor: u32,
}

/// A first look at a program, which reads no more than its version.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Versioned {
    pub(crate) schema_version: SchemaVersion,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct ExportedProgram<N> {
    pub(crate) graph_module: GraphModule<N>,
    pub(crate) range_constraints: IndexMap<String, RangeConstraint>,
    pub(crate) schema_version: SchemaVersion,
    #[serde(default)]
    pub(crate) torch_version: String,
    #[serde(default)]
    pub(crate) guards_code: Vec<String>,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct PayloadMeta {
    pub(crate) path_name: String,
    pub(crate) use_pickle: bool,
    #[serde(default)]
    pub(crate) tensor_meta: Option<TensorMeta>,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct PayloadConfig {
    #[serde(deserialize_with = "unique")]
    pub(crate) config: IndexMap<String, PayloadMeta>,
}
