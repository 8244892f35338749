//! The kernels of `compare.cu` on the processor, as a comparer.

use std::collections::HashMap;
use std::ffi::c_int;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use libloading::Library;
use onnxport_sdk::comparer::{Comparer, Pair};
use onnxport_sdk::executor::{Failure, Options};

use super::super::engine::{At, Engine, Side};
use super::super::format::Format;
use super::super::totals::{NOTHING, Totals, WORDS};
use super::super::{Running, format_of};
use super::mutants::{MUTANTS, Mutant};
use crate::compiled;

onnxport_sdk::export_plugin! { id: "emulated", comparer: Emulated }

/// Few enough to be started often, and enough that trees have levels.
const THREADS: u32 = 8;
const BLOCKS: u32 = 3;

pub(super) struct Emulated {
    /// The seeded fault of the kernels, if any.
    mutant: Option<&'static Mutant>,
    /// The most bytes of an expected tensor that are kept.
    room: u64,
    libraries: HashMap<String, Arc<Library>>,
}

impl Comparer for Emulated {
    const NAME: &'static str = "emulated kernels";
    type Comparison = Running;

    fn open(options: Options<'_>) -> Result<Self, Failure> {
        let mutant = options.number("mutant")?.and_then(|number| MUTANTS.get(number));
        let room = options.number("room")?.map_or(u64::MAX, |room| room as u64);
        Ok(Self { mutant, room, libraries: HashMap::new() })
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
        let engine = Processor { room: self.room, ..Processor::from_library(library) };
        Ok(Running::new(Box::new(engine), &format, pair))
    }
}

fn compile(source: &str) -> Library {
    let text = format!("{}{source}{}", include_str!("../emulation.h"), include_str!("../emulation.c"));
    compiled::library(&text).unwrap_or_else(|why| panic!("the kernels do not compile: {why}"))
}

/// The kernels on one tensor.
pub(crate) struct Processor {
    library: Arc<Library>,
    room: u64,
    /// The part of the expected tensor that is kept.
    kept: Vec<u64>,
    /// How many bytes were copied to it, and to the stand-in for the device while a chunk is compared.
    pub(super) copied: Arc<AtomicUsize>,
    most: u64,
    total: [u64; WORDS],
    parts: Vec<u64>,
}

impl Processor {
    /// The engine for elements of this format.
    pub(crate) fn new(format: &Format) -> Self {
        Self::from_library(Arc::new(compile(&format.source(THREADS))))
    }

    fn from_library(library: Arc<Library>) -> Self {
        let parts = vec![0; WORDS * BLOCKS as usize];
        let (kept, copied) = (Vec::new(), Arc::default());
        Self { library, room: u64::MAX, kept, copied, most: 0, total: NOTHING, parts }
    }

    /// The bytes at an address that every element may have.
    fn copy(&self, bytes: &[u8]) -> Vec<u64> {
        self.copied.fetch_add(bytes.len(), Ordering::Relaxed);
        let word = |chunk: &[u8]| chunk.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
        bytes.chunks(8).map(word).collect()
    }
}

type Largest = unsafe extern "C" fn(*const u8, u64, *mut u64, u32) -> c_int;
type Compare = unsafe extern "C" fn(*const u8, *const u8, u64, u64, f64, f64, *mut u64, u32) -> c_int;
type Merge = unsafe extern "C" fn(*mut u64, u64, *mut u64) -> c_int;

/// Shared memory of a library's blocks exists once.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

impl Engine for Processor {
    fn keep(&mut self, bytes: u64) -> Result<Option<u64>, Failure> {
        if bytes > self.room {
            return Ok(None);
        }
        // Reads of uninitialized memory become visible.
        self.kept = vec![u64::MAX; bytes.div_ceil(8) as usize];
        Ok(Some(self.kept.as_ptr() as u64))
    }

    fn scan(&mut self, expected: &[u8], size: usize, to: Option<u64>) -> Result<(), Failure> {
        let _one = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        let (count, copy) = ((expected.len() / size) as u64, self.copy(expected));
        let mut from = copy.as_ptr().cast::<u8>();
        if let Some(to) = to {
            // SAFETY: `to` lies in the kept buffer, which has room for all scanned elements.
            unsafe { std::ptr::copy_nonoverlapping(from, to as *mut u8, expected.len()) };
            from = to as *const u8;
        }
        // SAFETY: the arguments are those of `run_largest` in `emulation.c`, and there are `count` elements.
        let status = unsafe {
            let largest = self.library.get::<Largest>(b"run_largest\0").unwrap();
            largest(from, count, &raw mut self.most, BLOCKS)
        };
        assert_eq!(status, 0);
        Ok(())
    }

    fn largest(&mut self) -> Result<f64, Failure> {
        Ok(f64::from_bits(self.most))
    }

    fn chunk(
        &mut self,
        got: Side<'_>,
        expected: Side<'_>,
        count: u64,
        size: usize,
        at: At,
    ) -> Result<(), Failure> {
        let _one = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        let copies = [got, expected].map(|side| match side.part(0, count as usize * size) {
            Side::Host(bytes) => (self.copy(bytes), 0),
            Side::Device(address) => (Vec::new(), address),
        });
        let address = |(copy, address): &(Vec<u64>, u64)| match address {
            0 => copy.as_ptr().cast(),
            address => *address as *const u8,
        };
        let [got, expected] = [address(&copies[0]), address(&copies[1])];
        let At { base, rtol, atol } = at;
        let parts = self.parts.as_mut_ptr();
        // SAFETY: the arguments are those of the functions in `emulation.c`; there are `count` elements, and a part for
        // each block.
        let status = unsafe {
            let compare = self.library.get::<Compare>(b"run_compare\0").unwrap();
            let merge = self.library.get::<Merge>(b"run_merge\0").unwrap();
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
