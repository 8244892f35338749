//! The glue between the contract's tables and the author's functions.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::OnceLock;

use onnxport_abi::{RSlice, RStr};

use crate::abi::graph::{self, GraphHost};
use crate::abi::lowering::{Context, INTERFACE, LoweringEntry, LoweringHost, LoweringTable, entry_flags};
use crate::abi::pass::{self, PassHost};
use crate::abi::rules::{self, RulesHost};
use crate::abi::{HostRoot, Table, Version, status};
use crate::register::of_module;
use crate::{Lower, Lowering, Refusal, panic};

/// The `lowering/1` table of a plugin and the functions behind its entries.
pub type LoweringList = OnceLock<(LoweringTable, Vec<&'static Lowering>)>;

/// The `lowering/1` table of the plugin of `module`, built once.
pub fn lowering_table(
    list: &'static LoweringList,
    module: &'static str,
    schemas: &'static str,
    lower: extern "C" fn(u32, &Table, Context) -> u32,
) -> &'static LoweringTable {
    let (table, _) = list.get_or_init(|| {
        let found = of_module(module);
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

/// Panics without a word, so that a check of the plugin sees the guard of [`answer`] at work.
pub fn panic_probe() -> Table {
    resume_unwind(Box::new("asked to by a check"))
}

/// The implementation of `query`, guarded against panics.
pub fn answer(query: impl FnOnce() -> Table) -> Table {
    catch_unwind(AssertUnwindSafe(query)).unwrap_or(Table::NONE)
}

/// Whether the tables of this host can be used. Its messages from now on are those of the plugin `id`.
pub fn attach(host: &HostRoot, module: &'static str, id: &'static str) -> u32 {
    let fits = catch_unwind(AssertUnwindSafe(|| {
        let ask = |interface: &'static str| (host.query)(RStr::from_str(interface));
        let fits = host.version.major == Version::CURRENT.major
            // SAFETY: the host answered for the interface that each table is the host's side of.
            && unsafe {
                ask(INTERFACE).read::<LoweringHost>().is_ok()
                    && ask(graph::INTERFACE).read::<GraphHost>().is_ok()
                    && ask(rules::INTERFACE).read::<RulesHost>().is_ok()
                    && ask(pass::INTERFACE).read::<PassHost>().is_ok()
            };
        if fits {
            crate::log::attach(host, module, id);
        }
        fits
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
/// // A comparer.
/// onnxport_sdk::export_plugin! { id: "mine", comparer: MyComparer }
/// // Weights that are made, or changed on their way into a file.
/// onnxport_sdk::export_plugin! { id: "mine", weights: MyWeights }
/// // Backends, which are `Default`; each adds another.
/// onnxport_sdk::export_plugin! { id: "npu", backend: Npu, backend: NpuLite }
/// // An optimizer: the crate's `rules!` and `#[pass]`.
/// onnxport_sdk::export_plugin! { id: "faster", rules: true, passes: true }
/// // Any of them with options, a struct that `options!` makes.
/// onnxport_sdk::export_plugin! { id: "mine", executor: MyRuntime, options: Settings }
/// ```
///
/// The version and the description are those of the package. The plugin consists of the registrations of its crate in
/// the module that this stands in, and in those below it.
#[macro_export]
macro_rules! export_plugin {
    (
        id: $id:literal
        $(, schemas: $schemas:expr)?
        $(, executor: $executor:ty)?
        $(, comparer: $comparer:ty)?
        $(, weights: $weights:ty)?
        $(, backend: $backend:ty $(, backend: $more:ty)*)?
        $(, rules: $rules:literal)?
        $(, passes: $passes:literal)?
        $(, options: $options:ty)?
        $(,)?
    ) => {
        /// The root of this plugin.
        pub static ROOT: $crate::abi::PluginRoot =
            $crate::abi::PluginRoot { query: onnxport_plugin::query, attach: onnxport_plugin::attach };

        #[cfg(feature = "cdylib")]
        $crate::abi::export_root!(ROOT);

        #[cfg(all(feature = "cdylib", panic = "abort"))]
        compile_error!("a plugin with `panic = \"abort\"` ends the program that loads it: build with \"unwind\"");

        mod onnxport_plugin {
            #[allow(unused_imports)]
            use super::*;

            #[allow(unused_imports)]
            use std::sync::OnceLock;

            use $crate::abi::{RSlice, RStr};
            use $crate::abi::about::{AboutTable, OptionEntry};
            use $crate::abi::executor::{OptionRecord, Sink};
            use $crate::abi::{HostRoot, Table, Version};

            /// The module that the plugin is.
            const MODULE: &str = $crate::parent(module_path!());

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
                    $({
                        const _: Option<$comparer> = None;
                        RStr::from_str($crate::abi::compare::INTERFACE)
                    },)?
                    $({
                        const _: Option<$weights> = None;
                        RStr::from_str($crate::abi::weights::INTERFACE)
                    },)?
                    $({
                        const _: Option<$backend> = None;
                        RStr::from_str($crate::abi::backend::INTERFACE)
                    },)?
                    $({
                        const _: () = assert!($rules, "leave `rules` out instead");
                        RStr::from_str($crate::abi::rules::INTERFACE)
                    },)?
                    $({
                        const _: () = assert!($passes, "leave `passes` out instead");
                        RStr::from_str($crate::abi::pass::INTERFACE)
                    },)?
                ]),
                options: Some(options),
                configure: Some(configure),
            };

            extern "C" fn options() -> RSlice<'static, OptionEntry<'static>> {
                $({
                    static ENTRIES: OnceLock<Vec<OptionEntry<'static>>> = OnceLock::new();
                    return RSlice::from_slice(
                        ENTRIES.get_or_init($crate::options::entries::<$options>),
                    );
                })?
                #[allow(unreachable_code)]
                RSlice::EMPTY
            }

            #[allow(unused_variables)]
            extern "C" fn configure(options: RSlice<'_, OptionRecord<'_>>, sink: &Sink) -> u32 {
                $(return $crate::options::configure::<$options>(options, sink);)?
                #[allow(unreachable_code)]
                $crate::abi::status::OK
            }

            pub(super) extern "C" fn query(interface: RStr<'_>) -> Table {
                $crate::answer(|| match $crate::Lent::lent(interface) {
                    $crate::abi::PANIC_PROBE => $crate::panic_probe(),
                    $crate::abi::about::INTERFACE => Table::of(&ABOUT),
                    $(
                        $crate::abi::lowering::INTERFACE => {
                            use $crate::abi::lowering::Context;

                            static LOWERINGS: $crate::LoweringList = $crate::LoweringList::new();
                            extern "C" fn lower(index: u32, host: &Table, cx: Context) -> u32 {
                                $crate::lower_entry(&LOWERINGS, index, host, cx)
                            }
                            Table::of($crate::lowering_table(&LOWERINGS, MODULE, $schemas, lower))
                        }
                    )?
                    $(
                        $crate::abi::executor::INTERFACE => {
                            static EXECUTOR: $crate::abi::executor::ExecutorTable =
                                $crate::executor::table::<$executor>();
                            Table::of(&EXECUTOR)
                        }
                    )?
                    $(
                        $crate::abi::compare::INTERFACE => {
                            static COMPARER: $crate::abi::compare::CompareTable =
                                $crate::comparer::table::<$comparer>();
                            Table::of(&COMPARER)
                        }
                    )?
                    $(
                        $crate::abi::weights::INTERFACE => {
                            use $crate::abi::RSliceMut;
                            use $crate::abi::executor::Sink;
                            use $crate::abi::weights::{QuantiserEntry, RectangleRecord, WeightRecord};
                            use $crate::weights::Functions;

                            static WEIGHTS: $crate::weights::WeightsList<$weights> =
                                $crate::weights::WeightsList::new();
                            extern "C" fn fill(i: u32, at: u64, out: RSliceMut<'_, u8>, sink: &Sink) -> u32 {
                                WEIGHTS.fill(i, at, out, sink)
                            }
                            extern "C" fn output(i: u32, input: &WeightRecord<'_>, sink: &Sink) -> u32 {
                                WEIGHTS.output(i, input, sink)
                            }
                            extern "C" fn apply(
                                i: u32,
                                input: &WeightRecord<'_>,
                                first: u64,
                                bytes: RSlice<'_, u8>,
                                out: RSliceMut<'_, u8>,
                                sink: &Sink,
                            ) -> u32 {
                                WEIGHTS.apply(i, input, first, bytes, out, sink)
                            }
                            extern "C" fn quantisers() -> RSlice<'static, QuantiserEntry> {
                                WEIGHTS.quantisers()
                            }
                            extern "C" fn quantise(
                                i: u32,
                                part: &RectangleRecord<'_>,
                                scales: RSliceMut<'_, f32>,
                                zeros: RSliceMut<'_, i32>,
                                codes: RSliceMut<'_, i32>,
                                sink: &Sink,
                            ) -> u32 {
                                WEIGHTS.quantise(i, part, scales, zeros, codes, sink)
                            }
                            Table::of(WEIGHTS.table(Functions { fill, output, apply, quantisers, quantise }))
                        }
                    )?
                    $(
                        $crate::abi::backend::INTERFACE => {
                            use $crate::abi::graph::GraphContext;

                            static BACKENDS: $crate::BackendList = $crate::BackendList::new();
                            extern "C" fn claim(i: u32, host: &Table, graph: &Table, cx: GraphContext) -> u32 {
                                $crate::claim_entry(&BACKENDS, i, host, graph, cx)
                            }
                            extern "C" fn compile(i: u32, host: &Table, graph: &Table, cx: GraphContext) -> u32 {
                                $crate::compile_entry(&BACKENDS, i, host, graph, cx)
                            }
                            extern "C" fn environment(i: u32, out: &mut RStr<'static>) -> u32 {
                                $crate::environment_entry(&BACKENDS, i, out)
                            }
                            extern "C" fn cost(
                                i: u32,
                                host: &Table,
                                graph: &Table,
                                cx: GraphContext,
                                out: &mut $crate::abi::backend::CostRecord,
                            ) -> u32 {
                                $crate::cost_entry(&BACKENDS, i, host, graph, cx, out)
                            }
                            let backends = || -> Vec<Box<dyn $crate::backend::Backend>> {
                                vec![
                                    Box::new(<$backend>::default()),
                                    $(Box::new(<$more>::default()),)*
                                ]
                            };
                            Table::of($crate::backend_table(&BACKENDS, backends, [claim, compile], environment, cost))
                        }
                    )?
                    $(
                        $crate::abi::rules::INTERFACE => {
                            use $crate::abi::graph::GraphContext;

                            const _: bool = $rules;
                            static RULES: $crate::RuleList = $crate::RuleList::new();
                            extern "C" fn check(index: u32, host: &Table, graph: &Table, cx: GraphContext) -> u32 {
                                $crate::check_rule(&RULES, index, host, graph, cx)
                            }
                            extern "C" fn build(index: u32, host: &Table, graph: &Table, cx: GraphContext) -> u32 {
                                $crate::build_rule(&RULES, index, host, graph, cx)
                            }
                            extern "C" fn class_of(
                                index: u32,
                                out: &mut $crate::abi::rules::ClassRecord,
                            ) -> u32 {
                                $crate::class_of_rule(&RULES, index, out)
                            }
                            Table::of($crate::rules_table(&RULES, MODULE, check, build, class_of))
                        }
                    )?
                    $(
                        $crate::abi::pass::INTERFACE => {
                            use $crate::abi::graph::GraphContext;

                            const _: bool = $passes;
                            static PASSES: $crate::PassList = $crate::PassList::new();
                            extern "C" fn run(index: u32, host: &Table, graph: &Table, cx: GraphContext) -> u32 {
                                $crate::run_pass(&PASSES, index, host, graph, cx)
                            }
                            extern "C" fn class_of(
                                index: u32,
                                out: &mut $crate::abi::rules::ClassRecord,
                            ) -> u32 {
                                $crate::class_of_pass(&PASSES, index, out)
                            }
                            Table::of($crate::pass_table(&PASSES, MODULE, run, class_of))
                        }
                    )?
                    _ => Table::NONE,
                })
            }

            pub(super) extern "C" fn attach(host: &HostRoot) -> u32 {
                // In a test binary the hook would swallow the message of a failing test.
                #[cfg(all(feature = "cdylib", not(test)))]
                $crate::keep_panics();
                $crate::attach(host, MODULE, $id)
            }
        }
    };
}
