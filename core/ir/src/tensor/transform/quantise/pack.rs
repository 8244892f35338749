//! Codes of fewer bits than a byte.

/// Puts codes of one byte each together in place, the first one in the low bits.
pub(in crate::tensor) fn pack(bits: u32, codes: &mut Vec<u8>) {
    if bits >= 8 {
        return;
    }
    let mask = (1u8 << bits) - 1;
    let per_byte = (8 / bits) as usize;
    let len = codes.len().div_ceil(per_byte);
    codes.resize(len * per_byte, 0);
    for index in 0..len {
        let from = index * per_byte;
        let mut byte = 0;
        for (place, code) in codes[from..from + per_byte].iter().enumerate() {
            byte |= (code & mask) << (place as u32 * bits);
        }
        codes[index] = byte;
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
