//! Options of plugins: their declarations, and validation of the user's values.

use std::collections::BTreeMap;
use std::ffi::c_void;

use onnxport_abi::about::{AboutTable, OptionEntry, option_kind};
use onnxport_abi::executor::{OptionRecord, Sink, TensorView};
use onnxport_abi::status;
use onnxport_abi::{RSlice, RStr};
use schemars::JsonSchema;
use serde::Serialize;

use super::{Host, Plugin, Site, cross};
use crate::diagnose::{Code, Diagnostic};
use crate::incoming::list;

/// The type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum OptionKind {
    /// Any text.
    Text,
    /// `true` or `false`.
    Bool,
    /// An integer of 64 bits.
    Int,
    /// A number.
    Float,
    /// A path.
    Path,
}

impl OptionKind {
    fn read(number: u32) -> Option<Self> {
        Some(match number {
            option_kind::TEXT => Self::Text,
            option_kind::BOOL => Self::Bool,
            option_kind::INT => Self::Int,
            option_kind::FLOAT => Self::Float,
            option_kind::PATH => Self::Path,
            _ => return None,
        })
    }

    /// The name of the type in lists of options.
    pub fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Bool => "true or false",
            Self::Int => "an integer",
            Self::Float => "a number",
            Self::Path => "a path",
        }
    }

    fn fits(self, value: &str) -> bool {
        match self {
            Self::Text => true,
            Self::Bool => matches!(value, "true" | "false"),
            Self::Int => value.parse::<i64>().is_ok(),
            Self::Float => value.parse::<f64>().is_ok(),
            Self::Path => !value.is_empty(),
        }
    }
}

/// An option of a plugin.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct PluginOption {
    /// The name.
    pub name: &'static str,
    /// The type of a value.
    pub kind: OptionKind,
    /// Whether the plugin requires it.
    pub required: bool,
    /// The default as text; `None` if there is none.
    pub default: Option<&'static str>,
    /// A one-line description.
    pub doc: &'static str,
    /// The allowed values; empty if every value of the type is allowed.
    pub allowed: Vec<&'static str>,
}

impl PluginOption {
    /// The kind, the values and the default in a few words.
    pub fn summary(&self) -> String {
        let values =
            if self.allowed.is_empty() { self.kind.name().to_owned() } else { self.allowed.join(", ") };
        match (self.default, self.required) {
            (Some(default), _) => format!("{values}; default {default}"),
            (None, true) => format!("{values}; required"),
            (None, false) => values,
        }
    }
}

/// The user's settings for plugins, by plugin and name.
pub(super) type Given = BTreeMap<String, BTreeMap<String, String>>;

/// Reads the options that an attached plugin declares.
pub(super) fn schema(id: &'static str, about: &AboutTable) -> Result<Vec<PluginOption>, Diagnostic> {
    let Some(options) = about.options else { return Ok(Vec::new()) };
    let site = Site { plugin: id, task: "listing its options", subject: "" };
    cross(site, || {
        let entries = list(options()).map_err(|malformed| broken(id, &format!("as {malformed}")))?;
        entries.iter().map(|entry| read(id, entry)).collect()
    })
}

fn broken(id: &str, what: &str) -> Diagnostic {
    let message = format!("plugin `{id}` lists an option {what}");
    named(Diagnostic::error(Code::PLUGIN_CONTRACT, message), id)
}

fn read(id: &str, entry: &OptionEntry<'static>) -> Result<PluginOption, Diagnostic> {
    let broken = |what: &str| broken(id, what);
    let text = |text: RStr<'static>| text.get().map_err(|malformed| broken(&format!("with {malformed}")));
    let kind =
        OptionKind::read(entry.kind).ok_or_else(|| broken("of a kind that this host does not know"))?;
    let default = Some(text(entry.default)?).filter(|default| !default.is_empty());
    let allowed = list(entry.allowed).map_err(|malformed| broken(&format!("with {malformed}")))?;
    let allowed = allowed.iter().map(|value| text(*value)).collect::<Result<Vec<_>, _>>()?;
    if default.is_some_and(|default| !kind.fits(default))
        || !allowed.iter().all(|value| kind.fits(value))
        || default.is_some_and(|default| !allowed.is_empty() && !allowed.contains(&default))
    {
        return Err(broken("whose own values are not of its kind"));
    }
    let (name, doc) = (text(entry.name)?, text(entry.doc)?);
    Ok(PluginOption { name, kind, required: entry.required != 0, default, doc, allowed })
}

/// Hands the user's options to `plugin` after they were checked.
pub fn configure(plugin: &Plugin, given: &BTreeMap<String, String>) -> Result<(), Vec<Diagnostic>> {
    let id = plugin.id;
    let problems = check(plugin, given);
    if !problems.is_empty() {
        return Err(problems);
    }
    let Some(configure) = plugin.configure else { return Ok(()) };
    let records: Vec<OptionRecord<'_>> = given
        .iter()
        .map(|(name, value)| OptionRecord { name: RStr::from_str(name), value: RStr::from_str(value) })
        .collect();
    let mut words = Words::default();
    let sink = Sink {
        receiver: std::ptr::from_mut(&mut words).cast(),
        tensor: on_tensor,
        text: on_text,
        error: on_error,
    };
    let site = Site { plugin: id, task: "taking its options", subject: "" };
    let answer = cross(site, || configure(RSlice::from_slice(&records), &sink));
    let (code, what) = match answer {
        status::OK => return Ok(()),
        status::REFUSED => (Code::PLUGIN_OPTION, "refuses its options"),
        status::PANICKED => (Code::PLUGIN_PANIC, "panicked while it took its options"),
        _ => (Code::PLUGIN_CONTRACT, "answers its options with a status that is none"),
    };
    let mut problem = Diagnostic::error(code, format!("plugin `{id}` {what}: {}", words.message));
    problem.help = Some(words.help).filter(|help| !help.is_empty());
    Err(vec![named(problem, id)])
}

/// Validates the user's settings against the options of the plugin.
fn check(plugin: &Plugin, given: &BTreeMap<String, String>) -> Vec<Diagnostic> {
    let id = plugin.id;
    let problem =
        |message: String, help: String| named(Diagnostic::error(Code::PLUGIN_OPTION, message).help(help), id);
    let mut problems = Vec::new();
    for (name, value) in given {
        let Some(option) = plugin.options.iter().find(|option| option.name == name) else {
            let names: Vec<&str> = plugin.options.iter().map(|option| option.name).collect();
            let help = if names.is_empty() {
                "it takes no options".to_owned()
            } else {
                format!("there are {}", names.join(", "))
            };
            problems.push(problem(format!("plugin `{id}` has no option `{name}`"), help));
            continue;
        };
        let allowed = option.allowed.is_empty() || option.allowed.contains(&value.as_str());
        if !option.kind.fits(value) || !allowed {
            let message = format!("the option `{name}` of plugin `{id}` cannot be {value:?}");
            problems.push(problem(message, format!("it is {}: {}", option.summary(), option.doc)));
        }
    }
    for option in plugin.options.iter().filter(|option| option.required) {
        if option.default.is_none() && !given.contains_key(option.name) {
            let message = format!("plugin `{id}` needs its option `{}`", option.name);
            let help = format!("set it with --plugin-option {id}.{}=VALUE: {}", option.name, option.doc);
            problems.push(problem(message, help));
        }
    }
    problems
}

/// Reports options for plugins that do not exist.
pub(super) fn unknown(host: &Host, given: &Given) -> Vec<Diagnostic> {
    let ids: Vec<&str> = host.plugins.iter().map(|plugin| plugin.id).collect();
    let stray = given.keys().filter(|id| !ids.contains(&id.as_str()));
    stray
        .map(|id| {
            let message = format!("options are given for the plugin `{id}`, which is not loaded");
            Diagnostic::error(Code::PLUGIN_OPTION, message).help(host.instead_of(id, &ids))
        })
        .collect()
}

fn named(mut diagnostic: Diagnostic, id: &str) -> Diagnostic {
    diagnostic.provider = Some(id.to_owned());
    diagnostic
}

/// A plugin's messages about options that it refuses.
#[derive(Default)]
struct Words {
    message: String,
    help: String,
}

extern "C" fn on_tensor(_: *mut c_void, _: &TensorView<'_>) {}

extern "C" fn on_text(_: *mut c_void, _: RStr<'_>) {}

extern "C" fn on_error(receiver: *mut c_void, message: RStr<'_>, help: RStr<'_>) {
    // SAFETY: the sink is only alive during `configure`, whose words are not otherwise used then.
    let words = unsafe { &mut *receiver.cast::<Words>() };
    (words.message, words.help) = (message.message().into_owned(), help.message().into_owned());
}
