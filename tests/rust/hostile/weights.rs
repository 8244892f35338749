//! Weight files with damaged structure: safetensors, indices of shards, checkpoints, rules for names. A file that
//! is not refused with a coded error must be consistent, and binding it to a program succeeds or is refused.

use std::fs;
use std::path::Path;

use onnxport_core::diagnose::{Report, Severity};
use onnxport_core::inspect::WeightTable;
use onnxport_core::pt2;
use onnxport_core::weights::{BindOptions, NameMap, WeightSet, bind};
use serde_json::{Value, json};

use super::archive::Archive;
use super::measure::measured;
use super::random::{Random, damage, rounds, text};
use super::{SLACK, assert_one, codes};

/// A file with this header, followed by `data` bytes.
fn safetensors(header: &str, data: usize) -> Vec<u8> {
    [&(header.len() as u64).to_le_bytes(), header.as_bytes(), &vec![0; data]].concat()
}

fn header() -> Value {
    json!({
        "__metadata__": {"format": "pt"},
        "a": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]},
        "b": {"dtype": "F16", "shape": [4], "data_offsets": [24, 32]},
        "c": {"dtype": "I64", "shape": [], "data_offsets": [32, 40]},
    })
}

/// Opens these weights under the limits that hold for every input, and looks at all of them.
fn open(path: &Path, size: usize) -> Result<WeightSet, Report> {
    let (result, peak): (Result<_, Report>, usize) = measured(|| {
        let set = WeightSet::open(&[path.to_owned()], None)?;
        let table = WeightTable::from(&set);
        table.check().expect("what was read can be had");
        assert_eq!(table.tensors.len(), set.len());
        Ok(set)
    });
    assert!(peak < SLACK + 20 * size, "{peak} bytes of memory for {size}");
    if let Err(report) = &result {
        assert!(report.diagnostics.iter().any(|d| d.severity == Severity::Error), "{report:?}");
    }
    result
}

fn open_file(name: &str, bytes: &[u8]) -> Result<WeightSet, Report> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(name);
    fs::write(&path, bytes).unwrap();
    open(&path, bytes.len())
}

#[test]
fn damaged_safetensors_never_panic() {
    rounds(600, 21, |random| {
        let mut header = header();
        damage(&mut header, random);
        let mut header = text(&header, random);
        if random.one_in(8) {
            header.truncate(header.char_indices().nth(random.below(200)).map_or(header.len(), |(at, _)| at));
        }
        let mut bytes = safetensors(&header, *random.pick(&[40, 40, 39, 41, 0]));
        if random.one_in(8) {
            let at = random.below(8 + header.len().min(64));
            bytes[at] = random.below(256) as u8;
        }
        drop(open_file("w.safetensors", &bytes));
    });
}

#[test]
fn headers_that_contradict_themselves_are_refused() {
    let refused = |header: &str, why: &str| {
        let codes = codes(open_file("w.safetensors", &safetensors(header, 24)).map(drop));
        assert_one(&codes, "OP631", &["`", why]);
    };
    let entry =
        |shape: &str| format!("\"a\":{{\"dtype\":\"F32\",\"shape\":{shape},\"data_offsets\":[0,24]}}");
    // Either of them fits the bytes.
    refused(&format!("{{{},{}}}", entry("[2,3]"), entry("[3,2]")), "`a` twice");
    refused(&format!("{{{}}}", entry(&format!("[{}6]", "1,".repeat(64)))), "`a`");
    refused(&format!("{{{}}}", entry("[7]")), "");
    refused(&format!("{{\"__metadata__\":3,{}}}", entry("[6]")), "damaged");
    refused("{\"a\":{\"dtype\":\"F3\",\"shape\":[6],\"data_offsets\":[0,24]}}", "damaged");
    let huge = [&u64::MAX.to_le_bytes()[..], b"{}"].concat();
    assert_one(&codes(open_file("w.safetensors", &huge).map(drop)), "OP631", &["18446744073709551615 bytes"]);
    assert_one(&codes(open_file("w.safetensors", b"{").map(drop)), "OP631", &["ends within"]);
}

/// A folder with two shards, and this index of them.
fn sharded(index: &str) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let header =
        |name: &str| format!("{{\"{name}\":{{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]}}}}");
    fs::write(dir.path().join("1.safetensors"), safetensors(&header("a"), 4)).unwrap();
    fs::write(dir.path().join("2.safetensors"), safetensors(&header("b"), 4)).unwrap();
    fs::write(dir.path().join("model.safetensors.index.json"), index).unwrap();
    dir
}

#[test]
fn damaged_indices_never_panic() {
    let sound = json!({
        "metadata": {"total_size": 8},
        "weight_map": {"a": "1.safetensors", "b": "2.safetensors"},
    });
    rounds(300, 22, |random| {
        let mut index = sound.clone();
        damage(&mut index, random);
        let dir = sharded(&text(&index, random));
        drop(open(dir.path(), 1000));
    });
}

#[test]
fn an_index_names_neither_itself_nor_what_is_elsewhere() {
    let name = "model.safetensors.index.json";
    let shards = [name, "other.json", "../1.safetensors", "/etc/passwd", "gone", ".", "", "a\u{0}b"];
    for shard in shards {
        let dir = sharded(&json!({"weight_map": {"a": "1.safetensors", "b": shard}}).to_string());
        fs::write(dir.path().join("other.json"), json!({"weight_map": {"b": name}}).to_string()).unwrap();
        assert_one(&codes(open(dir.path(), 1000).map(drop)), "OP631", &["shard"]);
    }
}

/// A checkpoint of this pickle, with one storage.
fn checkpoint(pickle: &[u8]) -> Vec<u8> {
    Archive::from_entries(&[
        ("archive/data.pkl", pickle),
        ("archive/byteorder", b"little"),
        ("archive/data/0", &[0; 16]),
    ])
    .bytes()
}

/// The pickle of `{"w": a tensor of four floats}`.
fn pickle() -> Vec<u8> {
    let mut pickle = b"\x80\x02}q\0X\x01\0\0\0wq\x01ctorch._utils\n_rebuild_tensor_v2\n".to_vec();
    pickle.extend(b"((X\x07\0\0\0storagectorch\nFloatStorage\nX\x01\0\0\x000X\x03\0\0\0cpuK\x04tQK\0");
    pickle.extend(b"K\x04\x85K\x01\x85\x89ccollections\nOrderedDict\n)Rtq\x02Rq\x03s.");
    pickle
}

#[test]
fn damaged_checkpoints_never_panic() {
    assert_eq!(open_file("w.pt", &checkpoint(&pickle())).unwrap().len(), 1);
    // Opcodes that move and share values.
    let opcodes = b"().012N\x88\x89KJMG]})lt\x85\x86\x87daesuqrhj\x94cQRb\x81\x93\x8a\x8bX";
    rounds(600, 23, |random| {
        let mut pickle = pickle();
        for _ in 0..=random.below(3) {
            let at = random.below(pickle.len());
            match random.below(4) {
                0 => pickle[at] = *random.pick(opcodes),
                1 => pickle.insert(at, *random.pick(opcodes)),
                2 => pickle[at] = random.below(256) as u8,
                _ => drop(pickle.remove(at)),
            }
        }
        drop(open_file("w.pt", &checkpoint(&pickle)));
    });
}

#[test]
fn text_is_not_copied_again_and_again() {
    // A device of a long name, made from one text as often as the pickle likes.
    let mut pickle = b"\x80\x02ctorch\ndevice\nq\x01X\0\0\x10\0".to_vec();
    pickle.extend(vec![b'a'; 1 << 20]);
    pickle.extend(b"\x85q\x02");
    for _ in 0..100_000 {
        pickle.extend(b"h\x01h\x02R0");
    }
    pickle.extend(b"N.");
    assert_one(&codes(open_file("w.pt", &checkpoint(&pickle)).map(drop)), "OP107", &["too many values"]);
}

/// Binds the matches of a map of names to the program of the base archive.
fn bound(names: &NameMap, random: &mut Random) {
    let archive = Archive::base().write();
    let mut program = pt2::read(archive.path()).unwrap().program;
    let tensors: Vec<_> = program.tensors.iter().map(|(name, t)| (name.clone(), t.clone())).collect();
    let mut set = WeightSet::default();
    for (name, tensor) in tensors {
        let shape = if random.one_in(6) { vec![random.size()] } else { tensor.shape.clone() };
        let bytes = tensor.read().unwrap().into_owned();
        drop(set.insert_bytes(&name, tensor.dtype, shape, bytes));
    }
    let options =
        BindOptions { partial: random.one_in(2), cast: random.one_in(2), several: random.one_in(2) };
    drop(bind(&mut program, &set, names, options));
}

#[test]
fn damaged_rules_for_names_never_panic() {
    let sound = json!({
        "rename": {"0.weight": "2.weight", "2.weight": "0.weight"},
        "prefix": {"": "module.", "0.": "2.", "0.w": "é"},
    });
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("map.json");
    rounds(100, 24, |random| {
        let mut rules = sound.clone();
        damage(&mut rules, random);
        fs::write(&path, text(&rules, random)).unwrap();
        if let Ok(names) = NameMap::read(&path) {
            bound(&names, random);
        }
    });
}
