//! Replacing outputs, interrupted at every step.

use std::cell::Cell;
use std::fs;
use std::hash::{DefaultHasher, Hasher};
use std::io::{self, Write};
use std::path::Path;

use super::{Staged, Target, is_data_name};
use crate::diagnose::Report;
use crate::ir::Model;
use crate::onnx::{Location, OnnxFile};
use crate::tensor::{LazyTensor, Source};
use crate::write::{ExternalData, Unpublished, WriteOptions, stage, write};

thread_local! {
    /// How many more steps succeed.
    static STEPS: Cell<Option<u32>> = const { Cell::new(None) };
    /// Whether the next one is as if the process were killed, and no error.
    static KILL: Cell<bool> = const { Cell::new(false) };
    /// Whether the file system has no hard links.
    static NO_LINKS: Cell<bool> = const { Cell::new(false) };
}

/// Whether to do as if the file system had no hard links.
pub(super) fn without_links() -> bool {
    NO_LINKS.get()
}

/// Called before every step of a swap.
pub(super) fn fault() -> io::Result<()> {
    match STEPS.get() {
        Some(0) if KILL.get() => Err(io::Error::other("killed")),
        Some(0) => {
            STEPS.set(None);
            Err(io::ErrorKind::StorageFull.into())
        }
        steps => {
            STEPS.set(steps.map(|n| n - 1));
            Ok(())
        }
    }
}

/// Whether the process is as if killed.
pub(super) fn killed() -> bool {
    KILL.get() && STEPS.get() == Some(0)
}

/// A folder in memory where there is one: these tests flush hundreds of files.
fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

/// Two weights of 4 KiB that hold `fill`.
fn model(fill: u8) -> Model {
    let zeros = vec!["0.0"; 1024].join(", ");
    let mut model = Model::parse(&format!(
        "opset 20\ngraph {{\n  constant %v: f32[1024] = [{zeros}]\n  constant %w: f32[1024] = ...\n  \
         input %x: f32[1024]\n  %a = Add(%x, %v)\n  %b = Mul(%a, %w)\n  output %b as y\n}}\n"
    ))
    .unwrap();
    for (at, initializer) in model.graph.initializers.iter_mut().enumerate() {
        let bytes = vec![fill + at as u8; 4096];
        initializer.data = LazyTensor { source: Source::Inline(bytes.into()), ..initializer.data.clone() };
    }
    model
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Inline,
    One,
    Two,
}

const FORMS: [Form; 3] = [Form::Inline, Form::One, Form::Two];

fn options(form: Form) -> WriteOptions {
    WriteOptions {
        external_data: if form == Form::Inline { ExternalData::Inline } else { ExternalData::External },
        shard_bytes: (form == Form::Two).then_some(4096),
        ..WriteOptions::default()
    }
}

fn put(path: &Path, fill: u8, form: Form, manifest: bool) -> Result<(), Report> {
    write(&model(fill), path, &WriteOptions { manifest, ..options(form) }).map(drop)
}

/// The byte that the weights of the model at `path` hold: all of them, or the pair is mixed.
fn fill_of(path: &Path) -> Option<u8> {
    if !path.exists() {
        return None;
    }
    let file = OnnxFile::open(path).unwrap();
    let graph = file.proto.graph.as_ref().unwrap();
    let mut fills = Vec::new();
    for (at, (weight, tensor)) in file.weights.iter().zip(&graph.initializer).enumerate() {
        let bytes = match &weight.location {
            Location::Inline => tensor.raw_data.clone().unwrap().to_vec(),
            Location::External { file, offset, length } => {
                let data = path.with_file_name(file);
                if NO_LINKS.get() && !data.exists() {
                    return None;
                }
                let bytes = fs::read(data).unwrap();
                bytes[*offset as usize..][..length.unwrap() as usize].to_vec()
            }
        };
        assert!(bytes.iter().all(|byte| *byte == bytes[0]) && bytes.len() == 4096);
        fills.push(bytes[0] - at as u8);
    }
    assert!(fills.iter().all(|fill| *fill == fills[0]), "old and new weights are mixed: {fills:?}");
    Some(fills[0])
}

/// Returns the files in `dir`, with a hash of their contents.
fn listing(dir: &Path) -> Vec<(String, u64)> {
    let file = |entry: io::Result<fs::DirEntry>| {
        let path = entry.unwrap().path();
        let mut hash = DefaultHasher::new();
        hash.write(&fs::read(&path).unwrap());
        (path.file_name().unwrap().to_str().unwrap().to_owned(), hash.finish())
    };
    let mut files: Vec<_> = fs::read_dir(dir).unwrap().map(file).collect();
    files.sort();
    files
}

/// The files of an output that nothing disturbed.
fn expected(fill: u8, form: Form, manifest: bool) -> Vec<(String, u64)> {
    let dir = folder();
    put(&dir.path().join("m.onnx"), fill, form, manifest).unwrap();
    listing(dir.path())
}

/// Writes `new` where `old` stands, once for every step, and stops there. `judge` is given the folder,
/// and whether the run succeeded.
fn at_every_step(old: Option<Form>, new: Form, kill: bool, judge: impl Fn(&Path, bool)) -> u32 {
    for steps in 0.. {
        let dir = folder();
        let path = dir.path().join("m.onnx");
        if let Some(old) = old {
            put(&path, 10, old, true).unwrap();
        }
        KILL.set(kill);
        STEPS.set(Some(steps));
        let result = put(&path, 20, new, true);
        let stopped = if kill { killed() } else { STEPS.get().is_none() };
        STEPS.set(None);
        judge(dir.path(), result.is_ok());
        if !stopped {
            assert!(result.is_ok());
            return steps;
        }
    }
    unreachable!()
}

#[test]
fn a_killed_run_leaves_the_old_model_or_the_new_one() {
    let whole = FORMS.map(|next| expected(30, next, false));
    for old in [None, Some(Form::Inline), Some(Form::One), Some(Form::Two)] {
        for new in FORMS {
            for (next, whole) in FORMS.into_iter().zip(&whole) {
                let steps = at_every_step(old, new, true, |dir, _| {
                    let path = dir.join("m.onnx");
                    let fill = fill_of(&path);
                    assert!(fill == Some(20) || fill == old.map(|_| 10), "{old:?} {new:?}: {fill:?}");
                    // The next run leaves nothing but its own files.
                    put(&path, 30, next, false).unwrap();
                    assert_eq!(listing(dir), *whole, "{old:?} {new:?} {next:?}");
                });
                assert!(steps > 3, "{steps} steps");
            }
        }
    }
}

#[test]
fn without_hard_links_old_and_new_are_not_mixed_either() {
    NO_LINKS.set(true);
    for old in FORMS {
        for new in FORMS {
            at_every_step(Some(old), new, true, |dir, _| {
                let path = dir.join("m.onnx");
                // For a moment there is none that can be read.
                let fill = fill_of(&path);
                assert!([None, Some(10), Some(20)].contains(&fill), "{old:?} {new:?}: {fill:?}");
                put(&path, 30, old, false).unwrap();
                assert_eq!(listing(dir), expected(30, old, false), "{old:?} {new:?}");
            });
            at_every_step(Some(old), new, false, |dir, ok| {
                let files = listing(dir);
                let is_new = fill_of(&dir.join("m.onnx")) == Some(20);
                assert!(ok || is_new || files == expected(10, old, true), "{old:?} {new:?}");
            });
        }
    }
}

#[test]
fn the_next_run_makes_a_killed_one_whole_even_if_it_fails() {
    for old in FORMS {
        for new in FORMS {
            at_every_step(Some(old), new, true, |dir, _| {
                Target::new(&dir.join("m.onnx"), 0).recover().unwrap();
                let mut files = listing(dir);
                let whole = [expected(10, old, true), expected(20, new, true)];
                if !whole.contains(&files) {
                    // The list of hashes is replaced last.
                    files.retain(|(name, _)| name != "m.onnx.sha256");
                    assert_eq!(files, expected(20, new, false), "{old:?} {new:?}");
                }
            });
        }
    }
}

#[test]
fn an_error_goes_back_to_the_old_files() {
    for old in [None, Some(Form::Inline), Some(Form::One), Some(Form::Two)] {
        for new in FORMS {
            at_every_step(old, new, false, |dir, ok| {
                let files = listing(dir);
                let before = old.map_or_else(Vec::new, |old| expected(10, old, true));
                if ok {
                    assert_eq!(files, expected(20, new, true));
                } else if fill_of(&dir.join("m.onnx")) == Some(20) {
                    // The failed step came after the change.
                    put(&dir.join("m.onnx"), 20, new, true).unwrap();
                    assert_eq!(listing(dir), expected(20, new, true));
                } else {
                    assert_eq!(files, before, "{old:?} {new:?}");
                }
            });
        }
    }
}

#[test]
fn temporary_files_of_the_dead_are_removed_and_of_the_living_kept() {
    let dir = folder();
    let path = dir.path().join("m.onnx");
    let target = Target::new(&path, 0);
    let mut living = Staged::named(dir.path(), &target.stem).unwrap();
    living.file().write_all(b"alive").unwrap();
    let dead = dir.path().join(format!(".onnxport-{}-dead.tmp", target.stem));
    fs::write(&dead, "dead").unwrap();
    let other = dir.path().join(".onnxport-0123456789ab-other.tmp");
    fs::write(&other, "of another output").unwrap();
    put(&path, 10, Form::One, false).unwrap();
    assert!(!dead.exists() && other.exists());
    assert_eq!(listing(dir.path()).len(), 4);
    living.appear(&path).unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"alive");
    drop(Staged::named(dir.path(), &target.stem).unwrap());
    assert_eq!(listing(dir.path()).len(), 3);
}

#[test]
fn files_with_hidden_names_become_the_output_as_well() {
    let dir = folder();
    let path = dir.path().join("m.onnx");
    put(&path, 10, Form::One, false).unwrap();
    let target = Target::new(&path, 1);
    let staged = |from: &Path| {
        let mut staged = Staged::named(dir.path(), &target.stem).unwrap();
        staged.file().write_all(&fs::read(from).unwrap()).unwrap();
        staged
    };
    let other = folder();
    put(&other.path().join("m.onnx"), 20, Form::One, false).unwrap();
    let data = vec![staged(&other.path().join("m.onnx.data"))];
    let model = staged(&other.path().join("m.onnx"));
    assert_eq!(listing(dir.path()).len(), 4);
    target.publish(super::Ready { data, model, manifest: None }, &super::interrupt::publishing()).unwrap();
    assert_eq!(listing(dir.path()), expected(20, Form::One, false));
}

#[test]
fn names_of_data_files_are_told_from_others() {
    let model = Path::new("/a/m.onnx");
    for name in ["m.onnx.data", "m-00001-of-00002.onnx.data", "m-00007-of-00012.onnx.data"] {
        assert!(is_data_name(model, name.as_ref()), "{name}");
    }
    for name in ["m.data", "n.onnx.data", "m-1-of-2.onnx.data", "m-00000-of-00002.onnx.data", "m.onnx", ""] {
        assert!(!is_data_name(model, name.as_ref()), "{name}");
    }
    assert!(is_data_name(Path::new("m"), "m-00001-of-00002.data".as_ref()));
}

/// A model at `path` that is complete and not published.
fn staged(path: &Path, fill: u8, form: Form) -> Unpublished {
    let options = WriteOptions { manifest: true, ..options(form) };
    stage(&model(fill), path, &options).unwrap()
}

#[test]
fn a_model_can_be_read_before_it_is_published_and_vanishes_unless_it_is() {
    for old in [None, Some(Form::Inline), Some(Form::One), Some(Form::Two)] {
        for new in FORMS {
            let dir = folder();
            let path = dir.path().join("m.onnx");
            if let Some(old) = old {
                put(&path, 10, old, true).unwrap();
            }
            let before = listing(dir.path());
            let mut unpublished = staged(&path, 20, new);
            let readable = unpublished.readable().unwrap();
            assert_eq!(fill_of(readable.path()), Some(20), "{old:?} {new:?}");
            OnnxFile::open(readable.path()).unwrap().check_data().unwrap();
            // The old one is there, and another run removes nothing that is in use.
            assert_eq!(fill_of(&path), old.map(|_| 10));
            Target::new(&path, 0).recover().unwrap();
            assert_eq!(fill_of(readable.path()), Some(20));
            drop((readable, unpublished));
            assert_eq!(listing(dir.path()), before, "{old:?} {new:?}");
            let mut unpublished = staged(&path, 20, new);
            drop(unpublished.readable().unwrap());
            unpublished.publish().unwrap();
            assert_eq!(listing(dir.path()), expected(20, new, true), "{old:?} {new:?}");
        }
    }
}

#[test]
fn what_failed_is_kept_beside_the_old_model() {
    for form in FORMS {
        let dir = folder();
        let path = dir.path().join("m.onnx");
        put(&path, 10, Form::One, false).unwrap();
        for fill in [20, 30] {
            let kept = staged(&path, fill, form).publish_failed().unwrap();
            assert_eq!(kept.model, dir.path().join("m.failed.onnx"));
            assert_eq!(kept.model_bytes, fs::metadata(&kept.model).unwrap().len());
            assert_eq!((fill_of(&path), fill_of(&kept.model)), (Some(10), Some(fill)));
            assert_eq!(listing(dir.path()).len(), 3 + kept.data.len());
        }
        put(&path, 10, Form::One, false).unwrap();
        assert_eq!(fill_of(&dir.path().join("m.failed.onnx")), Some(30));
    }
}
