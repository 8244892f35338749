//! The contract of `plugin-sdk/abi/contract.rs` as validated data.

use std::fmt;

/// A revision of the contract, `1.1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Revision {
    pub major: u32,
    pub minor: u32,
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// The contract: its newest revision and its modules, in the order of the specification.
pub(crate) struct Contract {
    pub current: Revision,
    pub modules: Vec<Module>,
}

impl Contract {
    /// The contract as it was when `revision` was the newest one. Records do not change; those that came later stay,
    /// unused.
    pub(crate) fn at(mut self, revision: Revision) -> Self {
        self.current = revision;
        self.modules.retain(|module| module.since <= revision);
        for item in self.modules.iter_mut().flat_map(|module| &mut module.items) {
            if let Item::Struct(found) = item {
                found.fields.retain(|field| field.since <= revision);
            }
        }
        self
    }
}

/// One module: an interface, or the constants that all of them share.
pub(crate) struct Module {
    /// `lowering`.
    pub name: String,
    /// `lowering/1`; `None` where the module is not an interface.
    pub interface: Option<String>,
    /// The revision that brought it.
    pub since: Revision,
    /// The lines of the documentation.
    pub docs: Vec<String>,
    /// Names that come from other modules.
    pub imports: Vec<Import>,
    pub items: Vec<Item>,
}

/// `use crate::lowering::DimRecord`.
pub(crate) struct Import {
    pub module: String,
    pub name: String,
}

pub(crate) enum Item {
    Const(Const),
    Group(Group),
    Handle(Handle),
    Struct(Struct),
}

/// A constant; its value is an expression that Rust and C read alike, or a limit of its type.
pub(crate) struct Const {
    pub name: String,
    pub docs: Vec<String>,
    /// `u32`.
    pub ty: String,
    pub value: Value,
}

pub(crate) enum Value {
    /// `3`, `-1`, `1 << 4`.
    Number(String),
    /// `u32::MAX`.
    Max,
}

/// Named numbers, in place of enums, which the contract does not have.
pub(crate) struct Group {
    pub name: String,
    pub docs: Vec<String>,
    pub constants: Vec<Const>,
}

/// A pointer of one side that the other hands back.
pub(crate) struct Handle {
    pub name: String,
    pub docs: Vec<String>,
    pub derives: Vec<String>,
    /// The associated constant `NULL`.
    pub null: bool,
}

/// A record, which never changes, or a table, which grows at its end.
pub(crate) struct Struct {
    pub name: String,
    pub docs: Vec<String>,
    pub derives: Vec<String>,
    /// The name of its lifetime.
    pub lifetime: Option<String>,
    pub kind: Kind,
    pub fields: Vec<Field>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Record,
    /// Behind an envelope, provided by the plugin.
    PluginTable,
    /// Behind an envelope, provided by the host.
    HostTable,
}

pub(crate) struct Field {
    pub name: String,
    pub docs: Vec<String>,
    pub since: Revision,
    /// Whether the other side may be too old to have it.
    pub optional: bool,
    pub ty: Type,
    /// The facts of a function; `None` for data.
    pub facts: Option<Facts>,
}

/// Facts for a caller and a callee about a function beyond its types.
pub(crate) struct Facts {
    pub thread: Thread,
    pub takes: Takes,
    pub gives: Gives,
    pub answers: Answers,
}

/// Where a function may be called.
#[derive(Clone, Copy)]
pub(crate) enum Thread {
    Any,
    One,
    Conversion,
    Callback,
}

impl Thread {
    pub(crate) const WORDS: &[(&str, Self)] = &[
        ("any", Self::Any),
        ("one", Self::One),
        ("conversion", Self::Conversion),
        ("callback", Self::Callback),
    ];

    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::Any => "any, also several at once",
            Self::One => "any, but one at a time for one handle",
            Self::Conversion => "the one of the conversion",
            Self::Callback => "the one of the call that passed this on, and only until that returns",
        }
    }
}

/// How long borrowed arguments must stay valid.
#[derive(Clone, Copy)]
pub(crate) enum Takes {
    Nothing,
    Call,
    Process,
}

impl Takes {
    pub(crate) const WORDS: &[(&str, Self)] = &[("call", Self::Call), ("process", Self::Process)];

    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::Nothing => "nothing borrowed",
            Self::Call => "arguments are borrowed until the call returns",
            Self::Process => "what is passed stays valid for the rest of the process",
        }
    }
}

/// How long returned or stored values stay valid.
#[derive(Clone)]
pub(crate) enum Gives {
    Nothing,
    Values,
    NextCall,
    OuterCall,
    Process,
    Sink,
    /// Until this function of the same table releases it.
    Until(String),
}

impl Gives {
    pub(crate) const WORDS: &[(&str, Self)] = &[
        ("values", Self::Values),
        ("next_call", Self::NextCall),
        ("outer_call", Self::OuterCall),
        ("process", Self::Process),
        ("sink", Self::Sink),
    ];

    pub(crate) fn text(&self) -> String {
        match self {
            Self::Nothing => "nothing".to_owned(),
            Self::Values => "plain values, the caller's own".to_owned(),
            Self::NextCall => "the value is borrowed until the next call into the same table".to_owned(),
            Self::OuterCall => "the value is borrowed until the call that passed this on returns".to_owned(),
            Self::Process => "the value stays valid for the rest of the process".to_owned(),
            Self::Sink => "through the sink; borrowed until the sink's function returns".to_owned(),
            Self::Until(slot) => format!("the value stays valid until `{slot}` takes it back"),
        }
    }
}

/// The meaning of a function's result.
pub(crate) enum Answers {
    /// It has none, or one that is not a status: it cannot fail.
    Never,
    /// A number that is not a status.
    Number,
    /// These constants of `status`.
    Statuses(Vec<String>),
}

/// The types that the contract is made of.
pub(crate) enum Type {
    /// `u32`, `RStr<'a>`, `RSlice<'a, DimRecord>`, `lowering::Context`.
    Named { name: String, lifetime: Option<String>, argument: Option<Box<Type>> },
    /// `&'a mut T`.
    Reference { lifetime: Option<String>, mutable: bool, to: Box<Type> },
    /// `*mut T`.
    Pointer { mutable: bool, to: Box<Type> },
    /// `for<'a> extern "C" fn(...) -> R`.
    Function { binder: Vec<String>, parameters: Vec<(String, Type)>, result: Option<Box<Type>> },
}

impl Type {
    /// Whether something is lent through a value of this type.
    pub(crate) fn borrows(&self) -> bool {
        match self {
            Self::Named { lifetime, argument, .. } => {
                lifetime.is_some() || argument.as_ref().is_some_and(|ty| ty.borrows())
            }
            Self::Reference { .. } => true,
            Self::Pointer { .. } | Self::Function { .. } => false,
        }
    }

    /// Whether a function stores through a parameter of this type.
    pub(crate) fn is_out(&self) -> bool {
        match self {
            Self::Named { name, .. } => name == "RSliceMut",
            Self::Reference { mutable, .. } => *mutable,
            Self::Pointer { .. } | Self::Function { .. } => false,
        }
    }
}

impl fmt::Display for Type {
    /// As Rust writes it, on one line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Named { name, lifetime, argument } => {
                f.write_str(name)?;
                match (lifetime, argument) {
                    (None, None) => Ok(()),
                    (Some(lifetime), None) => write!(f, "<'{lifetime}>"),
                    (None, Some(ty)) => write!(f, "<{ty}>"),
                    (Some(lifetime), Some(ty)) => write!(f, "<'{lifetime}, {ty}>"),
                }
            }
            Self::Reference { lifetime, mutable, to } => {
                let lifetime = lifetime.as_ref().map(|name| format!("'{name} ")).unwrap_or_default();
                write!(f, "&{lifetime}{}{to}", if *mutable { "mut " } else { "" })
            }
            Self::Pointer { mutable, to } => write!(f, "*{} {to}", if *mutable { "mut" } else { "const" }),
            Self::Function { binder, parameters, result } => {
                if !binder.is_empty() {
                    let names: Vec<String> = binder.iter().map(|name| format!("'{name}")).collect();
                    write!(f, "for<{}> ", names.join(", "))?;
                }
                let parameters: Vec<String> =
                    parameters.iter().map(|(name, ty)| format!("{name}: {ty}")).collect();
                write!(f, "extern \"C\" fn({})", parameters.join(", "))?;
                result.as_ref().map_or(Ok(()), |ty| write!(f, " -> {ty}"))
            }
        }
    }
}

impl Struct {
    /// How many fields the first revision of the table has: without them it is of no use.
    pub(crate) fn base(&self) -> usize {
        self.fields.iter().filter(|field| !field.optional).count()
    }

    /// The revisions of its fields.
    pub(crate) fn revisions(&self) -> impl Iterator<Item = Revision> {
        self.fields.iter().map(|field| field.since)
    }

    pub(crate) fn is_table(&self) -> bool {
        self.kind != Kind::Record
    }
}

impl Module {
    pub(crate) fn structs(&self) -> impl Iterator<Item = &Struct> {
        self.items.iter().filter_map(|item| match item {
            Item::Struct(found) => Some(found),
            _ => None,
        })
    }
}
