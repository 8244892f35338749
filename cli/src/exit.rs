//! Exit codes. They are documented in the help, the manual and the README.

use onnxport_core::diagnose::{Code, Report, Severity};

/// The exit status of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Exit {
    /// Done.
    Ok = 0,
    /// The command line is wrong. clap exits with the same code.
    Usage = 2,
    /// The program contains something that cannot be converted.
    Unsupported = 3,
    /// The model diverges from its reference.
    Mismatch = 4,
    /// A file cannot be read or written.
    Io = 5,
    /// There is nothing to verify with.
    Unverified = 6,
    /// A defect in onnxport or in a plugin.
    Internal = 70,
    /// The terminal is gone: 128 and the number of the signal, as shells do it.
    HangUp = 129,
    /// Interrupted from the keyboard.
    Interrupted = 130,
    /// The process was asked to end.
    Terminated = 143,
}

/// The codes as the help shows them.
pub(crate) const HELP: &str = "\
Exit codes:
   0  done
   2  the command line is wrong
   3  the program contains something that onnxport cannot convert
   4  the model's results are wrong
   5  a file cannot be read or written, or is damaged
   6  cannot verify: ONNX Runtime, PyTorch or recorded values are missing, or no call runs
  70  a bug in onnxport or in a plugin
 130  interrupted (129, 143: ended by SIGHUP, SIGTERM); no partial files remain";

impl Exit {
    /// Returns the code of a report: that of its gravest error.
    pub(crate) fn of(report: &Report) -> Self {
        report
            .diagnostics
            .iter()
            .filter(|d| d.severity == Severity::Error)
            .map(|d| Self::of_code(&d.code))
            .max()
            .unwrap_or(Exit::Ok)
    }

    fn of_code(code: &Code) -> Self {
        let usage = [
            Code::USAGE,
            Code::CONFIG_KEY,
            Code::CONFIG_VALUE,
            Code::CONFIG_TRUST,
            Code::CONFIG_PRESET,
            Code::SANDBOX,
            Code::RUN_INPUT,
            Code::LOWER_OPSET,
            Code::LOWER_NAME,
            Code::LOWER_SIZE,
            Code::OPTIMISE_NAME,
            Code::FUNCTIONS_CLASS,
            Code::PLUGIN_TWICE,
            Code::PLUGIN_CHOICE,
            Code::PLUGIN_NEW,
            Code::WEIGHT_SCHEME,
            Code::WEIGHT_PATTERN,
            Code::CALIBRATE_SAMPLES,
            Code::CAPTURE_CODE,
        ];
        if usage.contains(code) {
            return Exit::Usage;
        }
        let unsupported = [
            Code::WEIGHT_VALUE,
            Code::CALIBRATE_VALUE,
            Code::CALIBRATE_TARGET,
            Code::CALIBRATE_NOTHING,
            Code::WEIGHT_PLUGIN,
            Code::TARGET_LACKS,
            Code::TARGET_UNKNOWN,
            Code::CAPTURE_ARCHITECTURE,
            Code::CAPTURE_FAILED,
            Code::CAPTURE_CONVERSION,
            Code::CAPTURE_ADAPTER,
        ];
        if unsupported.contains(code) {
            return Exit::Unsupported;
        }
        let lacking =
            [Code::VERIFY_NO_EXECUTOR, Code::VERIFY_EXPECTED, Code::VERIFY_REFERENCE, Code::CAPTURE_PYTHON];
        if lacking.contains(code) {
            return Exit::Unverified;
        }
        let unusable = [
            Code::CONFIG_FILE,
            Code::PLUGIN_FILE,
            Code::PLUGIN_VERSION,
            Code::PLUGIN_MANIFEST,
            Code::PLUGIN_PROJECT,
            Code::PLUGIN_ALLOW,
            Code::TARGET_FILE,
        ];
        if unusable.contains(code) {
            return Exit::Io;
        }
        if *code == Code::CALIBRATE_ERROR {
            return Exit::Mismatch;
        }
        match code.as_str().as_bytes() {
            [b'O', b'P', b'1' | b'6', ..] => Exit::Io,
            [b'O', b'P', b'7', ..] => Exit::Mismatch,
            [b'O', b'P', b'4' | b'8' | b'9', ..] => Exit::Internal,
            _ => Exit::Unsupported,
        }
    }
}
