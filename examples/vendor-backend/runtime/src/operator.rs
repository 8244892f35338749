//! The custom operator of ONNX Runtime that carries programs.
//!
//! See `onnxruntime_c_api.h`. ONNX Runtime calls the functions of [`OPERATOR`] from any thread; a kernel is
//! made once per node, and run by several threads at a time. Nothing unwinds into it.

use std::borrow::Cow;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicPtr, Ordering};

use npu_program::Program;
use ort_sys::{
    ONNXTensorElementDataType as Type, OrtApi, OrtApiBase, OrtCustomOp, OrtCustomOpInputOutputCharacteristic,
    OrtErrorCode, OrtKernelContext, OrtKernelInfo, OrtMemType, OrtSessionOptions, OrtStatusPtr,
    OrtTensorTypeAndShapeInfo, OrtValue,
};
use sha2::{Digest, Sha256};

use crate::run::run;
use crate::tensor::{Data, Tensor};

/// The version of the C API that this is written against.
const API: u32 = 17;

/// The table of functions, from `RegisterCustomOps` on.
static TABLE: AtomicPtr<OrtApi> = AtomicPtr::new(null_mut());

static OPERATOR: OrtCustomOp = OrtCustomOp {
    version: API,
    CreateKernel: None,
    GetName: Some(name),
    GetExecutionProviderType: Some(provider),
    GetInputType: Some(input_type),
    GetInputTypeCount: Some(one),
    GetOutputType: Some(output_type),
    GetOutputTypeCount: Some(one),
    KernelCompute: None,
    KernelDestroy: Some(destroy),
    GetInputCharacteristic: Some(variadic),
    GetOutputCharacteristic: Some(variadic),
    GetInputMemoryType: Some(memory),
    GetVariadicInputMinArity: Some(at_least_one),
    GetVariadicInputHomogeneity: Some(of_any_types),
    GetVariadicOutputMinArity: Some(at_least_one),
    GetVariadicOutputHomogeneity: Some(of_one_type),
    CreateKernelV2: Some(create),
    KernelComputeV2: Some(compute),
    InferOutputShapeFn: None,
    GetStartVersion: Some(start_version),
    GetEndVersion: Some(end_version),
};

extern "system" fn name(_: *const OrtCustomOp) -> *const c_char {
    c"Program".as_ptr()
}

extern "system" fn provider(_: *const OrtCustomOp) -> *const c_char {
    // The CPU's.
    null()
}

extern "system" fn input_type(_: *const OrtCustomOp, _: usize) -> Type {
    Type::ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED
}

extern "system" fn output_type(_: *const OrtCustomOp, _: usize) -> Type {
    Type::ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT
}

extern "system" fn one(_: *const OrtCustomOp) -> usize {
    1
}

extern "system" fn variadic(_: *const OrtCustomOp, _: usize) -> OrtCustomOpInputOutputCharacteristic {
    OrtCustomOpInputOutputCharacteristic::INPUT_OUTPUT_VARIADIC
}

extern "system" fn memory(_: *const OrtCustomOp, _: usize) -> OrtMemType {
    OrtMemType::OrtMemTypeDefault
}

extern "system" fn at_least_one(_: *const OrtCustomOp) -> c_int {
    1
}

extern "system" fn of_any_types(_: *const OrtCustomOp) -> c_int {
    0
}

extern "system" fn of_one_type(_: *const OrtCustomOp) -> c_int {
    1
}

extern "system" fn start_version(_: *const OrtCustomOp) -> c_int {
    1
}

extern "system" fn end_version(_: *const OrtCustomOp) -> c_int {
    1
}

/// Registers the operator with the sessions that `options` are for.
///
/// # Safety
/// ONNX Runtime calls it with valid pointers.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn RegisterCustomOps(
    options: *mut OrtSessionOptions,
    base: *const OrtApiBase,
) -> OrtStatusPtr {
    // SAFETY: the base is ONNX Runtime's; the table that it returns lives as long as the library.
    let table = unsafe { ((*base).GetApi)(API) };
    TABLE.store(table.cast_mut(), Ordering::Release);
    // SAFETY: ONNX Runtime returns null for a version that it does not have, else a valid table.
    let Some(api) = (unsafe { table.as_ref() }) else {
        // Without a table there is no way to report anything; loading a model will fail for want of the operator.
        return OrtStatusPtr(null_mut());
    };
    guard(api, || {
        let mut domain = null_mut();
        // SAFETY: the pointers are valid; the domain and the operator live as long as the process.
        unsafe {
            check(api, (api.CreateCustomOpDomain)(c"com.example.npu".as_ptr(), &raw mut domain))?;
            check(api, (api.CustomOpDomain_Add)(domain, &raw const OPERATOR))?;
            check(api, (api.AddCustomOpDomain)(options, domain))
        }
    })
}

/// Makes a kernel: reads and checks the program of a node.
extern "system" fn create(
    _: *const OrtCustomOp,
    api: *const OrtApi,
    info: *const OrtKernelInfo,
    kernel: *mut *mut c_void,
) -> OrtStatusPtr {
    // SAFETY: ONNX Runtime passes its own table.
    let api = unsafe { &*api };
    guard(api, || {
        let bytes = program_bytes(api, info)?;
        let program = Program::decode(&bytes).map_err(|why| format!("the program cannot be used: {why}"))?;
        // SAFETY: ONNX Runtime passes a place for the pointer, and gives it back to `compute` and `destroy`.
        unsafe { *kernel = Box::into_raw(Box::new(program)).cast() };
        Ok(())
    })
}

extern "system" fn destroy(kernel: *mut c_void) {
    // SAFETY: `create` made it, and ONNX Runtime destroys it once.
    drop(unsafe { Box::from_raw(kernel.cast::<Program>()) });
}

/// Runs the program of a node.
extern "system" fn compute(kernel: *mut c_void, context: *mut OrtKernelContext) -> OrtStatusPtr {
    // SAFETY: the table was stored when the operator was registered, before any kernel was made.
    let Some(api) = (unsafe { TABLE.load(Ordering::Acquire).as_ref() }) else {
        return OrtStatusPtr(null_mut());
    };
    guard(api, || {
        // SAFETY: `create` made the kernel; running it changes nothing in it.
        let program = unsafe { &*kernel.cast::<Program>() };
        let mut inputs = 0;
        // SAFETY: the context is valid for this call.
        check(api, unsafe { (api.KernelContext_GetInputCount)(context, &raw mut inputs) })?;
        let inputs = (0..inputs).map(|index| {
            let mut value = null();
            // SAFETY: as above; the value lives as long as the call.
            check(api, unsafe { (api.KernelContext_GetInput)(context, index, &raw mut value) })?;
            tensor(api, value)
        });
        let outputs = run(program, inputs.collect::<Result<_, _>>()?)?;
        for (index, output) in outputs.iter().enumerate() {
            store(api, context, index, output)?;
        }
        Ok(())
    })
}

/// A tensor of ONNX Runtime, borrowed.
fn tensor<'a>(api: &OrtApi, value: *const OrtValue) -> Result<Tensor<'a>, String> {
    let mut info = null_mut();
    let mut pointer: *mut c_void = null_mut();
    // SAFETY: the value is a tensor that lives as long as the call; the information is released again.
    let (ty, dims) = unsafe {
        check(api, (api.GetTensorTypeAndShape)(value, &raw mut info))?;
        let described = describe(api, info);
        (api.ReleaseTensorTypeAndShapeInfo)(info);
        check(api, (api.GetTensorMutableData)(value.cast_mut(), &raw mut pointer))?;
        described?
    };
    let count = crate::tensor::count(&dims)?;
    let data = match ty {
        Type::ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT => Data::Floats(Cow::Borrowed(lent(pointer, count))),
        Type::ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64 => Data::Ints(Cow::Borrowed(lent(pointer, count))),
        other => return Err(format!("an input is of {other:?}")),
    };
    Ok(Tensor { dims, data })
}

/// The element type and the sizes of a tensor.
fn describe(api: &OrtApi, info: *const OrtTensorTypeAndShapeInfo) -> Result<(Type, Vec<usize>), String> {
    let (mut ty, mut rank) = (Type::ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED, 0);
    // SAFETY: the information is valid, and the buffer has a place for every axis.
    let dims = unsafe {
        check(api, (api.GetTensorElementType)(info, &raw mut ty))?;
        check(api, (api.GetDimensionsCount)(info, &raw mut rank))?;
        let mut dims = vec![0_i64; rank];
        check(api, (api.GetDimensions)(info, dims.as_mut_ptr(), rank))?;
        dims
    };
    let dims = dims.iter().map(|d| usize::try_from(*d).map_err(|_| format!("a size is {d}")));
    Ok((ty, dims.collect::<Result<_, _>>()?))
}

fn lent<'a, T>(pointer: *mut c_void, count: usize) -> &'a [T] {
    if count == 0 {
        return &[];
    }
    // SAFETY: ONNX Runtime gives the elements of a tensor that lives as long as the call, aligned for their
    // type; the count is the product of its extents.
    unsafe { std::slice::from_raw_parts(pointer.cast(), count) }
}

fn store(
    api: &OrtApi,
    context: *mut OrtKernelContext,
    index: usize,
    tensor: &Tensor<'_>,
) -> Result<(), String> {
    let elements = tensor.as_floats()?;
    let dims: Vec<i64> = tensor.dims.iter().map(|d| *d as i64).collect();
    let mut value: *mut OrtValue = null_mut();
    let mut pointer: *mut c_void = null_mut();
    // SAFETY: the context is valid for this call, and ONNX Runtime allocates the size of the shape.
    unsafe {
        check(api, (api.KernelContext_GetOutput)(context, index, dims.as_ptr(), dims.len(), &raw mut value))?;
        check(api, (api.GetTensorMutableData)(value, &raw mut pointer))?;
        if !elements.is_empty() {
            std::ptr::copy_nonoverlapping(elements.as_ptr(), pointer.cast::<f32>(), elements.len());
        }
    }
    Ok(())
}

/// The program of a node: an attribute, or a file that attributes name.
fn program_bytes(api: &OrtApi, info: *const OrtKernelInfo) -> Result<Vec<u8>, String> {
    let (mut allocator, mut value) = (null_mut(), null_mut());
    // SAFETY: the pointers are valid for this call; the value is released below.
    let found = unsafe {
        check(api, (api.GetAllocatorWithDefaultOptions)(&raw mut allocator))?;
        check(api, (api.KernelInfoGetAttribute_tensor)(info, c"program".as_ptr(), allocator, &raw mut value))
    };
    if found.is_err() {
        return beside(api, info);
    }
    let (mut shape, mut count) = (null_mut(), 0);
    let mut pointer: *mut c_void = null_mut();
    // SAFETY: the value is the tensor of bytes that was just made; it is copied and released.
    unsafe {
        let read = (|| {
            check(api, (api.GetTensorTypeAndShape)(value, &raw mut shape))?;
            let counted = check(api, (api.GetTensorShapeElementCount)(shape, &raw mut count));
            (api.ReleaseTensorTypeAndShapeInfo)(shape);
            counted?;
            check(api, (api.GetTensorMutableData)(value, &raw mut pointer))?;
            Ok(lent::<u8>(pointer, count).to_vec())
        })();
        (api.ReleaseValue)(value);
        read
    }
}

/// The program in a file beside the model.
fn beside(api: &OrtApi, info: *const OrtKernelInfo) -> Result<Vec<u8>, String> {
    let name = text(api, info, c"program_file").map_err(|_| "the node has no program".to_owned())?;
    let wanted = text(api, info, c"program_sha256")?;
    if name.contains(['/', '\\']) || name.starts_with("..") {
        return Err(format!("the program `{name}` is not beside the model"));
    }
    let path = std::env::var_os("NPU_FOLDER").map_or_else(PathBuf::new, PathBuf::from).join(&name);
    let bytes = std::fs::read(&path)
        .map_err(|e| format!("cannot read {}: {e}; NPU_FOLDER names the model's folder", path.display()))?;
    let found: String = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    if found == wanted {
        Ok(bytes)
    } else {
        Err(format!("{} is not the program of this model", path.display()))
    }
}

/// A text attribute.
fn text(api: &OrtApi, info: *const OrtKernelInfo, name: &CStr) -> Result<String, String> {
    let mut size = 0;
    // SAFETY: the first call asks for the size, the second fills a buffer of that size.
    let buffer = unsafe {
        check(api, (api.KernelInfoGetAttribute_string)(info, name.as_ptr(), null_mut(), &raw mut size))?;
        let mut buffer = vec![0_u8; size];
        let place = buffer.as_mut_ptr().cast();
        check(api, (api.KernelInfoGetAttribute_string)(info, name.as_ptr(), place, &raw mut size))?;
        buffer
    };
    let text = CStr::from_bytes_until_nul(&buffer).map_err(|e| e.to_string())?;
    Ok(text.to_string_lossy().into_owned())
}

/// The message of a status, which is released; null is success.
fn check(api: &OrtApi, status: OrtStatusPtr) -> Result<(), String> {
    if status.0.is_null() {
        return Ok(());
    }
    // SAFETY: the status is ONNX Runtime's and is released once, after its message was copied.
    unsafe {
        let message = CStr::from_ptr((api.GetErrorMessage)(status.0)).to_string_lossy().into_owned();
        (api.ReleaseStatus)(status.0);
        Err(message)
    }
}

/// Runs `body`; an error or a panic becomes a status.
fn guard(api: &OrtApi, body: impl FnOnce() -> Result<(), String>) -> OrtStatusPtr {
    let outcome =
        catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|_| Err("the npu runtime panicked".to_owned()));
    let Err(message) = outcome else { return OrtStatusPtr(null_mut()) };
    let message = CString::new(message.replace('\0', " ")).unwrap_or_default();
    // SAFETY: ONNX Runtime copies the message.
    unsafe { (api.CreateStatus)(OrtErrorCode::ORT_FAIL, message.as_ptr()) }
}
