//! The transform against numbers that are known, without onnxport itself.

use onnxport_sdk::DType;
use onnxport_sdk::weights::Transform;

use super::Halved;

#[test]
fn every_number_is_halved() {
    let bytes: Vec<u8> = [2.0_f32, -1.0, 0.5].iter().flat_map(|x| x.to_le_bytes()).collect();
    let mut out = vec![0; bytes.len()];
    Halved.apply(DType::F32, &[1, 3], 0, &bytes, &mut out).expect("it can");
    let halved: Vec<f32> = out.as_chunks::<4>().0.iter().map(|four| f32::from_le_bytes(*four)).collect();
    assert_eq!(halved, [1.0, -0.5, 0.25]);
}

#[test]
fn only_float32_is_taken() {
    assert_eq!(Halved.output(DType::F32, &[2]), Some((DType::F32, vec![2])));
    assert_eq!(Halved.output(DType::I64, &[2]), None);
}
