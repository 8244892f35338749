//! The wire format of protocol buffers: the fields of a message as bytes.
//!
//! It walks messages that must stay unchanged but for a few bytes, or are too large to decode. All other messages
//! are decoded.

/// A field of a message.
pub(crate) struct Field<'a> {
    /// Its number in the message.
    pub(crate) number: u64,
    /// The key and everything else of the field.
    pub(crate) whole: &'a [u8],
    /// The contents of a length-delimited field.
    pub(crate) payload: Option<&'a [u8]>,
}

/// The next field, which is taken off `bytes`; `None` when they are damaged.
pub(crate) fn next<'a>(bytes: &mut &'a [u8]) -> Option<Field<'a>> {
    let start = *bytes;
    let key = varint(bytes)?;
    let mut payload = None;
    match key & 7 {
        0 => drop(varint(bytes)?),
        1 => *bytes = bytes.get(8..)?,
        2 => {
            let len = usize::try_from(varint(bytes)?).ok()?;
            payload = Some(bytes.get(..len)?);
            *bytes = bytes.get(len..)?;
        }
        5 => *bytes = bytes.get(4..)?,
        _ => return None,
    }
    Some(Field { number: key >> 3, whole: start.get(..start.len().checked_sub(bytes.len())?)?, payload })
}

fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0u64;
    for at in 0..10 {
        let byte = *bytes.get(at)?;
        value |= u64::from(byte & 0x7f).checked_shl(7u32.checked_mul(at as u32)?)?;
        if byte < 0x80 {
            *bytes = bytes.get(at.checked_add(1)?..)?;
            return Some(value);
        }
    }
    None
}

pub(crate) const fn varint_len(n: u64) -> u64 {
    (u64::BITS.saturating_sub((n | 1).leading_zeros()) as u64).div_ceil(7)
}

pub(crate) fn put_varint(out: &mut Vec<u8>, mut n: u64) {
    while n >= 0x80 {
        out.push(n as u8 | 0x80);
        n >>= 7;
    }
    out.push(n as u8);
}
