//! The messages of the two processes: a header of JSON behind its length, and behind it the bytes of the tensors
//! that the header lists.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::path::PathBuf;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// A header is not longer than this.
const MAX_HEADER: u64 = 64 << 20;

/// A request to the serving process. It answers with replies, of which the last one is `Done` or `Failed`.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Request {
    /// Open the runtime of a plugin; this comes first.
    Open {
        /// The plugin.
        id: String,
        /// Its library; `None` where it is linked in.
        library: Option<PathBuf>,
        /// The user's options of the plugin.
        settings: BTreeMap<String, String>,
        /// The options of the runtime.
        options: Vec<(String, String)>,
        /// Which messages of plugins are wanted.
        level: u32,
    },
    /// Open a backend of a plugin for a model; this comes first, instead of `Open`.
    Backend {
        /// The plugin.
        id: String,
        /// Its library; `None` where it is linked in.
        library: Option<PathBuf>,
        /// The user's options of the plugin.
        settings: BTreeMap<String, String>,
        /// The backend, by position in the plugin's table.
        index: u32,
        /// The model.
        model: PathBuf,
        /// Which messages of plugins are wanted.
        level: u32,
    },
    /// Compile a region of that model. The answer is an output without a type, whose bytes are the replacement.
    Region(Wanted),
    /// Load a model.
    Load { path: String, values: Option<Vec<String>> },
    /// Run it on these inputs, whose bytes follow.
    Run { feeds: Vec<Shape> },
}

/// A region of a model that another process reads.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Wanted {
    pub(crate) name: String,
    /// The position of the block among those of the model.
    pub(crate) block: usize,
    /// The positions of the nodes in the block, with their operators.
    pub(crate) nodes: Vec<(usize, String)>,
}

/// A tensor, without its bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Shape {
    pub(crate) name: String,
    /// As ONNX numbers them.
    pub(crate) dtype: i32,
    pub(crate) dims: Vec<i64>,
    /// How many bytes follow.
    pub(crate) bytes: u64,
}

/// A reply of the serving process.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Reply {
    /// An output, whose bytes follow.
    Output(Shape),
    /// A message of the plugin.
    Said { level: u32, plugin: String, text: String },
    /// It was done. The text is the runtime's description, where it was opened.
    Done(String),
    /// It was not.
    Failed { code: String, message: String, help: Option<String>, provider: Option<String> },
}

/// Writes a header and the parts that it lists.
pub(crate) fn write(out: &mut dyn Write, header: &impl Serialize, parts: &[&[u8]]) -> io::Result<()> {
    let text = serde_json::to_vec(header)?;
    out.write_all(&(text.len() as u64).to_le_bytes())?;
    out.write_all(&text)?;
    for part in parts {
        out.write_all(part)?;
    }
    out.flush()
}

/// Reads a header; `None` where the other side has ended between two of them.
pub(crate) fn header<T: DeserializeOwned>(from: &mut dyn Read) -> io::Result<Option<T>> {
    let mut length = [0; 8];
    match from.read_exact(&mut length) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        Err(error) => return Err(error),
    }
    let length = u64::from_le_bytes(length);
    if length > MAX_HEADER {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "a header is too long"));
    }
    Ok(Some(serde_json::from_slice(&bytes(from, length)?)?))
}

/// Reads exactly `length` bytes; room is made as they come.
pub(crate) fn bytes(from: &mut dyn Read, length: u64) -> io::Result<Vec<u8>> {
    let mut out = Vec::new();
    from.take(length).read_to_end(&mut out)?;
    if out.len() as u64 == length { Ok(out) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_what_is_cut_off_is_not() {
        let shape = Shape { name: "x".to_owned(), dtype: 1, dims: vec![2], bytes: 8 };
        let mut wire = Vec::new();
        write(&mut wire, &Reply::Output(shape.clone()), &[&[7; 8]]).unwrap();
        let mut from = wire.as_slice();
        let Some(Reply::Output(read)) = header(&mut from).unwrap() else { panic!("an output") };
        assert_eq!((read, bytes(&mut from, 8).unwrap()), (shape, vec![7; 8]));
        assert!(header::<Reply>(&mut from).unwrap().is_none());
        for end in 9..wire.len() {
            let mut from = &wire[..end];
            let read = header::<Reply>(&mut from).and_then(|_| bytes(&mut from, 8));
            assert!(read.is_err(), "{end}");
        }
        let absurd = u64::MAX.to_le_bytes();
        assert!(header::<Reply>(&mut absurd.as_slice()).is_err());
        assert!(bytes(&mut [1u8].as_slice(), u64::MAX).is_err());
    }
}
