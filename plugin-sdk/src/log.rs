//! Messages to the user: `warn!`, `info!` and `debug!`.
//!
//! ```ignore
//! use onnxport_sdk::log;
//!
//! log::warn!("the table {path} is older than the library");
//! // About the call that is being lowered: the user sees the line of their code.
//! log::warn!(cx => "rounds to {digits} digits");
//! ```
//!
//! A warning is shown with the host's own; the others with `-v` and `-vv`.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{PoisonError, RwLock};

use onnxport_abi::RStr;
use onnxport_abi::log::{INTERFACE, LogHost};
use onnxport_abi::lowering::Context;

use crate::Lower;
use crate::abi::HostRoot;
use crate::register::is_below;

pub use crate::abi::log::level;
pub use crate::{debug, info, warn};

/// The host that attached the plugin of each module, and the plugin's id.
static HOSTS: RwLock<BTreeMap<&'static str, (&'static str, LogHost)>> = RwLock::new(BTreeMap::new());

/// Notes where the messages of `module`, the plugin `id`, go.
pub(crate) fn attach(host: &HostRoot, module: &'static str, id: &'static str) {
    let table = (host.query)(RStr::from_str(INTERFACE));
    // SAFETY: the host answered for the interface that `LogHost` is the host's side of.
    if let Ok(Some(table)) = unsafe { table.read::<LogHost>() } {
        HOSTS.write().unwrap_or_else(PoisonError::into_inner).insert(module, (id, table));
    }
}

/// Sends a message. Use the macros.
pub fn message(module: &str, level: u32, about: Option<&Lower<'_>>, text: fmt::Arguments<'_>) {
    let hosts = HOSTS.read().unwrap_or_else(PoisonError::into_inner);
    // The innermost module comes last.
    let Some((_, (id, host))) = hosts.iter().rfind(|(plugin, _)| is_below(module, plugin)) else { return };
    let (id, host) = (*id, *host);
    drop(hosts);
    if level > (host.level)() {
        return;
    }
    let context = about.map_or(Context(std::ptr::null_mut()), Lower::cx);
    (host.message)(RStr::from_str(id), level, RStr::from_str(&text.to_string()), context);
}

/// Warns the user of a possibly unexpected result; `warn!(cx => "...")` refers to the call.
#[macro_export]
macro_rules! warn {
    ($($message:tt)+) => { $crate::message!($crate::log::level::WARN, $($message)+) };
}

/// Logs a message for users, shown with `-v`.
#[macro_export]
macro_rules! info {
    ($($message:tt)+) => { $crate::message!($crate::log::level::INFO, $($message)+) };
}

/// Logs a message for the plugin's author, shown with `-vv`.
#[macro_export]
macro_rules! debug {
    ($($message:tt)+) => { $crate::message!($crate::log::level::DEBUG, $($message)+) };
}

#[doc(hidden)]
#[macro_export]
macro_rules! message {
    ($level:expr, $cx:ident => $($text:tt)+) => {
        $crate::log::message(module_path!(), $level, Some(&*$cx), format_args!($($text)+))
    };
    ($level:expr, $($text:tt)+) => {
        $crate::log::message(module_path!(), $level, None, format_args!($($text)+))
    };
}
