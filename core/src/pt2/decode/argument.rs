//! Arguments of calls and their constants.

use ecow::eco_format;

use super::Decoder;
use super::body::Scope;
use crate::diagnose::Code;
use crate::program::{Arg, Subgraph};
use crate::pt2::schema::{
    Argument, Float, OptionalTensorArgument, SymBoolArgument, SymFloatArgument, SymIntArgument,
    TensorArgument,
};
use crate::tensor::DType;

impl Decoder {
    /// The argument as the program's type. Values must have been defined in `scope`.
    pub(super) fn argument(&mut self, scope: &mut Scope, argument: Argument) -> Arg {
        match argument {
            Argument::None(_) => Arg::None,
            Argument::Tensor(tensor) => scope.value(tensor.name),
            Argument::Tensors(tensors) => tensor_list(scope, tensors),
            Argument::NestedTensors(lists) => {
                Arg::List(lists.into_iter().map(|list| tensor_list(scope, list)).collect())
            }
            Argument::OptionalTensor(tensor) => optional_tensor(scope, tensor),
            Argument::OptionalTensors(tensors) => list(tensors, |tensor| optional_tensor(scope, tensor)),
            Argument::CustomObj(object) => scope.value(object.name),
            Argument::Int(n) => Arg::Int(n),
            Argument::Ints(all) => list(all, Arg::Int),
            Argument::IntLists(lists) => list(lists, |all| list(all, Arg::Int)),
            Argument::Float(n) => Arg::Float(n.0),
            Argument::Floats(all) => list(all, |n| Arg::Float(n.0)),
            Argument::FloatLists(lists) => list(lists, |all| list(all, |n: Float| Arg::Float(n.0))),
            Argument::Bool(b) => Arg::Bool(b),
            Argument::Bools(all) => list(all, Arg::Bool),
            Argument::String(text) => Arg::Str(text.into()),
            Argument::Strings(all) => list(all, |text| Arg::Str(text.into())),
            Argument::Complex(n) => Arg::Complex(n.real.0, n.imag.0),
            Argument::SymInt(n) => sym_int(scope, n),
            Argument::SymInts(all) => list(all, |n| sym_int(scope, n)),
            Argument::SymFloat(n) => sym_float(scope, n),
            Argument::SymFloats(all) => list(all, |n| sym_float(scope, n)),
            Argument::SymBool(b) => sym_bool(scope, b),
            Argument::SymBools(all) => list(all, |b| sym_bool(scope, b)),
            Argument::ScalarType(code) => DType::from_pt2(code).map_or(Arg::UnknownDType(code), Arg::DType),
            Argument::MemoryFormat(code) => self.named("memory format", code, scope, memory_format),
            Argument::Layout(code) => self.named("layout", code, scope, layout),
            Argument::Device(device) => Arg::Device(match device.index {
                Some(index) => eco_format!("{}:{index}", device.r#type),
                None => device.r#type.into(),
            }),
            Argument::Operator(target) => Arg::Operator(self.names.get(&canonical_target(&target))),
            Argument::Graph(graph) => {
                let body = self.body(graph.graph);
                Arg::Graph(Box::new(Subgraph { name: graph.name.into(), body }))
            }
            Argument::StringToArgument(items) => {
                let item = |(key, item): (String, Argument)| (key.into(), self.argument(scope, item));
                Arg::Dict(items.into_iter().map(item).collect())
            }
        }
    }

    fn named(&mut self, what: &str, code: i64, scope: &Scope, name: impl Fn(i64) -> Option<Arg>) -> Arg {
        name(code).unwrap_or_else(|| {
            let message = format!("{what} {code} is not in the schema");
            self.error(Code::READ_SCHEMA, &message, scope.origin);
            Arg::None
        })
    }
}

fn list<T>(items: Vec<T>, item: impl FnMut(T) -> Arg) -> Arg {
    // `collect` would keep the allocation of the parsed text.
    let mut args = Vec::with_capacity(items.len());
    args.extend(items.into_iter().map(item));
    Arg::List(args)
}

fn tensor_list(scope: &mut Scope, tensors: Vec<TensorArgument>) -> Arg {
    list(tensors, |tensor| scope.value(tensor.name))
}

fn optional_tensor(scope: &mut Scope, tensor: OptionalTensorArgument) -> Arg {
    match tensor {
        OptionalTensorArgument::Tensor(tensor) => scope.value(tensor.name),
        OptionalTensorArgument::None(_) => Arg::None,
    }
}

fn sym_int(scope: &mut Scope, n: SymIntArgument) -> Arg {
    match n {
        SymIntArgument::Name(name) => scope.value(name),
        SymIntArgument::Int(n) => Arg::Int(n),
    }
}

fn sym_float(scope: &mut Scope, n: SymFloatArgument) -> Arg {
    match n {
        SymFloatArgument::Name(name) => scope.value(name),
        SymFloatArgument::Float(n) => Arg::Float(n.0),
    }
}

fn sym_bool(scope: &mut Scope, b: SymBoolArgument) -> Arg {
    match b {
        SymBoolArgument::Name(name) => scope.value(name),
        SymBoolArgument::Bool(b) => Arg::Bool(b),
    }
}

fn memory_format(code: i64) -> Option<Arg> {
    let name = match code {
        1 => "torch.contiguous_format",
        2 => "torch.channels_last",
        3 => "torch.channels_last_3d",
        4 => "torch.preserve_format",
        _ => return None,
    };
    Some(Arg::MemoryFormat(name.into()))
}

fn layout(code: i64) -> Option<Arg> {
    let name = match code {
        1 => "torch.sparse_coo",
        2 => "torch.sparse_csr",
        3 => "torch.sparse_csc",
        4 => "torch.sparse_bsr",
        5 => "torch.sparse_bsc",
        6 => "torch._mkldnn",
        7 => "torch.strided",
        _ => return None,
    };
    Some(Arg::Layout(name.into()))
}

/// The target as the rest of onnxport spells it: without `torch.ops.`.
pub(super) fn canonical_target(target: &str) -> String {
    let name = target.strip_prefix("torch.ops.").unwrap_or(target);
    // Some releases name the module in which the symbolic functions live.
    match name.strip_prefix("torch.fx.experimental.sym_node.") {
        Some(function) => format!("torch.{function}"),
        None => name.to_owned(),
    }
}
