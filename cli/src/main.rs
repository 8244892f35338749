//! `onnxport`, the program.

use std::process::ExitCode;

/// A graph is many small allocations; the system's allocator takes twice the time for a long one.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    #[cfg(feature = "cuda")]
    onnxport::link(&[&onnxport_cuda_parity::ROOT]);
    ExitCode::from(onnxport::main(std::env::args_os()))
}
