//! An open device: its driver, its context, and its kernel compiler.

pub(crate) mod blas;
mod failure;
pub mod nvrtc;
mod search;

use std::panic::catch_unwind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaModule};
use cudarc::nvrtc::Ptx;
use onnxport_sdk::executor::{Failure, Options};

use crate::Settings;
use failure::is_final;
pub(crate) use failure::{failed, lost};
use nvrtc::{Compiled, Nvrtc};
#[cfg(test)]
pub(crate) use search::{NVRTC, library_in};

/// A device that kernels can be compiled for and run on.
#[derive(Clone)]
pub struct Device {
    context: Arc<CudaContext>,
    nvrtc: Arc<Nvrtc>,
    capability: (i32, i32),
    memory: usize,
    blas: Option<PathBuf>,
    name: String,
}

impl Device {
    /// Opens the device that the options name.
    ///
    /// # Errors
    /// When there is no driver, no such device or no NVRTC here.
    pub fn open(options: Options<'_>) -> Result<Self, Failure> {
        let settings = Settings::get()?;
        let number = options.number("device")?.unwrap_or(settings.device);
        let memory = options.number("memory")?.unwrap_or(settings.memory);
        let libraries = options.get("libraries").map(PathBuf::from).or_else(|| settings.libraries.clone());
        let library = options.get("nvrtc").map(PathBuf::from).or_else(|| settings.nvrtc.clone());
        let library = library.or_else(|| search::library_in(libraries.as_deref()?, search::NVRTC));
        // A driver that lacks a function makes the bindings panic.
        let opened = catch_unwind(|| open(number)).unwrap_or_else(|_| {
            Err(Failure::new("the CUDA driver lacks functions that are needed here")
                .help("install a newer driver"))
        });
        let (context, capability) = opened?;
        let name = context.name().map_err(failed("asking for the name of the device"))?;
        let nvrtc = Arc::new(Nvrtc::open(library.as_deref())?);
        let blas = blas::find(libraries.as_deref(), &nvrtc.path);
        Ok(Self { context, nvrtc, capability, memory, blas, name })
    }

    /// The context, in which memory is allocated and streams are made.
    pub fn context(&self) -> &Arc<CudaContext> {
        &self.context
    }

    /// Why the device cannot be used any more; `None` as long as it works.
    pub(crate) fn lost(&self) -> Option<String> {
        // After a final error every call reports it.
        let error = self.context.synchronize().err().filter(|error| is_final(error.0))?;
        Some(error.to_string())
    }

    /// The kernel compiler.
    pub fn nvrtc(&self) -> &Nvrtc {
        &self.nvrtc
    }

    /// Where cuBLAS is, if anywhere.
    pub(crate) fn blas(&self) -> Option<&Path> {
        self.blas.as_deref()
    }

    /// Returns the memory limit that the user set, in bytes; `None` if there is none.
    pub fn limit(&self) -> Option<u64> {
        (self.memory != 0).then_some(self.memory as u64)
    }

    /// Name and library: `NVIDIA H100, NVRTC 13.0 from /path`.
    pub fn describe(&self) -> String {
        let Nvrtc { version: (major, minor), path, .. } = &*self.nvrtc;
        format!("{}, NVRTC {major}.{minor} from {}", self.name, path.display())
    }

    /// Returns the number of bytes that may be used at once: free memory, at most the limit of the user.
    ///
    /// # Errors
    /// If the driver does not report it.
    pub fn memory(&self) -> Result<usize, Failure> {
        let (free, _) = self.context.mem_get_info().map_err(failed("asking for free memory"))?;
        Ok(if self.memory == 0 { free } else { self.memory.min(free) })
    }

    /// Compiles kernels from their source and loads them. Products are not fused into sums.
    ///
    /// # Errors
    /// An error of the compiler or the driver.
    pub fn load(&self, source: &str) -> Result<Arc<CudaModule>, Failure> {
        let compiled = match self.nvrtc.compile(source, self.capability)? {
            Compiled::Cubin(code) => Ptx::from_binary(code),
            Compiled::Ptx(text) => Ptx::from_src(text),
        };
        self.context.load_module(compiled).map_err(failed("loading kernels"))
    }
}

fn open(number: usize) -> Result<(Arc<CudaContext>, (i32, i32)), Failure> {
    // SAFETY: loading the driver runs only its own initializers; the user asked for that.
    if !unsafe { cudarc::driver::sys::is_culib_present() } {
        let help =
            "install NVIDIA's driver, or do without the GPU: with --executor ort, and without --comparer";
        return Err(Failure::new("there is no CUDA driver").help(help));
    }
    cudarc::driver::result::init().map_err(failed("starting the CUDA driver"))?;
    let count = CudaContext::device_count().map_err(failed("counting CUDA devices"))?;
    let known = i32::try_from(number).is_ok_and(|number| number < count);
    if !known {
        let help = match count {
            0 => "the driver is there, but shows this process no device".to_owned(),
            _ => format!("the driver shows {count}, counted from 0"),
        };
        return Err(Failure::new(format!("there is no CUDA device {number}")).help(help));
    }
    let context = CudaContext::new(number).map_err(failed("opening the CUDA device"))?;
    let capability = context.compute_capability().map_err(failed("asking what the device can do"))?;
    Ok((context, capability))
}
