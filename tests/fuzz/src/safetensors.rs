//! Files of safetensors: accepted where the format's own library accepts them, with the same tensors, and read back
//! after they are written.

use std::collections::BTreeMap;

use arbitrary::{Result, Unstructured};
use onnxport_core::WeightSet;
use safetensors::tensor::{Dtype, SafeTensors, TensorView};

use crate::scratch::with_file;

pub(crate) fn run(data: &[u8]) {
    let Some((mode, rest)) = data.split_first() else { return };
    if mode % 2 == 0 {
        compare(rest);
        return;
    }
    let _ = written(&mut Unstructured::new(rest));
}

/// Reads a file of chosen tensors, which is then damaged.
fn written(u: &mut Unstructured<'_>) -> Result<()> {
    let mut tensors = BTreeMap::new();
    for _ in 0..u.int_in_range(0..=4)? {
        let name = *u.choose(&["a", "b", "a.weight", "é", "__metadata", ""])?;
        let (dtype, bits) = *u.choose(&[
            (Dtype::F32, 32),
            (Dtype::BOOL, 8),
            (Dtype::F4, 4),
            (Dtype::C64, 64),
            (Dtype::F8_E4M3, 8),
            (Dtype::U16, 16),
        ])?;
        let rank = u.int_in_range(0..=3)?;
        let mut shape = (0..rank).map(|_| u.int_in_range(0..=3)).collect::<Result<Vec<usize>>>()?;
        if bits < 8 {
            shape.push(2);
        }
        let len = shape.iter().product::<usize>() * bits / 8;
        let byte: u8 = u.arbitrary()?;
        tensors.insert(name, (dtype, shape, vec![byte; len]));
    }
    let views = tensors.iter().map(|(name, (dtype, shape, bytes))| {
        (*name, TensorView::new(*dtype, shape.clone(), bytes).expect("a tensor"))
    });
    let mut bytes = safetensors::serialize(views, None).expect("a file");
    let patches = u.int_in_range(0..=3)?;
    for _ in 0..patches {
        let at = usize::from(u.arbitrary::<u16>()?) % bytes.len();
        bytes[at] = *u.choose(b"0123456789[],{}:\"F\x00\xff")?;
    }
    let read = compare(&bytes);
    if patches == 0 {
        let read = read.expect("a sound file");
        assert_eq!(read.len(), tensors.len());
        for (name, (_, shape, bytes)) in &tensors {
            let tensor = read.get(name).expect("a tensor of the file");
            assert!(tensor.shape.iter().map(|d| *d as usize).eq(shape.iter().copied()));
            assert_eq!(*tensor.read().expect("its bytes"), **bytes);
        }
    }
    Ok(())
}

/// Reads a file, and compares it with the format's own library.
fn compare(bytes: &[u8]) -> Option<WeightSet> {
    with_file("w.safetensors", bytes, |path| {
        let read = WeightSet::open(&[path.to_owned()], None);
        let reference = SafeTensors::deserialize(bytes);
        match (&read, &reference) {
            (Ok(set), Ok(reference)) => {
                assert_eq!(set.len(), reference.len());
                for (name, view) in reference.iter() {
                    let tensor = set.get(name).expect("a tensor of the file");
                    assert!(tensor.shape.iter().map(|d| *d as usize).eq(view.shape().iter().copied()));
                    assert_eq!(*tensor.read().expect("its bytes"), *view.data(), "{name}");
                }
            }
            (Ok(_), Err(error)) => panic!("accepted, although {error}"),
            // It refuses more: a name that occurs twice, types that ONNX does not have.
            (Err(report), _) => assert!(!report.diagnostics.is_empty()),
        }
        read.ok()
    })
}
