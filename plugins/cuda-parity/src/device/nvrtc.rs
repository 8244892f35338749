//! NVRTC, which compiles CUDA C, from a file of the user's choice.
//!
//! Without one it is looked for in the active Python's packages, in the toolkit, and in the system's folders. It needs no
//! device.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::ptr;

use libloading::Library;
use onnxport_sdk::executor::Failure;

use super::search;

type Program = *mut c_void;
type Create = unsafe extern "C" fn(
    *mut Program,
    *const c_char,
    *const c_char,
    c_int,
    *const *const c_char,
    *const *const c_char,
) -> c_int;
type Compile = unsafe extern "C" fn(Program, c_int, *const *const c_char) -> c_int;
type Size = unsafe extern "C" fn(Program, *mut usize) -> c_int;
type Text = unsafe extern "C" fn(Program, *mut c_char) -> c_int;
type Destroy = unsafe extern "C" fn(*mut Program) -> c_int;
type Version = unsafe extern "C" fn(*mut c_int, *mut c_int) -> c_int;
type Count = unsafe extern "C" fn(*mut c_int) -> c_int;

/// An NVRTC library.
pub struct Nvrtc {
    /// Where it is.
    pub path: PathBuf,
    /// Its version.
    pub version: (i32, i32),
    /// Its target, `90` for capability 9.0; empty if unknown.
    architectures: Vec<c_int>,
    create: Create,
    compile: Compile,
    ptx: (Size, Text),
    /// Machine code, which older versions do not hand over.
    cubin: Option<(Size, Text)>,
    log: (Size, Text),
    destroy: Destroy,
    /// The functions are good as long as it is loaded.
    library: Library,
}

impl Nvrtc {
    /// Loads the library at `path`; without a path, the first one that is found.
    ///
    /// # Errors
    /// When there is none, or it is none.
    pub fn open(path: Option<&Path>) -> Result<Self, Failure> {
        let Some(path) = path.map(Path::to_owned).or_else(|| search::find(search::NVRTC)) else {
            return Err(Failure::new("NVRTC, which compiles CUDA kernels, was not found").help(
                "install the Python package nvidia-cuda-nvrtc, or name the library with the option `nvrtc`",
            ));
        };
        let bad = |error: libloading::Error| {
            Failure::new(format!("{} cannot be used as NVRTC: {error}", path.display()))
        };
        // SAFETY: loading it runs its own start only; the user named it, or it is called as NVIDIA's is.
        let library = unsafe { Library::new(&path) }.map_err(bad)?;
        // SAFETY: these functions have had these types in every version.
        let mut nvrtc = unsafe {
            let size = |name: &CStr| library.get::<Size>(name.to_bytes_with_nul()).map(|f| *f);
            let text = |name: &CStr| library.get::<Text>(name.to_bytes_with_nul()).map(|f| *f);
            Self {
                path: path.clone(),
                version: (0, 0),
                architectures: Vec::new(),
                create: *library.get::<Create>(b"nvrtcCreateProgram\0").map_err(bad)?,
                compile: *library.get::<Compile>(b"nvrtcCompileProgram\0").map_err(bad)?,
                ptx: (size(c"nvrtcGetPTXSize").map_err(bad)?, text(c"nvrtcGetPTX").map_err(bad)?),
                cubin: size(c"nvrtcGetCUBINSize").ok().zip(text(c"nvrtcGetCUBIN").ok()),
                log: (
                    size(c"nvrtcGetProgramLogSize").map_err(bad)?,
                    text(c"nvrtcGetProgramLog").map_err(bad)?,
                ),
                destroy: *library.get::<Destroy>(b"nvrtcDestroyProgram\0").map_err(bad)?,
                library,
            }
        };
        nvrtc.ask();
        Ok(nvrtc)
    }

    /// Asks for the version and for the architectures.
    fn ask(&mut self) {
        let library = &self.library;
        // SAFETY: as in `open`; the list has as many places as the library says.
        unsafe {
            if let Ok(version) = library.get::<Version>(b"nvrtcVersion\0") {
                let (mut major, mut minor) = (0, 0);
                if version(&raw mut major, &raw mut minor) == 0 {
                    self.version = (major, minor);
                }
            }
            let (count, list) = (
                library.get::<Count>(b"nvrtcGetNumSupportedArchs\0"),
                library.get::<Count>(b"nvrtcGetSupportedArchs\0"),
            );
            if let (Ok(count), Ok(list)) = (count, list) {
                let mut number = 0;
                if count(&raw mut number) == 0 && (1..1000).contains(&number) {
                    let mut found = vec![0; number as usize];
                    if list(found.as_mut_ptr()) == 0 {
                        self.architectures = found;
                    }
                }
            }
        }
    }

    /// Compiles a source for the driver: to machine code if NVRTC knows this device, since a driver refuses the PTX
    /// of a newer NVRTC but not its machine code, and to PTX otherwise. Products are not fused into sums, so that
    /// results are those of a processor.
    ///
    /// # Errors
    /// The messages of the compiler.
    pub fn compile(&self, source: &str, capability: (i32, i32)) -> Result<Compiled, Failure> {
        let wanted = capability.0 * 10 + capability.1;
        match self.cubin.filter(|_| self.architectures.contains(&wanted)) {
            Some(cubin) => {
                self.build(source, &architecture(&format!("sm_{wanted}")), cubin).map(Compiled::Cubin)
            }
            None => self.ptx(source, capability).map(Compiled::Ptx),
        }
    }

    /// Compiles a source to PTX for devices of this capability and later ones.
    ///
    /// # Errors
    /// The messages of the compiler.
    pub fn ptx(&self, source: &str, capability: (i32, i32)) -> Result<String, Failure> {
        let wanted = capability.0 * 10 + capability.1;
        // A newer device runs code for an older one.
        let known = self.architectures.iter().copied().filter(|known| *known <= wanted).max();
        let name = format!("compute_{}", known.unwrap_or(wanted));
        let mut ptx = self.build(source, &architecture(&name), self.ptx)?;
        // It ends in a zero.
        ptx.pop();
        String::from_utf8(ptx).map_err(|_| Failure::new("NVRTC returned PTX that is not text"))
    }

    /// Compiles a source as far as its syntax and types, which takes a sixth of the time; as a whole before CUDA 12.8.
    ///
    /// # Errors
    /// The messages of the compiler.
    #[cfg(test)]
    pub fn check(&self, source: &str) -> Result<(), Failure> {
        if self.version < (12, 8) {
            return self.compile(source, (8, 0)).map(|_| ());
        }
        self.build(source, "--fdevice-syntax-only", self.log).map(|_| ())
    }

    /// Compiles a source with an option, and returns this result.
    fn build(&self, source: &str, option: &str, result: (Size, Text)) -> Result<Vec<u8>, Failure> {
        let options = [option, "--fmad=false"].map(|option| CString::new(option).unwrap_or_default());
        let options = options.each_ref().map(|option| option.as_ptr());
        let source =
            CString::new(source).map_err(|_| Failure::new("a kernel's source contains a zero byte"))?;
        let mut program: Program = ptr::null_mut();
        // SAFETY: the texts end in zeros and live until the call returns.
        let created = unsafe {
            (self.create)(
                &raw mut program,
                source.as_ptr(),
                c"kernels.cu".as_ptr(),
                0,
                ptr::null(),
                ptr::null(),
            )
        };
        if created != 0 {
            return Err(Failure::new(format!("NVRTC took no source: error {created}")));
        }
        // SAFETY: the program was created; the options live until the call returns.
        let compiled = unsafe { (self.compile)(program, options.len() as c_int, options.as_ptr()) };
        let bytes = bytes(program, if compiled == 0 { result } else { self.log });
        // SAFETY: the program was created and is not used any more.
        unsafe { (self.destroy)(&raw mut program) };
        match (compiled, bytes) {
            (0, Some(bytes)) if !bytes.is_empty() => Ok(bytes),
            (0, _) => Err(Failure::new("NVRTC compiled a kernel and does not hand it over")),
            (_, log) => {
                let log = String::from_utf8_lossy(&log.unwrap_or_default()).into_owned();
                let log = log.trim_end_matches('\0').trim();
                Err(Failure::new(format!("NVRTC does not compile a kernel (error {compiled}): {log}")))
            }
        }
    }
}

/// The option that names an architecture.
fn architecture(name: &str) -> String {
    format!("--gpu-architecture={name}")
}

/// Compiled kernels.
#[derive(Clone, Debug)]
pub enum Compiled {
    /// Machine code of one architecture.
    Cubin(Vec<u8>),
    /// A text that the driver compiles.
    Ptx(String),
}

/// A result of the library: it says how long it is, and writes it.
fn bytes(program: Program, (size, write): (Size, Text)) -> Option<Vec<u8>> {
    let mut length = 0;
    // SAFETY: the program exists.
    if unsafe { size(program, &raw mut length) } != 0 {
        return None;
    }
    let mut bytes = vec![0_u8; length];
    // SAFETY: there is as much room as the library asked for.
    let written = unsafe { write(program, bytes.as_mut_ptr().cast()) };
    (written == 0).then_some(bytes)
}
