//! The data of tensors.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use bytes::Bytes;
use onnxport_proto::tensor_proto::DataLocation;
use onnxport_proto::{ModelProto, SparseTensorProto, StringStringEntryProto, TensorProto};
use rustc_hash::FxHashMap;

use super::Res;
use crate::ir::{Constant, DenseTensor, Literal, SparseTensor, TextTensor};
use crate::onnx::{self, UNBOUND_LOCATION, Weight};
use crate::tensor::data::count;
use crate::tensor::{DType, LazyTensor, LentMemory, MappedFile, Source};

/// Data of up to this many bytes belong to one tensor, and are compared by value rather than by address.
const SMALL_BYTES: usize = 1024;

/// The model's file and the data files beside it, each mapped once.
pub(super) struct Data {
    /// `None` for a model in memory, which has no files.
    folder: Option<PathBuf>,
    /// Data in memory, by its location.
    lent: BTreeMap<String, LentMemory>,
    /// The model's own file.
    own: Option<MappedFile>,
    files: FxHashMap<String, MappedFile>,
    /// The tensors whose bytes are still to be given, by initializer.
    waiting: FxHashMap<String, LazyTensor>,
}

impl Data {
    /// The data of the model in `file` at `path`.
    pub(super) fn beside(path: &Path, file: MappedFile) -> Self {
        Self { own: Some(file), ..Self::unmapped(path) }
    }

    /// The data of a model that belongs at `path` and is in memory.
    pub(super) fn unmapped(path: &Path) -> Self {
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        Self { folder: Some(folder), ..Self::lent(BTreeMap::new()) }
    }

    /// The data of a model in memory, by location.
    pub(super) fn lent(lent: BTreeMap<String, LentMemory>) -> Self {
        Self { folder: None, lent, own: None, files: FxHashMap::default(), waiting: FxHashMap::default() }
    }

    /// Reads the unbound weights in the metadata of `proto`.
    pub(super) fn expect(&mut self, proto: &ModelProto) -> Res<()> {
        let Some(entries) = onnx::waiting(proto)? else { return Ok(()) };
        let tensors = proto.graph.iter().flat_map(|graph| &graph.initializer);
        let waits =
            |tensor: &&TensorProto| tensor.external_data.iter().any(|e| e.value() == UNBOUND_LOCATION);
        let read = |tensor: &TensorProto| {
            Weight::read(tensor).map_err(|why| format!("the initializer `{}` {why}", tensor.name()))
        };
        let weights = tensors.filter(waits).map(read).collect::<Res<Vec<_>>>()?;
        onnx::check_waiting(&entries, &weights)?;
        for entry in &entries {
            self.waiting.insert(entry.initializer.clone(), entry.tensor()?);
        }
        Ok(())
    }

    /// The initializer called `name` of the main graph.
    pub(super) fn initializer(&mut self, name: &str, proto: TensorProto) -> Res<Constant> {
        match self.waiting.remove(name) {
            Some(waiting) => Ok(Constant::Dense(waiting)),
            None => self.constant(proto),
        }
    }

    /// The constant that `proto` states.
    pub(super) fn constant(&mut self, proto: TensorProto) -> Res<Constant> {
        Ok(match self.either(proto)? {
            DenseTensor::Numbers(data) => Constant::Dense(data),
            DenseTensor::Text(text) => Constant::Literal(Literal::Text(text)),
        })
    }

    /// The tensor that `proto` states.
    pub(super) fn either(&mut self, proto: TensorProto) -> Res<DenseTensor> {
        let shape = extents(&proto.dims)?;
        let dtype = DType::from_onnx(proto.data_type())
            .ok_or_else(|| format!("has an element type of number {}", proto.data_type()))?;
        if proto.segment.is_some() {
            return Err("is stored in segments, which nothing supports".to_owned());
        }
        let elements = count(&shape).ok_or("is too large")?;
        if dtype == DType::String {
            return text(proto, shape, elements).map(DenseTensor::Text);
        }
        let bytes = dtype.byte_len(elements).ok_or("is too large")?;
        if proto.data_location() == DataLocation::External {
            return self.external(&proto, dtype, shape, bytes).map(DenseTensor::Numbers);
        }
        let raw = match proto.raw_data.clone().filter(|raw| !raw.is_empty()) {
            Some(raw) if is_typed(&proto) => {
                return Err(format!("stores its data twice, {} bytes of it as raw data", raw.len()));
            }
            Some(raw) => raw,
            None => Bytes::from(typed(proto, dtype)?),
        };
        if raw.len() as u64 != bytes {
            return Err(format!("has {} bytes, but its shape needs {bytes}", raw.len()));
        }
        Ok(DenseTensor::Numbers(self.place(dtype, shape, raw)))
    }

    /// A tensor of numbers; `proto` may be nothing else.
    pub(super) fn dense(&mut self, proto: TensorProto) -> Res<LazyTensor> {
        match self.either(proto)? {
            DenseTensor::Numbers(data) => Ok(data),
            DenseTensor::Text(_) => Err("contains strings, but only numbers are supported here".to_owned()),
        }
    }

    /// Checks a tensor that stays a message, and brings its elements into it from the file that it names.
    pub(super) fn embed(&mut self, proto: &mut TensorProto) -> Res<()> {
        let read = self.either(proto.clone())?;
        if let (DataLocation::External, DenseTensor::Numbers(data)) = (proto.data_location(), read) {
            proto.raw_data = Some(match &data.source {
                Source::Mapped { file, offset, len } => {
                    // The tensor was found to lie inside of the file.
                    let end = offset.checked_add(*len).ok_or("is beyond the end of its file")?;
                    Bytes::from_owner(file.clone()).slice(*offset as usize..end as usize)
                }
                Source::Lent(memory) => Bytes::from_owner(memory.clone()),
                _ => Bytes::new(),
            });
            (proto.data_location, proto.external_data) = (None, Vec::new());
        }
        Ok(())
    }

    /// A sparse tensor.
    pub(super) fn sparse(&mut self, proto: SparseTensorProto) -> Res<SparseTensor> {
        let shape = extents(&proto.dims)?;
        let elements = count(&shape).ok_or("is too large")?;
        let values = self.dense(proto.values.unwrap_or_default())?;
        let indices = self.dense(proto.indices.unwrap_or_default())?;
        let [stored] = values.shape.as_slice() else {
            return Err("has values that are not a vector".to_owned());
        };
        let fits = match indices.shape.as_slice() {
            [n] => n == stored,
            [n, rank] => n == stored && *rank == shape.len() as u64,
            _ => false,
        };
        if !fits || indices.dtype != DType::I64 || *stored > elements {
            return Err("has indices that do not fit its values".to_owned());
        }
        let sparse = SparseTensor { shape, values, indices };
        if is_ordered(&sparse) { Ok(sparse) } else { Err("has indices that are not in order".to_owned()) }
    }

    /// A dense tensor over `raw`, which may lie in the model's own file.
    fn place(&self, dtype: DType, shape: Vec<u64>, raw: Bytes) -> LazyTensor {
        let within = |file: &MappedFile| {
            let (start, len) = (file.bytes().as_ptr() as usize, file.bytes().len());
            let offset = (raw.as_ptr() as usize).checked_sub(start)?;
            (raw.len() > SMALL_BYTES && offset.checked_add(raw.len())? <= len).then_some(offset as u64)
        };
        match self.own.as_ref().and_then(|file| Some((file, within(file)?))) {
            Some((file, offset)) => {
                let source = Source::Mapped { file: file.clone(), offset, len: raw.len() as u64 };
                LazyTensor { dtype, shape, source, offset: 0, strides: None }
            }
            None => LazyTensor::inline(dtype, shape, raw),
        }
    }

    fn external(
        &mut self,
        proto: &TensorProto,
        dtype: DType,
        shape: Vec<u64>,
        bytes: u64,
    ) -> Res<LazyTensor> {
        let entry = |key: &str| {
            proto.external_data.iter().find(|e| e.key() == key).map(StringStringEntryProto::value)
        };
        let number = |key: &str| match entry(key).filter(|text| !text.is_empty()) {
            None => Ok(None),
            Some(text) => text.parse::<u64>().map(Some).map_err(|_| format!("has the {key} `{text}`")),
        };
        let name =
            entry("location").filter(|f| !f.is_empty()).ok_or("does not give the location of its data")?;
        let offset = number("offset")?.unwrap_or(0);
        if let Some(length) = number("length")?.filter(|length| *length != bytes) {
            return Err(format!("has {length} bytes of external data, but its shape needs {bytes}"));
        }
        if is_typed(proto) || proto.raw_data.as_ref().is_some_and(|raw| !raw.is_empty()) {
            return Err("contains data, but also refers to external data".to_owned());
        }
        if let Some(memory) = self.lent.get(name) {
            let given = memory.bytes().len() as u64;
            if given != bytes || offset != 0 {
                return Err(format!("has {given} bytes in memory, but its shape needs {bytes}"));
            }
            let source = Source::Lent(memory.clone());
            return Ok(LazyTensor { dtype, shape, source, offset: 0, strides: None });
        }
        let Some(folder) = &self.folder else {
            return Err(format!("refers to external data in `{name}`, which is not in memory"));
        };
        if !is_inside(name) {
            return Err(format!("refers to external data outside the model's folder, at `{name}`"));
        }
        if bytes == 0 {
            return Ok(LazyTensor::inline(dtype, shape, Bytes::new()));
        }
        let file = match self.files.get(name) {
            Some(file) => file.clone(),
            None => {
                let opened = MappedFile::open(&folder.join(name));
                let file = opened.map_err(|e| format!("is in `{name}`, which cannot be read: {e}"))?;
                self.files.insert(name.to_owned(), file.clone());
                file
            }
        };
        let available = file.bytes().len() as u64;
        if offset.checked_add(bytes).is_none_or(|end| end > available) {
            let end = offset.saturating_add(bytes);
            return Err(format!("takes bytes up to {end} of `{name}`, which has {available}"));
        }
        let source = Source::Mapped { file, offset, len: bytes };
        Ok(LazyTensor { dtype, shape, source, offset: 0, strides: None })
    }
}

/// Whether a data file lies in the model's folder or in one inside of it.
fn is_inside(name: &str) -> bool {
    // A backslash separates folders on some systems only, and is in no name that a writer chooses.
    !name.contains('\\')
        && Path::new(name).components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
}

fn extents(dims: &[i64]) -> Res<Vec<u64>> {
    let dims: Option<Vec<u64>> = dims.iter().map(|d| u64::try_from(*d).ok()).collect();
    dims.ok_or_else(|| "has a negative size".to_owned())
}

/// Whether the indices of a sparse tensor are in bounds and ascending, as ONNX requires, hence unique.
fn is_ordered(sparse: &SparseTensor) -> bool {
    let Some(bytes) = sparse.indices.read() else { return false };
    let (chunks, _) = bytes.as_chunks::<8>();
    let numbers: Vec<i64> = chunks.iter().map(|c| i64::from_le_bytes(*c)).collect();
    let width = if sparse.indices.shape.len() == 2 { sparse.shape.len() } else { 1 };
    if width == 0 {
        return numbers.is_empty();
    }
    let place = |row: &[i64]| -> Option<u64> {
        if sparse.indices.shape.len() == 1 {
            return u64::try_from(*row.first()?)
                .ok()
                .filter(|at| count(&sparse.shape).is_some_and(|n| *at < n));
        }
        row.iter().zip(&sparse.shape).try_fold(0u64, |at, (index, extent)| {
            let index = u64::try_from(*index).ok().filter(|index| index < extent)?;
            at.checked_mul(*extent)?.checked_add(index)
        })
    };
    let places: Option<Vec<u64>> = numbers.chunks(width).map(place).collect();
    places.is_some_and(|places| places.is_sorted_by(|a, b| a < b))
}

fn text(proto: TensorProto, shape: Vec<u64>, elements: u64) -> Res<TextTensor> {
    if proto.data_location() == DataLocation::External || proto.raw_data.is_some_and(|raw| !raw.is_empty()) {
        return Err("stores strings outside `string_data`".to_owned());
    }
    if proto.string_data.len() as u64 != elements {
        let stored = proto.string_data.len();
        return Err(format!("has {stored} strings, but its shape needs {elements}"));
    }
    // Of its own, so that no text keeps the whole file.
    Ok(TextTensor { shape, items: proto.string_data })
}

fn is_typed(proto: &TensorProto) -> bool {
    !(proto.float_data.is_empty()
        && proto.int32_data.is_empty()
        && proto.int64_data.is_empty()
        && proto.double_data.is_empty()
        && proto.uint64_data.is_empty()
        && proto.string_data.is_empty())
}

/// Returns the bytes of elements that are stored as numbers: the fields of `TensorProto` document the encoding.
fn typed(proto: TensorProto, dtype: DType) -> Res<Vec<u8>> {
    use DType as D;
    let filled = [
        !proto.float_data.is_empty(),
        !proto.int32_data.is_empty(),
        !proto.int64_data.is_empty(),
        !proto.double_data.is_empty(),
        !proto.uint64_data.is_empty(),
        !proto.string_data.is_empty(),
    ];
    let place = match dtype {
        D::F32 | D::C64 => 0,
        D::I64 => 2,
        D::F64 | D::C128 => 3,
        D::U32 | D::U64 => 4,
        _ => 1,
    };
    if filled.iter().enumerate().any(|(at, filled)| *filled && at != place) {
        return Err(format!("stores its data in a field that is not for {dtype}"));
    }
    Ok(match place {
        0 => proto.float_data.iter().flat_map(|x| x.to_le_bytes()).collect(),
        2 => proto.int64_data.iter().flat_map(|x| x.to_le_bytes()).collect(),
        3 => proto.double_data.iter().flat_map(|x| x.to_le_bytes()).collect(),
        4 if dtype == D::U64 => proto.uint64_data.iter().flat_map(|x| x.to_le_bytes()).collect(),
        4 => narrow(&proto.uint64_data, |x| u32::try_from(*x).ok().map(u32::to_le_bytes))?,
        _ => match dtype {
            D::I32 => proto.int32_data.iter().flat_map(|x| x.to_le_bytes()).collect(),
            D::I16 => narrow(&proto.int32_data, |x| i16::try_from(*x).ok().map(i16::to_le_bytes))?,
            D::U16 | D::F16 | D::BF16 => {
                narrow(&proto.int32_data, |x| u16::try_from(*x).ok().map(u16::to_le_bytes))?
            }
            D::I8 => narrow(&proto.int32_data, |x| i8::try_from(*x).ok().map(i8::to_le_bytes))?,
            D::Bool => narrow(&proto.int32_data, |x| Some([u8::from(*x != 0)]))?,
            // Of the types under 8 bits each number is one byte of packed elements.
            D::I4 | D::I2 => narrow(&proto.int32_data, |x| {
                i8::try_from(*x).map(i8::cast_unsigned).or_else(|_| u8::try_from(*x)).ok().map(|x| [x])
            })?,
            // Of these, each number is one element.
            D::F6E2M3 | D::F6E3M2 => sixes(&proto.int32_data)?,
            _ => narrow(&proto.int32_data, |x| u8::try_from(*x).ok().map(|x| [x]))?,
        },
    })
}

/// Elements of six bits one behind the other, as raw data has them: the first in the lowest bits.
fn sixes(items: &[i32]) -> Res<Vec<u8>> {
    let mut out = Vec::with_capacity(items.len());
    for group in items.chunks(4) {
        let codes = narrow(group, |x| u8::try_from(*x).ok().filter(|x| *x < 64).map(|x| [x]))?;
        let joined = codes.iter().rev().fold(0u32, |all, code| all << 6 | u32::from(*code));
        let [a, b, c, _] = joined.to_le_bytes();
        out.extend([a, b, c].into_iter().take(group.len().saturating_mul(6).div_ceil(8)));
    }
    Ok(out)
}

fn narrow<T, const N: usize>(items: &[T], one: impl Fn(&T) -> Option<[u8; N]>) -> Res<Vec<u8>> {
    let mut out = Vec::with_capacity(items.len().saturating_mul(N));
    for item in items {
        out.extend_from_slice(&one(item).ok_or("contains a number that its element type cannot represent")?);
    }
    Ok(out)
}
