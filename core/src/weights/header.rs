//! The header of a safetensors file: a JSON object of tensors by name.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use safetensors::tensor::{Metadata, TensorInfo};
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};

/// Longer headers are refused, as the format's own library does.
const MAX_BYTES: u64 = 100_000_000;

/// The contents of a header.
pub(super) struct Header {
    /// The first byte of the data in the file.
    pub(super) data: u64,
    /// The tensors in the order of their bytes; offsets count from [`data`](Self::data).
    pub(super) tensors: Vec<(String, TensorInfo)>,
}

impl Header {
    /// Reads the header of the file with these bytes.
    ///
    /// # Errors
    /// The defect of the file: text that is not a header, a name that occurs twice, or ranges that do not
    /// fit their shapes, overlap, leave gaps or do not end where the file does.
    pub(super) fn read(file: &[u8]) -> Result<Self, String> {
        let short = || "it ends within its header".to_owned();
        let (length, rest) = file.split_first_chunk::<8>().ok_or_else(short)?;
        let length = u64::from_le_bytes(*length);
        if length > MAX_BYTES {
            return Err(format!("its header claims {length} bytes"));
        }
        let text = rest.get(..length as usize).ok_or_else(short)?;
        let Entries(mut tensors) =
            serde_json::from_slice(text).map_err(|e| format!("its header is damaged: {e}"))?;
        // Only tensors without elements can have equal offsets.
        tensors.sort_by(|(a, x), (b, y)| (x.data_offsets, a).cmp(&(y.data_offsets, b)));
        let metadata = Metadata::new(None, tensors.clone()).map_err(|e| e.to_string())?;
        if 8 + length + metadata.data_len() as u64 != file.len() as u64 {
            return Err("its header and its length disagree".to_owned());
        }
        Ok(Self { data: 8 + length, tensors })
    }
}

/// The entries but for `__metadata__`. JSON allows a name twice, and a map would keep the last.
struct Entries(Vec<(String, TensorInfo)>);

impl<'de> Deserialize<'de> for Entries {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Pairs;
        impl<'de> Visitor<'de> for Pairs {
            type Value = Entries;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("tensors by name")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Entries, A::Error> {
                let (mut entries, mut seen) = (Vec::new(), BTreeSet::new());
                while let Some(name) = access.next_key::<String>()? {
                    if !seen.insert(name.clone()) {
                        return Err(A::Error::custom(format_args!("it contains `{name:.200}` twice")));
                    }
                    if name == "__metadata__" {
                        access.next_value::<Option<BTreeMap<String, String>>>()?;
                    } else {
                        entries.push((name, access.next_value()?));
                    }
                }
                Ok(Entries(entries))
            }
        }
        deserializer.deserialize_map(Pairs)
    }
}
