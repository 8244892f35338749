//! What the driver reports, in words.

use cudarc::driver::DriverError;
use cudarc::driver::sys::CUresult;
use onnxport_sdk::executor::Failure;

/// Makes an error of the driver a failure of what was being done.
pub(crate) fn failed(task: &str) -> impl FnOnce(DriverError) -> Failure + '_ {
    move |error| {
        let text =
            error.error_string().ok().and_then(|text| text.to_str().ok()).unwrap_or("an unknown error");
        let failure = Failure::new(format!("{task} failed: {text}"));
        match error.0 {
            CUresult::CUDA_ERROR_OUT_OF_MEMORY => failure
                .help("give the device less to do at once with the option `memory`, or free its memory"),
            CUresult::CUDA_ERROR_SYSTEM_DRIVER_MISMATCH | CUresult::CUDA_ERROR_UNSUPPORTED_PTX_VERSION => {
                failure.help("install a newer driver, or name an older NVRTC with the option `nvrtc`")
            }
            _ => failure,
        }
    }
}
