//! A device of CUDA as the executor uses it: memory, copies, kernels and products.

use std::collections::HashMap;
use std::ffi::c_void;
use std::panic::catch_unwind;
use std::sync::Arc;

use cudarc::cublas::sys as blas;
use cudarc::driver::{
    CudaContext, CudaFunction, CudaStream, DeviceRepr, DriverError, LaunchConfig, PushKernelArg, result,
};
use onnxport_ir::ops::{Error, Fault, Res};
use onnxport_ir::tensor::DType;

use super::device::{Address, Args, Device, Grid, Launch, Product};
use super::source::{Kernel, PRELUDE};
use crate::compare;
use crate::device::Device as Gpu;

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
    blas: Option<Blas>,
    comparer: compare::Cuda,
    gpu: Gpu,
}

/// A handle of cuBLAS.
struct Blas(blas::cublasHandle_t);

impl Drop for Blas {
    fn drop(&mut self) {
        // SAFETY: the handle was created once, and is not used any more.
        let _ = unsafe { cudarc::cublas::result::destroy_handle(self.0) };
    }
}

fn driver(error: DriverError) -> Error {
    let text = error.to_string();
    let fault = if text.contains("OUT_OF_MEMORY") { Fault::Memory } else { Fault::Unsupported };
    Error { fault, message: format!("CUDA: {text}") }
}

/// The whole text of a kernel.
pub(crate) fn text(kernel: &Kernel) -> String {
    let sizes = format!("#define THREADS {THREADS}\n#define ROWS {SIDE}\n#define COLUMNS {SIDE}\n");
    [&sizes, PRELUDE, &kernel.source].concat()
}

impl Cuda {
    /// A queue on a device. Products are those of cuBLAS where it is there.
    pub(crate) fn on(gpu: &Gpu) -> Self {
        let context = Arc::clone(gpu.context());
        let make = || gpu.has_blas().then(|| catch_unwind(cudarc::cublas::result::create_handle));
        let bound = context.bind_to_thread().is_ok();
        let blas = make().filter(|_| bound).and_then(Result::ok).and_then(Result::ok).map(Blas);
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

    /// The product by cuBLAS, which stores matrices column by column: it computes the transposed product of the transposed
    /// matrices. `false` where it does not take it.
    fn multiply(&self, product: &Product, args: &Args) -> bool {
        let (Some(Blas(handle)), [a, b, c, ..]) = (&self.blas, args.pointers) else { return false };
        let int = |n: usize| i32::try_from(n).ok();
        let (Some(m), Some(n), Some(k), Some(count)) =
            (int(product.rows), int(product.columns), int(product.depth), int(product.stack.0))
        else {
            return false;
        };
        let ty = match product.dtype {
            DType::F64 => blas::cudaDataType_t::CUDA_R_64F,
            DType::F32 => blas::cudaDataType_t::CUDA_R_32F,
            DType::F16 => blas::cudaDataType_t::CUDA_R_16F,
            DType::BF16 => blas::cudaDataType_t::CUDA_R_16BF,
            _ => return false,
        };
        let side = |turned: bool, columns: i32, rows: i32| {
            if turned {
                (blas::cublasOperation_t::CUBLAS_OP_T, rows)
            } else {
                (blas::cublasOperation_t::CUBLAS_OP_N, columns)
            }
        };
        let (op_a, ld_a) = side(product.turned[0], k, m);
        let (op_b, ld_b) = side(product.turned[1], n, k);
        let wide = product.dtype == DType::F64;
        let (factor, add) = (product.factor, f64::from(u8::from(product.add)));
        let (factor_f, add_f) = (factor as f32, add as f32);
        let pick = |double: &f64, single: &f32| -> *const c_void {
            if wide { std::ptr::from_ref(double).cast() } else { std::ptr::from_ref(single).cast() }
        };
        // Pedantic: no TF32, and sums in the order and the type that is asked for.
        let how = if wide {
            blas::cublasComputeType_t::CUBLAS_COMPUTE_64F_PEDANTIC
        } else {
            blas::cublasComputeType_t::CUBLAS_COMPUTE_32F_PEDANTIC
        };
        let [step_a, step_b] = product.stack.1;
        let step_c = i64::from(m) * i64::from(n);
        let call = || {
            // SAFETY: the pointers are those of the launch, whose memory holds matrices of these extents; the factors live
            // until the call returns, which reads them on the host.
            unsafe {
                blas::cublasGemmStridedBatchedEx(
                    *handle,
                    op_b,
                    op_a,
                    n,
                    m,
                    k,
                    pick(&factor, &factor_f),
                    b as *const c_void,
                    ty,
                    ld_b,
                    step_b,
                    a as *const c_void,
                    ty,
                    ld_a,
                    step_a,
                    pick(&add, &add_f),
                    c as *mut c_void,
                    ty,
                    n,
                    step_c,
                    count,
                    how,
                    blas::cublasGemmAlgo_t::CUBLAS_GEMM_DEFAULT,
                )
            }
        };
        catch_unwind(call).is_ok_and(|status| status == blas::cublasStatus_t::CUBLAS_STATUS_SUCCESS)
    }
}

impl Device for Cuda {
    fn describe(&self) -> String {
        let products = if self.blas.is_some() { "cuBLAS" } else { "own kernels" };
        format!("{}; products by {products}, strict float arithmetic, TF32 off", self.gpu.describe())
    }

    fn free(&self) -> u64 {
        self.context.mem_get_info().map_or(0, |(free, _)| free as u64)
    }

    fn allocate(&mut self, bytes: u64) -> Res<Address> {
        self.context.bind_to_thread().map_err(driver)?;
        // SAFETY: the memory is given back once, by `release`.
        unsafe { result::malloc_sync(bytes as usize) }.map_err(driver)
    }

    fn release(&mut self, address: Address) {
        // SAFETY: `address` is one that `allocate` returned; freeing waits for what still uses it.
        let _ = unsafe { result::free_sync(address) };
    }

    fn write(&mut self, to: Address, bytes: &[u8]) -> Res<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        self.context.bind_to_thread().map_err(driver)?;
        // SAFETY: the arena hands out ranges of what was allocated, and asks for no more bytes than they have. The copy is in
        // the order of the default stream, and done with `bytes` when it returns.
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

    fn launch(&mut self, launch: &Launch<'_>) -> Res<()> {
        if launch.product.is_some_and(|product| self.multiply(&product, launch.args)) {
            return Ok(());
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
        Ok(())
    }

    fn comparison(&mut self, format: &compare::Format) -> Res<Box<dyn compare::Engine>> {
        self.comparer.engine(format).map_err(|why| Error::unsupported(why.message))
    }
}
