//! `weights/1` for plugin authors: implement [`Weights`], then export the plugin.
//!
//! ```ignore
//! onnxport_sdk::export_plugin! { id: "mine", weights: MyWeights }
//! ```
//!
//! The glue catches panics, cuts nothing and keeps nothing: an author is given whole granules.

mod quantiser;

use crate::lent::Lent;
use std::sync::OnceLock;

use onnxport_abi::DType;
use onnxport_abi::executor::{Sink, TensorView};
use onnxport_abi::weights::{
    QuantiserEntry, RectangleRecord, TensorEntry, TransformEntry, WeightRecord, WeightsTable, granule,
};
use onnxport_abi::{RSlice, RSliceMut, RStr};

pub use quantiser::{Block, Part, Quantiser, QuantiserGranule, Row, Step, bounds};

use crate::executor::Failure;
use crate::handle::guard;
use quantiser::Question;

/// The weights and transforms of a plugin. All methods are called from several threads.
pub trait Weights: Default + Send + Sync + 'static {
    /// The tensors that the plugin makes. Asked for once.
    fn tensors(&self) -> Vec<Tensor> {
        Vec::new()
    }

    /// Fills `out` with the bytes of tensor number `tensor` from byte `offset` on: dense, row-major,
    /// little-endian. The same range always gets the same bytes.
    fn fill(&self, tensor: usize, offset: u64, out: &mut [u8]) -> Result<(), Failure> {
        let _ = (offset, out);
        Err(Failure::new(format!("unknown tensor {tensor}")))
    }

    /// The transforms that the plugin has. Asked for once.
    fn transforms(&self) -> Vec<Box<dyn Transform>> {
        Vec::new()
    }

    /// The quantisers that the plugin has. Asked for once.
    fn quantisers(&self) -> Vec<Box<dyn Quantiser>> {
        Vec::new()
    }
}

/// A tensor that a plugin makes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tensor {
    /// The name, as the program has it.
    pub name: String,
    /// Element type.
    pub dtype: DType,
    /// The sizes, outermost first.
    pub shape: Vec<u64>,
}

/// The smallest piece of a weight that a transform can change on its own, in row-major order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Granule {
    /// This many elements.
    Block(u64),
    /// The elements along the last axis.
    Row,
    /// Everything.
    Whole,
}

/// A change of weights on their way into a file.
pub trait Transform: Send + Sync {
    /// The name; unique in the plugin.
    fn name(&self) -> &str;

    /// The smallest piece that can be changed on its own.
    fn granule(&self) -> Granule;

    /// The type and the sizes of the result; `None` for an input that it does not take. Every granule
    /// becomes equally many bytes, the last one perhaps fewer.
    fn output(&self, dtype: DType, shape: &[u64]) -> Option<(DType, Vec<u64>)>;

    /// Makes `out` of `bytes`: whole granules of the input, the first of which has the number `first`.
    fn apply(
        &self,
        dtype: DType,
        shape: &[u64],
        first: u64,
        bytes: &[u8],
        out: &mut [u8],
    ) -> Result<(), Failure>;
}

/// The plugin's object and its table, built once.
pub struct WeightsList<W> {
    cell: OnceLock<Built<W>>,
}

struct Built<W> {
    weights: W,
    transforms: Vec<Box<dyn Transform>>,
    quantisers: Vec<Box<dyn Quantiser>>,
    entries: RSlice<'static, QuantiserEntry>,
    table: WeightsTable,
}

/// The functions of a plugin's table, which lead back to its [`WeightsList`].
pub struct Functions {
    /// Answered by [`WeightsList::fill`].
    pub fill: extern "C" fn(u32, u64, RSliceMut<'_, u8>, &Sink) -> u32,
    /// Answered by [`WeightsList::output`].
    pub output: extern "C" fn(u32, &WeightRecord<'_>, &Sink) -> u32,
    /// Answered by [`WeightsList::apply`].
    pub apply: extern "C" fn(u32, &WeightRecord<'_>, u64, RSlice<'_, u8>, RSliceMut<'_, u8>, &Sink) -> u32,
    /// Answered by [`WeightsList::quantisers`].
    pub quantisers: extern "C" fn() -> RSlice<'static, QuantiserEntry>,
    /// Answered by [`WeightsList::quantise`].
    pub quantise: extern "C" fn(
        u32,
        &RectangleRecord<'_>,
        RSliceMut<'_, f32>,
        RSliceMut<'_, i32>,
        RSliceMut<'_, i32>,
        &Sink,
    ) -> u32,
}

impl<W: Weights> WeightsList<W> {
    #[expect(clippy::new_without_default, reason = "made by the macro only")]
    /// An empty list.
    pub const fn new() -> Self {
        Self { cell: OnceLock::new() }
    }

    /// The table.
    pub fn table(&'static self, functions: Functions) -> &'static WeightsTable {
        let built = self.cell.get_or_init(|| {
            let weights = W::default();
            let transforms = weights.transforms();
            let tensors = weights.tensors().into_iter().map(|tensor| TensorEntry {
                name: RStr::from_str(String::leak(tensor.name)),
                dtype: tensor.dtype.onnx(),
                dims: RSlice::from_slice(Vec::leak(tensor.shape)),
            });
            let entries = transforms.iter().map(|transform| {
                let (kind, block) = match transform.granule() {
                    Granule::Block(size) => (granule::BLOCK, size),
                    Granule::Row => (granule::ROW, 0),
                    Granule::Whole => (granule::WHOLE, 0),
                };
                let name = RStr::from_str(String::leak(transform.name().to_owned()));
                TransformEntry { name, granule: kind, block }
            });
            let Functions { fill, output, apply, quantisers: list, quantise } = functions;
            let table = WeightsTable {
                tensors: RSlice::from_slice(Vec::leak(tensors.collect())),
                transforms: RSlice::from_slice(Vec::leak(entries.collect())),
                fill,
                output,
                apply,
                quantisers: Some(list),
                quantise: Some(quantise),
            };
            let quantisers = weights.quantisers();
            let entries: Vec<QuantiserEntry> = quantisers.iter().map(|q| quantiser::entry(&**q)).collect();
            let entries = RSlice::from_slice(Vec::leak(entries));
            Built { weights, transforms, quantisers, entries, table }
        });
        &built.table
    }

    fn transform(&self, index: u32) -> Result<&dyn Transform, Failure> {
        let transforms = self.cell.get().map(|built| built.transforms.as_slice());
        let found = transforms.unwrap_or_default().get(index as usize);
        found.map(|transform| &**transform).ok_or_else(|| Failure::new("unknown transform"))
    }

    /// Answers `fill`.
    pub fn fill(&self, index: u32, offset: u64, out: RSliceMut<'_, u8>, sink: &Sink) -> u32 {
        guard(sink, || {
            let built = self.cell.get().ok_or_else(|| Failure::new("the tensors were never asked for"))?;
            let index = index as usize;
            let entry =
                built.table.tensors.lent().get(index).ok_or_else(|| Failure::new("unknown tensor"))?;
            let end = offset.checked_add(out.len() as u64);
            if end.is_none_or(|end| byte_len(entry).is_some_and(|len| end > len)) {
                return Err(Failure::new(format!("`{}` has no such bytes", entry.name.lent())));
            }
            built.weights.fill(index, offset, out.lent())
        })
    }

    /// Answers `output`.
    pub fn output(&self, index: u32, input: &WeightRecord<'_>, sink: &Sink) -> u32 {
        guard(sink, || {
            let transform = self.transform(index)?;
            let made = transform.output(dtype(input)?, input.dims.lent());
            let Some((dtype, shape)) = made else {
                let name = transform.name();
                return Err(Failure::new(format!("`{name}` does not take a weight of this type and shape")));
            };
            let dims: Vec<i64> = shape.iter().map(|d| *d as i64).collect();
            let view = TensorView {
                name: RStr::from_str(""),
                dtype: dtype.onnx(),
                dims: RSlice::from_slice(&dims),
                bytes: RSlice::EMPTY,
            };
            (sink.tensor)(sink.receiver, &view);
            Ok(())
        })
    }

    /// Answers `apply`.
    pub fn apply(
        &self,
        index: u32,
        input: &WeightRecord<'_>,
        first: u64,
        bytes: RSlice<'_, u8>,
        out: RSliceMut<'_, u8>,
        sink: &Sink,
    ) -> u32 {
        guard(sink, || {
            let (dtype, shape) = (dtype(input)?, input.dims.lent());
            self.transform(index)?.apply(dtype, shape, first, bytes.lent(), out.lent())
        })
    }

    /// Answers `quantisers`.
    pub fn quantisers(&self) -> RSlice<'static, QuantiserEntry> {
        self.cell.get().map_or(RSlice::EMPTY, |built| built.entries)
    }

    /// Answers `quantise`.
    pub fn quantise(
        &self,
        index: u32,
        record: &RectangleRecord<'_>,
        scales: RSliceMut<'_, f32>,
        zeros: RSliceMut<'_, i32>,
        codes: RSliceMut<'_, i32>,
        sink: &Sink,
    ) -> u32 {
        guard(sink, || {
            let quantisers = self.cell.get().map(|built| built.quantisers.as_slice()).unwrap_or_default();
            let found = quantisers.get(index as usize);
            let quantiser = found.ok_or_else(|| Failure::new("unknown quantizer"))?;
            Question { record, scales, zeros, codes }.answer(&**quantiser)
        })
    }
}

/// The bytes of a tensor; `None` for one that cannot be, which the host refuses.
fn byte_len(entry: &TensorEntry) -> Option<u64> {
    let elements = entry.dims.lent().iter().try_fold(1_u64, |n, d| n.checked_mul(*d))?;
    DType::from_onnx(entry.dtype)?.byte_len(elements)
}

fn dtype(input: &WeightRecord<'_>) -> Result<DType, Failure> {
    DType::from_onnx(input.dtype).ok_or_else(|| Failure::new("the type of the weight is not known"))
}
