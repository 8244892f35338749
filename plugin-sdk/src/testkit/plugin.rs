//! A plugin, reached as a host reaches it.

use crate::lent::Lent;
use std::sync::Mutex;

use onnxport_abi::RStr;
use onnxport_abi::about::AboutTable;
use onnxport_abi::lowering::{self, LoweringTable};
use onnxport_schema::{Schema, target_of};

use super::call::Call;
use super::lowering::host_table;
use crate::abi::{HostRoot, Interface, PluginRoot, Table, Version, status};

static HOST: HostRoot = HostRoot { version: Version::CURRENT, query };

/// The test kit's side of the interfaces.
extern "C" fn query(interface: RStr<'_>) -> Table {
    match interface.lent() {
        lowering::INTERFACE => host_table(),
        _ => Table::NONE,
    }
}

/// A plugin that was attached.
#[derive(Clone)]
pub struct Plugin {
    about: AboutTable,
    pub(super) lowering: Option<LoweringTable>,
    /// Schemas of operators of others.
    schemas: Vec<String>,
}

impl Plugin {
    /// Attaches the plugin behind `root`, the `ROOT` that `export_plugin!` defines.
    ///
    /// # Panics
    /// When it does not say what it is, refuses to attach, or its tables do not fit the contract.
    #[track_caller]
    pub fn attach(root: &'static PluginRoot) -> Self {
        let about: AboutTable = table(root).expect("a plugin says what it is");
        match attach(root) {
            status::OK => {}
            status::PANICKED => panic!("plugin `{}` panicked while it was attached", about.id.lent()),
            other => panic!("plugin `{}` refuses the test kit's host (status {other})", about.id.lent()),
        }
        Self { about, lowering: table(root), schemas: Vec::new() }
    }

    /// The plugin's id.
    pub fn id(&self) -> &str {
        self.about.id.lent()
    }

    /// The operators that it lowers, in the order of its table.
    pub fn operators(&self) -> Vec<&str> {
        self.lowering.iter().flat_map(|table| table.entries.lent()).map(|e| e.target.lent()).collect()
    }

    /// Adds schemas of operators that another plugin describes, one a line: for a plugin that lowers
    /// PyTorch's own operators.
    #[must_use]
    pub fn with_schemas(mut self, schemas: &str) -> Self {
        self.schemas.push(schemas.to_owned());
        self
    }

    /// Begins a call of `target`, `mylib.scaled.default`.
    pub fn call(&self, target: &str) -> Call {
        Call::new(self.clone(), target)
    }

    /// The schema of `target`, when the plugin or the test has one.
    ///
    /// # Errors
    /// When its line is malformed.
    pub(super) fn schema(&self, target: &str) -> Result<Option<Schema>, String> {
        let own = self.lowering.iter().map(|table| table.schemas.lent());
        let line = own.chain(self.schemas.iter().map(String::as_str)).flat_map(str::lines).find(|line| {
            let name = line.split_once('(').map_or("", |(name, _)| name.trim());
            !name.starts_with('#') && target_of(name) == target
        });
        let parse = |line| Schema::parse(line).map_err(|error| format!("the schema `{line}`: {error}"));
        line.map(parse).transpose()
    }

    /// Checks what an author gets wrong without noticing: every operator has a schema, here or of the
    /// test, every schema can be read, and every parameter of a lowering of `package` means an argument
    /// of its operator's schema. Give `env!("CARGO_PKG_NAME")`, or the module of the plugin.
    ///
    /// # Panics
    /// Lists everything that is wrong.
    #[track_caller]
    pub fn check_schemas(&self, package: &str) {
        let mut problems = Vec::new();
        for (target, lowering) in crate::register::of_module(&package.replace('-', "_")) {
            match self.schema(target) {
                Err(problem) => problems.push(problem),
                Ok(None) => problems.push(format!("`{target}` has no schema")),
                Ok(Some(schema)) => {
                    let positional = |name: &str| matches!(name, "x" | "a" | "this" | "y" | "b");
                    let unknown =
                        lowering.parameters.iter().filter(|p| !positional(p) && schema.arg(p).is_none());
                    problems.extend(unknown.map(|parameter| {
                        let names: Vec<&str> = schema.args.iter().map(|a| a.name.as_str()).collect();
                        let names = names.join(", ");
                        format!("`{target}` has no argument `{parameter}`; its schema has {names}")
                    }));
                }
            }
        }
        assert!(problems.is_empty(), "{}", problems.join("\n"));
    }
}

/// Attaches and leaves the panic hook as it was: a shared library sets its own, which would swallow
/// what a failing test says.
fn attach(root: &'static PluginRoot) -> u32 {
    static HOOK: Mutex<()> = Mutex::new(());
    let _guard = HOOK.lock();
    let hook = std::panic::take_hook();
    let answer = (root.attach)(&HOST);
    std::panic::set_hook(hook);
    answer
}

#[track_caller]
fn table<T: Interface>(root: &'static PluginRoot) -> Option<T> {
    let table = (root.query)(RStr::from_str(T::NAME));
    // SAFETY: the plugin answered for the interface of `T`.
    match unsafe { table.read::<T>() } {
        Ok(table) => table,
        Err(mismatch) => panic!("the plugin does not fit the contract: {mismatch}"),
    }
}
