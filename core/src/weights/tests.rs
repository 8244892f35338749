use std::collections::HashMap;
use std::path::{Path, PathBuf};

use ::safetensors::tensor::{Dtype, TensorView};

use super::*;
use crate::program::Program;

/// A safetensors file of f32 tensors, each filled with one number.
fn save(folder: &Path, name: &str, tensors: &[(&str, &[usize], f32)]) -> PathBuf {
    let bytes: Vec<(String, Vec<usize>, Vec<u8>)> = tensors
        .iter()
        .map(|(name, shape, value)| {
            let elements = shape.iter().product();
            ((*name).to_owned(), shape.to_vec(), value.to_le_bytes().repeat(elements))
        })
        .collect();
    let views = bytes
        .iter()
        .map(|(name, shape, data)| (name, TensorView::new(Dtype::F32, shape.clone(), data).unwrap()));
    let path = folder.join(name);
    ::safetensors::serialize_to_file(views, None::<HashMap<String, String>>, &path).unwrap();
    path
}

/// A program that returns its parameters `a.w` and `b.w` of shape `[2]`; they are one tensor where they
/// have one storage.
fn program(storages: [&str; 2]) -> Program {
    let mut program = Program::default();
    for (name, storage) in ["a.w", "b.w"].into_iter().zip(storages) {
        add(&mut program, name, storage);
    }
    program
}

fn add(program: &mut Program, name: &str, storage: &str) {
    use crate::program::{Arg, InputKind, InputSpec, TensorType, Value};
    use crate::sym::Dim;
    use crate::tensor::Unbound;
    let ty = TensorType::dense(DType::F32, vec![Dim::Const(2)]);
    let val = program.body.values.push(Value { name: name.replace('.', "_").into(), ty: ty.into() });
    program.body.inputs.push(Arg::Value(val));
    program.body.outputs.push(Arg::Value(val));
    program
        .signature
        .inputs
        .push(InputSpec { name: name.to_owned(), kind: InputKind::Parameter(name.to_owned()) });
    let unbound = Unbound {
        name: name.to_owned(),
        storage: storage.to_owned(),
        dtype: DType::F32,
        shape: vec![2],
        offset: 0,
        strides: None,
    };
    let tensor = unbound.into_tensor();
    program.tensors.insert(name.to_owned(), tensor);
}

fn value(program: &Program, name: &str) -> f32 {
    let bytes = program.tensors[name].read().unwrap();
    f32::from_le_bytes(bytes[..4].try_into().unwrap())
}

fn open(paths: &[PathBuf]) -> Result<WeightSet, Report> {
    WeightSet::open(paths, None)
}

fn rules(text: &str) -> NameMap {
    toml::from_str(text).unwrap()
}

fn codes(report: &Report) -> Vec<&str> {
    report.diagnostics.iter().map(|d| d.code.as_str()).collect()
}

#[test]
fn tensors_are_found_by_name_and_stay_in_their_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = save(folder.path(), "w.safetensors", &[("a.w", &[2], 1.0), ("b.w", &[2], 2.0)]);
    let mut program = program(["1", "2"]);
    assert!(missing(&program).unwrap().message.contains("2 of its tensors"));
    let bound =
        bind(&mut program, &open(&[file]).unwrap(), &NameMap::default(), BindOptions::default()).unwrap();
    assert_eq!((bound.replaced, bound.diagnostics.len()), (2, 0));
    assert_eq!((value(&program, "a.w"), value(&program, "b.w")), (1.0, 2.0));
    assert!(matches!(program.tensors["a.w"].source, crate::tensor::Source::Mapped { .. }));
    assert!(missing(&program).is_none());
}

#[test]
fn everything_that_does_not_fit_is_said_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let file = save(folder.path(), "w.safetensors", &[("a.w", &[3], 1.0), ("left", &[2], 2.0)]);
    let mut set = open(&[file]).unwrap();
    set.insert_bytes("b.w", DType::F16, vec![2], vec![0; 4]).unwrap();
    let mut program = program(["1", "2"]);
    add(&mut program, "c.w", "3");
    let report =
        bind(&mut program, &set, &rules("[rename]\n\"d.w\" = \"e.w\""), BindOptions::default()).unwrap_err();
    assert_eq!(codes(&report), ["OP632", "OP634", "OP635", "OP637", "OP633"]);
    assert!(report.diagnostics[0].notes[0].contains("c.w"));
    assert!(report.diagnostics[1].notes[0].contains("f32[3]"));
    assert!(program.tensors.values().all(|t| t.unbound().is_some()));
    assert_eq!(
        set.insert_bytes("x", DType::F32, vec![2], vec![0; 7]).unwrap_err().code,
        Code::WEIGHTS_SOURCE
    );
    assert_eq!(set.insert_bytes("b.w", DType::U8, vec![1], vec![0]).unwrap_err().code, Code::WEIGHTS_TWICE);
}

#[test]
fn floats_are_rounded_when_asked() {
    let mut set = WeightSet::default();
    set.insert_bytes("a.w", DType::BF16, vec![2], vec![0x80, 0x3f, 0, 0x40]).unwrap();
    set.insert_bytes("b.w", DType::F64, vec![2], 3f64.to_le_bytes().repeat(2)).unwrap();
    let names = NameMap::default();
    let strict = bind(&mut program(["1", "2"]), &set, &names, BindOptions::default()).unwrap_err();
    assert_eq!(codes(&strict), ["OP635"]);
    let mut program = program(["1", "2"]);
    let options = BindOptions { cast: true, ..BindOptions::default() };
    bind(&mut program, &set, &names, options).unwrap();
    assert_eq!((value(&program, "a.w"), value(&program, "b.w")), (1.0, 3.0));
    // Integers are not taken for floats.
    let mut set = WeightSet::default();
    for name in ["a.w", "b.w"] {
        set.insert_bytes(name, DType::I32, vec![2], vec![0; 8]).unwrap();
    }
    assert_eq!(codes(&bind(&mut program, &set, &names, options).unwrap_err()), ["OP635"]);
}

#[test]
fn tied_tensors_are_given_together() {
    let folder = tempfile::tempdir().unwrap();
    let one = save(folder.path(), "one.safetensors", &[("b.w", &[2], 3.0)]);
    let mut tied = program(["same", "same"]);
    bind(&mut tied, &open(std::slice::from_ref(&one)).unwrap(), &NameMap::default(), BindOptions::default())
        .unwrap();
    assert_eq!((value(&tied, "a.w"), value(&tied, "b.w")), (3.0, 3.0));
    assert!(tied.tensors["a.w"].same_bytes(&tied.tensors["b.w"]));
    // Without the program's word for it, a rule has to say so.
    let report = bind(
        &mut program(["1", "2"]),
        &open(std::slice::from_ref(&one)).unwrap(),
        &NameMap::default(),
        BindOptions::default(),
    );
    assert_eq!(codes(&report.unwrap_err()), ["OP632"]);
    let map = rules("[rename]\n\"a.w\" = \"b.w\"");
    assert_eq!(
        bind(&mut program(["1", "2"]), &open(&[one]).unwrap(), &map, BindOptions::default())
            .unwrap()
            .replaced,
        2
    );
    // Two equal copies are one, two different ones an error.
    for (second, outcome) in [(3.0, None), (4.0, Some("OP638"))] {
        let both = save(folder.path(), "both.safetensors", &[("a.w", &[2], 3.0), ("b.w", &[2], second)]);
        let result = bind(
            &mut program(["same", "same"]),
            &open(&[both]).unwrap(),
            &NameMap::default(),
            BindOptions::default(),
        );
        assert_eq!(result.err().map(|r| codes(&r)[0].to_owned()).as_deref(), outcome);
    }
}

#[test]
fn names_are_mapped_by_rules() {
    let map =
        rules("[rename]\n\"a.w\" = \"z\"\n[prefix]\n\"\" = \"model.\"\n\"a.\" = \"alpha.\"\n\"a.b.\" = \"\"");
    let keys = ["a.w", "a.v", "a.b.c", "d"].map(|name| map.key(name));
    assert_eq!(keys, ["z", "alpha.v", "c", "model.d"]);
    assert!(map.unused().is_none());
    let mut map = NameMap::default();
    map.add_prefix("model.").unwrap();
    assert_eq!(map.add_prefix("other.").unwrap_err().code, Code::WEIGHTS_MAP);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("map.toml");
    for wrong in ["[regex]\n\"a\" = \"b\"", "[rename]\na = 1", "]"] {
        std::fs::write(&path, wrong).unwrap();
        assert_eq!(NameMap::read(&path).unwrap_err().code, Code::WEIGHTS_MAP);
    }
}

#[test]
fn a_prefix_that_is_missing_is_suggested() {
    let folder = tempfile::tempdir().unwrap();
    let long = save(folder.path(), "l.safetensors", &[("m.a.w", &[2], 1.0), ("m.b.w", &[2], 1.0)]);
    let short = save(folder.path(), "s.safetensors", &[("w", &[2], 1.0)]);
    let help = |file: &PathBuf, mut program: Program| {
        let report = bind(
            &mut program,
            &open(std::slice::from_ref(file)).unwrap(),
            &NameMap::default(),
            BindOptions::default(),
        )
        .unwrap_err();
        report.diagnostics[0].help.clone().unwrap()
    };
    assert!(help(&long, program(["1", "2"])).contains("`--weights-prefix m.`"));
    let mut one = Program::default();
    add(&mut one, "a.w", "1");
    assert!(help(&short, one).contains("\"a.\" = \"\""));
}

#[test]
fn shards_are_read_through_their_index() {
    let folder = tempfile::tempdir().unwrap();
    save(folder.path(), "1.safetensors", &[("a", &[2], 1.0), ("hidden", &[2], 5.0)]);
    save(folder.path(), "2.safetensors", &[("b", &[2], 2.0)]);
    let index = folder.path().join("model.safetensors.index.json");
    let write = |map: &str| std::fs::write(&index, format!("{{\"weight_map\": {{{map}}}}}")).unwrap();
    write(r#""a": "1.safetensors", "b": "2.safetensors""#);
    let set = open(&[folder.path().to_owned()]).unwrap();
    assert_eq!(set.names().collect::<Vec<_>>(), ["a", "b"]);
    for (map, expected, part) in [
        (r#""a": "3.safetensors", "b": "4.safetensors""#, vec!["OP631", "OP631"], "missing"),
        (r#""a": "2.safetensors""#, vec!["OP631"], "not in their shards"),
        (r#""a": "1.safetensors", "a": "1.safetensors""#, vec!["OP636"], "twice"),
        (r#""a": "../1.safetensors""#, vec!["OP631"], "outside"),
        (r#""a": 1"#, vec!["OP631"], "index"),
    ] {
        write(map);
        let report = open(std::slice::from_ref(&index)).unwrap_err();
        assert_eq!(codes(&report), expected, "{map}");
        assert!(report.diagnostics[0].message.contains(part), "{}", report.diagnostics[0].message);
    }
    // Without an index every file counts, and a name may be in one of them only.
    std::fs::remove_file(&index).unwrap();
    assert_eq!(open(&[folder.path().to_owned()]).unwrap().len(), 3);
    save(folder.path(), "2.safetensors", &[("a", &[2], 2.0)]);
    assert_eq!(codes(&open(&[folder.path().to_owned()]).unwrap_err()), ["OP636"]);
}

#[test]
fn hostile_headers_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("w.safetensors");
    let header = |text: &str, data: usize| {
        let mut bytes = (text.len() as u64).to_le_bytes().to_vec();
        bytes.extend_from_slice(text.as_bytes());
        bytes.extend(vec![0; data]);
        bytes
    };
    let tensor =
        |from: u64, to: u64| format!("{{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[{from},{to}]}}");
    let one = format!("{{\"a\":{}}}", tensor(0, 8));
    let cases = [
        Vec::new(),
        b"PK".to_vec(),
        u64::MAX.to_le_bytes().to_vec(),
        header("{", 0),
        header("[]", 0),
        header(&one, 7),
        header(&one, 9),
        header(&format!("{{\"a\":{},\"b\":{}}}", tensor(0, 8), tensor(4, 12)), 12),
        header(&format!("{{\"a\":{},\"b\":{}}}", tensor(0, 8), tensor(12, 20)), 20),
        header(&format!("{{\"a\":{},\"a\":{}}}", tensor(0, 8), tensor(8, 16)), 16),
        header(&format!("{{\"a\":{}}}", tensor(8, 0)), 8),
        header(&one.replace("[2]", "[18446744073709551615, 2]"), 8),
        header(&one.replace("[2]", "[3]"), 8),
        header(&one.replace("F32", "F6_E2M3").replace("[2]", "[4]").replace("[0,8]", "[0,3]"), 3),
        header(&one.replace("F32", "Q4"), 8),
    ];
    for (at, bytes) in cases.iter().enumerate() {
        std::fs::write(&path, bytes).unwrap();
        let report = open(std::slice::from_ref(&path)).unwrap_err();
        assert_eq!(codes(&report), ["OP631"], "case {at}: {:?}", report.diagnostics);
    }
    std::fs::write(&path, header(&one, 8)).unwrap();
    assert_eq!(open(&[path]).unwrap().len(), 1);
}

#[test]
fn other_files_are_called_what_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("w.pt");
    let legacy = b"\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.".as_slice();
    for (bytes, part) in [
        (legacy, "before PyTorch 1.6"),
        (b"\x80\x04K\x01.", "bare pickle"),
        (b"GGUF1234", "GGUF"),
        (b"version https://git-lfs.github.com/spec/v1", "git lfs pull"),
        (b"", "empty"),
    ] {
        std::fs::write(&path, bytes).unwrap();
        let report = open(std::slice::from_ref(&path)).unwrap_err();
        let text = format!("{:?}", report.diagnostics);
        assert!(codes(&report) == ["OP631"] && text.contains(part), "{text}");
        assert!(report.diagnostics[0].help.is_some());
    }
    assert_eq!(codes(&open(&[folder.path().join("none")]).unwrap_err()), ["OP101"]);
    std::fs::remove_file(&path).unwrap();
    assert_eq!(codes(&open(&[folder.path().to_owned()]).unwrap_err()), ["OP631"]);
}

#[test]
fn a_checkpoint_may_lack_a_prefix_and_tied_names() {
    let ties = [vec!["base.embed.weight".to_owned(), "head.weight".to_owned()]];
    let keys = |stored: &[&'static str]| {
        let names = NameMap::of_checkpoint(&stored.iter().copied().collect(), &ties, "base");
        let keys = ["base.embed.weight", "head.weight", "base.norm.bias"].map(|name| names.key(name));
        assert!(names.check_used().is_ok());
        keys
    };
    let bare = ["embed.weight", "embed.weight", "norm.bias"];
    assert_eq!(keys(&["embed.weight", "norm.bias"]), bare);
    let own = "base.embed.weight";
    assert_eq!(keys(&[own, "base.norm.bias"]), [own, own, "base.norm.bias"]);
    assert_eq!(keys(&["head.weight", "base.norm.bias"]), ["head.weight", "head.weight", "base.norm.bias"]);
    assert_eq!(keys(&[own, "head.weight", "base.norm.bias"]), [own, "head.weight", "base.norm.bias"]);
}
