//! The OpenVINO provider, a library of its own that ONNX Runtime loads.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use onnxport_ir::{interpreter, library};
use onnxport_sdk::executor::Failure;
use ort::device::Device;
use ort::session::builder::SessionBuilder;

use crate::options::Chosen;
use crate::{Loaded, canonical, first_line};

/// The name of the provider.
const PROVIDER: &str = "OpenVINOExecutionProvider";
/// The name of its library.
const STEM: &str = "onnxruntime_providers_openvino_plugin";
/// The folder of the Python package that has it.
const PACKAGE: &str = "onnxruntime_ep_openvino";
/// The option that chooses a device by its name for OpenVINO.
const DEVICE: &str = "device_type";
/// The option with properties of the device.
const PROPERTIES: &str = "load_config";
/// The library that was registered: ONNX Runtime knows it as long as the process lives.
static REGISTERED: Mutex<Option<PathBuf>> = Mutex::new(None);

/// Lets the provider run what it can.
///
/// # Errors
/// Where its library is not there, or it has no such device.
pub(crate) fn register(
    builder: SessionBuilder,
    chosen: &Chosen,
    loaded: &Loaded,
) -> Result<SessionBuilder, Failure> {
    let path = ensure(chosen, loaded)?;
    let unusable = |why: &str| {
        let why = first_line(why);
        Failure::new(format!("the OpenVINO provider of {} cannot be used: {why}", path.display()))
            .unsupported()
    };
    let device = chosen.provider.iter().rfind(|(name, _)| name == DEVICE);
    let device = device.map_or("CPU", |(_, device)| device.as_str());
    // The library has one device for each that OpenVINO knows here, and names it in its metadata.
    let of_provider: Vec<Device<'_>> = loaded
        .environment
        .devices()
        .filter(|device| device.ep().is_ok_and(|name| name == PROVIDER))
        .collect();
    let kind = |found: &Device<'_>| format!("{:?}", found.hardware_device().ty()).to_uppercase();
    let names: Vec<String> = of_provider.iter().map(kind).collect();
    let wanted: Vec<Device<'_>> =
        of_provider.into_iter().filter(|found| kind(found) == device.to_uppercase()).collect();
    if wanted.is_empty() {
        let failure = unusable(&format!("it has no device {device} here"));
        return Err(failure.help(format!("it has {}", names.join(", "))));
    }
    let mut options: Vec<(String, String)> = chosen
        .provider
        .iter()
        .filter(|(name, _)| name != DEVICE)
        .map(|(name, value)| (format!("{PROVIDER}.{name}"), value.clone()))
        .collect();
    if !chosen.provider.iter().any(|(name, _)| name == PROPERTIES) {
        // Checks need float32, not the shorter types that the device prefers.
        let precise = format!("{{\"{device}\":{{\"INFERENCE_PRECISION_HINT\":\"f32\"}}}}");
        options.push((format!("{PROVIDER}.{PROPERTIES}"), precise));
    }
    builder.with_devices(wanted, Some(&options)).map_err(|error| unusable(&error.to_string()))
}

/// The next step where no provider takes a compiled region.
pub(crate) fn help(message: &str, chosen: &Chosen) -> &'static str {
    if message.contains(PROVIDER) && chosen.settings.provider != "openvino" {
        "run it by the provider that compiled it: --executor-option provider=openvino"
    } else {
        "the blob may be missing, or be of another provider: convert the program again"
    }
}

/// The reason of the provider on one line, without places in its sources; `None` for a message of somebody else.
pub(crate) fn reason(message: &str) -> Option<String> {
    if !message.contains("[OpenVINO-EP]") {
        return None;
    }
    let is_place = |line: &&str| {
        line.is_empty()
            || line.starts_with("Exception from ")
            || line.starts_with("Check ")
            || line.starts_with("[ONNXRuntimeError]")
            || line.contains("[OpenVINO-EP] /opt/") && !line.contains("Error: ")
    };
    let lines: Vec<&str> = message.lines().map(str::trim).filter(|line| !is_place(line)).collect();
    (!lines.is_empty()).then(|| lines.join("; "))
}

/// The library, registered once.
fn ensure(chosen: &Chosen, loaded: &Loaded) -> Result<PathBuf, Failure> {
    let mut registered = REGISTERED.lock().unwrap_or_else(PoisonError::into_inner);
    let wanted = chosen.settings.provider_library.clone();
    if let Some(known) = registered.as_ref() {
        return match wanted.filter(|path| canonical(path) != *known) {
            None => Ok(known.clone()),
            Some(path) => {
                let used = known.display();
                let message =
                    format!("{} cannot be loaded: this process already uses {used}", path.display());
                Err(Failure::new(message))
            }
        };
    }
    let found = wanted.or_else(find).ok_or_else(|| {
        Failure::new("no library of the OpenVINO provider was found").unsupported().help(
            "run `pip install onnxruntime-ep-openvino`, or name its library with --executor-option provider_library=PATH",
        )
    })?;
    let path = canonical(&found);
    loaded.environment.register_ep_library("openvino", &path).map_err(|error| {
        let why = first_line(&error.to_string());
        Failure::new(format!("{} is not a usable OpenVINO provider: {why}", path.display())).unsupported()
    })?;
    Ok(registered.insert(path).clone())
}

/// That of the variable `ONNXRUNTIME_OPENVINO_PATH`, or of the active Python.
fn find() -> Option<PathBuf> {
    library::stated("ONNXRUNTIME_OPENVINO_PATH").or_else(|| {
        let pythons = interpreter::active();
        let mut packages = pythons.iter().flat_map(|python| &python.packages);
        packages.find_map(|folder| library::newest_in(&folder.join(PACKAGE), STEM))
    })
}

#[cfg(test)]
mod tests {
    use super::reason;

    #[test]
    fn the_reason_of_the_provider_is_found_behind_places() {
        let said = "[OpenVINO-EP] /opt/src/plugin/ov_compute.cc:145 - Exception from src/core.cpp:237:\n\
                    Exception from src/plugin.cpp:84:\nCheck 'is_compatible(x)' failed at src/plugin.cpp:811:\n\
                    [CPU] Cannot import compiled blob: it was built for another version.\n  blob: a\n\n";
        let expected = "[CPU] Cannot import compiled blob: it was built for another version.; blob: a";
        assert_eq!(reason(said).as_deref(), Some(expected));
        assert_eq!(reason("[OpenVINO-EP] /opt/src/plugin/ov_compute.cc:145 - a.bin is missing"), None);
        assert_eq!(reason("Exception from src/core.cpp:237:\nno"), None);
    }
}
