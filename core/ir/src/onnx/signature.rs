//! The declared inputs, outputs and states of an ONNX file, as needed to run it.

use std::path::Path;

use bytes::Bytes;
use onnxport_proto::{
    GraphProto, ModelProto, StringStringEntryProto, ValueInfoProto, tensor_shape_proto, type_proto,
};
use prost::Message;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::{
    AxisSize, DROPPED_KEY, DroppedState, FIXED_KEY, GUARDS_KEY, GuardOutput, IN_PLACE_KEY, InPlace, OnnxFile,
    SIZES_KEY, STATE_KEY, SizeRanges, invalid,
};
use crate::diagnose::{Code, Diagnostic};
use crate::tensor::{DType, MappedFile};

/// The inputs, outputs and states of a model.
#[derive(Clone, Debug, Default)]
pub struct Signature {
    /// Every graph input, in order.
    pub inputs: Vec<Port>,
    /// Every graph output, in order.
    pub outputs: Vec<Port>,
    /// The declared states, from the metadata `onnxport.state`.
    pub states: Vec<State>,
    /// The sizes that the model was made for, from the metadata `onnxport.fixed`; inputs by the program's names.
    pub fixed: Vec<AxisSize>,
    /// The sizes that the model takes, from the metadata `onnxport.sizes`.
    pub sizes: SizeRanges,
    /// The values that the program writes to and the model does not, from the metadata `onnxport.dropped`.
    pub dropped: Vec<DroppedState>,
    /// The inputs and outputs that may share memory, from the metadata `onnxport.in_place`.
    pub in_place: Vec<InPlace>,
    /// The output that checks the sizes, from the metadata `onnxport.guards`.
    pub guard: Option<GuardOutput>,
}

/// An input or output.
#[derive(Clone, Debug)]
pub struct Port {
    /// The name.
    pub name: String,
    /// Element type, when it is a tensor of known type.
    pub dtype: Option<DType>,
    /// The sizes, when the rank is known.
    pub dims: Option<Vec<Extent>>,
    /// Whether an initializer gives the input a default.
    pub optional: bool,
}

/// A declared size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Extent {
    /// A number.
    Known(i64),
    /// A `dim_param`: a symbol or an expression.
    Named(String),
    /// Nothing is stated.
    Unknown,
}

/// An input whose next value is an output.
#[derive(Clone, Debug, Deserialize)]
pub struct State {
    /// The name of the input.
    pub input: String,
    /// The name of the output.
    pub output: String,
    /// `buffer`, `parameter` or `input`.
    pub kind: String,
    /// The fully qualified name, or the placeholder of a user input.
    pub name: String,
}

/// The declarations of a model; everything else is skipped, however many nodes there are.
#[derive(Clone, PartialEq, Message)]
struct Head {
    #[prost(message, optional, tag = "7")]
    graph: Option<Ends>,
    #[prost(message, repeated, tag = "14")]
    metadata_props: Vec<StringStringEntryProto>,
}

/// The declarations of a graph.
#[derive(Clone, PartialEq, Message)]
struct Ends {
    #[prost(message, repeated, tag = "5")]
    initializer: Vec<Named>,
    #[prost(message, repeated, tag = "11")]
    input: Vec<ValueInfoProto>,
    #[prost(message, repeated, tag = "12")]
    output: Vec<ValueInfoProto>,
}

/// The name of a tensor.
#[derive(Clone, PartialEq, Message)]
struct Named {
    #[prost(string, optional, tag = "8")]
    name: Option<String>,
}

impl Head {
    /// Decodes a model that holds a graph, or says why it is none.
    fn from_bytes(model: Bytes) -> Result<Self, String> {
        let head = Self::decode(model).map_err(|e| e.to_string())?;
        if head.graph.is_some() { Ok(head) } else { Err("it has no graph".to_owned()) }
    }
}

/// A continuation of a model's message that declares more outputs, whose types a reader infers. Nested messages of
/// protocol buffers that occur twice are merged, and repeated fields are appended.
pub fn further_outputs<'a>(names: impl IntoIterator<Item = &'a str>) -> Vec<u8> {
    let named = |name: &str| ValueInfoProto { name: Some(name.to_owned()), ..ValueInfoProto::default() };
    let graph = GraphProto { output: names.into_iter().map(named).collect(), ..GraphProto::default() };
    ModelProto { graph: Some(graph), ..ModelProto::default() }.encode_to_vec()
}

impl Signature {
    /// Reads the declarations of the model at `path`, and nothing else of it.
    ///
    /// # Errors
    /// `OP101` when it cannot be read; `OP110` when it is damaged or holds no graph.
    pub fn read(path: &Path) -> Result<Self, Diagnostic> {
        let file = MappedFile::open(path).map_err(|e| {
            Diagnostic::error(Code::READ_IO, format!("cannot read `{}`: {e}", path.display()))
        })?;
        let head = Head::from_bytes(Bytes::from_owner(file)).map_err(|why| invalid(path, &why))?;
        Self::of_head(&head)
    }

    /// Reads the declarations of a model's message, and nothing else of it.
    ///
    /// # Errors
    /// `OP110` when it is damaged or holds no graph.
    pub fn decode(model: Bytes) -> Result<Self, Diagnostic> {
        let unusable = |why| format!("the message is not an ONNX model that can be used: {why}");
        let head =
            Head::from_bytes(model).map_err(|why| Diagnostic::error(Code::READ_ONNX, unusable(why)))?;
        Self::of_head(&head)
    }

    fn of_head(Head { graph, metadata_props }: &Head) -> Result<Self, Diagnostic> {
        let Some(graph) = graph else { return Ok(Self::default()) };
        let names = graph.initializer.iter().filter_map(|tensor| tensor.name.as_deref());
        Self::declared(names, &graph.input, &graph.output, metadata_props)
    }

    /// The declarations of a file that was read.
    pub fn of(file: &OnnxFile) -> Result<Self, Diagnostic> {
        let Some(graph) = file.graph() else { return Ok(Self::default()) };
        let names = graph.initializer.iter().filter_map(|tensor| tensor.name.as_deref());
        Self::declared(names, &graph.input, &graph.output, &file.proto.metadata_props)
    }

    fn declared<'a>(
        initializers: impl Iterator<Item = &'a str>,
        inputs: &[ValueInfoProto],
        outputs: &[ValueInfoProto],
        metadata: &[StringStringEntryProto],
    ) -> Result<Self, Diagnostic> {
        let initializers: std::collections::HashSet<&str> = initializers.collect();
        let port = |info: &ValueInfoProto| Port {
            optional: initializers.contains(info.name.as_deref().unwrap_or_default()),
            ..Port::from_info(info)
        };
        Ok(Self {
            inputs: inputs.iter().map(port).collect(),
            outputs: outputs.iter().map(port).collect(),
            states: listed(metadata, STATE_KEY)?,
            fixed: listed(metadata, FIXED_KEY)?,
            sizes: listed(metadata, SIZES_KEY)?,
            dropped: listed(metadata, DROPPED_KEY)?,
            in_place: listed(metadata, IN_PLACE_KEY)?,
            guard: listed(metadata, GUARDS_KEY)?,
        })
    }

    /// Fails when a state that the model declares cannot be one.
    ///
    /// # Errors
    /// `OP701` when its input or its output is missing, or the first value of a buffer or parameter.
    pub fn check_states(&self) -> Result<(), Diagnostic> {
        for State { input, output, kind, name } in &self.states {
            let port = self.inputs.iter().find(|port| port.name == *input);
            let lacking = match port {
                None => format!("unknown input `{input}`"),
                Some(_) if !self.outputs.iter().any(|port| port.name == *output) => {
                    format!("unknown output `{output}`")
                }
                Some(port) if kind != "input" && !port.optional => {
                    format!("its input `{input}` has no first value")
                }
                Some(_) => continue,
            };
            let message = format!("the model does not keep the state `{name}`: {lacking}");
            return Err(Diagnostic::error(Code::VERIFY_MISMATCH, message));
        }
        Ok(())
    }

    /// The inputs that the user gives at every call: all but the states with a value of their own.
    pub fn user_inputs(&self) -> impl Iterator<Item = &Port> {
        self.inputs
            .iter()
            .filter(|port| !self.states.iter().any(|s| s.input == port.name && s.kind != "input"))
    }

    /// Whether the output checks the sizes of inputs, and is none of the program's.
    pub fn is_guard(&self, output: &str) -> bool {
        self.guard.as_ref().is_some_and(|guard| guard.output == output)
    }

    /// The state whose next value the output is.
    pub fn state_of(&self, output: &str) -> Option<&State> {
        self.states.iter().find(|s| s.output == output)
    }
}

/// The list that the metadata `key` holds, empty where there is none.
fn listed<T>(metadata: &[StringStringEntryProto], key: &str) -> Result<T, Diagnostic>
where
    T: DeserializeOwned + Default,
{
    let Some(entry) = metadata.iter().find(|entry| entry.key() == key) else { return Ok(T::default()) };
    serde_json::from_str(entry.value())
        .map_err(|e| Diagnostic::error(Code::READ_ONNX, format!("the metadata {key} is malformed: {e}")))
}

impl Port {
    /// The type as text: `f32[batch, 3]`.
    pub fn type_text(&self) -> String {
        let dtype = self.dtype.map_or("unknown", DType::as_str);
        match &self.dims {
            Some(dims) => {
                let dims: Vec<String> = dims.iter().map(ToString::to_string).collect();
                format!("{dtype}[{}]", dims.join(", "))
            }
            None => format!("{dtype}[...]"),
        }
    }

    fn from_info(info: &ValueInfoProto) -> Self {
        let tensor = match info.r#type.as_ref().and_then(|t| t.value.as_ref()) {
            Some(type_proto::Value::TensorType(tensor)) => Some(tensor),
            _ => None,
        };
        let dims = tensor.and_then(|t| t.shape.as_ref()).map(|shape| {
            shape
                .dim
                .iter()
                .map(|dim| match &dim.value {
                    Some(tensor_shape_proto::dimension::Value::DimValue(n)) => Extent::Known(*n),
                    Some(tensor_shape_proto::dimension::Value::DimParam(name)) if !name.is_empty() => {
                        Extent::Named(name.clone())
                    }
                    _ => Extent::Unknown,
                })
                .collect()
        });
        Self {
            name: info.name.clone().unwrap_or_default(),
            dtype: tensor.and_then(|t| DType::from_onnx(t.elem_type.unwrap_or_default())),
            dims,
            optional: false,
        }
    }
}

impl std::fmt::Display for Extent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Extent::Known(n) => write!(f, "{n}"),
            Extent::Named(name) => f.write_str(name),
            Extent::Unknown => f.write_str("?"),
        }
    }
}
