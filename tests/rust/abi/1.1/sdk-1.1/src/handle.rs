//! Objects of an author behind the handles of the contract.

use std::cell::{RefCell, RefMut};
use std::panic::{AssertUnwindSafe, catch_unwind};

use onnxport_abi::abi_stable::std_types::RStr;
use onnxport_abi::executor::{Handle, Sink};
use onnxport_abi::status;

use crate::executor::Failure;
use crate::panic;

/// Hands `value` over; it lives until [`release`].
pub(crate) fn into_handle<T>(value: T) -> Handle {
    Handle(Box::into_raw(Box::new(RefCell::new(value))).cast())
}

/// # Safety
/// `handle` is null or comes from [`into_handle`] of a `T` that was not released.
pub(crate) unsafe fn borrow<'a, T>(handle: Handle) -> Result<&'a RefCell<T>, Failure> {
    // SAFETY: see above.
    unsafe { handle.0.cast::<RefCell<T>>().as_ref() }.ok_or_else(|| Failure::new("the handle is null"))
}

/// The object, unless a call is using it.
pub(crate) fn exclusive<T>(cell: &RefCell<T>) -> Result<RefMut<'_, T>, Failure> {
    cell.try_borrow_mut().map_err(|_| Failure::new("the handle is in use by a call"))
}

/// # Safety
/// `handle` is null or comes from [`into_handle`] of a `T` that was not released.
pub(crate) unsafe fn release<T>(handle: Handle) {
    if !handle.0.is_null() {
        // A destructor's panic has nobody to go to, and must not unwind into the host.
        let _ = catch_unwind(AssertUnwindSafe(|| {
            // SAFETY: see above.
            drop(unsafe { Box::from_raw(handle.0.cast::<RefCell<T>>()) });
        }));
    }
}

/// Runs `body`, reports its failure, and turns a panic into one.
pub(crate) fn guard(sink: &Sink, body: impl FnOnce() -> Result<(), Failure>) -> u32 {
    let report = |failure: &Failure| {
        (sink.error)(sink.receiver, RStr::from_str(&failure.message), RStr::from_str(&failure.help));
    };
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => status::OK,
        Ok(Err(failure)) => {
            report(&failure);
            if failure.unsupported { status::UNSUPPORTED } else { status::REFUSED }
        }
        Err(payload) => {
            report(&Failure::new(panic::message(payload.as_ref())));
            status::PANICKED
        }
    }
}
