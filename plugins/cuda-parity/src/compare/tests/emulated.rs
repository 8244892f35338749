//! The kernels of `compare.cu` on the processor, as a comparer.

use std::collections::HashMap;
use std::ffi::c_int;
use std::sync::{Arc, Mutex, PoisonError};

use libloading::Library;
use onnxport_sdk::comparer::{Comparer, Pair};
use onnxport_sdk::executor::{Failure, Options};

use super::super::engine::{At, Engine};
use super::super::totals::{NOTHING, Totals, WORDS};
use super::super::{Running, format_of};
use super::mutants::{MUTANTS, Mutant};
use crate::compiled;

onnxport_sdk::export_plugin! { id: "emulated", comparer: Emulated }

/// Few enough to be started often, and enough that trees have levels.
const THREADS: u32 = 8;
const BLOCKS: u32 = 3;

pub(super) struct Emulated {
    /// What is wrong with the kernels, if anything is meant to be.
    mutant: Option<&'static Mutant>,
    libraries: HashMap<String, Arc<Library>>,
}

impl Comparer for Emulated {
    const NAME: &'static str = "emulated kernels";
    type Comparison = Running<Processor>;

    fn open(options: Options<'_>) -> Result<Self, Failure> {
        let mutant = options.number("mutant")?.and_then(|number| MUTANTS.get(number));
        Ok(Self { mutant, libraries: HashMap::new() })
    }

    fn begin(&mut self, pair: Pair<'_>) -> Result<Self::Comparison, Failure> {
        let format = format_of(pair)?;
        let source = format.source(THREADS);
        let source = self.mutant.map_or(source.clone(), |mutant| mutant.of(&source));
        let library = match self.libraries.get(&source) {
            Some(library) => Arc::clone(library),
            None => {
                let library = Arc::new(compile(&source));
                self.libraries.insert(source, Arc::clone(&library));
                library
            }
        };
        let engine = Processor { library, most: 0, total: NOTHING, parts: vec![0; WORDS * BLOCKS as usize] };
        Ok(Running::new(engine, &format, pair))
    }
}

fn compile(source: &str) -> Library {
    let text = format!("{}{source}{}", include_str!("../emulation.h"), include_str!("../emulation.c"));
    compiled::library(&text).unwrap_or_else(|why| panic!("the kernels do not compile: {why}"))
}

/// The kernels on one tensor.
pub(super) struct Processor {
    library: Arc<Library>,
    most: u64,
    total: [u64; WORDS],
    parts: Vec<u64>,
}

type Largest = unsafe extern "C" fn(*const u8, u64, *mut u64, u32) -> c_int;
type Compare = unsafe extern "C" fn(*const u8, *const u8, u64, u64, f64, f64, *mut u64, u32) -> c_int;
type Merge = unsafe extern "C" fn(*mut u64, u64, *mut u64) -> c_int;

/// What the blocks of a library share is there once.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// The bytes at an address that every element may have.
fn aligned(bytes: &[u8]) -> Vec<u64> {
    bytes
        .chunks(8)
        .map(|chunk| chunk.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)))
        .collect()
}

impl Engine for Processor {
    fn scan(&mut self, expected: &[u8], size: usize) -> Result<(), Failure> {
        let _one = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        let (count, expected) = ((expected.len() / size) as u64, aligned(expected));
        // SAFETY: the arguments are those of `run_largest` in `emulation.c`, and there are `count` elements.
        let status = unsafe {
            let largest = self.library.get::<Largest>(b"run_largest\0").unwrap();
            largest(expected.as_ptr().cast(), count, &raw mut self.most, BLOCKS)
        };
        assert_eq!(status, 0);
        Ok(())
    }

    fn largest(&mut self) -> Result<f64, Failure> {
        Ok(f64::from_bits(self.most))
    }

    fn chunk(&mut self, got: &[u8], expected: &[u8], size: usize, at: At) -> Result<(), Failure> {
        let _one = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        let count = (got.len() / size) as u64;
        let (got, expected) = (aligned(got), aligned(expected));
        let At { base, rtol, atol } = at;
        let parts = self.parts.as_mut_ptr();
        // SAFETY: the arguments are those of the functions in `emulation.c`; there are `count` elements, and a part for
        // each block.
        let status = unsafe {
            let compare = self.library.get::<Compare>(b"run_compare\0").unwrap();
            let merge = self.library.get::<Merge>(b"run_merge\0").unwrap();
            let (got, expected) = (got.as_ptr().cast(), expected.as_ptr().cast());
            compare(got, expected, count, base, rtol, atol, parts, BLOCKS)
                + merge(parts, BLOCKS.into(), self.total.as_mut_ptr())
        };
        assert_eq!(status, 0);
        Ok(())
    }

    fn totals(&mut self) -> Result<Totals, Failure> {
        // As two streams would have it.
        let mut totals = Totals(NOTHING);
        totals.add(&self.total);
        totals.add(&NOTHING);
        Ok(totals)
    }
}
