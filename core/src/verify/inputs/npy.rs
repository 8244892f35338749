//! Arrays that NumPy saved: <https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html>.
//!
//! Behind a magic text, a version and a length stands a dictionary with three keys, as Python writes it; behind that
//! the elements. They stay in the mapped file.

use std::path::Path;

use super::wrong;
use crate::diagnose::{Code, Diagnostic, Report};
use crate::tensor::data::count;
use crate::tensor::zip_index::{Region, ZipIndex};
use crate::tensor::{DType, LazyTensor, MappedFile};

/// Reads the array in the file at `path`.
///
/// # Errors
/// `OP101` when it cannot be read, `OP710` when it is not an array of numbers.
pub(crate) fn read(path: &Path) -> Result<LazyTensor, Diagnostic> {
    array(opened(path)?).map_err(|why| unfit(&path.display().to_string(), &why))
}

/// Reads the arrays in the `.npz` file at `path`, by their names.
///
/// # Errors
/// `OP101` when it cannot be read, `OP102` when it is damaged, `OP710` when it is not an array of numbers.
pub(crate) fn read_all(path: &Path) -> Result<Vec<(String, LazyTensor)>, Report> {
    let zip = ZipIndex::open(opened(path)?, "")?;
    let mut arrays = Vec::new();
    for (name, entry) in zip.iter() {
        let region = zip.region(name, entry)?;
        let array = array(region).map_err(|why| unfit(&format!("{}/{name}", path.display()), &why))?;
        arrays.push((name.strip_suffix(".npy").unwrap_or(name).to_owned(), array));
    }
    Ok(arrays)
}

fn opened(path: &Path) -> Result<Region, Diagnostic> {
    let file = MappedFile::open(path)
        .map_err(|e| Diagnostic::error(Code::READ_IO, format!("cannot read `{}`: {e}", path.display())))?;
    Ok(Region::whole(file))
}

fn unfit(what: &str, why: &str) -> Diagnostic {
    wrong(format!("`{what}` is not a usable array: {why}"))
        .help("save it with `numpy.save`, as an array of numbers or truth values")
}

fn array(file: Region) -> Result<LazyTensor, String> {
    let bytes = file.as_ref();
    let rest = bytes.strip_prefix(b"\x93NUMPY").ok_or("it does not begin as a .npy file does")?;
    let cut = || "its header is cut off".to_owned();
    let [major, _minor, rest @ ..] = rest else { return Err(cut()) };
    let (len, rest) = match major {
        1 => rest.split_first_chunk().map(|(len, rest)| (usize::from(u16::from_le_bytes(*len)), rest)),
        2 | 3 => rest.split_first_chunk().map(|(len, rest)| (u32::from_le_bytes(*len) as usize, rest)),
        other => return Err(format!("version {other} of the format is not known")),
    }
    .ok_or_else(cut)?;
    let header = rest.get(..len).ok_or_else(cut)?;
    let header = Header::parse(std::str::from_utf8(header).map_err(|e| e.to_string())?)?;
    let offset = (bytes.len() - rest.len() + len) as u64;
    let size = count(&header.shape).and_then(|elements| header.dtype.byte_len(elements));
    let elements = size.and_then(|size| file.slice(offset, size));
    let elements = elements
        .ok_or_else(|| format!("it has fewer bytes than {}{:?} takes", header.dtype, header.shape))?;
    let strides = header.by_columns.then(|| {
        let product = |at: usize| header.shape.iter().take(at).product();
        (0..header.shape.len()).map(product).collect()
    });
    Ok(LazyTensor {
        dtype: header.dtype,
        shape: header.shape,
        source: elements.into_source(),
        offset: 0,
        strides,
    })
}

#[derive(Debug, PartialEq)]
struct Header {
    dtype: DType,
    by_columns: bool,
    shape: Vec<u64>,
}

impl Header {
    /// Reads `{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }`.
    fn parse(text: &str) -> Result<Self, String> {
        let after = |key: &str| {
            let quoted = [format!("'{key}':"), format!("\"{key}\":")];
            let found = quoted.iter().find_map(|key| text.split_once(key.as_str()));
            found.map(|(_, rest)| rest.trim_start()).ok_or_else(|| format!("its header has no `{key}`"))
        };
        let descr = after("descr")?;
        let quote = descr.chars().next().filter(|c| ['\'', '"'].contains(c));
        let name = quote.and_then(|quote| descr.get(1..)?.split(quote).next());
        let name = name.ok_or("its elements are records")?;
        let dtype = dtype(name).ok_or_else(|| format!("its elements are `{name}`"))?;
        let by_columns = after("fortran_order")?.starts_with("True");
        let shape = after("shape")?.strip_prefix('(').and_then(|rest| rest.split(')').next());
        let extents = shape.ok_or("its shape is not a tuple")?.split(',').map(str::trim);
        let extents = extents.filter(|extent| !extent.is_empty()).map(str::parse);
        let shape = extents.collect::<Result<_, _>>().map_err(|_| "its shape is not a tuple of numbers")?;
        Ok(Self { dtype, by_columns, shape })
    }
}

/// The element type that NumPy calls so; `None` for other ones, and for numbers that begin with their highest byte.
fn dtype(name: &str) -> Option<DType> {
    let plain = name.strip_prefix(['<', '|', '=']).unwrap_or(name);
    Some(match plain {
        "b1" => DType::Bool,
        "u1" => DType::U8,
        "i1" => DType::I8,
        "u2" => DType::U16,
        "i2" => DType::I16,
        "u4" => DType::U32,
        "i4" => DType::I32,
        "u8" => DType::U64,
        "i8" => DType::I64,
        "f2" => DType::F16,
        "f4" => DType::F32,
        "f8" => DType::F64,
        "c8" => DType::C64,
        "c16" => DType::C128,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(header: &str, data: &[u8]) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        let len = (header.len() as u16).to_le_bytes();
        let parts = [b"\x93NUMPY\x01\x00", len.as_slice(), header.as_bytes(), data];
        std::fs::write(file.path(), parts.concat()).unwrap();
        file
    }

    #[test]
    fn arrays_are_read_in_both_orders() {
        let numbers = [1u8, 2, 3, 4, 5, 6];
        let of = |order: &str| {
            let header = format!("{{'descr': '|u1', 'fortran_order': {order}, 'shape': (2, 3), }}   \n");
            let array = read(file(&header, &numbers).path()).unwrap();
            (array.dtype, array.shape.clone(), array.read().unwrap().into_owned())
        };
        assert_eq!(of("False"), (DType::U8, vec![2, 3], numbers.to_vec()));
        assert_eq!(of("True"), (DType::U8, vec![2, 3], vec![1, 3, 5, 2, 4, 6]));
        let scalar = file("{'descr': '<f4', 'fortran_order': False, 'shape': (), }", &2f32.to_le_bytes());
        assert_eq!(read(scalar.path()).unwrap().shape, [] as [u64; 0]);
        let vector = file("{'descr': '<i2', 'fortran_order': False, 'shape': (1,), }", &[7, 0]);
        assert_eq!(read(vector.path()).unwrap().read().unwrap().as_ref(), [7, 0]);
    }

    #[test]
    fn what_is_no_array_of_numbers_is_refused() {
        let cases = [
            ("{'descr': '>f4', 'fortran_order': False, 'shape': (1,), }", "`>f4`"),
            ("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }", "`|O`"),
            ("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }", "records"),
            ("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", "fewer bytes"),
            ("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }", "tuple of numbers"),
            ("{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296), }", "fewer bytes"),
            ("{'descr': '<f4', 'shape': (1,), }", "fortran_order"),
        ];
        for (header, why) in cases {
            let problem = read(file(header, &[0; 4]).path()).unwrap_err();
            assert_eq!(problem.code, Code::RUN_INPUT);
            assert!(problem.message.contains(why), "{header}: {}", problem.message);
        }
        for bytes in [&b"\x93NUMPY"[..], b"\x93NUMPY\x01\x00\xff\xff{", b"PK", b"\x93NUMPY\x09\x00\x00\x00"] {
            let file = tempfile::NamedTempFile::new().unwrap();
            std::fs::write(file.path(), bytes).unwrap();
            assert_eq!(read(file.path()).unwrap_err().code, Code::RUN_INPUT);
        }
    }
}
