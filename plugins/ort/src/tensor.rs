//! Tensors into and out of ONNX Runtime.

use std::fmt::Debug;

use onnxport_sdk::Lent;
use onnxport_sdk::abi::DType;
use onnxport_sdk::abi::executor::TensorView;
use onnxport_sdk::executor::{Failure, Outputs};
use ort::memory::Allocator;
use ort::session::SessionInputValue;
use ort::value::{
    DynTensor, DynTensorValueType, DynValue, PrimitiveTensorElementType, TensorElementType, TensorRef,
};

use crate::twin;

/// The tensor as ONNX Runtime takes it: over the same bytes where their type and alignment allow it.
pub(crate) fn to_ort<'a>(view: &TensorView<'a>) -> Result<SessionInputValue<'a>, Failure> {
    let name = view.name.lent();
    let dtype = DType::from_onnx(view.dtype)
        .ok_or_else(|| Failure::new(format!("input {name}: unknown element type {}", view.dtype)))?;
    let dims = view.dims.lent();
    let bytes = view.bytes.lent();
    let expected = dims
        .iter()
        .try_fold(1u64, |n, d| n.checked_mul(u64::try_from(*d).ok()?))
        .and_then(|elements| dtype.byte_len(elements));
    if expected != Some(bytes.len() as u64) {
        let message = format!("input {name}: {} bytes do not make {dtype}{dims:?}", bytes.len());
        return Err(Failure::new(message));
    }
    let borrowed = match dtype {
        DType::F32 => borrow::<f32>(dims, bytes),
        DType::F64 => borrow::<f64>(dims, bytes),
        DType::U8 => borrow::<u8>(dims, bytes),
        DType::I8 => borrow::<i8>(dims, bytes),
        DType::U16 => borrow::<u16>(dims, bytes),
        DType::I16 => borrow::<i16>(dims, bytes),
        DType::U32 => borrow::<u32>(dims, bytes),
        DType::I32 => borrow::<i32>(dims, bytes),
        DType::U64 => borrow::<u64>(dims, bytes),
        DType::I64 => borrow::<i64>(dims, bytes),
        _ => None,
    };
    borrowed
        .unwrap_or_else(|| copy(dtype, dims, bytes))
        .map_err(|e| Failure::new(format!("input {name}: {e}")))
}

/// Numbers for which every bit pattern is a value, so that bytes may be viewed as them.
trait Plain: PrimitiveTensorElementType + Clone + Debug + 'static {}
impl Plain for f32 {}
impl Plain for f64 {}
impl Plain for u8 {}
impl Plain for i8 {}
impl Plain for u16 {}
impl Plain for i16 {}
impl Plain for u32 {}
impl Plain for i32 {}
impl Plain for u64 {}
impl Plain for i64 {}

fn borrow<'a, T: Plain>(dims: &[i64], bytes: &'a [u8]) -> Option<ort::Result<SessionInputValue<'a>>> {
    // SAFETY: every bit pattern is a valid `T`.
    let (before, elements, after) = unsafe { bytes.align_to::<T>() };
    // `ort` refuses empty tensors over borrowed memory.
    (before.is_empty() && after.is_empty() && !elements.is_empty())
        .then(|| TensorRef::from_array_view((dims.to_vec(), elements)).map(SessionInputValue::from))
}

fn copy<'a>(dtype: DType, dims: &[i64], bytes: &[u8]) -> ort::Result<SessionInputValue<'a>> {
    let ty = element_type(dtype).ok_or_else(|| ort::Error::new(format!("no tensors of {dtype}")))?;
    let mut tensor = DynTensor::new(&Allocator::default(), ty, dims.to_vec())?;
    if !bytes.is_empty() {
        // SAFETY: the tensor was made for these dims and this type in CPU memory, and the caller
        // checked that they take exactly `bytes.len()` bytes.
        unsafe { tensor.data_ptr_mut().cast::<u8>().copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
    }
    Ok(SessionInputValue::from(tensor))
}

/// Hands an output over, without copying it where it is not `narrow`, the short type that the host knows it by.
pub(crate) fn from_ort(
    name: &str,
    value: &DynValue,
    narrow: Option<DType>,
    outputs: &mut Outputs<'_>,
) -> Result<(), Failure> {
    let tensor = value
        .view()
        .downcast::<DynTensorValueType>()
        .map_err(|_| Failure::new(format!("output {name} is not a tensor but {}", value.dtype())))?;
    let dtype = dtype(*tensor.data_type()).ok_or_else(|| {
        Failure::new(format!("output {name}: tensors of {} cannot be read", tensor.data_type()))
    })?;
    if !tensor.memory_info().is_cpu_accessible() {
        return Err(Failure::new(format!("output {name} is not in CPU memory")));
    }
    let dims: &[i64] = tensor.shape();
    let size = dims
        .iter()
        .try_fold(1u64, |n, d| n.checked_mul(u64::try_from(*d).ok()?))
        .and_then(|elements| dtype.byte_len(elements))
        .ok_or_else(|| Failure::new(format!("output {name} has the invalid shape {dims:?}")))?;
    let pointer = tensor.data_ptr().cast::<u8>();
    let bytes = if size == 0 || pointer.is_null() {
        &[]
    } else {
        // SAFETY: ONNX Runtime allocated the tensor for these dims and this type in CPU memory, and
        // `value` keeps it alive and unchanged for the borrow.
        unsafe { std::slice::from_raw_parts(pointer, size as usize) }
    };
    match narrow.filter(|_| dtype == DType::F32) {
        Some(short) => outputs.push(name, short.onnx(), dims, &twin::narrowed(short, bytes)),
        None => outputs.push(name, dtype.onnx(), dims, bytes),
    }
    Ok(())
}

macro_rules! element_types {
    ($($dtype:ident $ort:ident),* $(,)?) => {
        fn element_type(dtype: DType) -> Option<TensorElementType> {
            match dtype { $(DType::$dtype => Some(TensorElementType::$ort),)* _ => None }
        }

        fn dtype(ty: TensorElementType) -> Option<DType> {
            match ty { $(TensorElementType::$ort => Some(DType::$dtype),)* _ => None }
        }
    };
}

element_types! {
    F32 Float32, F64 Float64, F16 Float16, BF16 Bfloat16, Bool Bool,
    U8 Uint8, I8 Int8, U16 Uint16, I16 Int16, U32 Uint32, I32 Int32, U64 Uint64, I64 Int64,
    C64 Complex64, C128 Complex128,
    F8E4M3FN Float8E4M3FN, F8E4M3FNUZ Float8E4M3FNUZ, F8E5M2 Float8E5M2, F8E5M2FNUZ Float8E5M2FNUZ,
    U4 Uint4, I4 Int4, F4E2M1 Float4E2M1, U2 Uint2, I2 Int2, F8E8M0 Float8E8M0,
}
