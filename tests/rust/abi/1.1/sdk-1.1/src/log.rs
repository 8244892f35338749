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
//! A warning is shown with the host's own; the others with `-v` and `-vv`. A host of contract 1.0 takes no
//! messages, so that they are dropped there.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{PoisonError, RwLock};

use onnxport_abi::abi_stable::std_types::RStr;
use onnxport_abi::log::{INTERFACE, LogHost};
use onnxport_abi::lowering::Context;

use crate::Lower;
use crate::abi::HostRoot;

pub use crate::abi::log::level;
pub use crate::{debug, info, warn};

/// The host that attached each package's plugin, and the plugin's id.
static HOSTS: RwLock<BTreeMap<&'static str, (&'static str, LogHost)>> = RwLock::new(BTreeMap::new());

/// Notes where the messages of `package`, the plugin `id`, go.
pub(crate) fn attach(host: &HostRoot, package: &'static str, id: &'static str) {
    let table = (host.query)(RStr::from_str(INTERFACE));
    // SAFETY: the host answered for the interface that `LogHost` is the host's side of.
    if let Ok(Some(table)) = unsafe { table.read::<LogHost>() } {
        HOSTS.write().unwrap_or_else(PoisonError::into_inner).insert(package, (id, table));
    }
}

/// Sends a message. Use the macros.
pub fn message(package: &str, level: u32, about: Option<&Lower<'_>>, text: fmt::Arguments<'_>) {
    let hosts = HOSTS.read().unwrap_or_else(PoisonError::into_inner);
    let Some((id, host)) = hosts.get(package).copied() else { return };
    drop(hosts);
    if level > (host.level)() {
        return;
    }
    let context = about.map_or(Context(std::ptr::null_mut()), |lower| lower.cx);
    (host.message)(RStr::from_str(id), level, RStr::from_str(&text.to_string()), context);
}

/// Tells the user that the result may not be what they expect; `warn!(cx => "...")` is about the call.
#[macro_export]
macro_rules! warn {
    ($($message:tt)+) => { $crate::message!($crate::log::level::WARN, $($message)+) };
}

/// Tells a user who asked for it with `-v` what happens.
#[macro_export]
macro_rules! info {
    ($($message:tt)+) => { $crate::message!($crate::log::level::INFO, $($message)+) };
}

/// Tells the author, with `-vv`, what happens.
#[macro_export]
macro_rules! debug {
    ($($message:tt)+) => { $crate::message!($crate::log::level::DEBUG, $($message)+) };
}

#[doc(hidden)]
#[macro_export]
macro_rules! message {
    ($level:expr, $cx:ident => $($text:tt)+) => {
        $crate::log::message(env!("CARGO_PKG_NAME"), $level, Some(&*$cx), format_args!($($text)+))
    };
    ($level:expr, $($text:tt)+) => {
        $crate::log::message(env!("CARGO_PKG_NAME"), $level, None, format_args!($($text)+))
    };
}
