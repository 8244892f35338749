//! The fuzz targets on their corpora, and on mutations of these: `tests/fuzz`.

use onnxport_fuzz::mutate::{Random, mutate};
use onnxport_fuzz::{TARGETS, Target};
use onnxport_harness::Case;

use crate::files::repository;
use crate::hostile::measure::measured;
use crate::hostile::random::rounds;

::onnxport_harness::inventory::submit! {
    ::onnxport_harness::Cases(|| TARGETS.iter().map(case).collect())
}

fn case(target: &'static Target) -> Case {
    Case { name: format!("fuzz::{}", target.name), run: Box::new(|| smoke(target)) }
}

fn smoke(target: &Target) {
    let folder = repository().join("tests/fuzz/corpus").join(target.name);
    let entries = folder.read_dir().expect("a corpus").map(|entry| entry.expect("an input").path());
    let mut paths: Vec<_> = entries.collect();
    paths.sort();
    let inputs: Vec<Vec<u8>> = paths.iter().map(|path| std::fs::read(path).expect("an input")).collect();
    assert!(!inputs.is_empty(), "{} is empty", folder.display());
    for (path, input) in paths.iter().zip(&inputs) {
        run(target, input, &path.display().to_string());
    }
    rounds(target.rounds, 0, |chance| {
        let mut random = Random::new(chance.next());
        let [input, other] = [0; 2].map(|_| &inputs[random.below(inputs.len())]);
        run(target, &mutate(input, other, &mut random), "the round");
    });
}

/// Runs a target; a failure says for which input.
fn run(target: &Target, input: &[u8], name: &str) {
    struct Failed<'a>(&'a str, &'a [u8]);
    impl Drop for Failed<'_> {
        fn drop(&mut self) {
            if std::thread::panicking() {
                eprintln!("the input of {} is {:?}", self.0, self.1);
            }
        }
    }
    let _failed = Failed(name, input);
    let ((), peak) = measured(|| (target.run)(input));
    assert!(peak <= target.memory, "{name} takes {peak} bytes of memory");
}
