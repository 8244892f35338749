//! Tensors into and out of OpenVINO.

use std::ffi::c_int;
use std::ptr;

use onnxport_sdk::Lent;
use onnxport_sdk::abi::DType;
use onnxport_sdk::abi::executor::TensorView;
use onnxport_sdk::executor::{Failure, Outputs};

use crate::api::{Api, Owned, Shape, Tensor};
use crate::runtime::nothing;
use crate::status::INVALID_C_PARAM;

macro_rules! element_types {
    ($($dtype:ident $number:literal),* $(,)?) => {
        /// The number of an element type in `ov_element_type_e`.
        fn number(dtype: DType) -> Option<c_int> {
            match dtype { $(DType::$dtype => Some($number),)* _ => None }
        }

        fn dtype(number: c_int) -> Option<DType> {
            match number { $($number => Some(DType::$dtype),)* _ => None }
        }
    };
}

// Types under a byte are left out: OpenVINO states no order of the elements in a byte.
element_types! {
    Bool 1, BF16 2, F16 3, F32 4, F64 5, I8 7, I16 8, I32 9, I64 10, U8 16, U16 17, U32 18, U64 19,
    F8E4M3FN 21, F8E5M2 22, F8E8M0 25,
}

/// The number of elements of a tensor that tells the sizes of types apart.
const SAMPLE: i64 = 64;

/// Checks that the library numbers element types as this module does: older versions do not.
///
/// # Errors
/// With the type that has another size, or none.
pub(crate) fn check_numbers(api: &Api) -> Result<(), String> {
    for (dtype, number) in DType::ALL.iter().filter_map(|dtype| Some((dtype, number(*dtype)?))) {
        let bytes = create(api, number, &[SAMPLE]).ok().and_then(|tensor| byte_size(api, &tensor).ok());
        if bytes.map(|bytes| bytes as u64) != dtype.byte_len(SAMPLE as u64) {
            return Err(format!("it does not know {dtype} by its number"));
        }
    }
    Ok(())
}

/// Fails for an element type that is not taken.
pub(crate) fn check_type(name: &str, dtype: DType) -> Result<c_int, Failure> {
    number(dtype).ok_or_else(|| {
        Failure::new(format!("OpenVINO is given no tensors of {dtype}, as `{name}` is"))
            .unsupported()
            .help("run the model with --executor ort or --executor reference")
    })
}

/// A tensor of OpenVINO with the elements of `view`.
pub(crate) fn to_openvino(api: &Api, view: &TensorView<'_>) -> Result<Owned<Tensor>, Failure> {
    let name = view.name.lent();
    let dtype = DType::from_onnx(view.dtype)
        .ok_or_else(|| Failure::new(format!("input {name}: unknown element type {}", view.dtype)))?;
    let number = check_type(name, dtype)?;
    let (dims, bytes) = (view.dims.lent(), view.bytes.lent());
    let wrong = || Failure::new(format!("input {name}: {} bytes do not make {dtype}{dims:?}", bytes.len()));
    if byte_len(dtype, dims) != Some(bytes.len() as u64) {
        return Err(wrong());
    }
    if let Some(value) = too_large(dtype, bytes) {
        let message = format!("input {name} holds {value}, and OpenVINO computes {dtype} in 32 bits");
        return Err(Failure::new(message)
            .unsupported()
            .help("give values between -2147483648 and 2147483647, or use --executor ort"));
    }
    let tensor = create(api, number, dims)?;
    if byte_size(api, &tensor)? != bytes.len() {
        return Err(wrong());
    }
    if !bytes.is_empty() {
        // SAFETY: the tensor has exactly as many bytes, and was just made: nobody else reads it.
        unsafe { data(api, &tensor)?.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
    }
    Ok(tensor)
}

/// Hands an output over.
pub(crate) fn from_openvino(
    api: &Api,
    name: &str,
    tensor: &Owned<Tensor>,
    outputs: &mut Outputs<'_>,
) -> Result<(), Failure> {
    let mut number = 0;
    // SAFETY: the tensor lives, and the function writes a number.
    let status = unsafe { (api.ov_tensor_get_element_type)(tensor.get(), &raw mut number) };
    api.check(status, "state an element type")?;
    let dtype = dtype(number).ok_or_else(|| {
        let message = format!("output {name}: tensors of OpenVINO's element type {number} cannot be read");
        Failure::new(message).unsupported()
    })?;
    let dims = shape(api, tensor)?;
    let size = byte_size(api, tensor)?;
    if byte_len(dtype, &dims) != Some(size as u64) {
        return Err(Failure::new(format!("output {name}: {size} bytes do not make {dtype}{dims:?}")));
    }
    let bytes = if size == 0 {
        &[]
    } else {
        // SAFETY: the library says that the tensor has so many bytes, and `tensor` keeps them alive.
        unsafe { std::slice::from_raw_parts(data(api, tensor)?, size) }
    };
    outputs.push(name, dtype.onnx(), &dims, bytes);
    Ok(())
}

fn byte_len(dtype: DType, dims: &[i64]) -> Option<u64> {
    let elements = dims.iter().try_fold(1u64, |n, d| n.checked_mul(u64::try_from(*d).ok()?))?;
    dtype.byte_len(elements)
}

/// The first integer in `bytes` that 32 bits do not hold.
fn too_large(dtype: DType, bytes: &[u8]) -> Option<i128> {
    let values: Box<dyn Iterator<Item = i128> + '_> = match dtype {
        DType::I64 => Box::new(bytes.as_chunks().0.iter().map(|b| i64::from_le_bytes(*b).into())),
        DType::U64 => Box::new(bytes.as_chunks().0.iter().map(|b| u64::from_le_bytes(*b).into())),
        DType::U32 => Box::new(bytes.as_chunks().0.iter().map(|b| u32::from_le_bytes(*b).into())),
        _ => return None,
    };
    let mut values = values;
    values.find(|value| i32::try_from(*value).is_err())
}

fn create(api: &Api, number: c_int, dims: &[i64]) -> Result<Owned<Tensor>, Failure> {
    let mut dims = dims.to_vec();
    let shape = Shape { rank: dims.len() as i64, dims: dims.as_mut_ptr() };
    let mut tensor = ptr::null_mut();
    // SAFETY: the shape has as many sizes as it says, and the function copies them.
    api.check(unsafe { (api.ov_tensor_create)(number, shape, &raw mut tensor) }, "make a tensor")?;
    // SAFETY: the tensor was just made, and this is its function.
    unsafe { Owned::new(tensor, api.ov_tensor_free) }.ok_or_else(nothing)
}

fn byte_size(api: &Api, tensor: &Owned<Tensor>) -> Result<usize, Failure> {
    let mut size = 0;
    // SAFETY: the tensor lives, and the function writes a number.
    let status = unsafe { (api.ov_tensor_get_byte_size)(tensor.get(), &raw mut size) };
    api.check(status, "state the size of a tensor")?;
    Ok(size)
}

/// The elements of a tensor that is not empty.
fn data(api: &Api, tensor: &Owned<Tensor>) -> Result<*mut u8, Failure> {
    let mut data = ptr::null_mut();
    // SAFETY: the tensor lives, and the function writes a pointer.
    api.check(unsafe { (api.ov_tensor_data)(tensor.get(), &raw mut data) }, "read a tensor")?;
    if data.is_null() { Err(nothing()) } else { Ok(data.cast()) }
}

fn shape(api: &Api, tensor: &Owned<Tensor>) -> Result<Vec<i64>, Failure> {
    let mut shape = Shape { rank: 0, dims: ptr::null_mut() };
    // SAFETY: the tensor lives, and the function fills the struct.
    let status = unsafe { (api.ov_tensor_get_shape)(tensor.get(), &raw mut shape) };
    // `ov_shape_create`, which the function calls, makes no shape of rank 0.
    if status == INVALID_C_PARAM {
        return Ok(Vec::new());
    }
    api.check(status, "state a shape")?;
    let rank = usize::try_from(shape.rank).unwrap_or_default();
    let dims = if rank == 0 || shape.dims.is_null() {
        Vec::new()
    } else {
        // SAFETY: the library says that so many sizes are there.
        unsafe { std::slice::from_raw_parts(shape.dims, rank) }.to_vec()
    };
    // SAFETY: the struct was filled by the library, and is freed once.
    unsafe { (api.ov_shape_free)(&raw mut shape) };
    Ok(dims)
}
