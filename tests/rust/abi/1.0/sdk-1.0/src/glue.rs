//! The glue between the contract's tables and the author's functions.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;

use onnxport_abi::abi_stable::std_types::{RSlice, RStr};

use crate::abi::lowering::{Context, INTERFACE, LoweringEntry, LoweringHost, LoweringTable, entry_flags};
use crate::abi::{HostRoot, Table, Version, status};
use crate::register::of_package;
use crate::{Lower, Lowering, Refusal, panic};

/// The `lowering/1` table of a plugin and the functions behind its entries.
pub type LoweringList = OnceLock<(LoweringTable, Vec<&'static Lowering>)>;

/// The `lowering/1` table of `package`, built once.
pub fn lowering_table(
    list: &'static LoweringList,
    package: &'static str,
    schemas: &'static str,
    lower: extern "C" fn(u32, &Table, Context) -> u32,
) -> &'static LoweringTable {
    let (table, _) = list.get_or_init(|| {
        let found = of_package(package);
        let entries: Vec<LoweringEntry> = found
            .iter()
            .map(|(target, l)| LoweringEntry {
                target: RStr::from_str(target),
                min_opset: l.min_opset,
                max_opset: l.max_opset,
                priority: l.priority,
                flags: if l.complex { entry_flags::COMPLEX } else { 0 },
            })
            .collect();
        let table = LoweringTable {
            schemas: RStr::from_str(schemas),
            entries: RSlice::from_slice(Vec::leak(entries)),
            lower,
        };
        (table, found.into_iter().map(|(_, l)| l).collect())
    });
    table
}

/// What `query` answers, guarded against panics.
pub fn answer(query: impl FnOnce() -> Table) -> Table {
    catch_unwind(AssertUnwindSafe(query)).unwrap_or(Table::NONE)
}

/// Whether the tables of this host can be used.
pub fn attach(host: &HostRoot) -> u32 {
    let fits = catch_unwind(AssertUnwindSafe(|| {
        let table = (host.query)(RStr::from_str(INTERFACE));
        // SAFETY: the host answered for the interface that `LoweringHost` is the host's side of.
        host.version.major == Version::CURRENT.major && unsafe { table.read::<LoweringHost>() }.is_ok()
    }));
    match fits {
        Ok(true) => status::OK,
        Ok(false) => status::REFUSED,
        Err(_) => status::PANICKED,
    }
}

/// Runs the lowering at `index`: reads the host's table, guards against panics, reports refusals.
pub fn lower_entry(list: &LoweringList, index: u32, host: &Table, cx: Context) -> u32 {
    let lowering = list.get().and_then(|(_, lowerings)| lowerings.get(index as usize));
    // SAFETY: the host passes the envelope of its table of this interface.
    let host = unsafe { host.read::<LoweringHost>() };
    let (Some(lowering), Ok(Some(host))) = (lowering, host) else { return status::INVALID };
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        let Some(mut lower) = Lower::new(&host, cx) else {
            return Err(Refusal::new("the host states no call"));
        };
        (lowering.lower)(&mut lower)
    }));
    match outcome {
        Ok(Ok(())) => status::OK,
        Ok(Err(refusal)) => {
            let (message, help) = (refusal.message.as_str(), refusal.help.as_str());
            (host.refuse)(cx, RStr::from_str(&refusal.code), RStr::from_str(message), RStr::from_str(help));
            status::REFUSED
        }
        Err(payload) => {
            let text = panic::message(payload.as_ref());
            (host.refuse)(cx, RStr::from_str(""), RStr::from_str(&text), RStr::from_str(""));
            status::PANICKED
        }
    }
}

/// Makes the crate a plugin: defines `pub static ROOT`, which a program links, and exports it as the
/// root of a shared library when the crate's feature `cdylib` is on.
///
/// ```ignore
/// // Lowerings: the crate's `#[lowering]` and `simple!`, and the schemas of its own operators.
/// onnxport_sdk::export_plugin! { id: "mylib", schemas: include_str!("../schemas.txt") }
/// // An executor.
/// onnxport_sdk::export_plugin! { id: "mine", executor: MyRuntime }
/// ```
///
/// The version and the description are those of the package. A crate has one plugin.
#[macro_export]
macro_rules! export_plugin {
    (id: $id:literal $(, schemas: $schemas:expr)? $(, executor: $executor:ty)? $(,)?) => {
        /// The root of this plugin.
        pub static ROOT: $crate::abi::PluginRoot =
            $crate::abi::PluginRoot { query: onnxport_plugin::query, attach: onnxport_plugin::attach };

        #[cfg(feature = "cdylib")]
        $crate::abi::export_root!(ROOT);

        mod onnxport_plugin {
            #[allow(unused_imports)]
            use super::*;

            use $crate::abi::abi_stable::std_types::{RSlice, RStr};
            use $crate::abi::about::AboutTable;
            use $crate::abi::{HostRoot, Table, Version};

            static ABOUT: AboutTable = AboutTable {
                id: RStr::from_str($id),
                version: RStr::from_str(env!("CARGO_PKG_VERSION")),
                description: RStr::from_str(env!("CARGO_PKG_DESCRIPTION")),
                contract: Version::CURRENT,
                needs: Version { major: Version::CURRENT.major, minor: 0 },
                provides: RSlice::from_slice(&[
                    $({
                        const _: &str = $schemas;
                        RStr::from_str($crate::abi::lowering::INTERFACE)
                    },)?
                    $({
                        const _: Option<$executor> = None;
                        RStr::from_str($crate::abi::executor::INTERFACE)
                    },)?
                ]),
            };

            pub(super) extern "C" fn query(interface: RStr<'_>) -> Table {
                $crate::answer(|| match interface.as_str() {
                    $crate::abi::about::INTERFACE => Table::of(&ABOUT),
                    $(
                        $crate::abi::lowering::INTERFACE => {
                            use $crate::abi::lowering::Context;

                            static LOWERINGS: $crate::LoweringList = $crate::LoweringList::new();
                            extern "C" fn lower(index: u32, host: &Table, cx: Context) -> u32 {
                                $crate::lower_entry(&LOWERINGS, index, host, cx)
                            }
                            let package = env!("CARGO_PKG_NAME");
                            Table::of($crate::lowering_table(&LOWERINGS, package, $schemas, lower))
                        }
                    )?
                    $(
                        $crate::abi::executor::INTERFACE => {
                            static EXECUTOR: $crate::abi::executor::ExecutorTable =
                                $crate::executor::table::<$executor>();
                            Table::of(&EXECUTOR)
                        }
                    )?
                    _ => Table::NONE,
                })
            }

            pub(super) extern "C" fn attach(host: &HostRoot) -> u32 {
                #[cfg(feature = "cdylib")]
                $crate::keep_panics();
                $crate::attach(host)
            }
        }
    };
}
