//! The cache of compiled regions: hits, misses, damage, the budget, and several runs at once.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use onnxport_core::backend::{self, Backed, BackendOptions, CACHE_BYTES, Cache};
use onnxport_core::ir::Model;

use super::plugin::{COMPILED, DRIVER};
use super::{host, options, parse};

fn text(weight: f32) -> String {
    format!(
        "opset 20\ngraph {{\n  constant %w: f32[4] = [{weight:?}, 2.0, 3.0, 4.0]\n  input %x: f32[s, 4]\n  \
         %a = Mul(%x, %w)\n  %b = Relu(%a)\n  output %b as y\n}}\n"
    )
}

fn run(folder: &Path, backend: &str, budget: u64, weight: f32) -> (Model, Backed) {
    let mut model = parse(&text(weight));
    let cache = Some(Cache { folder: folder.to_owned(), budget });
    let backed = backend::run(&host(), &mut model, &BackendOptions { cache, ..options(&[backend]) });
    (model, backed.expect("a model"))
}

fn is_cached(backed: &Backed) -> bool {
    backed.partitioned.backends[0].regions[0].cached
}

fn codes(backed: &Backed) -> Vec<String> {
    backed.diagnostics.iter().map(|found| found.code.to_string()).collect()
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> =
        fs::read_dir(folder).expect("a folder").flatten().map(|e| e.path()).collect();
    paths.sort();
    paths
}

// One test, since it changes the driver of the process.
#[test]
fn a_region_is_compiled_once_until_something_changes() {
    let folder = tempfile::tempdir().expect("a folder");
    let cache = folder.path().join("cache");
    let compiled = |weight: f32, budget: u64| {
        let before = COMPILED.get();
        let (model, backed) = run(&cache, "kept", budget, weight);
        let again = COMPILED.get() - before;
        assert_eq!(again == 0, is_cached(&backed));
        (model.to_text(), codes(&backed), again)
    };
    let (first, found, times) = compiled(1.0, CACHE_BYTES);
    assert_eq!((found, times), (vec![], 1));
    assert_eq!(compiled(1.0, CACHE_BYTES), (first.clone(), vec![], 0));
    assert_eq!(compiled(5.0, CACHE_BYTES).2, 1, "another weight");
    assert_eq!(compiled(5.0, CACHE_BYTES).2, 0);
    DRIVER.store(2, Ordering::SeqCst);
    let (other, _, times) = compiled(1.0, CACHE_BYTES);
    assert!(times == 1 && other != first, "another driver");
    DRIVER.store(1, Ordering::SeqCst);
    assert_eq!(compiled(1.0, CACHE_BYTES), (first.clone(), vec![], 0));
    assert_eq!(entries(&cache).len(), 3);

    // Every byte counts, and so does the length.
    for entry in entries(&cache) {
        let bytes = fs::read(&entry).expect("an entry");
        let mut damaged = bytes.clone();
        *damaged.last_mut().expect("bytes") ^= 1;
        for wrong in [damaged, bytes[..bytes.len() - 1].to_vec(), bytes[..9].to_vec(), Vec::new()] {
            fs::write(&entry, wrong).expect("it is written");
            let weights = [1.0, 5.0].map(|weight| compiled(weight, CACHE_BYTES));
            let codes: Vec<&String> = weights.iter().flat_map(|(_, codes, _)| codes).collect();
            let times: usize = weights.iter().map(|(_, _, times)| times).sum();
            assert_eq!(weights[0].0, first);
            // The entry of the other driver is not read.
            assert!(codes.len() == times && codes.iter().all(|code| *code == "OP508"), "{codes:?}");
        }
        fs::write(&entry, &bytes).expect("it is written");
    }
    // An entry under the name of another one.
    let [a, b, _] = entries(&cache).try_into().expect("three");
    let of_b = fs::read(&b).expect("an entry");
    fs::copy(&a, &b).expect("a copy");
    for weight in [1.0, 5.0] {
        let (model, _, _) = compiled(weight, CACHE_BYTES);
        assert!(weight != 1.0 || model == first);
    }
    fs::write(&b, of_b).expect("it is written");

    // The budget.
    let bytes = fs::metadata(&a).expect("an entry").len();
    assert_eq!(compiled(6.0, bytes + bytes / 2).2, 1);
    assert_eq!(entries(&cache).len(), 1, "only the new one is left");
    assert_eq!(compiled(6.0, bytes).2, 0);
    assert_eq!(compiled(7.0, 10).2, 1, "it never fits");
    assert_eq!(compiled(7.0, 10).2, 1);

    // Several runs at once, of equal and of different regions.
    let shared = folder.path().join("shared");
    let threads: Vec<_> = (0..6)
        .map(|at| {
            let shared = shared.clone();
            std::thread::spawn(move || {
                let mut texts = Vec::new();
                for weight in 0..4 {
                    let (model, backed) = run(&shared, "kept", CACHE_BYTES, ((weight + at) % 4) as f32);
                    assert_eq!(codes(&backed), Vec::<String>::new());
                    texts.push(((weight + at) % 4, model.to_text()));
                }
                texts.sort();
                texts
            })
        })
        .collect();
    let texts: Vec<_> = threads.into_iter().map(|thread| thread.join().expect("it ends")).collect();
    assert!(texts.windows(2).all(|pair| pair[0] == pair[1]));
    assert_eq!(entries(&shared).len(), 4, "{:?}", entries(&shared));
}

#[test]
fn a_backend_that_states_no_environment_is_never_cached() {
    let folder = tempfile::tempdir().expect("a folder");
    for _ in 0..2 {
        let (_, backed) = run(&folder.path().join("cache"), "plain", CACHE_BYTES, 1.0);
        assert!(!is_cached(&backed) && codes(&backed).is_empty());
    }
    assert!(!folder.path().join("cache").exists());
}

#[test]
fn a_folder_that_cannot_be_written_is_a_warning() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("cache");
    fs::write(&file, b"a file").expect("a file");
    let (_, backed) = run(&file, "kept", CACHE_BYTES, 9.0);
    assert!(!is_cached(&backed));
    assert!(codes(&backed).iter().all(|code| code == "OP508") && !codes(&backed).is_empty());
    assert_eq!(fs::read(&file).expect("it is there"), b"a file");
}
