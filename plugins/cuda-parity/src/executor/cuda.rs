//! A device of CUDA: driver, compiler and matrix library are loaded at run time.

use std::collections::HashMap;
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use cudarc::cublas::sys as blas;
use cudarc::driver::{
    CudaContext, CudaFunction, CudaStream, DeviceRepr, DriverError, LaunchConfig, PushKernelArg, result,
};
use cudarc::nvrtc::{CompileError, CompileOptions, Ptx, compile_ptx_with_opts};
use onnxport_ir::ops::{Error, Fault, Res};
use onnxport_ir::tensor::DType;
use onnxport_sdk::executor::Failure;

use super::device::{Address, Args, Device, Grid, Launch, Product};
use super::source::{Kernel, PRELUDE};

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
    name: String,
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

/// Loads the libraries of a folder whose names start so, that those who ask for them by name find them.
fn preload(folder: &Path, stems: &[&str]) {
    let mut files: Vec<_> =
        std::fs::read_dir(folder).into_iter().flatten().flatten().map(|e| e.path()).collect();
    files.sort();
    for stem in stems {
        let named = |path: &&std::path::PathBuf| {
            path.file_name().is_some_and(|n| n.to_string_lossy().starts_with(stem))
        };
        for path in files.iter().filter(named) {
            // SAFETY: the user names the folder as that of CUDA's libraries, whose initialisers may run.
            if let Ok(library) = unsafe { libloading::Library::new(path) } {
                std::mem::forget(library);
            }
        }
    }
}

/// Makes the libraries of `folder` known, where one is named.
pub(crate) fn find(folder: Option<&str>) {
    if let Some(folder) = folder {
        preload(
            Path::new(folder),
            &["libnvrtc-builtins.so", "libnvrtc.so", "libcublasLt.so", "libcublas.so"],
        );
    }
}

/// Whether kernels can be compiled here.
pub(crate) fn has_compiler() -> bool {
    // SAFETY: NVIDIA's compiler library has no initialisers that touch this process.
    unsafe { cudarc::nvrtc::sys::is_culib_present() }
}

/// Compiles a kernel, without a device.
///
/// # Errors
/// What the compiler says.
pub(crate) fn compile(kernel: &Kernel) -> Res<Ptx> {
    let sizes = format!("#define THREADS {THREADS}\n#define ROWS {SIDE}\n#define COLUMNS {SIDE}\n");
    let text = [&sizes, PRELUDE, &kernel.source].concat();
    // Products are rounded before they are added, but where a kernel says otherwise.
    let options = CompileOptions { fmad: Some(false), ..CompileOptions::default() };
    let done = catch_unwind(AssertUnwindSafe(|| compile_ptx_with_opts(text, options)));
    let wrong =
        |what: String| Error::unsupported(format!("the kernel {} is not compiled: {what}", kernel.name));
    match done {
        Ok(Ok(ptx)) => Ok(ptx),
        Ok(Err(CompileError::CompileError { log, .. })) => Err(wrong(log.to_string_lossy().into_owned())),
        Ok(Err(other)) => Err(wrong(format!("{other:?}"))),
        Err(_) => Err(wrong("NVRTC does not answer".to_owned())),
    }
}

impl Cuda {
    /// Opens device `ordinal`.
    ///
    /// # Errors
    /// Where there is no driver, no such device, or no compiler.
    pub(crate) fn open(ordinal: usize) -> Result<Self, Failure> {
        // SAFETY: the driver's library is made to be loaded by any process.
        if !unsafe { cudarc::driver::sys::is_culib_present() } {
            return Err(Failure::new("there is no CUDA driver on this machine")
                .help("install the driver of the GPU, or use another executor: --executor ort")
                .unsupported());
        }
        if !has_compiler() {
            return Err(Failure::new("CUDA's compiler library, NVRTC, is not found")
                .help("name its folder: --executor-option libraries=FOLDER; it comes with PyTorch and with nvidia-cuda-nvrtc")
                .unsupported());
        }
        let opened = catch_unwind(|| -> Result<Self, DriverError> {
            let context = CudaContext::new(ordinal)?;
            let (major, minor) = context.compute_capability()?;
            let name = format!("{}, compute capability {major}.{minor}", context.name()?);
            let stream = context.default_stream();
            Ok(Self { context, stream, compiled: HashMap::new(), blas: None, name })
        });
        let refused = |why: String| {
            let failure = Failure::new(format!("the CUDA device {ordinal} cannot be used: {why}"));
            failure.help("`nvidia-smi` says which devices there are").unsupported()
        };
        let mut device = match opened {
            Ok(Ok(device)) => device,
            Ok(Err(error)) => return Err(refused(error.to_string())),
            Err(_) => return Err(refused("its driver lacks a function".to_owned())),
        };
        // SAFETY: as that of the driver.
        if unsafe { cudarc::cublas::sys::is_culib_present() } {
            let handle = catch_unwind(cudarc::cublas::result::create_handle);
            device.blas = handle.ok().and_then(Result::ok).map(Blas);
        }
        Ok(device)
    }

    fn function(&mut self, kernel: &Kernel) -> Res<CudaFunction> {
        if let Some(found) = self.compiled.get(kernel) {
            return Ok(found.clone());
        }
        let module = self.context.load_module(compile(kernel)?).map_err(driver)?;
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
        format!("{}; products by {products}, strict float arithmetic, TF32 off", self.name)
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
}
