//! Errors of the C API.

use std::ffi::{CStr, c_char};

use onnxport_sdk::executor::Failure;

use crate::api::{Api, Status};

/// `INVALID_C_PARAM` of `ov_status_e`.
pub(crate) const INVALID_C_PARAM: Status = -14;

/// Others of them.
const NOT_IMPLEMENTED: Status = -2;
const REQUEST_BUSY: Status = -8;
const NOT_ALLOCATED: Status = -10;
const NOT_IMPLEMENTED_IN_C: Status = -16;

/// How OpenVINO says that it lacks an operator, or a kernel.
const LACKING: [&str; 4] =
    ["No conversion rule found", "not implemented", "Not implemented", "is not supported"];

/// The next step where OpenVINO lacks something.
pub(crate) const JUDGE: &str =
    "`onnxport legal MODEL --target openvino` lists the nodes that OpenVINO does not take";

impl Api {
    /// Turns a status into a result; `task` completes "OpenVINO cannot …".
    pub(crate) fn check(&self, status: Status, task: &str) -> Result<(), Failure> {
        if status == 0 {
            return Ok(());
        }
        // It also holds the message of an earlier error, where the arguments are refused before anything else.
        let said = if status == INVALID_C_PARAM { None } else { self.last_message() };
        // SAFETY: the function returns a string of the library for any number.
        let kind = unsafe { text((self.ov_get_error_info)(status)) };
        let kind = kind.unwrap_or_else(|| format!("status {status}"));
        let reason = said.as_deref().map(readable).filter(|said| !said.is_empty()).unwrap_or(kind);
        let failure = Failure::new(format!("OpenVINO cannot {task}: {reason}"));
        Err(match status {
            NOT_IMPLEMENTED | NOT_IMPLEMENTED_IN_C => failure.unsupported().help(JUDGE),
            REQUEST_BUSY => failure.help("run the model again; another run of this session has not ended"),
            NOT_ALLOCATED => failure.help("use smaller inputs, or free memory"),
            _ if LACKING.iter().any(|text| reason.contains(text)) => failure.unsupported().help(JUDGE),
            _ => {
                failure.help("`onnxport run MODEL --executor ort` shows whether ONNX Runtime runs the model")
            }
        })
    }

    fn last_message(&self) -> Option<String> {
        // SAFETY: the function returns a copy of the last message, which is freed below.
        let message = unsafe { (self.ov_get_last_err_msg)() };
        // SAFETY: as above; null is not a text.
        let said = unsafe { text(message) };
        if !message.is_null() {
            // SAFETY: the copy belongs to the caller, and is freed once.
            unsafe { (self.ov_free)(message) };
        }
        said
    }
}

/// The text at `pointer`; `None` for a null pointer.
///
/// # Safety
/// The pointer must be null or lead to a string that ends.
pub(crate) unsafe fn text(pointer: *const c_char) -> Option<String> {
    // SAFETY: the caller promised it.
    (!pointer.is_null()).then(|| unsafe { CStr::from_ptr(pointer) }.to_string_lossy().into_owned())
}

/// A message without the places in OpenVINO's source, on one line.
fn readable(message: &str) -> String {
    let lines = message.lines().map(str::trim);
    let is_said = |line: &&str| {
        let is_place = line.starts_with("Exception from ") || line.starts_with("Check 'false' failed at ");
        !(line.is_empty() || is_place || matches!(*line, "Summary:" | "Model wasn't fully converted."))
    };
    lines.filter(is_said).map(|line| line.trim_start_matches("-- ")).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::readable;

    #[test]
    fn messages_are_one_line_without_places() {
        let said = "Exception from src/inference/src/cpp/core.cpp:84:\nCheck 'false' failed at src/frontends/a.cpp:151:\n\
                    FrontEnd API failed with OpConversionFailure:\nModel wasn't fully converted.\nSummary:\n\
                    -- No conversion rule found for operations: com.x.Foo\n\n";
        let expected = "FrontEnd API failed with OpConversionFailure:; No conversion rule found for operations: com.x.Foo";
        assert_eq!(readable(said), expected);
    }
}
