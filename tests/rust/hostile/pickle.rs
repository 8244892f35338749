//! Pickles that would run code, or grow.

use super::archive::Archive;
use super::{assert_one, read, sample_codes};
use onnxport_core::program::InputKind;
use onnxport_core::pt2::SampleValue;

fn codes(pickle: &[u8]) -> Vec<String> {
    sample_codes(&Archive::base().with_samples(pickle, &[]))
}

/// A tensor of four floats in storage `0`, of one axis with this size.
fn tensor(extent: &[u8]) -> Vec<u8> {
    let mut pickle = b"\x80\x02".to_vec();
    pickle.extend(b"(ctorch._utils\n_rebuild_tensor_v2\n((X\x07\0\0\0storagectorch\nFloatStorage\n");
    pickle.extend(b"X\x01\0\0\x000X\x03\0\0\0cpuK\x04tQK\0");
    pickle.extend(extent);
    pickle.extend(b"\x85K\x01\x85\x89ccollections\nOrderedDict\n)RtRt}\x86.");
    pickle
}

#[test]
fn code_is_refused_by_name() {
    let calls: [(&[u8], &str); 6] = [
        (b"cposix\nsystem\n(X\x02\0\0\0idtR.", "posix.system"),
        (b"cos\nsystem\n(X\x02\0\0\0idtR.", "os.system"),
        (b"cbuiltins\neval\n(X\x01\0\0\x001tR.", "builtins.eval"),
        (b"\x8c\x08builtins\x8c\x04exec\x93(X\x01\0\0\x001tR.", "builtins.exec"),
        (b"ctorch\nload\n(X\x01\0\0\x001tR.", "torch.load"),
        (b"ctorch.serialization\n_load\n.", "torch.serialization._load"),
    ];
    for (pickle, name) in calls {
        for protocol in [b"\x80\x02".as_slice(), b"\x80\x04\x95\x00\x00\x00\x00\x00\x00\x00\x00"] {
            let codes = codes(&[protocol, pickle].concat());
            assert_one(&codes, "OP107", &[name, "sample_inputs/model.pt", "data.pkl"]);
        }
    }
    // INST, OBJ, extensions and text opcodes have no use in a file of `torch.save`.
    for pickle in [b"(iposix\nsystem\n.".as_slice(), b"(cos\nsystem\no.", b"\x82\x01.", b"I1\n.", b"S'a'\n."]
    {
        assert_one(&codes(pickle), "OP107", &[]);
    }
}

#[test]
fn damaged_pickles_are_refused() {
    let pickles: [&[u8]; 16] = [
        b"",
        b"\x80",
        b".",
        b"t.",
        b"(",
        b"K",
        b"X\xff\xff\xff\xffabc.",
        b"\x8d\xff\xff\xff\xff\xff\xff\xff\xffa.",
        b"h\x05.",
        b"}K\x01s.",
        b"]K\x01s.",
        b"(K\x01}u.",
        b"NN\x86R.",
        b"NQ.",
        b"Nb.",
        b"(K\x01(0.",
    ];
    for pickle in pickles {
        assert_one(&codes(pickle), "OP107", &[]);
    }
}

#[test]
fn huge_integers_are_refused_and_padded_ones_read() {
    assert_one(&codes(b"\x8b\xff\xff\xff\x7f."), "OP107", &["ends early"]);
    let mut huge = b"\x8b\x40\x42\x0f\x00".to_vec();
    huge.extend(vec![0x77; 1_000_000]);
    huge.push(b'.');
    assert_one(&codes(&huge), "OP107", &["64 bits"]);
    assert_one(&codes(b"(\x8a\x09\xff\xff\xff\xff\xff\xff\xff\xff\x00t}\x86."), "OP107", &["64 bits"]);
    for pickle in [b"(\x8a\x09\xff\xff\xff\xff\xff\xff\xff\xff\xfft}\x86.".as_slice(), b"(\x8a\x00t}\x86."] {
        assert_eq!(codes(pickle), ["read"]);
    }
}

#[test]
fn shared_values_do_not_multiply() {
    // Forty levels, each a list of the level below, twice.
    let mut pickle = b"\x80\x02]".to_vec();
    for level in 0..40u8 {
        pickle.extend([b'q', level, b'0', b']', b'(', b'h', level, b'h', level, b'e']);
    }
    pickle.extend(b"\x85}\x86.");
    assert_one(&codes(&pickle), "OP107", &["too many values"]);
    // A long text, many times.
    let mut pickle = b"\x80\x02(X\x40\x42\x0f\x00".to_vec();
    pickle.extend(vec![b'a'; 1_000_000]);
    pickle.extend(b"q\x00");
    pickle.extend(b"h\x00".repeat(100_000));
    pickle.extend(b"t}\x86.");
    assert_one(&codes(&pickle), "OP107", &["too many values"]);
    // A list that holds itself.
    assert_one(&codes(b"\x80\x02]q\x00h\x00a\x85}\x86."), "OP107", &["nested too deeply"]);
    // Copies of a long tuple.
    let mut pickle = b"\x80\x02((".to_vec();
    pickle.extend(vec![b'N'; 100_000]);
    pickle.extend(b"t\x85q\x00ctorch\nSize\nq\x01");
    pickle.extend(b"h\x01h\x00R".repeat(1000));
    pickle.extend(b"t}\x86.");
    assert_one(&codes(&pickle), "OP107", &["too many values"]);
}

#[test]
fn deep_nesting_is_refused() {
    let mut pickle = b"\x80\x02".to_vec();
    pickle.extend(b"]".repeat(100_000));
    pickle.extend(b"a".repeat(99_999));
    pickle.extend(b"\x85}\x86.");
    assert_one(&codes(&pickle), "OP107", &["nested too deeply"]);
    assert_one(&codes(&b"(".repeat(100_000)), "OP107", &[]);
}

#[test]
fn tensors_must_fit_their_storages() {
    let codes = |extent: &[u8], storages: &[(&str, &[u8])]| {
        sample_codes(&Archive::base().with_samples(&tensor(extent), storages))
    };
    assert_eq!(codes(b"K\x04", &[("0", &[0; 16])]), ["read"]);
    assert_one(&codes(b"K\x05", &[("0", &[0; 16])]), "OP106", &["20 bytes"]);
    assert_one(&codes(b"K\x04", &[("0", &[0; 12])]), "OP106", &["storage `0`"]);
    assert_one(&codes(b"\x8a\x08\0\0\0\0\0\0\0\x7f", &[("0", &[0; 16])]), "OP108", &["shape"]);
    assert_one(&codes(b"\x8a\x09\0\0\0\0\0\0\0\x80\0", &[("0", &[0; 16])]), "OP107", &["64 bits"]);
    assert_one(&codes(b"K\x04", &[]), "OP106", &["data/0", "missing"]);
}

#[test]
fn samples_flatten_in_the_order_of_the_signature() {
    let file = Archive::base().write();
    let archive = read(file.path()).unwrap();
    let samples = archive.sample_inputs().unwrap().unwrap().flatten(&archive.program.signature).unwrap();
    let users: Vec<usize> = (0..archive.program.signature.inputs.len())
        .filter(|at| archive.program.signature.inputs[*at].kind == InputKind::User)
        .collect();
    let shapes = samples.iter().map(|(at, value)| match value {
        SampleValue::Tensor(tensor) => (*at, tensor.shape.clone()),
        other => panic!("{other:?}"),
    });
    assert_eq!(shapes.collect::<Vec<_>>(), [(users[0], vec![2, 4]), (users[1], vec![2, 8])]);

    let file = Archive::base().with_samples(b"\x80\x02K\x01K\x02\x86}\x86.", &[]).write();
    let archive = read(file.path()).unwrap();
    let problem = archive.sample_inputs().unwrap().unwrap().flatten(&archive.program.signature).unwrap_err();
    assert_eq!(problem.code.as_str(), "OP107");
}
