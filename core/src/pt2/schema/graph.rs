//! Graphs, nodes and their arguments.

use indexmap::IndexMap;
use rustc_hash::FxHashMap;
use serde::Deserialize;

use super::Float;
use super::lists::TensorValues;
use super::union::union;
use crate::Name;

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Device {
    pub(crate) r#type: String,
    #[serde(default)]
    pub(crate) index: Option<i64>,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct SymExpr {
    pub(crate) expr_str: String,
    #[serde(default)]
    pub(crate) hint: Option<SymExprHint>,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct TensorMeta {
    pub(crate) dtype: i64,
    pub(crate) sizes: Vec<SymInt>,
    pub(crate) strides: Vec<SymInt>,
    pub(crate) storage_offset: SymInt,
    pub(crate) layout: i64,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct TensorArgument {
    pub(crate) name: Name,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct TokenArgument {
    pub(crate) name: Name,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct GraphArgument {
    pub(crate) name: Name,
    pub(crate) graph: Graph,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct CustomObjArgument {
    pub(crate) name: Name,
    pub(crate) class_fqn: String,
}

#[derive(Clone, Copy, Debug, Deserialize)]
pub(crate) struct ComplexValue {
    pub(crate) real: Float,
    pub(crate) imag: Float,
}

union! {
    /// The value of an expression in the traced run.
    SymExprHint {
        "as_int" => Int(i64),
        "as_bool" => Bool(bool),
        "as_float" => Float(Float),
    }

    /// A size. Constants are wider than 64 bits here, so that the reader can report an absurd one.
    SymInt {
        "as_expr" => Expr(SymExpr),
        "as_int" => Int(i128),
    }

    SymFloat {
        "as_expr" => Expr(SymExpr),
        "as_float" => Float(Float),
    }

    SymBool {
        "as_expr" => Expr(SymExpr),
        "as_bool" => Bool(bool),
    }

    SymIntArgument {
        "as_name" => Name(Name),
        "as_int" => Int(i64),
    }

    SymFloatArgument {
        "as_name" => Name(Name),
        "as_float" => Float(Float),
    }

    SymBoolArgument {
        "as_name" => Name(Name),
        "as_bool" => Bool(bool),
    }

    OptionalTensorArgument {
        "as_tensor" => Tensor(TensorArgument),
        "as_none" => None(bool),
    }

    Argument {
        "as_none" => None(bool),
        "as_tensor" => Tensor(TensorArgument),
        "as_tensors" => Tensors(Vec<TensorArgument>),
        "as_int" => Int(i64),
        "as_ints" => Ints(Vec<i64>),
        "as_float" => Float(Float),
        "as_floats" => Floats(Vec<Float>),
        "as_string" => String(String),
        "as_strings" => Strings(Vec<String>),
        "as_sym_int" => SymInt(SymIntArgument),
        "as_sym_ints" => SymInts(Vec<SymIntArgument>),
        "as_scalar_type" => ScalarType(i64),
        "as_memory_format" => MemoryFormat(i64),
        "as_layout" => Layout(i64),
        "as_device" => Device(Device),
        "as_bool" => Bool(bool),
        "as_bools" => Bools(Vec<bool>),
        "as_sym_bool" => SymBool(SymBoolArgument),
        "as_sym_bools" => SymBools(Vec<SymBoolArgument>),
        "as_graph" => Graph(Box<GraphArgument>),
        "as_optional_tensors" => OptionalTensors(Vec<OptionalTensorArgument>),
        "as_custom_obj" => CustomObj(CustomObjArgument),
        "as_operator" => Operator(String),
        "as_sym_float" => SymFloat(SymFloatArgument),
        "as_sym_floats" => SymFloats(Vec<SymFloatArgument>),
        "as_optional_tensor" => OptionalTensor(OptionalTensorArgument),
        "as_complex" => Complex(ComplexValue),
        "as_nested_tensors" => NestedTensors(Vec<Vec<TensorArgument>>),
        "as_int_lists" => IntLists(Vec<Vec<i64>>),
        "as_string_to_argument" => StringToArgument(IndexMap<String, Argument>),
        "as_float_lists" => FloatLists(Vec<Vec<Float>>),
    }
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct NamedArgument {
    pub(crate) name: Name,
    pub(crate) arg: Argument,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Node {
    pub(crate) target: String,
    pub(crate) inputs: Vec<NamedArgument>,
    pub(crate) outputs: Vec<Argument>,
    #[serde(default)]
    pub(crate) metadata: NodeMetadata,
    #[serde(default)]
    pub(crate) name: Option<Name>,
}

/// The used parts of a node's metadata; the rest is skipped without keeping it.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct NodeMetadata {
    #[serde(default)]
    pub(crate) stack_trace: String,
    #[serde(default)]
    pub(crate) nn_module_stack: String,
}

/// A graph. `N` is the form of its nodes: parsed, or text to be parsed one node at a time.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Graph<N = Vec<Node>> {
    pub(crate) inputs: Vec<Argument>,
    pub(crate) outputs: Vec<Argument>,
    pub(crate) nodes: N,
    pub(crate) tensor_values: TensorValues,
    pub(crate) sym_int_values: FxHashMap<Name, SymInt>,
    pub(crate) sym_bool_values: FxHashMap<Name, SymBool>,
    #[serde(default)]
    pub(crate) custom_obj_values: FxHashMap<Name, CustomObjArgument>,
    #[serde(default)]
    pub(crate) sym_float_values: FxHashMap<Name, SymFloat>,
}
