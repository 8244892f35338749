//! A model that was read, and its runs on a device.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use bytes::Bytes;
use onnxport_ir::ir::{Model, ValueId};
use onnxport_ir::ops::{Error, Fault, Tensor, Value};
use onnxport_sdk::Lent;
use onnxport_sdk::abi::DType;
use onnxport_sdk::abi::executor::TensorView;
use onnxport_sdk::executor::{Failure, Measured, Outputs, Session};
use rustc_hash::{FxHashMap, FxHashSet};

use super::engine::Engine;
use super::frame::run;
use super::measure::{Expected, Measurement, Meter};
use super::rehearsal::rehearse;
use super::report::Report;
use super::value::Held;
use crate::device::lost;

/// A model and the results of its runs.
pub(crate) struct Loaded {
    model: Model,
    engine: Engine,
    /// The values inside of the graph that are handed over after its outputs.
    further: Vec<(String, ValueId)>,
    report: Rc<RefCell<Report>>,
}

impl Loaded {
    pub(crate) fn new(
        model: Model,
        engine: Engine,
        values: &[&str],
        report: Rc<RefCell<Report>>,
    ) -> Result<Self, Failure> {
        let graph = &model.graph;
        let inside = graph.order(graph.main()).flat_map(|node| graph.nodes[node].outputs.iter().flatten());
        let places: BTreeMap<&str, ValueId> =
            inside.filter_map(|value| Some((name(&model, *value)?, *value))).collect();
        let place = |wanted: &&str| match places.get(wanted) {
            Some(value) => Ok(((*wanted).to_owned(), *value)),
            None => Err(Failure::new(format!("no node of the model's graph computes `{wanted}`"))),
        };
        let further = values.iter().map(place).collect::<Result<_, _>>()?;
        Ok(Self { model, engine, further, report })
    }

    /// The value of each input of the graph, `None` for one that has a default and is not given.
    fn inputs(&self, given: Vec<(String, Tensor)>) -> Result<Vec<Option<Value>>, Failure> {
        let graph = &self.model.graph;
        let ids = &graph.blocks[graph.main()].inputs;
        let mut values: Vec<Option<Value>> = vec![None; ids.len()];
        for (wanted, tensor) in given {
            let at = ids.iter().position(|id| name(&self.model, *id) == Some(&wanted));
            let Some(slot) = at.and_then(|at| values.get_mut(at)) else {
                return Err(Failure::new(format!("the model has no input `{wanted}`")));
            };
            *slot = Some(tensor.into());
        }
        for (id, value) in ids.iter().zip(&values) {
            if value.is_none() && !graph.defaults.iter().any(|default| default.value == *id) {
                let name = name(&self.model, *id).unwrap_or("");
                return Err(Failure::new(format!("the input `{name}` is not given")));
            }
        }
        Ok(values)
    }

    /// Runs the model: its outputs, then the further values, by name, except those that `meter` takes.
    ///
    /// # Errors
    /// Why it was not run. After a device has failed for good that is the reason, whatever was noticed of it.
    pub(crate) fn results(
        &mut self,
        given: Vec<(String, Tensor)>,
        meter: &mut Meter<'_>,
    ) -> Result<Vec<(String, Value)>, Failure> {
        let results = self.attempt(given, meter);
        results.map_err(|failure| self.engine.lost().map_or(failure, |why| lost(&why)))
    }

    fn attempt(
        &mut self,
        given: Vec<(String, Tensor)>,
        meter: &mut Meter<'_>,
    ) -> Result<Vec<(String, Value)>, Failure> {
        let inputs = self.inputs(given)?;
        self.engine.begin();
        let seen: FxHashSet<ValueId> = self.further.iter().map(|(_, value)| *value).collect();
        let rehearsed = rehearse(&self.model, &inputs, &seen, self.engine.limits);
        self.engine.prepare(rehearsed).map_err(failure)?;
        let inputs = inputs.into_iter().map(|value| value.map(|value| Held::of_host(value, false))).collect();
        // The further values that are handed over.
        let mut tapped: BTreeMap<ValueId, Option<Value>> = BTreeMap::new();
        let further = &self.further;
        let mut see = |engine: &mut Engine, value: ValueId, held: &Held| {
            let name = further.iter().find(|(_, wanted)| *wanted == value).map_or("", |(name, _)| name);
            let is_told = meter.takes(engine, name, held)?;
            tapped.insert(value, if is_told { None } else { Some(engine.on_host(held)?) });
            Ok(())
        };
        let outcome = run(&mut self.engine, &self.model, inputs, &seen, &mut see);
        let mut out = Vec::new();
        let graph = &self.model.graph;
        let ids = graph.blocks[graph.main()].outputs();
        for (at, (id, held)) in ids.iter().zip(outcome.map_err(failure)?).enumerate() {
            let stated = self.model.output_names.get(at).map(String::as_str);
            let name = stated.or_else(|| name(&self.model, *id)).unwrap_or("");
            if !meter.takes(&mut self.engine, name, &held).map_err(failure)? {
                out.push((name.to_owned(), self.engine.on_host(&held).map_err(failure)?));
            }
        }
        for (name, value) in &self.further {
            let found = tapped.remove(value);
            let found = found.ok_or_else(|| Failure::new(format!("`{name}` was not computed")))?;
            out.extend(found.map(|found| (name.clone(), found)));
        }
        self.report.borrow_mut().add(&self.engine);
        Ok(out)
    }

    fn hand_over(
        &mut self,
        inputs: &[TensorView<'_>],
        meter: &mut Meter<'_>,
        outputs: &mut Outputs<'_>,
    ) -> Result<(), Failure> {
        let given = inputs.iter().map(|view| Ok((view.name.lent().to_owned(), tensor(view)?)));
        let given = given.collect::<Result<Vec<_>, Failure>>()?;
        for (name, value) in self.results(given, meter)? {
            push(&name, &value, outputs)?;
        }
        Ok(())
    }
}

impl Session for Loaded {
    fn run(&mut self, inputs: &[TensorView<'_>], outputs: &mut Outputs<'_>) -> Result<(), Failure> {
        let mut meter = Meter { expected: FxHashMap::default(), tell: &mut |_, _| {} };
        self.hand_over(inputs, &mut meter, outputs)
    }

    fn measure(
        &mut self,
        inputs: &[TensorView<'_>],
        expected: &[TensorView<'_>],
        measured: &mut Measured<'_>,
        outputs: &mut Outputs<'_>,
    ) -> Result<(), Failure> {
        let expected =
            expected.iter().filter_map(|view| Some((view.name.lent(), Expected::from_view(view)?)));
        let mut tell = |name: &str, found: &Measurement| {
            measured.push(name, &found.metrics, &found.spread, &found.first);
        };
        let mut meter = Meter { expected: expected.collect(), tell: &mut tell };
        self.hand_over(inputs, &mut meter, outputs)
    }
}

fn name(model: &Model, value: ValueId) -> Option<&str> {
    model.graph.values[value].name.as_deref()
}

impl<'a> Expected<'a> {
    /// Reads a record; `None` for an unknown type, or a size below zero.
    fn from_view(view: &TensorView<'a>) -> Option<Self> {
        let shape = view.dims.lent().iter().map(|d| usize::try_from(*d).ok()).collect::<Option<_>>()?;
        Some(Self { dtype: DType::from_onnx(view.dtype)?, shape, bytes: view.bytes.lent() })
    }
}

fn tensor(view: &TensorView<'_>) -> Result<Tensor, Failure> {
    let name = view.name.lent();
    let dtype = DType::from_onnx(view.dtype)
        .ok_or_else(|| Failure::new(format!("input {name}: unknown element type {}", view.dtype)))?;
    let shape: Option<Vec<usize>> = view.dims.lent().iter().map(|d| usize::try_from(*d).ok()).collect();
    let shape = shape.ok_or_else(|| Failure::new(format!("input {name}: a size below zero")))?;
    let bytes = Bytes::copy_from_slice(view.bytes.lent());
    Tensor::packed(dtype, shape, bytes).map_err(|e| Failure::new(format!("input {name}: {e}")))
}

fn push(name: &str, value: &Value, outputs: &mut Outputs<'_>) -> Result<(), Failure> {
    let Some(tensor) = value.tensor() else {
        return Err(
            Failure::new(format!("output {name} is {}, not a tensor", value.describe())).unsupported()
        );
    };
    let bytes = tensor.to_packed().map_err(|_| {
        Failure::new(format!("output {name}: string tensors are not supported")).unsupported()
    })?;
    let dims: Vec<i64> = tensor.shape().iter().map(|d| *d as i64).collect();
    outputs.push(name, tensor.dtype().onnx(), &dims, &bytes);
    Ok(())
}

/// The reason why a run stopped. That the device or the evaluator falls short says nothing about the model.
pub(crate) fn failure(error: Error) -> Failure {
    let failure = Failure::new(format!("the model was not run: {}", error.message));
    match error.fault {
        Fault::Invalid => failure,
        Fault::Unsupported => failure.unsupported().help("another executor may have it: --executor ort"),
        Fault::Memory => failure.unsupported().help("give it more with --executor-option memory=BYTES"),
        Fault::Steps | Fault::Time => failure.unsupported(),
    }
}
