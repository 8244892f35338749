//! The files of adapters that ONNX Runtime reads: `FlatBuffers` of named tensors, after the schema
//! `onnxruntime/lora/adapter_format/adapter_schema.fbs`.

use std::io::{self, Write};

use onnxport_core::tensor::LazyTensor;

/// The position of the description of tables, which all have four fields of 4 bytes.
const FIELDS: u64 = 8;
/// The position of the first table.
const ROOT: u64 = 20;
/// The bytes of a table.
const TABLE: u64 = 20;
/// The version of the format, of the adapter and of the model.
const VERSIONS: [u32; 3] = [1, 1, 1];
/// Positions are signed numbers of 32 bits.
const MAX_BYTES: u64 = i32::MAX as u64;
/// The memory for the tensor that is being written.
const BUDGET: usize = 64 << 20;

/// The tensors of an adapter, by the inputs that they are for.
pub(super) type Parameters = Vec<(String, LazyTensor)>;

/// The positions of the parts of a parameter.
struct Place {
    name: u64,
    extents: u64,
    data: u64,
    end: u64,
}

/// Writes the file.
///
/// # Errors
/// If it would be too large, a tensor cannot be read, or `out` fails.
pub(super) fn write(parameters: &Parameters, out: &mut (dyn Write + Send)) -> io::Result<()> {
    let tables = ROOT + TABLE + 4 + 4 * parameters.len() as u64;
    let mut places = Vec::with_capacity(parameters.len());
    let mut end = tables + TABLE * parameters.len() as u64;
    for (name, data) in parameters {
        let place = placed(name, data, end).filter(|place| place.end <= MAX_BYTES).ok_or_else(|| {
            io::Error::new(io::ErrorKind::FileTooLarge, "adapters of ONNX Runtime take 2 GB at most")
        })?;
        end = place.end;
        places.push(place);
    }
    let mut out = Counted { out, at: 0 };
    out.number(ROOT as u32)?;
    out.all(b"TORT")?;
    for field in [12u16, TABLE as u16, 4, 8, 12, 16] {
        out.all(&field.to_le_bytes())?;
    }
    out.number((ROOT - FIELDS) as u32)?;
    for version in VERSIONS {
        out.number(version)?;
    }
    out.number(4)?;
    out.number(parameters.len() as u32)?;
    for index in 0..parameters.len() as u64 {
        out.offset(tables + TABLE * index)?;
    }
    for ((_, data), place) in parameters.iter().zip(&places) {
        out.number((out.at - FIELDS) as u32)?;
        out.offset(place.name)?;
        out.offset(place.extents)?;
        out.number(data.dtype.onnx() as u32)?;
        out.offset(place.data)?;
    }
    for ((name, data), place) in parameters.iter().zip(&places) {
        out.pad(place.name)?;
        out.number(name.len() as u32)?;
        out.all(name.as_bytes())?;
        out.all(&[0])?;
        out.pad(place.extents)?;
        out.number(data.shape.len() as u32)?;
        for extent in &data.shape {
            out.all(&extent.to_le_bytes())?;
        }
        out.pad(place.data)?;
        let bytes = data.byte_len().unwrap_or_default();
        out.number(bytes as u32)?;
        data.stream(0..bytes, BUDGET, &mut |piece: &[u8]| out.all(piece)).map_err(io::Error::other)?;
    }
    Ok(())
}

/// Places a parameter behind `end`: the name at 4 bytes, elements of vectors at 8.
fn placed(name: &str, data: &LazyTensor, end: u64) -> Option<Place> {
    let vector =
        |end: u64| Some(end.checked_next_multiple_of(4)?.checked_add(4)?.checked_next_multiple_of(8)? - 4);
    let name_at = end.checked_next_multiple_of(4)?;
    let extents = vector(name_at.checked_add(name.len() as u64 + 5)?)?;
    let at = vector(extents + 4 + 8 * data.shape.len() as u64)?;
    Some(Place { name: name_at, extents, data: at, end: at.checked_add(4)?.checked_add(data.byte_len()?)? })
}

/// A writer that knows its position.
struct Counted<'a> {
    out: &'a mut (dyn Write + Send),
    at: u64,
}

impl Counted<'_> {
    fn all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.at += bytes.len() as u64;
        self.out.write_all(bytes)
    }

    fn number(&mut self, number: u32) -> io::Result<()> {
        self.all(&number.to_le_bytes())
    }

    /// Writes the position `of` something behind, from here on.
    fn offset(&mut self, of: u64) -> io::Result<()> {
        self.number((of - self.at) as u32)
    }

    fn pad(&mut self, until: u64) -> io::Result<()> {
        let missing = until - self.at;
        self.all([0; 8].get(..missing as usize).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use onnxport_core::tensor::DType;

    use super::*;

    #[test]
    fn a_file_has_the_layout_of_the_schema() {
        let data: Vec<u8> = (0..6u8).flat_map(|n| f32::from(n).to_le_bytes()).collect();
        let tensor = LazyTensor::inline(DType::F32, vec![3, 2], data.clone());
        let empty = LazyTensor::inline(DType::F16, vec![0, 2], Vec::new());
        let mut file = Vec::new();
        write(&vec![("q.lora_A".to_owned(), tensor), ("n".to_owned(), empty)], &mut file).unwrap();
        let number = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().unwrap()) as usize;
        assert_eq!(&file[4..8], b"TORT");
        let root = number(0);
        let vector = root + 16 + number(root + 16);
        assert_eq!((number(root + 4), number(vector)), (1, 2));
        let table = vector + 4 + number(vector + 4);
        // Back to the description of its fields.
        assert_eq!(table - number(table), FIELDS as usize);
        let name = table + 4 + number(table + 4);
        assert_eq!(&file[name + 4..name + 4 + number(name)], b"q.lora_A");
        let extents = table + 8 + number(table + 8);
        assert_eq!((number(extents), number(extents + 4), number(extents + 12)), (2, 3, 2));
        assert_eq!(number(table + 12), 1);
        let bytes = table + 16 + number(table + 16);
        assert_eq!(&file[bytes + 4..bytes + 4 + number(bytes)], data);
        assert!((bytes + 4).is_multiple_of(8) && (extents + 4).is_multiple_of(8));
    }
}
