//! A device of CUDA as the executor uses it: memory, copies, kernels and products.

use std::collections::HashMap;
use std::sync::Arc;

use cudarc::driver::sys::CUresult;
use cudarc::driver::{
    CudaContext, CudaFunction, CudaStream, DeviceRepr, DriverError, LaunchConfig, PushKernelArg, result,
};
use onnxport_ir::ops::{Error, Fault, Res};

use super::device::{Address, Args, Device, Grid, Launch, Ran};
use super::gemm;
use super::source::{Kernel, PRELUDE};
use crate::compare;
use crate::device::Device as Gpu;
use crate::device::blas::Blas;

/// Threads of a block that computes elements or a group.
const THREADS: u32 = 256;
/// Rows and columns of threads in a block that computes a tile.
const SIDE: u32 = 16;
/// Blocks at most, where each goes on with further elements.
const BLOCKS: u64 = 1 << 16;
/// The most tiles by row, and stacks, that a grid has.
const HIGHEST: u64 = 65535;

// SAFETY: `Args` is plain, `repr(C)`, and the same as the structure of the prelude.
unsafe impl DeviceRepr for Args {}

/// A CUDA device.
pub(crate) struct Cuda {
    context: Arc<CudaContext>,
    stream: Arc<CudaStream>,
    compiled: HashMap<Kernel, CudaFunction>,
    /// The library that multiplies matrices, or why kernels do.
    blas: Result<Blas, String>,
    comparer: compare::Cuda,
    gpu: Gpu,
}

fn driver(error: DriverError) -> Error {
    let fault = match error.0 {
        CUresult::CUDA_ERROR_OUT_OF_MEMORY => Fault::Memory,
        _ => Fault::Invalid,
    };
    Error { fault, message: format!("CUDA: {error}") }
}

/// The whole text of a kernel.
pub(crate) fn text(kernel: &Kernel) -> String {
    let sizes = format!("#define THREADS {THREADS}\n#define ROWS {SIDE}\n#define COLUMNS {SIDE}\n");
    [&sizes, PRELUDE, &kernel.source].concat()
}

impl Cuda {
    /// A queue on a device. Products are those of cuBLAS where it is there.
    pub(crate) fn on(gpu: &Gpu) -> Self {
        let found = gpu.blas().ok_or_else(|| "cuBLAS was not found".to_owned());
        Self::with(gpu, found.and_then(|path| Blas::open(gpu.context(), path)))
    }

    /// A queue on a device that does not use cuBLAS.
    #[cfg(test)]
    pub(crate) fn without_blas(gpu: &Gpu) -> Self {
        Self::with(gpu, Err("cuBLAS was not asked for".to_owned()))
    }

    fn with(gpu: &Gpu, blas: Result<Blas, String>) -> Self {
        let context = Arc::clone(gpu.context());
        let (stream, compiled) = (context.default_stream(), HashMap::new());
        Self { context, stream, compiled, blas, comparer: compare::Cuda::on(gpu.clone()), gpu: gpu.clone() }
    }

    fn function(&mut self, kernel: &Kernel) -> Res<CudaFunction> {
        if let Some(found) = self.compiled.get(kernel) {
            return Ok(found.clone());
        }
        let module = self.gpu.load(&text(kernel)).map_err(|why| {
            Error::unsupported(format!("the kernel {} is not loaded: {}", kernel.name, why.message))
        })?;
        let function = module.load_function(kernel.name).map_err(driver)?;
        self.compiled.insert(kernel.clone(), function.clone());
        Ok(function)
    }
}

impl Device for Cuda {
    fn describe(&self) -> String {
        let products = match &self.blas {
            Ok(blas) => blas.describe().to_owned(),
            Err(why) => format!("own kernels ({why})"),
        };
        format!("{}; products by {products}; strict float arithmetic, TF32 off", self.gpu.describe())
    }

    fn free(&self) -> Res<u64> {
        self.context.mem_get_info().map(|(free, _)| free as u64).map_err(driver)
    }

    fn lost(&self) -> Option<String> {
        self.gpu.lost()
    }

    fn allocate(&mut self, bytes: u64) -> Res<Address> {
        self.context.bind_to_thread().map_err(driver)?;
        // SAFETY: the memory is given back once, by `release`.
        unsafe { result::malloc_sync(bytes as usize) }.map_err(driver)
    }

    fn release(&mut self, address: Address) {
        if self.context.bind_to_thread().is_ok() {
            // SAFETY: `address` is one that `allocate` returned; freeing waits for work that still uses it.
            let _ = unsafe { result::free_sync(address) };
        }
    }

    fn write(&mut self, to: Address, bytes: &[u8]) -> Res<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        self.context.bind_to_thread().map_err(driver)?;
        // SAFETY: the arena hands out ranges of allocated memory, and asks for no more bytes than they have. The
        // copy is in the order of the default stream, and done with `bytes` when it returns.
        unsafe { result::memcpy_htod_sync(to, bytes) }.map_err(driver)
    }

    fn read(&mut self, from: Address, bytes: &mut [u8]) -> Res<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        self.stream.synchronize().map_err(driver)?;
        // SAFETY: as in `write`.
        unsafe { result::memcpy_dtoh_sync(bytes, from) }.map_err(driver)
    }

    fn launch(&mut self, launch: &Launch<'_>) -> Res<Ran> {
        if let (Ok(blas), Some(product)) = (&self.blas, gemm::of(launch))
            && blas.multiply(&product).map_err(|why| Error::invalid(format!("cuBLAS: {why}")))?
        {
            return Ok(Ran::Library);
        }
        let (grid_dim, block_dim) = match launch.grid {
            Grid::Each(count) => {
                let blocks = count.div_ceil(u64::from(THREADS)).min(BLOCKS) as u32;
                ((blocks, 1, 1), (THREADS, 1, 1))
            }
            Grid::Groups(count) => ((count.min(BLOCKS) as u32, 1, 1), (THREADS, 1, 1)),
            Grid::Tiles([columns, rows, stacks]) => {
                let Some(columns) = u32::try_from(columns).ok().filter(|n| *n < 1 << 31 && rows <= HIGHEST)
                else {
                    return Err(Error::unsupported("a product has too many rows or columns"));
                };
                ((columns, rows as u32, stacks.min(HIGHEST) as u32), (SIDE, SIDE, 1))
            }
        };
        let function = self.function(launch.kernel)?;
        let mut builder = self.stream.launch_builder(&function);
        builder.arg(launch.args);
        let config = LaunchConfig { grid_dim, block_dim, shared_mem_bytes: 0 };
        // SAFETY: the kernel takes `Args`, and reads and writes the memory that its launch names, as `ops` plans it.
        unsafe { builder.launch(config) }.map_err(driver)?;
        Ok(Ran::Kernel)
    }

    fn comparison(&mut self, format: &compare::Format) -> Res<Box<dyn compare::Engine>> {
        self.comparer.engine(format).map_err(|why| Error::unsupported(why.message))
    }
}
