//! The container in which ONNX Runtime's OpenVINO provider keeps blobs.
//!
//! ```text
//! offset  size
//!      0     8  OVEP_BIN
//!      8    32  version, size of this header, start and size of the description: u64
//!     40        the description as BSON: version, producer, and by name of a blob its start and size
//!  n * 64 KiB   the blob
//! ```

use std::io;

/// Blobs begin at multiples of this.
const ALIGNMENT: u64 = 64 << 10;
/// Bytes of the header.
const HEADER: u64 = 40;
/// The version of the container.
const VERSION: u64 = 1;
/// The version of the description; readers compare the first number.
const DESCRIPTION: &str = "1.0.0";

/// A value of a BSON document.
enum Item<'a> {
    Int(u64),
    Text(&'a str),
    Document(Vec<u8>),
}

/// The bytes before a blob of `size` bytes called `name`.
///
/// # Errors
/// For a name that the container cannot hold, and sizes beyond its numbers.
pub(super) fn head(name: &str, size: u64) -> io::Result<Vec<u8>> {
    let describe = |start: u64| -> io::Result<Vec<u8>> {
        let place = document(&[("data_offset", Item::Int(start)), ("size", Item::Int(size))])?;
        let blobs = document(&[(name, Item::Document(place))])?;
        let producer = concat!("onnxport-", env!("CARGO_PKG_VERSION"));
        document(&[
            ("blob_metadata_map", Item::Document(blobs)),
            ("producer", Item::Text(producer)),
            ("version", Item::Text(DESCRIPTION)),
        ])
    };
    // Numbers have a fixed width, so that the length does not depend on them.
    let start = (HEADER + describe(0)?.len() as u64).next_multiple_of(ALIGNMENT);
    let description = describe(start)?;
    let mut head = b"OVEP_BIN".to_vec();
    for number in [VERSION, HEADER, HEADER, description.len() as u64] {
        head.extend(number.to_le_bytes());
    }
    head.extend(description);
    head.resize(usize::try_from(start).map_err(io::Error::other)?, 0);
    Ok(head)
}

/// A BSON document.
fn document(items: &[(&str, Item<'_>)]) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    for (name, item) in items {
        if name.contains('\0') {
            return Err(io::Error::other("a name holds a zero byte"));
        }
        let kind = match item {
            Item::Int(_) => 0x12,
            Item::Text(_) => 0x02,
            Item::Document(_) => 0x03,
        };
        body.push(kind);
        body.extend(name.as_bytes());
        body.push(0);
        match item {
            Item::Int(number) => body.extend(i64::try_from(*number).map_err(io::Error::other)?.to_le_bytes()),
            Item::Text(text) => {
                body.extend(length(text.len() + 1)?);
                body.extend(text.as_bytes());
                body.push(0);
            }
            Item::Document(inner) => body.extend(inner),
        }
    }
    // The length counts itself and the zero at the end.
    let mut whole = length(body.len() + 5)?.to_vec();
    whole.extend(body);
    whole.push(0);
    Ok(whole)
}

fn length(bytes: usize) -> io::Result<[u8; 4]> {
    Ok(i32::try_from(bytes).map_err(io::Error::other)?.to_le_bytes())
}

#[cfg(test)]
mod tests {
    use super::head;

    #[test]
    fn a_blob_begins_where_the_description_says() {
        let bytes = head("p_0", 7).unwrap();
        assert_eq!(bytes.len(), 64 << 10);
        let number = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
        assert_eq!((&bytes[..8], number(8), number(16), number(24)), (&b"OVEP_BIN"[..], 1, 40, 40));
        let description = &bytes[40..40 + number(32) as usize];
        assert_eq!(description[..4], (description.len() as i32).to_le_bytes());
        let at = |text: &[u8]| description.windows(text.len()).position(|w| w == text).unwrap() + text.len();
        let start = at(b"\x12data_offset\0");
        assert_eq!(description[start..start + 8], (64_i64 << 10).to_le_bytes());
        let size = at(b"\x12size\0");
        assert_eq!(description[size..size + 8], 7_i64.to_le_bytes());
        assert_eq!(description[at(b"\x02version\0") + 4..][..6], *b"1.0.0\0");
    }

    #[test]
    fn a_name_that_would_end_early_is_refused() {
        assert!(head("a\0b", 1).is_err());
    }
}
