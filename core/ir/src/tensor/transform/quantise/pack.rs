//! Codes of fewer bits than a byte.

use std::cell::Cell;

/// Packs codes of one byte each in place, the first one in the low bits.
pub(in crate::tensor) fn pack(bits: u32, codes: &mut Vec<u8>) {
    if bits >= 8 {
        return;
    }
    let mask = (1u8 << bits) - 1;
    let per_byte = (8 / bits) as usize;
    let len = codes.len().div_ceil(per_byte);
    codes.resize(len * per_byte, 0);
    // A packed byte is never written past the codes that were read for it.
    let cells = Cell::from_mut(codes.as_mut_slice()).as_slice_of_cells();
    for (byte, codes) in cells.iter().zip(cells.chunks_exact(per_byte)) {
        let places = (0..).step_by(bits as usize);
        byte.set(codes.iter().zip(places).fold(0, |byte, (code, place)| byte | (code.get() & mask) << place));
    }
    codes.truncate(len);
}

#[cfg(test)]
mod tests {
    use super::pack;

    #[test]
    fn the_first_code_is_in_the_low_bits() {
        let packed = |bits, codes: &[u8]| {
            let mut codes = codes.to_vec();
            pack(bits, &mut codes);
            codes
        };
        assert_eq!(packed(4, &[1, 2, 0xff, 0, 7]), [0x21, 0x0f, 7]);
        assert_eq!(packed(2, &[1, 2, 3, 0, 1]), [0b0011_1001, 1]);
        assert_eq!(packed(8, &[1, 255]), [1, 255]);
        assert!(packed(4, &[]).is_empty());
    }
}
