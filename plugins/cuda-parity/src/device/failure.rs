//! Error messages of the driver.

use cudarc::driver::DriverError;
use cudarc::driver::sys::CUresult;
use onnxport_sdk::executor::Failure;

/// Converts an error of the driver to a failure of the current task.
pub(crate) fn failed(task: &str) -> impl FnOnce(DriverError) -> Failure + '_ {
    move |error| {
        let text =
            error.error_string().ok().and_then(|text| text.to_str().ok()).unwrap_or("an unknown error");
        if is_final(error.0) {
            return lost(&format!("{task}: {text}"));
        }
        let failure = Failure::new(format!("{task} failed: {text}"));
        match error.0 {
            CUresult::CUDA_ERROR_OUT_OF_MEMORY => failure
                .help("give the device less to do at once with the option `memory`, or free its memory"),
            CUresult::CUDA_ERROR_SYSTEM_DRIVER_MISMATCH
            | CUresult::CUDA_ERROR_UNSUPPORTED_PTX_VERSION
            | CUresult::CUDA_ERROR_INVALID_IMAGE
            | CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU => {
                failure.help("install a newer driver, or name an older NVRTC with the option `nvrtc`")
            }
            _ => failure,
        }
    }
}

/// Whether nothing works any more in this process after an error: the driver reports it for every call from then on, and
/// memory may hold anything.
pub(crate) fn is_final(error: CUresult) -> bool {
    use CUresult as E;
    matches!(
        error,
        E::CUDA_ERROR_DEINITIALIZED
            | E::CUDA_ERROR_ECC_UNCORRECTABLE
            | E::CUDA_ERROR_NVLINK_UNCORRECTABLE
            | E::CUDA_ERROR_ILLEGAL_ADDRESS
            | E::CUDA_ERROR_LAUNCH_TIMEOUT
            | E::CUDA_ERROR_CONTEXT_IS_DESTROYED
            | E::CUDA_ERROR_ASSERT
            | E::CUDA_ERROR_HARDWARE_STACK_ERROR
            | E::CUDA_ERROR_ILLEGAL_INSTRUCTION
            | E::CUDA_ERROR_MISALIGNED_ADDRESS
            | E::CUDA_ERROR_INVALID_ADDRESS_SPACE
            | E::CUDA_ERROR_INVALID_PC
            | E::CUDA_ERROR_LAUNCH_FAILED
            | E::CUDA_ERROR_EXTERNAL_DEVICE
            | E::CUDA_ERROR_UNKNOWN
    )
}

/// The failure of a device that cannot be used any more. It says nothing about the model, and is never `unsupported`.
pub(crate) fn lost(why: &str) -> Failure {
    Failure::new(format!("the CUDA device failed and cannot be used any more in this process ({why})")).help(
        "results of this run cannot be trusted; run the command again, and report the error if it comes back",
    )
}

#[cfg(test)]
mod tests {
    use super::{CUresult, is_final};

    #[test]
    fn an_error_that_ends_the_process_is_told_from_one_that_does_not() {
        for error in [CUresult::CUDA_ERROR_ILLEGAL_ADDRESS, CUresult::CUDA_ERROR_LAUNCH_FAILED] {
            assert!(is_final(error), "{error:?}");
        }
        for error in [CUresult::CUDA_ERROR_OUT_OF_MEMORY, CUresult::CUDA_ERROR_INVALID_VALUE] {
            assert!(!is_final(error), "{error:?}");
        }
    }
}
