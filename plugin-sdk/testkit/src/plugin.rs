//! The plugin under test, in a host.

use std::sync::Arc;

use onnxport_core::host::{Host, PluginRoot};
use onnxport_sdk::{Lowering, inventory};

use crate::Call;

/// A plugin that is attached to a host of its own.
#[derive(Clone)]
pub struct Plugin {
    pub(crate) host: Arc<Host>,
}

impl Plugin {
    /// Attaches the plugin with this root, as a program does that links it.
    ///
    /// # Panics
    /// Says why the host refuses it.
    #[track_caller]
    pub fn attach(root: &'static PluginRoot) -> Self {
        match Host::new(&[root]) {
            Ok(host) => Self { host: Arc::new(host) },
            Err(report) => {
                let reasons: Vec<&str> = report.diagnostics.iter().map(|d| d.message.as_str()).collect();
                panic!("the host refuses the plugin: {}", reasons.join("; "))
            }
        }
    }

    /// A call of an operator that the plugin lowers, such as `mylib.scaled.default`.
    pub fn call(&self, target: &str) -> Call {
        Call::new(self.clone(), target)
    }

    /// Checks mistakes that authors do not notice: every operator has a schema, and every parameter of a lowering means
    /// an argument of its operator's schema.
    ///
    /// # Panics
    /// Lists everything that is wrong.
    #[track_caller]
    pub fn check_schemas(&self) {
        let mut problems = Vec::new();
        for (target, providers) in self.host.registry.iter() {
            let Some(schema) = self.host.schemas.get(target) else {
                problems.push(format!("`{target}` has no schema"));
                continue;
            };
            let names: Vec<&str> = schema.args.iter().map(|argument| argument.name.as_str()).collect();
            let positional = |name: &str| matches!(name, "x" | "a" | "this" | "y" | "b");
            let fits = |lowering: &&Lowering| {
                let opsets = providers.iter().map(|provider| (provider.min_opset, provider.max_opset));
                lowering.targets.contains(&target)
                    && opsets.into_iter().any(|opsets| opsets == (lowering.min_opset, lowering.max_opset))
            };
            for lowering in inventory::iter::<Lowering>.into_iter().filter(fits) {
                let unknown = lowering.parameters.iter().filter(|p| !positional(p) && !names.contains(*p));
                problems.extend(unknown.map(|parameter| {
                    let names = names.join(", ");
                    format!("`{target}` has no argument `{parameter}`; its schema has {names}")
                }));
            }
        }
        assert!(problems.is_empty(), "{}", problems.join("\n"));
    }
}
