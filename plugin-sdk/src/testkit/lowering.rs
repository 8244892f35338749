//! `lowering/1`: the host's functions over a graph that a test can look at.

mod callbacks;

use crate::lent::Lent;
use onnxport_abi::RStr;
use onnxport_abi::lowering::{
    ABSENT, ArgRecord, Context, DimRecord, LoweringEntry, TypeRecord, arg_kind, entry_flags,
};
use onnxport_schema::SchemaType;

pub(super) use callbacks::host_table;

use super::call::{Argument, BoundArgument, Call};
use super::eval::Lowered;
use super::graph::{Block, Graph, Node, ValueInfo};
use super::sym::Symbols;
use super::types::Type;
use super::{Failure, Tensor, infer};
use crate::abi::status;
use crate::{DType, Dim, Refusal};
pub(super) use callbacks::lend;

/// An input of the call.
#[derive(Clone, Debug)]
pub(super) struct Input {
    pub(super) value: usize,
    pub(super) dims: Vec<Dim>,
    /// The elements that the test gave.
    pub(super) tensor: Option<Tensor>,
}

/// A local function whose body is emitted.
struct Open {
    /// The block of the call.
    outer: usize,
    /// The first value that the body may use.
    first: usize,
    /// The call, without its outputs.
    call: Node,
}

/// Everything behind the context of a call.
struct Frame<'p> {
    target: &'p str,
    opset: i64,
    symbols: Symbols,
    graph: Graph,
    block: usize,
    /// The local functions that are emitted, the innermost last.
    functions: Vec<Open>,
    /// The values of bodies that ended.
    closed: Vec<std::ops::Range<usize>>,
    inputs: Vec<Input>,
    args: Vec<ArgRecord<'p>>,
    elements: Vec<ArgRecord<'p>>,
    results: Vec<TypeRecord<'static>>,
    result_dims: Vec<Vec<DimRecord>>,
    // What the last answer refers to.
    dims: Vec<DimRecord>,
    extents: Vec<u64>,
    bytes: Vec<u8>,
    answer: Option<Vec<Option<usize>>>,
    refusal: Option<Refusal>,
}

/// Lowers `call` with these arguments; the program states `results`.
pub(super) fn run(call: Call, args: &[BoundArgument], results: Vec<Type>) -> Result<Lowered, Failure> {
    let Call { plugin, target, opset, symbols, .. } = call;
    let mut frame = Frame {
        target: &target,
        opset,
        symbols,
        graph: Graph { blocks: vec![Block::default()], ..Graph::default() },
        block: 0,
        functions: Vec::new(),
        closed: Vec::new(),
        inputs: Vec::new(),
        args: Vec::new(),
        elements: Vec::new(),
        results: Vec::new(),
        result_dims: Vec::new(),
        dims: Vec::new(),
        extents: Vec::new(),
        bytes: Vec::new(),
        answer: None,
        refusal: None,
    };
    let mut complex = false;
    for bound in args {
        let record = frame.record(&bound.name, &bound.name, &bound.argument, bound.ty.as_ref());
        let record = record.map_err(Failure::Setup)?;
        frame.args.push(record);
    }
    for record in frame.args.iter().chain(&frame.elements) {
        let dtype = DType::from_onnx(record.int as i32).filter(|_| record.kind == arg_kind::TENSOR);
        complex |= dtype.is_some_and(DType::is_complex);
    }
    for ty in &results {
        let (dtype, dims) = match ty {
            Type::Tensor(dtype, dims) => (dtype.onnx(), dims.iter().map(|d| d.record()).collect()),
            _ => (0, Vec::new()),
        };
        complex |= DType::from_onnx(dtype).is_some_and(DType::is_complex);
        frame.result_dims.push(dims);
        let dims = lend(frame.result_dims.last().map_or(&[][..], Vec::as_slice));
        frame.results.push(TypeRecord { kind: ty.kind(), dtype, rank: dims.len() as i32, dims });
    }
    let table = plugin.lowering.ok_or_else(|| Failure::Setup("the plugin has no lowerings".to_owned()))?;
    let index = choose(table.entries.lent(), &target, opset, complex).map_err(Failure::Setup)?;
    let cx = Context(std::ptr::from_mut(&mut frame).cast());
    let status = (table.lower)(index, &host_table(), cx);
    let said = || Failure::Contract(format!("it lowered `{target}` with the status {status}"));
    let refusal = frame.refusal.take();
    match (status, frame.answer.take(), refusal) {
        (status::OK, Some(answer), _) => {
            frame.agree(&answer, &results).map_err(Failure::Contradiction)?;
            let Frame { symbols, graph, inputs, .. } = frame;
            Ok(Lowered { graph, results: answer, opset, symbols, inputs })
        }
        (status::OK, None, _) => Err(Failure::Contract("it set no results".to_owned())),
        (status::REFUSED, _, Some(refusal)) => Err(Failure::Refused(refusal)),
        (status::PANICKED, _, Some(refusal)) => Err(Failure::Panicked(refusal.message)),
        _ => Err(said()),
    }
}

/// The entry that a host uses: of this opset and kind of number, the highest priority.
fn choose(entries: &[LoweringEntry], target: &str, opset: i64, complex: bool) -> Result<u32, String> {
    let takes = |e: &LoweringEntry| e.flags & entry_flags::COMPLEX != 0;
    let in_range = |e: &LoweringEntry| (i64::from(e.min_opset)..=i64::from(e.max_opset)).contains(&opset);
    let fitting = entries.iter().enumerate().filter(|(_, e)| e.target.lent() == target);
    let fitting = fitting.filter(|(_, e)| in_range(e) && (takes(e) || !complex));
    let best = fitting.min_by_key(|(_, e)| (takes(e) != complex, std::cmp::Reverse(e.priority)));
    best.map(|(index, _)| index as u32).ok_or_else(|| {
        let kind = if complex { " for complex tensors" } else { "" };
        format!("the plugin has no lowering of `{target}` at opset {opset}{kind}")
    })
}

impl<'p> Frame<'p> {
    /// The record of an argument; tensors become inputs or constants called `value_name`.
    fn record(
        &mut self,
        name: &'p str,
        value_name: &str,
        argument: &'p Argument,
        ty: Option<&SchemaType>,
    ) -> Result<ArgRecord<'p>, String> {
        let mut record = ArgRecord {
            name: RStr::from_str(name),
            text: RStr::from_str(""),
            int: 0,
            float: 0.0,
            imaginary: 0.0,
            value: ABSENT,
            first: 0,
            len: 0,
            kind: arg_kind::NONE,
        };
        match argument {
            Argument::None => {}
            Argument::Int(n) => (record.kind, record.int) = (arg_kind::INT, *n),
            Argument::Float(x) => (record.kind, record.float) = (arg_kind::FLOAT, *x),
            Argument::Bool(b) => (record.kind, record.int) = (arg_kind::BOOL, i64::from(*b)),
            Argument::Complex(re, im) => {
                (record.kind, record.float, record.imaginary) = (arg_kind::COMPLEX, *re, *im);
            }
            Argument::DType(dtype) => {
                (record.kind, record.int) = (arg_kind::DTYPE, i64::from(dtype.onnx()));
            }
            Argument::Str(text) => {
                record.text = RStr::from_str(text);
                record.kind = match inner(ty) {
                    Some(SchemaType::Device) => arg_kind::DEVICE,
                    Some(SchemaType::Layout) => arg_kind::LAYOUT,
                    Some(SchemaType::MemoryFormat) => arg_kind::MEMORY_FORMAT,
                    _ => arg_kind::STR,
                };
            }
            Argument::List(items) => {
                let element = match inner(ty) {
                    Some(SchemaType::List(element, _)) => Some(element.as_ref()),
                    _ => None,
                };
                let mut records = Vec::new();
                for (index, item) in items.iter().enumerate() {
                    let value_name = format!("{value_name}_{index}");
                    records.push(self.record("", &value_name, item, element)?);
                }
                record.kind = arg_kind::LIST;
                (record.first, record.len) = (self.elements.len() as u32, items.len() as u32);
                self.elements.extend(records);
            }
            Argument::Input(text) => {
                let ty = Type::parse(text, &mut self.symbols)?;
                self.input(&mut record, value_name, &ty, None)?;
            }
            Argument::Tensor(tensor) => {
                let dims = tensor.shape().iter().map(|n| Dim::Const(*n as i64)).collect();
                let ty = Type::Tensor(tensor.dtype(), dims);
                self.input(&mut record, value_name, &ty, Some(tensor))?;
            }
            Argument::Constant(tensor) => {
                record.kind = arg_kind::TENSOR;
                record.int = i64::from(tensor.dtype().onnx());
                record.len = 1;
                record.value = self.constant(tensor.clone()) as u32;
            }
        }
        Ok(record)
    }

    fn input(
        &mut self,
        record: &mut ArgRecord<'p>,
        name: &str,
        ty: &Type,
        tensor: Option<&Tensor>,
    ) -> Result<(), String> {
        let (dtype, dims) = ty.real().ok_or_else(|| format!("`{name}` cannot be an input of no type"))?;
        record.kind = ty.kind();
        if let Type::Tensor(stated, dims) = ty {
            record.int = i64::from(stated.onnx());
            record.len = u32::from(dims.iter().all(|d| d.as_const().is_some()));
        }
        let contents = if let Type::SymInt(dim) = ty { Some(vec![*dim]) } else { None };
        let value = self.graph.add(ValueInfo {
            name: Some(name.to_owned()),
            dtype: Some(dtype),
            shape: Some(dims.clone()),
            contents,
            ..ValueInfo::default()
        });
        record.value = value as u32;
        self.inputs.push(Input { value, dims, tensor: tensor.cloned() });
        Ok(())
    }

    /// A constant; an equal one is the same value.
    fn constant(&mut self, tensor: Tensor) -> usize {
        let equal = |index: &usize| self.graph.values[*index].constant.as_ref() == Some(&tensor);
        let found =
            (0..self.graph.values.len()).find(|index| equal(index) && self.value(*index as u32).is_some());
        found.unwrap_or_else(|| {
            let shape = tensor.shape().iter().map(|n| Dim::Const(*n as i64)).collect();
            self.graph.add(ValueInfo {
                dtype: Some(tensor.dtype()),
                shape: Some(shape),
                constant: Some(tensor),
                ..ValueInfo::default()
            })
        })
    }

    fn value(&self, raw: u32) -> Option<usize> {
        let first = self.functions.last().map_or(0, |open| open.first);
        let visible = |index: &usize| !self.closed.iter().any(|body| body.contains(index));
        Some(raw as usize).filter(|index| (first..self.graph.values.len()).contains(index)).filter(visible)
    }

    /// Values, some of them absent; `None` when one does not exist.
    fn optional(&self, ids: &[u32]) -> Option<Vec<Option<usize>>> {
        ids.iter().map(|raw| if *raw == ABSENT { Some(None) } else { self.value(*raw).map(Some) }).collect()
    }

    fn dim(&self, record: DimRecord) -> Option<Dim> {
        Some(Dim::from_record(record)).filter(|dim| *dim != Dim::Unknown && self.symbols.knows(*dim))
    }

    fn push(&mut self, node: Node) {
        infer::infer(&mut self.symbols, &mut self.graph, &node);
        self.graph.blocks[self.block].nodes.push(node);
    }

    /// What is known about the results must agree with what the program states.
    fn agree(&self, answer: &[Option<usize>], stated: &[Type]) -> Result<(), String> {
        for (index, (value, ty)) in answer.iter().zip(stated).enumerate() {
            let (Some(value), Some((dtype, dims))) = (value, ty.real()) else { continue };
            let found = &self.graph.values[*value];
            if let Some(other) = found.dtype.filter(|d| *d != dtype) {
                return Err(format!("result {index} is {other} where the program states {dtype}"));
            }
            let Some(shape) = &found.shape else { continue };
            let differs = shape
                .iter()
                .zip(&dims)
                .any(|(a, b)| matches!((a, b), (Dim::Const(a), Dim::Const(b)) if a != b));
            if shape.len() != dims.len() || differs {
                let (found, stated) = (self.symbols.list(shape), self.symbols.list(&dims));
                return Err(format!("result {index} is [{found}] where the program states [{stated}]"));
            }
        }
        Ok(())
    }
}

/// The type without `?`.
fn inner(ty: Option<&SchemaType>) -> Option<&SchemaType> {
    match ty {
        Some(SchemaType::Optional(inner)) => Some(inner),
        other => other,
    }
}
