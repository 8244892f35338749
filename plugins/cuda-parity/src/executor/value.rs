//! Values while a graph runs: on the host, on the device, or not computed yet.

use std::cell::RefCell;
use std::rc::Rc;

use onnxport_ir::ir::{Shape, Type};
use onnxport_ir::ops::Value;
use onnxport_ir::sym::Dim;

use super::arena::Memory;
use super::ops::Operand;
use super::ops::chain::Chain;
use onnxport_ir::tensor::{DType, LazyTensor};

/// A dense tensor on the device.
#[derive(Clone, Debug)]
pub(crate) struct Array {
    pub(crate) dtype: DType,
    pub(crate) shape: Vec<usize>,
    pub(crate) memory: Rc<Memory>,
}

/// A chain that waits for who reads it.
#[derive(Clone, Debug)]
pub(crate) struct Pending {
    pub(crate) chain: Chain,
    pub(crate) leaves: Vec<Array>,
}

#[derive(Debug, Default)]
struct State {
    host: Option<Value>,
    array: Option<Array>,
    pending: Option<Rc<Pending>>,
    /// A weight that was not read yet.
    weight: Option<LazyTensor>,
}

/// A value; copies are the same value, and know together where it is.
#[derive(Clone, Debug)]
pub(crate) struct Held {
    state: Rc<RefCell<State>>,
    /// Whether it is on the host by its nature: a constant, a size, or made of such.
    pub(crate) small: bool,
}

impl Held {
    fn new(state: State, small: bool) -> Self {
        Self { state: Rc::new(RefCell::new(state)), small }
    }

    /// A value of the host.
    pub(crate) fn of_host(value: Value, small: bool) -> Self {
        Self::new(State { host: Some(value), ..State::default() }, small)
    }

    /// A weight of whole bytes, which stays where it is until somebody reads it.
    pub(crate) fn of_weight(data: LazyTensor) -> Self {
        Self::new(State { weight: Some(data), ..State::default() }, true)
    }

    /// The weight, where it was not read yet.
    pub(crate) fn weight(&self) -> Option<LazyTensor> {
        self.state.borrow().weight.clone()
    }

    /// A tensor of the device.
    pub(crate) fn of_array(array: Array) -> Self {
        Self::new(State { array: Some(array), ..State::default() }, false)
    }

    /// A chain.
    pub(crate) fn of_chain(pending: Pending) -> Self {
        Self::new(State { pending: Some(Rc::new(pending)), ..State::default() }, false)
    }

    /// The value, where it is on the host.
    pub(crate) fn host(&self) -> Option<Value> {
        self.state.borrow().host.clone()
    }

    /// The tensor, where it is on the device.
    pub(crate) fn array(&self) -> Option<Array> {
        self.state.borrow().array.clone()
    }

    /// The chain, where it is not computed.
    pub(crate) fn pending(&self) -> Option<Rc<Pending>> {
        let state = self.state.borrow();
        if state.array.is_some() { None } else { state.pending.clone() }
    }

    /// Notes that it is on the host as well.
    pub(crate) fn keep_host(&self, value: Value) {
        self.state.borrow_mut().host = Some(value);
    }

    /// Notes that it is on the device now; a chain releases its inputs.
    pub(crate) fn keep_array(&self, array: Array) {
        let mut state = self.state.borrow_mut();
        (state.array, state.pending) = (Some(array), None);
    }

    /// Its type, as far as it is known.
    pub(crate) fn ty(&self) -> Type {
        match (self.operand(), self.host()) {
            (Some(x), _) => Type::tensor(x.dtype, Shape::of(x.shape.iter().map(|d| Dim::Const(*d as i64)))),
            (None, Some(value)) => value.ty(),
            (None, None) => Type::Unknown,
        }
    }

    /// Element type and shape, if it is a tensor.
    pub(crate) fn operand(&self) -> Option<Operand> {
        let state = self.state.borrow();
        if let Some(array) = &state.array {
            return Some(Operand { dtype: array.dtype, shape: array.shape.clone() });
        }
        if let Some(pending) = &state.pending {
            return Some(Operand { dtype: pending.chain.dtype()?, shape: pending.chain.shape.clone() });
        }
        if let Some(data) = &state.weight {
            let shape: Option<Vec<usize>> = data.shape.iter().map(|n| usize::try_from(*n).ok()).collect();
            return Some(Operand { dtype: data.dtype, shape: shape? });
        }
        let tensor = state.host.as_ref()?.tensor()?;
        Some(Operand { dtype: tensor.dtype(), shape: tensor.shape().to_vec() })
    }
}
