//! The host's side of `log/1`.

use std::panic::{AssertUnwindSafe, catch_unwind};

use onnxport_abi::RStr;
use onnxport_abi::Table;
use onnxport_abi::log::LogHost;
use onnxport_abi::lowering::Context;

use crate::host::{crossing, log};

static HOST: LogHost = LogHost { level: shown, message };

/// The envelope of the host's functions.
pub(super) fn host_table() -> Table {
    Table::of(&HOST)
}

extern "C" fn shown() -> u32 {
    log::shown()
}

extern "C" fn message(plugin: RStr<'_>, level: u32, text: RStr<'_>, cx: Context) {
    // Unwinding into the plugin would end the process, whatever the error in a message.
    let _ = catch_unwind(AssertUnwindSafe(|| {
        if level > log::shown() {
            return;
        }
        let site = crossing::current();
        let text_of = |text: RStr<'_>| text.message().into_owned();
        // The plugin that this thread executes is known; its own claim is used elsewhere only.
        let plugin = site.map_or_else(|| text_of(plugin), |site| site.plugin.to_owned());
        let origin = site.filter(|site| site.task == "lowering").and_then(|_| crate::lower::origin_of(cx));
        log::said(plugin, level, &text_of(text), origin);
    }));
}
