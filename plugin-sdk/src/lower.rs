//! The context of a lowering: the call, and the model that grows.

use crate::lent::Lent;
use std::cell::RefCell;
use std::rc::Rc;

use onnxport_abi::{RSlice, RSliceMut, RStr};
use smallvec::SmallVec;

use crate::abi::lowering::{
    ABSENT, AttrRecord, CallView, Context, DataView, DimRecord, LoweringHost, NodeRecord, TypeRecord,
    arg_kind,
};
use crate::abi::status;
use crate::build::{Attr, Node};
use crate::{Arg, DType, Emit, Fact, FromArg, Literal, Refusal, Res, ResultFact, Scalar};

/// A value of the ONNX graph under construction.
///
/// Symbolic integers, floats and truth values of the program are i64, f64 and bool tensors of shape
/// `[1]`. Values take part in formulas, `(x - mean) * 2.0`, while their call is being lowered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Value(pub(crate) u32);

/// The call being lowered and the graph that it is lowered into.
///
/// The methods that emit are those of [`Emit`], which is in the prelude.
pub struct Lower<'h> {
    pub(crate) call: CallView<'h>,
    pub(crate) emission: Rc<Emission>,
    _running: Running,
}

/// Emits into the graph: the context of a lowering, and the operators on its values.
pub(crate) struct Emission {
    host: LoweringHost,
    cx: Context,
    /// Whether the first result of the call has no axes.
    scalar: bool,
    failure: RefCell<Option<Refusal>>,
}

thread_local! {
    /// The calls that are being lowered on this thread: lowering a nested graph begins others inside of one.
    static RUNNING: RefCell<Vec<Rc<Emission>>> = const { RefCell::new(Vec::new()) };
}

/// Ends the innermost call of this thread when it is dropped.
struct Running;

impl Drop for Running {
    fn drop(&mut self) {
        RUNNING.with_borrow_mut(Vec::pop);
    }
}

/// The target of operators on values.
///
/// # Panics
/// When no call is being lowered on this thread: a value does not outlive its call.
pub(crate) fn running() -> Rc<Emission> {
    let innermost = RUNNING.with_borrow(|calls| calls.last().cloned());
    innermost.expect("arithmetic on values is only possible while a call is lowered, on the lowering thread")
}

impl<'h> Lower<'h> {
    pub(crate) fn new(host: &'h LoweringHost, cx: Context) -> Option<Self> {
        let mut call = CallView {
            target: RStr::from_str(""),
            opset: 0,
            args: RSlice::EMPTY,
            elements: RSlice::EMPTY,
            results: RSlice::EMPTY,
        };
        if (host.call)(cx, &mut call) != status::OK {
            return None;
        }
        let scalar = call.results.lent().first().and_then(ResultFact::read).is_some_and(|r| r.rank() == 0);
        let failure = RefCell::new(None);
        Some(Self::running(call, Rc::new(Emission { host: *host, cx, scalar, failure })))
    }

    /// The same context with other arguments and results.
    pub(crate) fn with_call<'c>(&self, call: CallView<'c>) -> Lower<'c> {
        Lower::running(call, Rc::clone(&self.emission))
    }

    fn running(call: CallView<'h>, emission: Rc<Emission>) -> Self {
        RUNNING.with_borrow_mut(|calls| calls.push(Rc::clone(&emission)));
        Self { call, emission, _running: Running }
    }

    pub(crate) fn host(&self) -> &LoweringHost {
        &self.emission.host
    }

    pub(crate) fn cx(&self) -> Context {
        self.emission.cx
    }

    /// Takes the first recorded failure of emitting, if there was one.
    #[doc(hidden)]
    pub fn take_failure(&self) -> Option<Refusal> {
        self.emission.failure.borrow_mut().take()
    }

    /// The operator and overload: `aten.add.Tensor`.
    pub fn target(&self) -> &'h str {
        self.call.target.lent()
    }

    /// The overload: `Tensor`.
    pub fn overload(&self) -> &'h str {
        self.target().rsplit('.').next().unwrap_or_default()
    }

    /// The opset to emit.
    pub fn opset(&self) -> i64 {
        self.call.opset
    }

    /// The argument that the parameter `name` of a lowering means, converted to `T`.
    ///
    /// # Errors
    /// When it is missing, or is not a `T`.
    pub fn argument<T: FromArg<'h>>(&self, name: &str) -> Res<T> {
        let arg = self.lookup(name);
        T::from_arg(self, arg).map_err(|refusal| Refusal {
            message: format!("argument `{name}`: {}", refusal.message),
            ..refusal
        })
    }

    /// The argument called `name`, as the program and the schema's defaults state it.
    pub fn lookup(&self, name: &str) -> Arg<'h> {
        let args = self.call.args.lent();
        let named = args.iter().find(|a| a.name.lent() == name);
        let position = match name {
            "x" | "a" | "this" => Some(0),
            "y" | "b" => Some(1),
            _ => None,
        };
        match named.or_else(|| args.get(position?)) {
            Some(record) => Arg { record: Some(*record), elements: self.call.elements },
            None => Arg { record: None, elements: self.call.elements },
        }
    }

    /// The argument at `index`, for operators whose arguments have no names.
    ///
    /// # Errors
    /// When it is missing, or is not a `T`.
    pub fn positional<T: FromArg<'h>>(&self, index: usize) -> Res<T> {
        let record = self.call.args.lent().get(index).copied();
        let arg = Arg { record, elements: self.call.elements };
        T::from_arg(self, arg).map_err(|refusal| Refusal {
            message: format!("argument {index}: {}", refusal.message),
            ..refusal
        })
    }

    /// Every argument of the call with its name, in the order of the operator's schema; names are empty where
    /// the program states none.
    pub fn arguments(&self) -> impl Iterator<Item = (&'h str, Arg<'h>)> {
        let elements = self.call.elements;
        let records = self.call.args.lent().iter();
        records.map(move |record| (record.name.lent(), Arg { record: Some(*record), elements }))
    }

    /// The first argument, which axes refer to.
    pub(crate) fn first_argument(&self) -> Arg<'h> {
        Arg { record: self.call.args.lent().first().copied(), elements: self.call.elements }
    }

    pub(crate) fn records(dims: &[crate::Dim]) -> Vec<DimRecord> {
        dims.iter().map(|d| d.record()).collect()
    }
}

impl Emission {
    /// Hands `node` over as it crosses.
    pub(crate) fn lend<R>(&self, node: &Node<'_, Value>, take: impl FnOnce(&NodeRecord<'_>) -> R) -> R {
        let inputs: SmallVec<[u32; 4]> =
            node.inputs.iter().map(|value| value.map_or(ABSENT, |value| value.0)).collect();
        let parts: SmallVec<[_; 4]> = (node.attributes.iter())
            .map(|(_, attr)| match attr {
                Attr::Literal(data) => {
                    (attr.texts(), Some(self.constant(data.dtype, &data.shape, data.bytes())))
                }
                _ => (attr.texts(), None),
            })
            .collect();
        let attributes: SmallVec<[AttrRecord<'_>; 4]> = (node.attributes.iter().zip(&parts))
            .map(|((name, attr), (texts, constant))| attr.record(name, texts, *constant))
            .collect();
        take(&NodeRecord {
            domain: RStr::from_str(node.domain),
            version: node.version,
            op: RStr::from_str(node.op),
            inputs: RSlice::from_slice(&inputs),
            attributes: RSlice::from_slice(&attributes),
        })
    }
}

impl Emit for Emission {
    type Value = Value;

    fn fact(&self, value: Value) -> Fact {
        let mut record = TypeRecord { kind: arg_kind::NONE, dtype: 0, rank: -1, dims: RSlice::EMPTY };
        if (self.host.value_type)(self.cx, value.0, &mut record) != status::OK {
            return Fact { dtype: None, shape: None };
        }
        Fact::read(&record)
    }

    fn literal(&self, value: Value) -> Option<Literal> {
        let mut view = DataView { dtype: 0, dims: RSlice::EMPTY, bytes: RSlice::EMPTY };
        if (self.host.constant_data)(self.cx, value.0, &mut view) != status::OK {
            return None;
        }
        Literal::read(&view)
    }

    fn constant(&self, dtype: DType, shape: &[u64], bytes: &[u8]) -> Value {
        let mut out = 0;
        let (dims, bytes) = (RSlice::from_slice(shape), RSlice::from_slice(bytes));
        if (self.host.constant)(self.cx, dtype.onnx(), dims, bytes, &mut out) == status::OK {
            return Value(out);
        }
        self.fail("the host refused a constant".to_owned())
    }

    fn number(&self, number: &Scalar, dtype: DType) -> Value {
        match number {
            Scalar::Sym(value) if self.scalar => self.squeeze(self.cast(*value, dtype), &[0]),
            Scalar::Sym(value) => self.cast(*value, dtype),
            _ => self.filled(number, dtype, &[]),
        }
    }

    fn add_node(&self, node: &Node<'_, Value>, outputs: &mut [Value]) {
        let mut ids: SmallVec<[u32; 4]> = outputs.iter().map(|_| ABSENT).collect();
        let sink = RSliceMut::from_mut_slice(&mut ids);
        if self.lend(node, |record| (self.host.emit)(self.cx, record, sink)) != status::OK {
            let why = "one of its inputs or attributes is not valid there";
            self.fail(format!("the host refused a node `{}`: {why}", node.op));
        }
        outputs.iter_mut().zip(ids).for_each(|(output, id)| *output = Value(id));
    }

    fn nothing(&self) -> Value {
        Value(ABSENT)
    }

    fn fail(&self, message: String) -> Value {
        self.failure.borrow_mut().get_or_insert_with(|| Refusal::new(message));
        self.nothing()
    }
}

/// As the operators on its values.
impl Emit for Lower<'_> {
    type Value = Value;

    fn fact(&self, value: Value) -> Fact {
        self.emission.fact(value)
    }

    fn literal(&self, value: Value) -> Option<Literal> {
        self.emission.literal(value)
    }

    fn constant(&self, dtype: DType, shape: &[u64], bytes: &[u8]) -> Value {
        self.emission.constant(dtype, shape, bytes)
    }

    fn number(&self, number: &Scalar, dtype: DType) -> Value {
        self.emission.number(number, dtype)
    }

    fn add_node(&self, node: &Node<'_, Value>, outputs: &mut [Value]) {
        self.emission.add_node(node, outputs);
    }

    fn nothing(&self) -> Value {
        self.emission.nothing()
    }

    fn fail(&self, message: String) -> Value {
        self.emission.fail(message)
    }
}
