//! A core of OpenVINO with the properties that the user chose.

use std::ffi::{CStr, CString};
use std::path::Path;
use std::ptr;

use onnxport_sdk::executor::Failure;

use crate::Settings;
use crate::api::{Compiled, Core, Devices, Owned};
use crate::library::Library;
use crate::status::text;

/// Devices that stand for others, which their names list behind a colon.
const VIRTUAL: [&str; 4] = ["AUTO", "BATCH", "HETERO", "MULTI"];

/// An opened runtime.
pub(crate) struct Runtime {
    pub(crate) library: &'static Library,
    core: Owned<Core>,
    device: CString,
}

impl Runtime {
    /// Opens the runtime for a device.
    ///
    /// # Errors
    /// Where there is no such device, or it does not take a property.
    pub(crate) fn open(library: &'static Library, settings: &Settings) -> Result<Self, Failure> {
        let api = &library.api;
        let mut core = ptr::null_mut();
        // SAFETY: the function writes a pointer.
        api.check(unsafe { (api.ov_core_create)(&raw mut core) }, "start")?;
        // SAFETY: the core was just made, and this is its function.
        let core = unsafe { Owned::new(core, api.ov_core_free) }.ok_or_else(nothing)?;
        let runtime = Self { library, core, device: c_text(&settings.device)? };
        runtime.check_device(&settings.device)?;
        if settings.precision == "f32" {
            for (key, value) in [("INFERENCE_PRECISION_HINT", "f32"), ("EXECUTION_MODE_HINT", "ACCURACY")] {
                runtime.set(key, value).map_err(|failure| {
                    failure
                        .unsupported()
                        .help("the device may not compute in float32: --executor-option precision=device")
                })?;
            }
        }
        if settings.threads != 0 {
            runtime.set("INFERENCE_NUM_THREADS", &settings.threads.to_string())?;
        }
        if settings.profile.is_some() {
            runtime.set("PERF_COUNT", "YES")?;
        }
        let listed = settings.properties.as_deref().unwrap_or_default();
        for item in listed.split(',').filter(|item| !item.is_empty()) {
            match item.split_once('=') {
                Some((key, value)) if !key.is_empty() => runtime.set(key, value)?,
                _ => {
                    let message = format!("the option `properties` has {item:?}, not NAME=VALUE");
                    return Err(Failure::new(message));
                }
            }
        }
        Ok(runtime)
    }

    /// Fails for a device that is not there.
    fn check_device(&self, device: &str) -> Result<(), Failure> {
        let api = &self.library.api;
        let kind = device.split([':', '.']).next().unwrap_or_default();
        let mut devices = Devices { names: ptr::null_mut(), size: 0 };
        // SAFETY: the function fills the struct.
        let status = unsafe { (api.ov_core_get_available_devices)(self.core.get(), &raw mut devices) };
        api.check(status, "list devices")?;
        let names: Vec<String> = (0..devices.size)
            // SAFETY: the library says that so many names are there, which it frees below.
            .filter_map(|at| unsafe { text(*devices.names.add(at)) })
            .collect();
        // SAFETY: the struct was filled by the library, and is freed once.
        unsafe { (api.ov_available_devices_free)(&raw mut devices) };
        let is_there =
            names.iter().any(|name| name.split('.').next() == Some(kind)) || VIRTUAL.contains(&kind);
        if is_there {
            return Ok(());
        }
        let version = &self.library.version;
        let failure = Failure::new(format!("OpenVINO {version} has no device {device} here")).unsupported();
        Err(failure.help(format!("it has {}: --executor-option device=NAME", names.join(", "))))
    }

    fn set(&self, key: &str, value: &str) -> Result<(), Failure> {
        let api = &self.library.api;
        let (c_key, c_value) = (c_text(key)?, c_text(value)?);
        // SAFETY: the function takes one pair of texts behind the device.
        let status = unsafe {
            (api.ov_core_set_property)(
                self.core.get(),
                self.device.as_ptr(),
                c_key.as_ptr(),
                c_value.as_ptr(),
            )
        };
        let device = self.device.to_string_lossy();
        let set = api.check(status, &format!("set {key} to {value} for {device}"));
        set.map_err(|failure| {
            failure.help("name a property that OpenVINO documents for the device, and a value that it takes")
        })
    }

    /// The model at `path`, compiled for the device.
    pub(crate) fn compile(&self, path: &Path) -> Result<Owned<Compiled>, Failure> {
        let api = &self.library.api;
        let path = c_text(path.to_str().unwrap_or_default())?;
        let mut model = ptr::null_mut();
        // SAFETY: the core lives, the path ends, and a model of ONNX has no second file.
        let status =
            unsafe { (api.ov_core_read_model)(self.core.get(), path.as_ptr(), ptr::null(), &raw mut model) };
        api.check(status, "read the model")?;
        // SAFETY: the model was just made, and this is its function.
        let model = unsafe { Owned::new(model, api.ov_model_free) }.ok_or_else(nothing)?;
        let mut compiled = ptr::null_mut();
        let device: &CStr = &self.device;
        // SAFETY: all objects live, and no properties follow.
        let status = unsafe {
            (api.ov_core_compile_model)(self.core.get(), model.get(), device.as_ptr(), 0, &raw mut compiled)
        };
        api.check(status, &format!("compile the model for {}", device.to_string_lossy()))?;
        // SAFETY: the compiled model was just made, and this is its function.
        unsafe { Owned::new(compiled, api.ov_compiled_model_free) }.ok_or_else(nothing)
    }
}

impl Runtime {
    /// The device, as OpenVINO calls it.
    pub(crate) fn device(&self) -> String {
        self.device.to_string_lossy().into_owned()
    }

    /// Checks that a compiled model has these inputs, or outputs, and no others.
    ///
    /// # Errors
    /// If OpenVINO dropped or renamed one.
    pub(crate) fn check_ports(
        &self,
        compiled: &Owned<Compiled>,
        side: &str,
        names: &[String],
    ) -> Result<(), Failure> {
        let api = &self.library.api;
        let (count, find) = match side {
            "input" => (api.ov_compiled_model_inputs_size, api.ov_compiled_model_input_by_name),
            _ => (api.ov_compiled_model_outputs_size, api.ov_compiled_model_output_by_name),
        };
        let mut found = 0;
        // SAFETY: the compiled model lives, and the function writes a number.
        api.check(unsafe { count(compiled.get(), &raw mut found) }, &format!("count {side}s"))?;
        if found != names.len() {
            let wanted = names.len();
            return Err(Failure::new(format!(
                "OpenVINO gives the region {found} {side}s instead of {wanted}"
            )));
        }
        for name in names {
            let mut port = ptr::null_mut();
            let c_name = c_text(name)?;
            // SAFETY: the compiled model lives, the name ends, and the function writes a pointer.
            let status = unsafe { find(compiled.get(), c_name.as_ptr(), &raw mut port) };
            api.check(status, &format!("find the {side} {name}"))?;
            // SAFETY: the port was just made, and this is its function.
            drop(unsafe { Owned::new(port, api.ov_output_const_port_free) });
        }
        Ok(())
    }

    /// Writes a compiled model to a file.
    ///
    /// # Errors
    /// Where the device cannot, or the disk is full.
    pub(crate) fn export(&self, compiled: &Owned<Compiled>, path: &Path) -> Result<(), Failure> {
        let api = &self.library.api;
        let path = c_text(path.to_str().unwrap_or_default())?;
        // SAFETY: the compiled model lives, and the path ends.
        let status = unsafe { (api.ov_compiled_model_export_model)(compiled.get(), path.as_ptr()) };
        api.check(status, "export the compiled region")
    }

    /// The versions and the hardware that a compiled model needs, where the device states them.
    pub(crate) fn requirements(&self, compiled: &Owned<Compiled>) -> Option<String> {
        let api = &self.library.api;
        let mut said = ptr::null_mut();
        // SAFETY: the compiled model lives, the name ends, and the function writes a pointer.
        let status = unsafe {
            (api.ov_compiled_model_get_property)(
                compiled.get(),
                c"RUNTIME_REQUIREMENTS".as_ptr(),
                &raw mut said,
            )
        };
        if status != 0 || said.is_null() {
            return None;
        }
        // SAFETY: the library returned a string, which is freed once below.
        let requirements = unsafe { text(said) };
        // SAFETY: as above.
        unsafe { (api.ov_free)(said) };
        requirements.filter(|text| !text.is_empty())
    }
}

/// A text for the library.
pub(crate) fn c_text(text: &str) -> Result<CString, Failure> {
    CString::new(text).map_err(|_| Failure::new(format!("{text:?} holds a zero byte")))
}

/// The failure of a function that reports success and returns nothing.
pub(crate) fn nothing() -> Failure {
    Failure::new("OpenVINO returned nothing").help("install another version: `pip install openvino`")
}
