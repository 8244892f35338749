//! The host's side of `weights/1`: tensors that plugins provide, and their transforms.

use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use onnxport_abi::executor::{Sink, TensorView};
use onnxport_abi::status;
use onnxport_abi::weights::{
    QuantiserEntry, TensorEntry, TransformEntry, WeightRecord, WeightsTable, granule,
};
use onnxport_abi::{RSlice, RSliceMut, RStr};

use super::{WeightSet, into_result};
use crate::diagnose::{Code, Diagnostic, Report};
use crate::host::Validated;
use crate::host::{Host, Plugin, Run, Site, WeightsPlugin, cross};
use crate::tensor::data::count;
use crate::tensor::transform::{Foreign, Kernel};
use crate::tensor::{DType, Error, Granule, LazyTensor, MAX_RANK, Produce, Producer, Source};

/// The table of a plugin, and its name.
#[derive(Clone)]
pub(super) struct Table {
    pub(super) plugin: &'static str,
    pub(super) table: WeightsTable,
    pub(super) quantisers: &'static [QuantiserEntry],
    panicked: Arc<AtomicBool>,
    /// The run that the calls count for, on any thread of a pool.
    run: Run,
}

impl Table {
    pub(super) fn for_plugin(host: &Host, id: &str) -> Result<Self, Diagnostic> {
        let has = |plugin: &&Plugin| plugin.weights.is_some();
        let found = host.plugins.iter().filter(has).find(|plugin| plugin.id == id);
        let Some((plugin, WeightsPlugin { table, quantisers, panicked })) =
            found.and_then(|plugin| Some((plugin.id, plugin.weights.clone()?)))
        else {
            let known: Vec<&str> = host.plugins.iter().filter(has).map(|plugin| plugin.id).collect();
            let message = format!("no plugin `{id}` provides weights");
            let help = if known.is_empty() {
                "add it with --plugin".to_owned()
            } else {
                format!("there are {}", known.join(", "))
            };
            return Err(Diagnostic::error(Code::WEIGHT_SCHEME, message).help(help));
        };
        Ok(Self { plugin, table, quantisers, panicked, run: Run::current() })
    }

    /// Returns the error that the plugin has no `kind` of this name; it has `known`.
    pub(super) fn lacks(&self, kind: &str, name: &str, known: &[&str]) -> Diagnostic {
        let message = format!("plugin `{}` has no {kind} `{name}`", self.plugin);
        let help = if known.is_empty() {
            format!("it has no {kind} at all")
        } else {
            format!("it has {}", known.join(", "))
        };
        Diagnostic::error(Code::WEIGHT_SCHEME, message).help(help)
    }

    /// Makes one call into the plugin; a tensor that it hands to the sink goes to `take`.
    pub(super) fn call(
        &self,
        (task, subject): (&'static str, &'static str),
        take: &mut (dyn FnMut(&TensorView<'_>) + '_),
        call: impl FnOnce(&Sink) -> u32,
    ) -> Result<(), Diagnostic> {
        let fail = |code, message: String| {
            let mut problem = Diagnostic::error(code, message);
            problem.provider = Some(self.plugin.to_owned());
            problem
        };
        if self.panicked.load(Ordering::Relaxed) {
            return Err(fail(
                Code::PLUGIN_PANIC,
                format!("plugin `{}` was set aside after its panic", self.plugin),
            ));
        }
        let mut answer = Answer { take, error: None };
        let receiver = std::ptr::from_mut(&mut answer).cast::<c_void>();
        let sink = Sink { receiver, tensor: on_tensor, text: on_text, error: on_error };
        self.run.join();
        let outcome = cross(Site { plugin: self.plugin, task, subject }, || call(&sink));
        let (message, help) = answer.error.take().unwrap_or_default();
        let mut problem = match outcome {
            status::OK => return Ok(()),
            status::REFUSED => fail(Code::WEIGHT_PLUGIN, format!("plugin `{}`: {message}", self.plugin)),
            status::PANICKED => {
                self.panicked.store(true, Ordering::Relaxed);
                fail(Code::PLUGIN_PANIC, format!("plugin `{}` panicked: {message}", self.plugin))
            }
            other => {
                fail(Code::PLUGIN_CONTRACT, format!("plugin `{}` answered with status {other}", self.plugin))
            }
        };
        problem.help = (!help.is_empty()).then_some(help);
        Err(problem)
    }
}

/// The answer of a call.
struct Answer<'a> {
    take: &'a mut (dyn FnMut(&TensorView<'_>) + 'a),
    error: Option<(String, String)>,
}

extern "C" fn on_tensor(receiver: *mut c_void, view: &TensorView<'_>) {
    // SAFETY: the sink is alive during the call only, which holds the answer exclusively; plugins call
    // back on the thread of the call.
    let answer = unsafe { &mut *receiver.cast::<Answer<'_>>() };
    (answer.take)(view);
}

extern "C" fn on_text(_: *mut c_void, _: RStr<'_>) {}

extern "C" fn on_error(receiver: *mut c_void, message: RStr<'_>, help: RStr<'_>) {
    // SAFETY: as in `on_tensor`.
    let answer = unsafe { &mut *receiver.cast::<Answer<'_>>() };
    answer.error = Some((message.message().into_owned(), help.message().into_owned()));
}

pub(super) fn plugin_error(problem: Diagnostic) -> Error {
    Error::Plugin(Box::new(problem))
}

/// A tensor that a plugin provides.
struct PluginTensor {
    table: Table,
    index: u32,
    name: &'static str,
    len: u64,
}

impl Produce for PluginTensor {
    fn len(&self) -> u64 {
        self.len
    }

    fn fill(&self, offset: u64, out: &mut [u8]) -> Result<(), Error> {
        let fill =
            |sink: &Sink| (self.table.table.fill)(self.index, offset, RSliceMut::from_mut_slice(out), sink);
        self.table.call(("making a weight", self.name), &mut |_| {}, fill).map_err(plugin_error)
    }

    fn describe(&self) -> String {
        format!("plugin {}: {}", self.table.plugin, self.name)
    }
}

impl WeightSet {
    /// Adds the tensors that the plugin `id` provides.
    ///
    /// # Errors
    /// `OP662` if there is no such plugin, `OP636` if a name is taken, `OP801` if it declares an impossible
    /// tensor.
    pub fn insert_plugin(&mut self, host: &Host, id: &str) -> Result<(), Report> {
        let table = Table::for_plugin(host, id)?;
        let place = format!("plugin `{id}`");
        let entries: &'static [TensorEntry] = table.table.tensors.validated();
        let mut problems = Vec::new();
        for (index, entry) in (0..).zip(entries) {
            let name = entry.name.validated();
            let shape = entry.dims.validated().to_vec();
            let dtype = DType::from_onnx(entry.dtype);
            let elements = count(&shape);
            let Some((dtype, len)) = dtype
                .and_then(|dtype| Some((dtype, dtype.byte_len(elements?)?)))
                .filter(|_| shape.len() <= MAX_RANK)
            else {
                let message = format!("{place} declares `{name}` with a type or a shape that cannot be");
                problems.push(Diagnostic::error(Code::PLUGIN_CONTRACT, message));
                continue;
            };
            let source =
                Source::Produced(Producer::new(PluginTensor { table: table.clone(), index, name, len }));
            let tensor = LazyTensor { dtype, shape, source, offset: 0, strides: None };
            problems.extend(self.insert(name.to_owned(), tensor, &place).err());
        }
        into_result(problems)
    }
}

/// A transform of a plugin.
struct Changing {
    table: Table,
    index: u32,
    entry: TransformEntry,
    /// `plugin/name`.
    name: String,
    /// The weight, which the contract states with every call.
    input: (DType, Vec<u64>),
    /// The output type and shape that the plugin stated.
    output: (DType, Vec<u64>),
}

/// Returns the output type and shape of the transform at `index` for a weight.
fn made(
    table: &Table,
    (index, name): (u32, &'static str),
    (dtype, shape): &(DType, Vec<u64>),
) -> Result<(DType, Vec<u64>), Diagnostic> {
    let record = WeightRecord { dtype: dtype.onnx(), dims: RSlice::from_slice(shape) };
    let mut made = None;
    let mut take = |view: &TensorView<'_>| {
        let extents: Option<Vec<u64>> =
            view.dims.list().ok().and_then(|dims| dims.iter().map(|d| u64::try_from(*d).ok()).collect());
        made = DType::from_onnx(view.dtype).zip(extents);
    };
    let output = |sink: &Sink| (table.table.output)(index, &record, sink);
    table.call(("describing a transform", name), &mut take, output)?;
    made.ok_or_else(|| {
        let message = format!("plugin `{}` does not state the result of `{name}`", table.plugin);
        Diagnostic::error(Code::PLUGIN_CONTRACT, message)
    })
}

impl Kernel for Changing {
    fn name(&self) -> &str {
        &self.name
    }

    fn granule(&self) -> Granule {
        match self.entry.granule {
            granule::BLOCK => Granule::Block(self.entry.block.max(1)),
            granule::ROW => Granule::Row,
            _ => Granule::Whole,
        }
    }

    fn output(&self, dtype: DType, shape: &[u64]) -> Option<(DType, Vec<u64>)> {
        (self.input.0 == dtype && self.input.1 == shape).then(|| self.output.clone())
    }

    fn apply(&self, dtype: DType, first: u64, input: &[u8], out: &mut [u8]) -> Result<(), Error> {
        let record = WeightRecord { dtype: dtype.onnx(), dims: RSlice::from_slice(&self.input.1) };
        let apply = |sink: &Sink| {
            let (input, out) = (RSlice::from_slice(input), RSliceMut::from_mut_slice(out));
            (self.table.table.apply)(self.index, &record, first, input, out, sink)
        };
        let task = ("changing a weight", self.entry.name.validated());
        self.table.call(task, &mut |_| {}, apply).map_err(plugin_error)
    }
}

/// Returns the transform `name` of the plugin `id`, for the weight `data`.
///
/// # Errors
/// `OP662` if there is no such plugin or transform, and the plugin's errors about the weight.
pub(crate) fn transform(host: &Host, id: &str, name: &str, data: &LazyTensor) -> Result<Foreign, Diagnostic> {
    let table = Table::for_plugin(host, id)?;
    let entries: &'static [TransformEntry] = table.table.transforms.validated();
    let Some((index, entry)) = (0..).zip(entries).find(|(_, entry)| entry.name.validated() == name) else {
        let known: Vec<&str> = entries.iter().map(|entry| entry.name.validated()).collect();
        return Err(table.lacks("transform", name, &known));
    };
    let input = (data.dtype, data.shape.clone());
    let output = made(&table, (index, entry.name.validated()), &input)?;
    Ok(Foreign::new(Changing { table, index, entry: *entry, name: format!("{id}/{name}"), input, output }))
}
