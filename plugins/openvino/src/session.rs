//! A loaded model.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::ptr;

use onnxport_ir::onnx::{OnnxFile, Signature, further_outputs};
use onnxport_sdk::Lent;
use onnxport_sdk::abi::executor::TensorView;
use onnxport_sdk::executor::{Failure, Outputs, Session};
use tempfile::TempPath;

use crate::Settings;
use crate::api::{Compiled, Owned, Port, Request, Tensor};
use crate::library::Library;
use crate::profiled::Trace;
use crate::runtime::{Runtime, c_text, nothing};
use crate::tensor;

/// A model that OpenVINO compiled. Fields are dropped in order: the request before the model, and that before the file
/// from which it may still read.
pub(crate) struct OpenVinoSession {
    library: &'static Library,
    inputs: Vec<(String, Owned<Port>)>,
    outputs: Vec<String>,
    trace: Option<Trace>,
    request: Owned<Request>,
    _compiled: Owned<Compiled>,
    _copy: Option<TempPath>,
}

impl OpenVinoSession {
    /// Loads the model at `path` with `values` as its last outputs.
    pub(crate) fn load(
        runtime: &Runtime,
        settings: &Settings,
        path: &Path,
        values: &[&str],
    ) -> Result<Self, Failure> {
        let library = runtime.library;
        let api = &library.api;
        let file = OnnxFile::open(path).map_err(|problem| Failure::new(problem.message))?;
        refuse_compiled(&file)?;
        let signature = Signature::of(&file).map_err(|problem| Failure::new(problem.message))?;
        for port in signature.inputs.iter().chain(&signature.outputs) {
            port.dtype.map_or(Ok(0), |dtype| tensor::check_type(&port.name, dtype))?;
        }
        let copy = if values.is_empty() { None } else { Some(with_outputs(path, values)?) };
        let compiled = runtime.compile(copy.as_deref().unwrap_or(path))?;
        // OpenVINO compiles the values of inputs that have one in.
        let taken = signature.inputs.iter().filter(|port| !port.optional);
        let inputs = taken.map(|port| Ok((port.name.clone(), input(library, &compiled, &port.name)?)));
        let inputs = inputs.collect::<Result<Vec<_>, Failure>>()?;
        let outputs = signature.outputs.iter().map(|port| port.name.as_str());
        let outputs: Vec<String> = outputs.chain(values.iter().copied()).map(str::to_owned).collect();
        let (mut taken, mut made) = (0, 0);
        // SAFETY: the compiled model lives, and the functions write numbers.
        unsafe {
            api.check((api.ov_compiled_model_inputs_size)(compiled.get(), &raw mut taken), "count inputs")?;
            api.check((api.ov_compiled_model_outputs_size)(compiled.get(), &raw mut made), "count outputs")?;
        }
        if (taken, made) != (inputs.len(), outputs.len()) {
            let message = format!(
                "OpenVINO gives the model {taken} inputs and {made} outputs instead of {} and {}",
                inputs.len(),
                outputs.len()
            );
            return Err(Failure::new(message).unsupported());
        }
        let mut request = ptr::null_mut();
        // SAFETY: the compiled model lives, and the function writes a pointer.
        let status =
            unsafe { (api.ov_compiled_model_create_infer_request)(compiled.get(), &raw mut request) };
        api.check(status, "prepare runs of the model")?;
        // SAFETY: the request was just made, and this is its function.
        let request = unsafe { Owned::new(request, api.ov_infer_request_free) }.ok_or_else(nothing)?;
        let trace = settings.profile.as_deref().map(Trace::begin).transpose()?;
        Ok(Self { library, inputs, outputs, trace, request, _compiled: compiled, _copy: copy })
    }
}

/// Fails for a model with compiled regions, whose operator OpenVINO does not know.
fn refuse_compiled(file: &OnnxFile) -> Result<(), Failure> {
    if !file.op_counts().keys().any(|(_, operator)| operator == "EPContext") {
        return Ok(());
    }
    let message =
        "the model has regions that are compiled for ONNX Runtime, and OpenVINO does not run these itself";
    Err(Failure::new(message)
        .unsupported()
        .help("run it with --executor ort --executor-option provider=openvino"))
}

/// The input called `name` of a compiled model.
fn input(library: &Library, compiled: &Owned<Compiled>, name: &str) -> Result<Owned<Port>, Failure> {
    let api = &library.api;
    let mut port = ptr::null_mut();
    let c_name = c_text(name)?;
    // SAFETY: the compiled model lives, the name ends, and the function writes a pointer.
    let status =
        unsafe { (api.ov_compiled_model_input_by_name)(compiled.get(), c_name.as_ptr(), &raw mut port) };
    api.check(status, &format!("find the input {name}"))?;
    // SAFETY: the port was just made, and this is its function.
    unsafe { Owned::new(port, api.ov_output_const_port_free) }.ok_or_else(nothing)
}

/// A copy of the model at `path` that has `values` as outputs too. It is beside the model: OpenVINO reads weights only from
/// the folder of a model.
fn with_outputs(path: &Path, values: &[&str]) -> Result<TempPath, Failure> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let copied = || {
        let named = tempfile::Builder::new().prefix(".onnxport-").suffix(".tmp.onnx").tempfile_in(folder);
        let mut file = named?;
        file.write_all(&fs::read(path)?)?;
        file.write_all(&further_outputs(values.iter().copied()))?;
        Ok(file.into_temp_path())
    };
    copied().map_err(|error: std::io::Error| {
        Failure::new(format!("no copy of the model can be written into {}: {error}", folder.display()))
            .help("intermediate values need one: move the model to a folder that can be written")
    })
}

impl Session for OpenVinoSession {
    fn run(&mut self, inputs: &[TensorView<'_>], outputs: &mut Outputs<'_>) -> Result<(), Failure> {
        let api = &self.library.api;
        if let Some(view) =
            inputs.iter().find(|view| !self.inputs.iter().any(|(name, _)| name == view.name.lent()))
        {
            let message = format!("OpenVINO takes no input `{}`: its value is compiled in", view.name.lent());
            return Err(Failure::new(message).unsupported().help("run the model with --executor ort"));
        }
        for (name, port) in &self.inputs {
            // OpenVINO would run on memory that nobody wrote.
            let view = inputs.iter().find(|view| view.name.lent() == name);
            let view = view.ok_or_else(|| Failure::new(format!("the input `{name}` is missing")))?;
            let tensor = tensor::to_openvino(api, view)?;
            // SAFETY: all three live; the request keeps the tensor.
            let status = unsafe {
                (api.ov_infer_request_set_tensor_by_const_port)(self.request.get(), port.get(), tensor.get())
            };
            api.check(status, &format!("take the input {name}"))?;
        }
        let begun = self.trace.as_ref().map(Trace::now);
        // SAFETY: the request lives.
        api.check(unsafe { (api.ov_infer_request_infer)(self.request.get()) }, "run the model")?;
        if let Some((trace, begun)) = self.trace.as_mut().zip(begun) {
            trace.record(api, &self.request, begun)?;
        }
        for (at, name) in self.outputs.iter().enumerate() {
            let mut tensor: *mut Tensor = ptr::null_mut();
            // SAFETY: the request lives, and the function writes a pointer.
            let status = unsafe {
                (api.ov_infer_request_get_output_tensor_by_index)(self.request.get(), at, &raw mut tensor)
            };
            api.check(status, &format!("return the output {name}"))?;
            // SAFETY: the caller owns the reference to the tensor, and this is its function.
            let tensor = unsafe { Owned::new(tensor, api.ov_tensor_free) }.ok_or_else(nothing)?;
            tensor::from_openvino(api, name, &tensor, outputs)?;
        }
        Ok(())
    }
}

impl Drop for OpenVinoSession {
    fn drop(&mut self) {
        if let Some(trace) = self.trace.take() {
            // Whoever asked for the file sees that it is not there.
            let _ = trace.end();
        }
    }
}
