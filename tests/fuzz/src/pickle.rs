//! Pickles in files of `torch.save`: nothing is executed, and tensors lie inside of their storages.

use std::io::{Cursor, Write};

use arbitrary::{Result, Unstructured};
use onnxport_core::pt2::{SampleInputs, SampleValue};
use onnxport_core::tensor::LazyTensor;
use onnxport_core::tensor::zip_index::Region;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

/// Values of a pickle nested deeper than this are refused.
const MAX_DEPTH: usize = 101;

/// Opcodes without an argument.
const PLAIN: &[u8] = b"(01Nt)lde]ash}uRbQ\x81\x85\x86\x87\x88\x89\x93\x94o2.";

const GLOBALS: &[(&str, &str)] = &[
    ("torch._utils", "_rebuild_tensor_v2"),
    ("torch._utils", "_rebuild_tensor_v3"),
    ("torch._utils", "_rebuild_parameter"),
    ("torch._tensor", "_rebuild_from_type_v2"),
    ("torch", "Tensor"),
    ("torch", "FloatStorage"),
    ("torch", "HalfStorage"),
    ("torch.storage", "UntypedStorage"),
    ("torch", "float16"),
    ("torch", "complex64"),
    ("torch", "Size"),
    ("torch", "device"),
    ("torch", "channels_last"),
    ("torch.serialization", "_get_layout"),
    ("collections", "OrderedDict"),
    ("collections", "defaultdict"),
    ("builtins", "complex"),
    ("builtins", "eval"),
    ("transformers.cache_utils", "DynamicCache"),
];

pub(crate) fn run(data: &[u8]) {
    let Some((mode, rest)) = data.split_first() else { return };
    if mode % 2 == 0 {
        check(rest);
        return;
    }
    let mut pickle = b"\x80\x02".to_vec();
    // The bytes end somewhere inside of an opcode.
    let _ = opcodes(&mut Unstructured::new(rest), &mut pickle);
    pickle.extend(b".");
    check(&pickle);
}

fn opcodes(u: &mut Unstructured<'_>, pickle: &mut Vec<u8>) -> Result<()> {
    while !u.is_empty() {
        match u.int_in_range(0..=9)? {
            0 => {
                let (module, name) = u.choose(GLOBALS)?;
                pickle.extend(format!("c{module}\n{name}\n").bytes());
            }
            1 => integer(u.arbitrary::<i8>()?.into(), pickle),
            2 => integer(u.arbitrary()?, pickle),
            3 => text(u.choose(&["storage", "0", "1", "cpu", "", "é", "strided"])?, pickle),
            4 => {
                pickle.push(*u.choose(b"hq")?);
                pickle.push(u.int_in_range(0..=5)?);
            }
            5 => {
                pickle.push(b'G');
                pickle.extend(u.arbitrary::<f64>()?.to_be_bytes());
            }
            6 => tensor(u, pickle)?,
            // The end of a call: positional and keyword arguments.
            7 => pickle.extend(b"\x85}\x86"),
            _ => pickle.push(*u.choose(PLAIN)?),
        }
    }
    Ok(())
}

/// A tensor as PyTorch writes it, with any sizes.
fn tensor(u: &mut Unstructured<'_>, pickle: &mut Vec<u8>) -> Result<()> {
    pickle.extend(b"ctorch._utils\n_rebuild_tensor_v2\n((");
    text("storage", pickle);
    let kind = u.choose(&["Float", "Double", "Half", "Bool", "ComplexFloat", "Long"])?;
    pickle.extend(format!("ctorch\n{kind}Storage\n").bytes());
    text(u.choose(&["0", "1", "2"])?, pickle);
    text("cpu", pickle);
    number(u, pickle)?;
    pickle.extend(b"tQ");
    number(u, pickle)?;
    let rank = u.int_in_range(0..=3)?;
    for _ in 0..2 {
        pickle.push(b'(');
        (0..rank).try_for_each(|_| number(u, pickle))?;
        pickle.push(b't');
    }
    pickle.extend(b"\x89ccollections\nOrderedDict\n)RtR");
    Ok(())
}

fn number(u: &mut Unstructured<'_>, pickle: &mut Vec<u8>) -> Result<()> {
    let number = match u.int_in_range(0..=3)? {
        0 => u.arbitrary()?,
        _ => u.int_in_range(0..=5)?,
    };
    integer(number, pickle);
    Ok(())
}

fn integer(number: i64, pickle: &mut Vec<u8>) {
    pickle.extend(b"\x8a\x08");
    pickle.extend(number.to_le_bytes());
}

fn text(text: &str, pickle: &mut Vec<u8>) {
    pickle.push(b'X');
    pickle.extend((text.len() as u32).to_le_bytes());
    pickle.extend(text.bytes());
}

/// Reads the pickle with two storages of 64 bytes.
fn check(pickle: &[u8]) {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in [("a/data.pkl", pickle), ("a/data/0", &[1; 64]), ("a/data/1", &[2; 64])] {
        zip.start_file(name, SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored))
            .expect("an entry");
        zip.write_all(content).expect("an entry");
    }
    let zip = zip.finish().expect("an archive").into_inner();
    let Ok(SampleInputs { args, kwargs }) = SampleInputs::read(Region::Memory(zip.into()), "samples") else {
        return;
    };
    for value in args.iter().chain(kwargs.iter().map(|(_, value)| value)) {
        visit(value, 0);
    }
}

fn visit(value: &SampleValue, depth: usize) {
    assert!(depth <= MAX_DEPTH);
    match value {
        SampleValue::Tensor(tensor) => check_tensor(tensor),
        SampleValue::List(items) | SampleValue::Tuple(items) => {
            for item in items {
                visit(item, depth + 1);
            }
        }
        SampleValue::Dict(items) | SampleValue::Object { attributes: items, .. } => {
            for (key, value) in items {
                visit(key, depth + 1);
                visit(value, depth + 1);
            }
        }
        _ => {}
    }
}

/// A tensor that was accepted can be read.
fn check_tensor(tensor: &LazyTensor) {
    tensor.check().expect("a tensor inside of its storage");
    let len = tensor.byte_len().expect("a size");
    // Strides of 0 repeat elements.
    if len <= 1 << 16 {
        assert_eq!(tensor.read().expect("its elements").len() as u64, len);
    }
}
