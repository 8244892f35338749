//! The glue between the contract's tables and the author's functions.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;

use onnxport_abi::abi_stable::std_types::{RSlice, RStr};

use crate::abi::lowering::{Context, LoweringEntry, LoweringHost, LoweringTable, entry_flags};
use crate::abi::status;
use crate::register::of_package;
use crate::{Lower, Lowering, Refusal};

/// The `lowering/1` table of `package`, built once.
pub fn lowering_table(
    cell: &'static OnceLock<(LoweringTable, Vec<&'static Lowering>)>,
    package: &'static str,
    id: &'static str,
    schemas: &'static str,
    lower: extern "C" fn(u32, &LoweringHost, Context) -> u32,
) -> &'static LoweringTable {
    let (table, _) = cell.get_or_init(|| {
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
            id: RStr::from_str(id),
            schemas: RStr::from_str(schemas),
            entries: RSlice::from_slice(Vec::leak(entries)),
            lower,
        };
        (table, found.into_iter().map(|(_, l)| l).collect())
    });
    table
}

/// Runs the lowering at `index`: negotiates the call, guards against panics, reports refusals.
pub fn lower_entry(lowerings: &[&'static Lowering], index: u32, host: &LoweringHost, cx: Context) -> u32 {
    let Some(lowering) = lowerings.get(index as usize) else { return status::INVALID };
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        let Some(mut lower) = Lower::new(host, cx) else {
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
            let text = payload
                .downcast_ref::<&str>()
                .map(|s| (*s).to_owned())
                .or_else(|| payload.downcast_ref::<String>().cloned())
                .unwrap_or_default();
            (host.refuse)(cx, RStr::from_str(""), RStr::from_str(&text), RStr::from_str(""));
            status::PANICKED
        }
    }
}

/// Makes the crate a plugin: defines `pub static ROOT`, the root that the host loads or links.
///
/// ```ignore
/// onnxport_sdk::export_plugin! { id: "mylib", schemas: include_str!("../schemas.txt") }
/// ```
#[macro_export]
macro_rules! export_plugin {
    (id: $id:literal, schemas: $schemas:expr $(,)?) => {
        /// The root of this plugin.
        pub static ROOT: $crate::abi::PluginRoot =
            $crate::abi::PluginRoot { query: onnxport_plugin::query, attach: onnxport_plugin::attach };

        mod onnxport_plugin {
            use std::sync::OnceLock;

            use $crate::abi::abi_stable::std_types::RStr;
            use $crate::abi::lowering::{Context, INTERFACE, LoweringHost, LoweringTable};
            use $crate::abi::{HostRoot, Table, status};

            static LOWERINGS: OnceLock<(LoweringTable, Vec<&'static $crate::Lowering>)> = OnceLock::new();

            pub(super) extern "C" fn query(interface: RStr<'_>) -> Table {
                match interface.as_str() {
                    INTERFACE => Table::of($crate::lowering_table(
                        &LOWERINGS,
                        env!("CARGO_PKG_NAME"),
                        $id,
                        $schemas,
                        lower,
                    )),
                    _ => Table::NONE,
                }
            }

            pub(super) extern "C" fn attach(_: &HostRoot) -> u32 {
                status::OK
            }

            extern "C" fn lower(index: u32, host: &LoweringHost, cx: Context) -> u32 {
                match LOWERINGS.get() {
                    Some((_, lowerings)) => $crate::lower_entry(lowerings, index, host, cx),
                    None => status::INVALID,
                }
            }
        }
    };
}
