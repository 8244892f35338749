//! The functions of OpenVINO's C API that are used here (`openvino/c/*.h`).

use std::ffi::{c_char, c_int, c_void};
use std::ptr::NonNull;

use libloading::Library;

/// `ov_status_e`.
pub(crate) type Status = c_int;

/// An object that only the library looks into.
macro_rules! objects {
    ($($name:ident),* $(,)?) => { $(
        #[repr(C)]
        pub(crate) struct $name {
            _private: [u8; 0],
        }
    )* };
}

objects! { Core, Model, Compiled, Port, Request, Tensor }

/// `ov_shape_t`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Shape {
    pub(crate) rank: i64,
    pub(crate) dims: *mut i64,
}

/// `ov_version_t`.
#[repr(C)]
pub(crate) struct Version {
    pub(crate) build: *const c_char,
    pub(crate) description: *const c_char,
}

/// `ov_available_devices_t`.
#[repr(C)]
pub(crate) struct Devices {
    pub(crate) names: *mut *mut c_char,
    pub(crate) size: usize,
}

/// `ov_profiling_info_t`.
#[repr(C)]
pub(crate) struct NodeTime {
    pub(crate) status: c_int,
    /// Microseconds.
    pub(crate) real: i64,
    pub(crate) cpu: i64,
    pub(crate) name: *const c_char,
    pub(crate) kernel: *const c_char,
    pub(crate) operator: *const c_char,
}

/// `EXECUTED` of [`NodeTime::status`].
pub(crate) const EXECUTED: c_int = 2;

/// `ov_profiling_info_list_t`.
#[repr(C)]
pub(crate) struct NodeTimes {
    pub(crate) items: *mut NodeTime,
    pub(crate) size: usize,
}

macro_rules! functions {
    ($($name:ident: $ty:ty,)*) => {
        /// The functions, which live as long as the process.
        #[derive(Clone, Copy)]
        pub(crate) struct Api {
            $(pub(crate) $name: $ty,)*
        }

        impl Api {
            /// The functions of `library`.
            ///
            /// # Errors
            /// If it lacks one of them.
            pub(crate) fn load(library: &'static Library) -> Result<Self, libloading::Error> {
                // SAFETY: the functions of OpenVINO's C API have these types, in all versions that number element types as
                // `tensor` does.
                unsafe { Ok(Self { $($name: *library.get::<$ty>(stringify!($name))?,)* }) }
            }
        }
    };
}

functions! {
    ov_get_openvino_version: unsafe extern "C" fn(*mut Version) -> Status,
    ov_version_free: unsafe extern "C" fn(*mut Version),
    ov_get_error_info: unsafe extern "C" fn(Status) -> *const c_char,
    ov_get_last_err_msg: unsafe extern "C" fn() -> *const c_char,
    ov_free: unsafe extern "C" fn(*const c_char),
    ov_core_create: unsafe extern "C" fn(*mut *mut Core) -> Status,
    ov_core_free: unsafe extern "C" fn(*mut Core),
    ov_core_get_available_devices: unsafe extern "C" fn(*const Core, *mut Devices) -> Status,
    ov_available_devices_free: unsafe extern "C" fn(*mut Devices),
    ov_core_set_property: unsafe extern "C" fn(*const Core, *const c_char, ...) -> Status,
    ov_core_read_model: unsafe extern "C" fn(*const Core, *const c_char, *const c_char, *mut *mut Model) -> Status,
    ov_core_compile_model:
        unsafe extern "C" fn(*const Core, *const Model, *const c_char, usize, *mut *mut Compiled, ...) -> Status,
    ov_model_free: unsafe extern "C" fn(*mut Model),
    ov_compiled_model_free: unsafe extern "C" fn(*mut Compiled),
    ov_compiled_model_export_model: unsafe extern "C" fn(*const Compiled, *const c_char) -> Status,
    ov_compiled_model_get_property:
        unsafe extern "C" fn(*const Compiled, *const c_char, *mut *mut c_char) -> Status,
    ov_compiled_model_output_by_name: unsafe extern "C" fn(*const Compiled, *const c_char, *mut *mut Port) -> Status,
    ov_compiled_model_outputs_size: unsafe extern "C" fn(*const Compiled, *mut usize) -> Status,
    ov_compiled_model_inputs_size: unsafe extern "C" fn(*const Compiled, *mut usize) -> Status,
    ov_compiled_model_input_by_name: unsafe extern "C" fn(*const Compiled, *const c_char, *mut *mut Port) -> Status,
    ov_compiled_model_create_infer_request: unsafe extern "C" fn(*const Compiled, *mut *mut Request) -> Status,
    ov_output_const_port_free: unsafe extern "C" fn(*mut Port),
    ov_infer_request_free: unsafe extern "C" fn(*mut Request),
    ov_infer_request_set_tensor_by_const_port:
        unsafe extern "C" fn(*mut Request, *const Port, *const Tensor) -> Status,
    ov_infer_request_get_output_tensor_by_index:
        unsafe extern "C" fn(*const Request, usize, *mut *mut Tensor) -> Status,
    ov_infer_request_infer: unsafe extern "C" fn(*mut Request) -> Status,
    ov_infer_request_get_profiling_info: unsafe extern "C" fn(*const Request, *mut NodeTimes) -> Status,
    ov_profiling_info_list_free: unsafe extern "C" fn(*mut NodeTimes),
    ov_tensor_create: unsafe extern "C" fn(c_int, Shape, *mut *mut Tensor) -> Status,
    ov_tensor_free: unsafe extern "C" fn(*mut Tensor),
    ov_tensor_data: unsafe extern "C" fn(*const Tensor, *mut *mut c_void) -> Status,
    ov_tensor_get_byte_size: unsafe extern "C" fn(*const Tensor, *mut usize) -> Status,
    ov_tensor_get_element_type: unsafe extern "C" fn(*const Tensor, *mut c_int) -> Status,
    ov_tensor_get_shape: unsafe extern "C" fn(*const Tensor, *mut Shape) -> Status,
    ov_shape_free: unsafe extern "C" fn(*mut Shape) -> Status,
}

/// An object of the library, and the function that frees it.
pub(crate) struct Owned<T> {
    pointer: NonNull<T>,
    free: unsafe extern "C" fn(*mut T),
}

impl<T> Owned<T> {
    /// Takes over an object that the library made; `None` for a null pointer.
    ///
    /// # Safety
    /// `free` must be the function that frees `pointer`, and nothing else may free it.
    pub(crate) unsafe fn new(pointer: *mut T, free: unsafe extern "C" fn(*mut T)) -> Option<Self> {
        Some(Self { pointer: NonNull::new(pointer)?, free })
    }

    pub(crate) fn get(&self) -> *mut T {
        self.pointer.as_ptr()
    }
}

impl<T> Drop for Owned<T> {
    fn drop(&mut self) {
        // SAFETY: `new` was promised that this is the function, and that it is called only here.
        unsafe { (self.free)(self.pointer.as_ptr()) };
    }
}
