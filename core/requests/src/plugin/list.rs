//! Listing plugins.

use clap::Args;
use onnxport_core::Host;
use onnxport_core::diagnose::{Diagnostic, Report};
use onnxport_core::host::Absent;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::PluginInfo;
use crate::Request;
use crate::progress::Progress;

/// Lists the available plugins.
#[derive(Args, Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq, Serialize)]
pub struct PluginListRequest {}

/// The plugins of a host.
#[derive(Clone, Debug)]
pub struct PluginsFound {
    /// The available ones.
    pub plugins: Vec<PluginInfo>,
    /// Those of onnxport that the program leaves out.
    pub absent: Vec<Absent>,
}

impl Request for PluginListRequest {
    type Outcome = PluginsFound;

    fn check(&self) -> Result<(), Diagnostic> {
        Ok(())
    }

    fn run(&self, host: &Host, _: &mut dyn Progress) -> Result<PluginsFound, Report> {
        let plugins = host.plugins.iter().map(PluginInfo::from).collect();
        Ok(PluginsFound { plugins, absent: host.absent.clone() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plugins_of_the_host_are_listed() {
        let host = Host::new(&[&onnxport_aten::ROOT, &onnxport_reference::ROOT]).unwrap();
        let found = PluginListRequest::default().run(&host, &mut ()).unwrap();
        let ids: Vec<&str> = found.plugins.iter().map(|plugin| plugin.id.as_str()).collect();
        assert_eq!(ids, ["aten", "reference"]);
        assert!(found.plugins[0].lowerings > 100 && found.plugins[0].library.is_none());
    }
}
