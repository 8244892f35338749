//! The declarations of initializers and the location of their data.

use std::path::{Component, Path};

use onnxport_proto::tensor_proto::DataLocation;
use onnxport_proto::{StringStringEntryProto, TensorProto};

use crate::tensor::DType;
use crate::tensor::data::count;

/// An initializer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Weight {
    /// The name.
    pub name: String,
    /// Element type; `None` for one that this release does not know.
    pub dtype: Option<DType>,
    /// Extents.
    pub dims: Vec<u64>,
    /// The size in bytes, as the type and the sizes give it.
    pub bytes: u64,
    /// Where the bytes are.
    pub location: Location,
}

/// Where the bytes of an initializer are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Location {
    /// In the model.
    Inline,
    /// In another file.
    External {
        /// The path, relative to the model's folder and inside of it.
        file: String,
        /// The first byte.
        offset: u64,
        /// The number of bytes, if it is stated.
        length: Option<u64>,
    },
}

impl Location {
    /// The data file, if there is one.
    pub fn file(&self) -> Option<&str> {
        match self {
            Location::Inline => None,
            Location::External { file, .. } => Some(file),
        }
    }
}

impl Weight {
    /// Reads the declaration of `tensor`.
    ///
    /// # Errors
    /// The problem, as the rest of a sentence that starts with the tensor's name.
    pub fn read(tensor: &TensorProto) -> Result<Self, String> {
        let dtype = DType::from_onnx(tensor.data_type());
        let dims: Option<Vec<u64>> = tensor.dims.iter().map(|d| u64::try_from(*d).ok()).collect();
        let dims = dims.ok_or("has a negative size")?;
        let elements = count(&dims);
        let bytes = match dtype {
            // Text has no fixed size.
            None | Some(DType::String) => Some(0),
            Some(dtype) => elements.and_then(|n| dtype.byte_len(n)),
        };
        let bytes = bytes.ok_or("is too large")?;
        let location = if tensor.data_location() == DataLocation::External {
            external(tensor)?
        } else {
            let stored = tensor.raw_data.as_ref().map(|raw| raw.len() as u64);
            if let Some(stored) = stored.filter(|n| *n != bytes && dtype.is_some()) {
                return Err(format!("has {stored} bytes, but its shape needs {bytes}"));
            }
            Location::Inline
        };
        if let Location::External { length: Some(length), .. } = &location
            && *length != bytes
            && dtype.is_some_and(|dtype| dtype != DType::String)
        {
            return Err(format!("has {length} bytes of external data, but its shape needs {bytes}"));
        }
        Ok(Self { name: tensor.name().to_owned(), dtype, dims, bytes, location })
    }
}

fn external(tensor: &TensorProto) -> Result<Location, String> {
    let entry =
        |key: &str| tensor.external_data.iter().find(|e| e.key() == key).map(StringStringEntryProto::value);
    let number = |key: &str| match entry(key) {
        None => Ok(None),
        Some(text) => text.parse::<u64>().map(Some).map_err(|_| format!("has the {key} `{text}`")),
    };
    let file = entry("location").filter(|f| !f.is_empty()).ok_or("does not give the location of its data")?;
    let inside =
        Path::new(file).components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    // A backslash separates folders on some systems only, and is in no name that a writer chooses.
    if !inside || file.contains('\\') {
        return Err(format!("refers to external data outside the model's folder, at `{file}`"));
    }
    Ok(Location::External {
        file: file.to_owned(),
        offset: number("offset")?.unwrap_or(0),
        length: number("length")?,
    })
}
