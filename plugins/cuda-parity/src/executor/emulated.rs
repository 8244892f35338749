//! A device that is none: kernels are compiled by the C compiler and run on the processor.
//!
//! It is for tests of kernels and launches.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::ffi::c_void;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use libloading::Library;
use onnxport_ir::ops::{Error, Fault, Res};
use onnxport_ir::tensor::DType;

use super::device::{Address, Args, Device, Grid, Launch, Ran};
use super::gemm;
use super::source::{Kernel, PRELUDE};
use crate::compare::tests::emulated::Processor;
use crate::device::blas::{Gemm, Matrix};
use crate::{compare, compiled};

const EMULATION: &str = include_str!("../../kernels/emulation.h");
const LAUNCH: &str = include_str!("../../kernels/launch.h");

/// The entry of the compiled `launch.h`.
type Entry = unsafe extern "C" fn(*const c_void, *mut Args, *const u32, *const u32, i32) -> i32;

/// A library, or why there is none. It runs one grid at a time, since shared memory of blocks exists once.
type SharedLibrary = Arc<OnceLock<Res<Mutex<Library>>>>;

/// A compiled source, whose kernels share a library, and one of these, by the source and the threads of a block.
type Compiled = HashMap<(Arc<str>, u32), SharedLibrary>;

/// The libraries that this process compiled.
static COMPILED: Mutex<Option<Compiled>> = Mutex::new(None);

thread_local! {
    /// The first kernel that this thread launched of each source. Each test has a thread of its own.
    static LAUNCHED: RefCell<BTreeMap<Arc<str>, &'static str>> = const { RefCell::new(BTreeMap::new()) };
}

/// The emulated device.
pub(crate) struct Emulated {
    /// Bytes of memory, by address: in units that are aligned for every type.
    memory: HashMap<Address, Vec<u128>>,
    /// Threads of a block that wait for each other; a square.
    threads: u32,
    /// Whether the threads of a block run from the last one to the first: a barrier that is missing shows in one of both
    /// orders.
    pub(crate) backwards: bool,
    /// Whether products are computed as cuBLAS computes them.
    pub(crate) library: bool,
    /// After how many launches the device fails for good, if it does.
    pub(crate) fails_after: Option<u64>,
}

impl Emulated {
    /// A device whose blocks have `threads` threads where these wait for each other: 1, 4 or 16.
    ///
    /// # Errors
    /// Where there is no C compiler.
    pub(crate) fn new(threads: u32) -> Res<Self> {
        compiled::can_compile().map_err(Error::unsupported)?;
        let memory = HashMap::new();
        Ok(Self { memory, threads, backwards: false, library: false, fails_after: None })
    }

    fn side(&self) -> u32 {
        self.threads.isqrt()
    }

    fn library(&self, kernel: &Kernel) -> SharedLibrary {
        LAUNCHED.with_borrow_mut(|launched| {
            launched.entry(kernel.source.clone()).or_insert(kernel.name);
        });
        let key = (kernel.source.clone(), self.threads);
        let library = {
            let mut guard = COMPILED.lock().unwrap_or_else(PoisonError::into_inner);
            guard.get_or_insert_default().entry(key).or_default().clone()
        };
        library.get_or_init(|| self.compile(kernel).map(Mutex::new));
        library
    }

    fn compile(&self, kernel: &Kernel) -> Res<Library> {
        let side = self.side();
        let sizes =
            format!("#define THREADS {}\n#define ROWS {side}\n#define COLUMNS {side}\n", self.threads);
        let text = [EMULATION, &sizes, PRELUDE, &kernel.source, LAUNCH].concat();
        compiled::library(&text).map_err(|why| Error::invalid(format!("the kernel {}: {why}", kernel.name)))
    }
}

impl Device for Emulated {
    fn describe(&self) -> String {
        let order = if self.backwards { ", backwards" } else { "" };
        let products = if self.library { "; products as cuBLAS computes them" } else { "" };
        format!("emulated, blocks of {} threads{order}{products}", self.threads)
    }

    fn free(&self) -> Res<u64> {
        Ok(8 << 30)
    }

    fn lost(&self) -> Option<String> {
        (self.fails_after == Some(0)).then(|| "an illegal address".to_owned())
    }

    fn allocate(&mut self, bytes: u64) -> Res<Address> {
        let units = usize::try_from(bytes.div_ceil(16)).unwrap_or(usize::MAX);
        let mut memory: Vec<u128> = Vec::new();
        if memory.try_reserve_exact(units).is_err() {
            return Err(Error { fault: Fault::Memory, message: format!("there are no {bytes} bytes") });
        }
        // Reads of uninitialized memory become visible.
        memory.resize(units, u128::MAX);
        let address = memory.as_ptr() as Address;
        self.memory.insert(address, memory);
        Ok(address)
    }

    fn release(&mut self, address: Address) {
        self.memory.remove(&address);
    }

    fn write(&mut self, to: Address, bytes: &[u8]) -> Res<()> {
        self.works()?;
        // SAFETY: the arena hands out ranges of memory allocated here, and asks for no more bytes than they have.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to as *mut u8, bytes.len()) };
        Ok(())
    }

    fn read(&mut self, from: Address, bytes: &mut [u8]) -> Res<()> {
        self.works()?;
        // SAFETY: as in `write`.
        unsafe { std::ptr::copy_nonoverlapping(from as *const u8, bytes.as_mut_ptr(), bytes.len()) };
        Ok(())
    }

    fn launch(&mut self, launch: &Launch<'_>) -> Res<Ran> {
        if let Some(left) = &mut self.fails_after {
            *left = left.saturating_sub(1);
        }
        self.works()?;
        if self.library
            && let Some(product) = gemm::of(launch)
        {
            match product.dtype {
                DType::F32 => multiply::<f32>(&product),
                DType::F64 => multiply::<f64>(&product),
                _ => return self.kernel(launch),
            }
            return Ok(Ran::Library);
        }
        self.kernel(launch)
    }

    fn comparison(&mut self, format: &compare::Format) -> Res<Box<dyn compare::Engine>> {
        Ok(Box::new(Processor::new(format)))
    }
}

impl Emulated {
    /// An error for every call after the device has failed.
    fn works(&self) -> Res<()> {
        self.lost().map_or(Ok(()), |why| Err(Error::unsupported(why)))
    }

    fn kernel(&self, launch: &Launch<'_>) -> Res<Ran> {
        let (threads, side) = (self.threads, self.side());
        let [grid, block] = match launch.grid {
            // Two blocks, so that elements are shared out.
            Grid::Each(_) => [[2, 1, 1], [1, 1, 1]],
            Grid::Groups(groups) => [[groups.clamp(1, 3) as u32, 1, 1], [threads, 1, 1]],
            Grid::Tiles([columns, rows, stacks]) => {
                [[columns as u32, rows as u32, stacks.clamp(1, 3) as u32], [side, side, 1]]
            }
        };
        let missing = || Error::invalid(format!("unknown kernel {}", launch.kernel.name));
        let made = self.library(launch.kernel);
        let library = match made.get() {
            Some(Ok(library)) => library.lock().unwrap_or_else(PoisonError::into_inner),
            Some(Err(why)) => return Err(why.clone()),
            None => return Err(missing()),
        };
        let together = match (launch.kernel.source.contains("__syncthreads"), self.backwards) {
            (false, _) => 0,
            (true, false) => 1,
            (true, true) => -1,
        };
        let mut args = *launch.args;
        // SAFETY: both are functions of the compiled sources, of these types; the kernel reads and writes the memory that its
        // launch names, as `ops` plans it.
        let answer = unsafe {
            let entry = library.get::<Entry>("launch").map_err(|_| missing())?;
            let kernel = library.get::<*const c_void>(launch.kernel.name).map_err(|_| missing())?;
            entry(*kernel, &raw mut args, grid.as_ptr(), block.as_ptr(), together)
        };
        match answer {
            0 => Ok(Ran::Kernel),
            _ => Err(Error { fault: Fault::Memory, message: "there is no memory for threads".to_owned() }),
        }
    }
}

/// Multiplies as `cublasGemmStridedBatchedEx` does.
fn multiply<T: Copy + Into<f64> + FromF64>(gemm: &Gemm) {
    let [m, n, k] = [gemm.m, gemm.n, gemm.k].map(|extent| extent as usize);
    // Arguments that cuBLAS refuses as invalid values.
    let stored = |matrix: Matrix, rows: usize, columns: usize| if matrix.transposed { columns } else { rows };
    for (matrix, rows) in [(gemm.a, stored(gemm.a, m, k)), (gemm.b, stored(gemm.b, k, n)), (gemm.c, m)] {
        assert!(matrix.leading as usize >= rows.max(1), "{gemm:?}");
    }
    let at = |matrix: Matrix, row: usize, column: usize, one: usize| {
        let (row, column) = if matrix.transposed { (column, row) } else { (row, column) };
        let offset = row + column * matrix.leading as usize + one * matrix.step as usize;
        (matrix.address as usize + offset * size_of::<T>()) as *mut T
    };
    for one in 0..gemm.count as usize {
        for (row, column) in (0..m).flat_map(|row| (0..n).map(move |column| (row, column))) {
            // SAFETY: the pointers are those of the launch, whose memory holds matrices of these extents.
            unsafe {
                let term = |p: usize| {
                    let (x, y): (f64, f64) =
                        ((*at(gemm.a, row, p, one)).into(), (*at(gemm.b, p, column, one)).into());
                    x * y
                };
                let sum: f64 = (0..k).map(term).sum();
                let to = at(gemm.c, row, column, one);
                // Values that are not added are not read.
                let before = if gemm.beta == 0.0 { 0.0 } else { gemm.beta * (*to).into() };
                *to = T::from_f64(gemm.alpha * sum + before);
            }
        }
    }
}

trait FromF64 {
    fn from_f64(x: f64) -> Self;
}

impl FromF64 for f32 {
    fn from_f64(x: f64) -> Self {
        x as Self
    }
}

impl FromF64 for f64 {
    fn from_f64(x: f64) -> Self {
        x
    }
}

/// The first kernel that this thread launched of each source.
pub(crate) fn launched() -> Vec<Kernel> {
    LAUNCHED.with_borrow(|launched| {
        launched.iter().map(|(source, name)| Kernel { name, source: source.clone() }).collect()
    })
}
