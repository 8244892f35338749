//! cuBLAS, which multiplies matrices: it is looked for where NVRTC is, and used where it is found.

use std::ffi::{c_int, c_longlong, c_void};
use std::path::{Path, PathBuf};
use std::ptr;
use std::sync::Arc;

use cudarc::cublas::sys::{
    cublasComputeType_t as Compute, cublasGemmAlgo_t as Algorithm, cublasHandle_t as Handle,
    cublasMath_t as Math, cublasOperation_t as Operation, cublasPointerMode_t as PointerMode,
    cublasStatus_t as Status, cudaDataType_t as Type,
};
use cudarc::driver::CudaContext;
use libloading::Library;
use onnxport_ir::tensor::DType;

use super::search;

/// A matrix of a [`Gemm`], stored column by column, or a stack of such.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Matrix {
    /// Where it begins.
    pub(crate) address: u64,
    /// Whether its transpose is multiplied.
    pub(crate) transposed: bool,
    /// The elements from one column to the next.
    pub(crate) leading: i32,
    /// The elements from one matrix of the stack to the next.
    pub(crate) step: i64,
}

/// The arguments of `cublasGemmStridedBatchedEx`: `c = alpha · a · b + beta · c`, matrices stored column by column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Gemm {
    pub(crate) dtype: DType,
    pub(crate) m: i32,
    pub(crate) n: i32,
    pub(crate) k: i32,
    pub(crate) a: Matrix,
    pub(crate) b: Matrix,
    pub(crate) c: Matrix,
    pub(crate) count: i32,
    pub(crate) alpha: f64,
    pub(crate) beta: f64,
}

type Create = unsafe extern "C" fn(*mut Handle) -> Status;
type Destroy = unsafe extern "C" fn(Handle) -> Status;
type SetMath = unsafe extern "C" fn(Handle, Math) -> Status;
type SetPointerMode = unsafe extern "C" fn(Handle, PointerMode) -> Status;
type Version = unsafe extern "C" fn(Handle, *mut c_int) -> Status;
type Multiply = unsafe extern "C" fn(
    Handle,
    Operation,
    Operation,
    c_int,
    c_int,
    c_int,
    *const c_void,
    *const c_void,
    Type,
    c_int,
    c_longlong,
    *const c_void,
    Type,
    c_int,
    c_longlong,
    *const c_void,
    *mut c_void,
    Type,
    c_int,
    c_longlong,
    c_int,
    Compute,
    Algorithm,
) -> Status;

/// cuBLAS with a handle for one context, which works on the default stream.
pub(crate) struct Blas {
    handle: Handle,
    multiply: Multiply,
    destroy: Destroy,
    context: Arc<CudaContext>,
    /// Its path and its version.
    about: String,
    /// The functions are good as long as it is loaded.
    _library: Library,
}

impl Drop for Blas {
    fn drop(&mut self) {
        if self.context.bind_to_thread().is_ok() {
            // SAFETY: the handle was created once, in this context, and is not used any more.
            let _ = unsafe { (self.destroy)(self.handle) };
        }
    }
}

/// The library in `folder`, beside NVRTC, or wherever it is found.
pub(super) fn find(folder: Option<&Path>, nvrtc: &Path) -> Option<PathBuf> {
    let near = [folder, nvrtc.parent()].into_iter().flatten();
    let mut near = near.filter_map(|folder| search::library_in(folder, search::BLAS));
    near.next().or_else(|| search::find(search::BLAS))
}

fn done(status: Status, task: &str) -> Result<(), String> {
    if status == Status::CUBLAS_STATUS_SUCCESS { Ok(()) } else { Err(format!("{task}: {status:?}")) }
}

impl Blas {
    /// Loads the library and creates a handle in `context`.
    ///
    /// # Errors
    /// Why it cannot be used.
    pub(crate) fn open(context: &Arc<CudaContext>, path: &Path) -> Result<Self, String> {
        let context = Arc::clone(context);
        context.bind_to_thread().map_err(|e| e.to_string())?;
        let folder = path.parent().unwrap_or(Path::new(""));
        if let Some(light) = search::library_in(folder, "cublasLt") {
            // SAFETY: NVIDIA's library is made to be loaded by any process.
            if let Ok(library) = unsafe { Library::new(light) } {
                // cuBLAS needs it, and asks for it by its name.
                std::mem::forget(library);
            }
        }
        let failed = |e: libloading::Error| e.to_string();
        // SAFETY: NVIDIA's library is made to be loaded by any process; its functions have had these types since CUDA 11.
        unsafe {
            let library = Library::new(path).map_err(failed)?;
            let create = *library.get::<Create>(b"cublasCreate_v2\0").map_err(failed)?;
            let destroy = *library.get::<Destroy>(b"cublasDestroy_v2\0").map_err(failed)?;
            let set_math = *library.get::<SetMath>(b"cublasSetMathMode\0").map_err(failed)?;
            let set_mode = *library.get::<SetPointerMode>(b"cublasSetPointerMode_v2\0").map_err(failed)?;
            let version = *library.get::<Version>(b"cublasGetVersion_v2\0").map_err(failed)?;
            let multiply = *library.get::<Multiply>(b"cublasGemmStridedBatchedEx\0").map_err(failed)?;
            let mut handle: Handle = ptr::null_mut();
            done(create(&raw mut handle), "cublasCreate")?;
            let mut blas =
                Self { handle, multiply, destroy, context, about: String::new(), _library: library };
            // No TF32; factors are read on the host.
            done(set_math(handle, Math::CUBLAS_PEDANTIC_MATH), "cublasSetMathMode")?;
            done(set_mode(handle, PointerMode::CUBLAS_POINTER_MODE_HOST), "cublasSetPointerMode")?;
            let mut number = 0;
            done(version(handle, &raw mut number), "cublasGetVersion")?;
            blas.about = format!("cuBLAS {number} from {}", path.display());
            Ok(blas)
        }
    }

    /// Its version and its path.
    pub(crate) fn describe(&self) -> &str {
        &self.about
    }

    /// Multiplies on the default stream. `false` where cuBLAS has no such product.
    ///
    /// # Errors
    /// An error of cuBLAS.
    pub(crate) fn multiply(&self, gemm: &Gemm) -> Result<bool, String> {
        self.context.bind_to_thread().map_err(|e| e.to_string())?;
        let ty = match gemm.dtype {
            DType::F64 => Type::CUDA_R_64F,
            DType::F32 => Type::CUDA_R_32F,
            DType::F16 => Type::CUDA_R_16F,
            DType::BF16 => Type::CUDA_R_16BF,
            _ => return Ok(false),
        };
        let operation = |matrix: Matrix| {
            if matrix.transposed { Operation::CUBLAS_OP_T } else { Operation::CUBLAS_OP_N }
        };
        let wide = gemm.dtype == DType::F64;
        let (alpha, beta) = (gemm.alpha as f32, gemm.beta as f32);
        let factor = |double: &f64, single: &f32| -> *const c_void {
            if wide { ptr::from_ref(double).cast() } else { ptr::from_ref(single).cast() }
        };
        // Pedantic: no TF32, and sums in the type that is asked for.
        let compute =
            if wide { Compute::CUBLAS_COMPUTE_64F_PEDANTIC } else { Compute::CUBLAS_COMPUTE_32F_PEDANTIC };
        // SAFETY: the pointers are those of the launch, whose memory holds matrices of these sizes; the factors live until
        // the call returns, which reads them on the host.
        let status = unsafe {
            (self.multiply)(
                self.handle,
                operation(gemm.a),
                operation(gemm.b),
                gemm.m,
                gemm.n,
                gemm.k,
                factor(&gemm.alpha, &alpha),
                gemm.a.address as *const c_void,
                ty,
                gemm.a.leading,
                gemm.a.step,
                gemm.b.address as *const c_void,
                ty,
                gemm.b.leading,
                gemm.b.step,
                factor(&gemm.beta, &beta),
                gemm.c.address as *mut c_void,
                ty,
                gemm.c.leading,
                gemm.c.step,
                gemm.count,
                compute,
                Algorithm::CUBLAS_GEMM_DEFAULT,
            )
        };
        match status {
            Status::CUBLAS_STATUS_NOT_SUPPORTED => Ok(false),
            status => done(status, "cublasGemmStridedBatchedEx").map(|()| true),
        }
    }
}
