//! Converts a call, with its operator's schema, to the records that a plugin reads.

use onnxport_abi::lowering::{ABSENT, ArgRecord, DimRecord, TypeRecord, arg_kind, dim_kind};
use onnxport_abi::{RSlice, RStr};

use super::driver::{Bound, Driver, Scope, not_computed, results};
use super::frame::{Frame, Scratch, Told};
use crate::diagnose::{Code, Diagnostic, Origins};
use crate::program::{Arg, Body, Call, TensorType, ValueType};
use crate::registry::Schema;
use crate::sym::Dim;

/// `Err(None)`: the argument depends on a problem that was already reported.
type Bind<T> = Result<T, Option<Box<Diagnostic>>>;

pub(super) const EMPTY: RStr<'static> = RStr::from_str("");

/// A record of nothing, called `name`.
pub(super) fn blank(name: &str) -> ArgRecord<'_> {
    ArgRecord {
        name: RStr::from_str(name),
        text: EMPTY,
        int: 0,
        float: 0.0,
        imaginary: 0.0,
        value: ABSENT,
        first: 0,
        len: 0,
        kind: arg_kind::NONE,
    }
}

/// The record of a size.
pub(super) fn dim_record(dim: Option<Dim>) -> DimRecord {
    match dim {
        Some(Dim::Const(value)) => DimRecord { kind: dim_kind::CONST, expr: 0, value },
        Some(Dim::Expr(id)) => DimRecord { kind: dim_kind::EXPR, expr: id.raw(), value: 0 },
        None => DimRecord { kind: dim_kind::UNKNOWN, expr: 0, value: 0 },
    }
}

/// Returns the kind, the dtype and the sizes of a stated type.
pub(super) fn describe(ty: &ValueType) -> (u32, i32, Vec<DimRecord>) {
    match ty {
        ValueType::Tensor(ty) => {
            let dims = ty.shape.iter().map(|d| dim_record(Some(*d))).collect();
            (arg_kind::TENSOR, ty.dtype.onnx(), dims)
        }
        ValueType::SymInt(_) => (arg_kind::SYM_INT, 0, Vec::new()),
        ValueType::SymFloat => (arg_kind::SYM_FLOAT, 0, Vec::new()),
        ValueType::SymBool => (arg_kind::SYM_BOOL, 0, Vec::new()),
        ValueType::Token | ValueType::Custom(_) => (arg_kind::NONE, 0, Vec::new()),
    }
}

/// Whether the program states that the elements lie row-major in memory, without gaps. Before an axis of unknown size
/// there may be axes of size 1 only.
fn is_row_major(ty: &TensorType) -> bool {
    let mut step = Some(1i64);
    ty.strides.len() == ty.shape.len()
        && ty.shape.iter().zip(&ty.strides).rev().all(|(extent, stride)| {
            let extent = extent.as_const();
            let fits = extent == Some(1) || step.is_some() && stride.as_const() == step;
            step = step.zip(extent).map(|(step, extent)| step.saturating_mul(extent));
            fits
        })
}

/// A type record over `dims`, which must outlive it.
pub(super) fn type_record(kind: u32, dtype: i32, dims: &[DimRecord]) -> TypeRecord<'static> {
    // SAFETY: the record lives in the same frame as the dims, which are never changed after.
    let dims = unsafe { std::slice::from_raw_parts(dims.as_ptr(), dims.len()) };
    TypeRecord { kind, dtype, rank: dims.len() as i32, dims: RSlice::from_slice(dims) }
}

impl<'p> Driver<'p> {
    /// The frame of `call`, bound to its schema.
    pub(super) fn frame<'c>(&self, body: &'c Body, call: &'c Call, scope: &Scope) -> Bind<Frame<'c>>
    where
        'p: 'c,
    {
        let mut frame = Frame {
            thread: std::thread::current().id(),
            driver: std::ptr::null_mut(),
            target: &call.target,
            args: Vec::new(),
            elements: Vec::new(),
            dims: Vec::new(),
            results: Vec::new(),
            graphs: Vec::new(),
            told: Told::default(),
            scratch: Scratch::default(),
            answer: None,
            problem: None,
            refusal: None,
        };
        let cx = Binder { body, scope, call, origins: &self.model.origins };
        match self.host.schemas.get(&call.target) {
            Some(schema) => cx.by_schema(schema, &mut frame)?,
            None => cx.as_stated(&mut frame)?,
        }
        frame.told.args(&frame.args);
        frame.told.args(&frame.elements);
        for val in results(call) {
            let (kind, dtype, dims) =
                val.map_or((arg_kind::NONE, 0, Vec::new()), |val| describe(&body.values[val].ty));
            frame.results.push(type_record(kind, dtype, &dims));
            frame.dims.push(dims);
        }
        Ok(frame)
    }
}

struct Binder<'a, 'p> {
    body: &'p Body,
    scope: &'a Scope,
    call: &'p Call,
    origins: &'a Origins,
}

impl<'p> Binder<'_, 'p> {
    /// Returns an argument for each of the schema's: by name, by position if the program states no name,
    /// else the default.
    fn by_schema(&self, schema: &'p Schema, frame: &mut Frame<'p>) -> Bind<()> {
        if let Some(odd) = self.call.args.iter().find(|a| !a.name.is_empty() && schema.arg(&a.name).is_none())
        {
            return self.mismatch(format!("the schema has no argument `{}`", odd.name));
        }
        for (position, formal) in schema.args.iter().enumerate() {
            let unnamed = || self.call.args.get(position).filter(|a| a.name.is_empty()).map(|a| &a.arg);
            let stated = self.call.arg(&formal.name).or_else(unnamed).or(formal.default.as_ref());
            let Some(arg) = stated else {
                return self.mismatch(format!("the call lacks the argument `{}`", formal.name));
            };
            let record = self.record(&formal.name, arg, frame)?;
            frame.args.push(record);
        }
        Ok(())
    }

    fn as_stated(&self, frame: &mut Frame<'p>) -> Bind<()> {
        for stated in &self.call.args {
            let record = self.record(&stated.name, &stated.arg, frame)?;
            frame.args.push(record);
        }
        Ok(())
    }

    fn mismatch<T>(&self, message: String) -> Bind<T> {
        let message = format!("`{}` does not match its schema: {message}", self.call.target);
        let help =
            "the program was written by a PyTorch whose operators differ from those that onnxport knows";
        let mismatch = Diagnostic::error(Code::LOWER_ARGUMENT, message).at(self.call.origin).help(help);
        Err(Some(Box::new(mismatch)))
    }

    fn record(&self, name: &'p str, arg: &'p Arg, frame: &mut Frame<'p>) -> Bind<ArgRecord<'p>> {
        let mut record = blank(name);
        match arg {
            Arg::None => {}
            Arg::Value(val) => {
                let ty = &self.body.values[*val].ty;
                record.kind = describe(ty).0;
                record.int = ty.as_tensor().map_or(0, |t| i64::from(t.dtype.onnx()));
                record.len = u32::from(ty.as_tensor().is_some_and(is_row_major));
                match self.scope.get(*val) {
                    Some(Bound::Value(value)) => record.value = value.raw(),
                    Some(Bound::Absent(origin)) => {
                        return Err(Some(Box::new(not_computed(self.origins, origin))));
                    }
                    Some(Bound::Poisoned) | None if record.kind == arg_kind::NONE => {}
                    Some(Bound::Poisoned) => return Err(None),
                    None => {
                        let name = &self.body.values[*val].name;
                        let message =
                            format!("no call computes the argument `{name}` of `{}`", self.call.target);
                        let lost = Diagnostic::error(Code::LOWER_ARGUMENT, message).at(self.call.origin);
                        return Err(Some(Box::new(lost)));
                    }
                }
            }
            Arg::Int(n) => (record.kind, record.int) = (arg_kind::INT, *n),
            Arg::Float(x) => (record.kind, record.float) = (arg_kind::FLOAT, *x),
            Arg::Bool(b) => (record.kind, record.int) = (arg_kind::BOOL, i64::from(*b)),
            Arg::Complex(re, im) => {
                (record.kind, record.float, record.imaginary) = (arg_kind::COMPLEX, *re, *im);
            }
            Arg::DType(dtype) => (record.kind, record.int) = (arg_kind::DTYPE, i64::from(dtype.onnx())),
            Arg::Str(text) => (record.kind, record.text) = (arg_kind::STR, RStr::from_str(text)),
            Arg::Device(text) => (record.kind, record.text) = (arg_kind::DEVICE, RStr::from_str(text)),
            Arg::Layout(text) => (record.kind, record.text) = (arg_kind::LAYOUT, RStr::from_str(text)),
            Arg::MemoryFormat(text) => {
                (record.kind, record.text) = (arg_kind::MEMORY_FORMAT, RStr::from_str(text));
            }
            Arg::Operator(text) => (record.kind, record.text) = (arg_kind::OPERATOR, RStr::from_str(text)),
            Arg::List(items) => {
                record.kind = arg_kind::LIST;
                self.elements(items.iter().map(|item| ("", item)), &mut record, frame)?;
            }
            Arg::Dict(items) => {
                record.kind = arg_kind::DICT;
                self.elements(items.iter().map(|(key, item)| (key.as_str(), item)), &mut record, frame)?;
            }
            Arg::Graph(graph) => {
                (record.kind, record.value) = (arg_kind::GRAPH, frame.graphs.len() as u32);
                frame.graphs.push(graph);
            }
            Arg::UnknownDType(code) => {
                let message = format!("`{}` has an element type that ONNX lacks ({code})", self.call.target);
                let diagnostic = Diagnostic::error(Code::LOWER_DTYPE, message).at(self.call.origin);
                return Err(Some(Box::new(diagnostic)));
            }
        }
        Ok(record)
    }

    /// Records the elements of a list next to each other.
    fn elements<'i>(
        &self,
        items: impl ExactSizeIterator<Item = (&'p str, &'p Arg)>,
        list: &mut ArgRecord<'i>,
        frame: &mut Frame<'p>,
    ) -> Bind<()> {
        let first = frame.elements.len();
        (list.first, list.len) = (first as u32, items.len() as u32);
        frame.elements.resize(first + items.len(), blank(""));
        for (offset, (name, item)) in items.enumerate() {
            let record = self.record(name, item, frame)?;
            if let Some(place) = frame.elements.get_mut(first + offset) {
                *place = record;
            }
        }
        Ok(())
    }
}
