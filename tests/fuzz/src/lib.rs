//! Fuzz targets: a function of bytes for each format and rewriter, which panics if a property does not hold.
//!
//! `tests/rust/fuzz.rs` replays the committed corpora and some mutations of them in every test run. The crate in
//! `libfuzzer` runs the same functions under libFuzzer; `tests/fuzz/README.md` has the commands.

pub mod document;
mod folding;
mod functionaliser;
pub mod graphs;
mod lazy_tensors;
mod manifests;
pub mod mutate;
mod onnx_import;
mod options;
mod pickle;
mod program_json;
mod rules;
mod safetensors;
mod scratch;
mod strided;
mod tables;
mod text_forms;
mod zip_index;

/// A function to fuzz.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// The name of its file, its corpus and its binary.
    pub name: &'static str,
    /// Panics if a property does not hold for the input.
    pub run: fn(&[u8]),
    /// The bytes of memory that one run may hold beside its input.
    pub memory: usize,
    /// The mutations to run in every test run: about half a second without optimization.
    pub rounds: u64,
}

macro_rules! targets {
    ($($name:ident { memory: $mib:literal MiB, rounds: $rounds:literal }),* $(,)?) => {
        /// Every target.
        pub const TARGETS: &[Target] =
            &[$(Target {
                name: stringify!($name),
                run: $name::run,
                memory: $mib << 20,
                rounds: $rounds,
            }),*];
    };
}

targets! {
    folding { memory: 66 MiB, rounds: 60 },
    functionaliser { memory: 66 MiB, rounds: 300 },
    lazy_tensors { memory: 66 MiB, rounds: 1000 },
    manifests { memory: 66 MiB, rounds: 300 },
    onnx_import { memory: 66 MiB, rounds: 1000 },
    options { memory: 66 MiB, rounds: 100 },
    pickle { memory: 66 MiB, rounds: 1000 },
    program_json { memory: 66 MiB, rounds: 40 },
    rules { memory: 66 MiB, rounds: 60 },
    safetensors { memory: 66 MiB, rounds: 1000 },
    tables { memory: 66 MiB, rounds: 500 },
    text_forms { memory: 66 MiB, rounds: 1000 },
    zip_index { memory: 66 MiB, rounds: 1000 },
}

/// Runs the target called `name`.
///
/// # Panics
/// If a property does not hold, or there is no such target.
pub fn run(name: &str, data: &[u8]) {
    let target = TARGETS.iter().find(|target| target.name == name).expect("a target of this name");
    (target.run)(data);
}
