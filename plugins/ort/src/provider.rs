//! The execution provider of a session.

use onnxport_sdk::executor::Failure;
use ort::ep::{ArbitrarilyConfigurableExecutionProvider, CUDA, ExecutionProvider};
use ort::session::builder::SessionBuilder;

use crate::options::Chosen;
use crate::{Loaded, first_line, openvino};

/// The option by which float32 products are rounded to fewer digits.
const TF32: &str = "use_tf32";

/// The provider's name in reports; empty for the CPU.
pub(crate) fn describe(chosen: &Chosen) -> &'static str {
    match chosen.settings.provider.as_str() {
        "cuda" => {}
        "openvino" => return " on OpenVINO",
        _ => return "",
    }
    match chosen.provider.iter().rfind(|(name, _)| name == TF32) {
        Some((_, value)) if value != "0" => " on CUDA with TF32",
        _ => " on CUDA without TF32",
    }
}

/// Lets the provider that was chosen run the operators of a session.
///
/// # Errors
/// Where the library does not have it, or it cannot be used here: nobody is given another one in silence.
pub(crate) fn register(
    mut builder: SessionBuilder,
    chosen: &Chosen,
    loaded: &Loaded,
) -> Result<SessionBuilder, Failure> {
    match chosen.settings.provider.as_str() {
        "cuda" => {}
        "openvino" => return openvino::register(builder, chosen, loaded),
        _ => return Ok(builder),
    }
    let library = || format!("ONNX Runtime {}, {}", loaded.version, loaded.path.display());
    if !CUDA::is_available().unwrap_or(false) {
        let message = format!("{} has no CUDA provider", library());
        return Err(Failure::new(message)
            .unsupported()
            .help("install onnxruntime-gpu, and name its library with --ort-library"));
    }
    // Checks need float32, not the shorter types of tensor cores.
    let exact = CUDA::default().with_arbitrary_config(TF32, "0");
    let provider = chosen
        .provider
        .iter()
        .fold(exact, |provider, (name, value)| provider.with_arbitrary_config(name, value));
    provider.register(&mut builder).map_err(|error| {
        let why = first_line(&error.to_string());
        Failure::new(format!("the CUDA provider of {} cannot be used: {why}", library()))
            .unsupported()
            .help("it needs a GPU with a driver, and CUDA and cuDNN libraries on the system's search path")
    })?;
    Ok(builder)
}
