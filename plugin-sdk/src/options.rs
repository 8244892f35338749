//! Options of a plugin: a struct that the user fills with `--plugin-option ID.NAME=VALUE`.
//!
//! ```ignore
//! onnxport_sdk::options! {
//!     /// How the plugin computes.
//!     pub struct Settings {
//!         /// Threads per operator; 0 leaves it to the runtime.
//!         threads: usize = 0,
//!         /// Which kernels are used.
//!         mode: String = "fast" in ["fast", "exact"],
//!         /// A folder for compiled programs.
//!         cache: Option<PathBuf>,
//!     }
//! }
//!
//! onnxport_sdk::export_plugin! { id: "mine", schemas: SCHEMAS, options: Settings }
//!
//! let settings = Settings::get()?;
//! ```
//!
//! The host checks names, kinds and allowed values before the plugin is used. An option without a default
//! is required, unless its type is an `Option`; one with a default can list the values that it may have.

use crate::lent::Lent;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};

use onnxport_abi::about::{OptionEntry, option_kind};
use onnxport_abi::executor::{OptionRecord, Sink};
use onnxport_abi::status;
use onnxport_abi::{RSlice, RStr};

use crate::executor::{Failure, Options};
use crate::{Refusal, panic};

/// A type that an option can have.
pub trait OptionValue: Sized {
    /// One of [`option_kind`].
    const KIND: u32;

    /// Parses the text; `None` if it is not of this type.
    fn parse(text: &str) -> Option<Self>;

    /// The value if the user gives none and there is no default; `None` if a value must be given.
    fn absent() -> Option<Self> {
        None
    }
}

macro_rules! values {
    ($($ty:ty: $kind:ident;)*) => {
        $(impl OptionValue for $ty {
            const KIND: u32 = option_kind::$kind;

            fn parse(text: &str) -> Option<Self> {
                text.parse().ok()
            }
        })*
    };
}

values! {
    String: TEXT;
    bool: BOOL;
    i32: INT;
    i64: INT;
    u32: INT;
    u64: INT;
    usize: INT;
    f32: FLOAT;
    f64: FLOAT;
    PathBuf: PATH;
}

impl<T: OptionValue> OptionValue for Option<T> {
    const KIND: u32 = T::KIND;

    fn parse(text: &str) -> Option<Self> {
        T::parse(text).map(Some)
    }

    fn absent() -> Option<Self> {
        Some(None)
    }
}

/// The options of a plugin; made by [`options!`](crate::options).
pub trait PluginOptions: Sized + Send + Sync + 'static {
    /// The options, in the order of the struct.
    fn entries() -> Vec<Entry>;

    /// The struct with the user's values.
    ///
    /// # Errors
    /// When a value is not of its field's type, or one is missing.
    fn read(options: Options<'_>) -> Result<Self, Refusal>;

    /// The struct, overridden by the options of one executor or similar.
    ///
    /// # Errors
    /// When a value is not of its field's type, or not an allowed one.
    fn over(&self, options: Options<'_>) -> Result<Self, Refusal>;

    /// Where the values of this process are.
    fn slot() -> &'static Slot<Self>;

    /// The values that the user set, and defaults.
    ///
    /// # Errors
    /// When an option is required and the host set nothing.
    fn current() -> Result<Arc<Self>, Refusal> {
        let slot = Self::slot().0.read().unwrap_or_else(PoisonError::into_inner);
        match slot.as_ref() {
            Some(values) => Ok(Arc::clone(values)),
            None => Self::read(Options::new(&[])).map(Arc::new),
        }
    }
}

/// The values of a plugin's options, once its host has set them.
pub struct Slot<T>(RwLock<Option<Arc<T>>>);

impl<T> Slot<T> {
    /// Nothing is set.
    #[allow(clippy::new_without_default)]
    pub const fn new() -> Self {
        Self(RwLock::new(None))
    }
}

/// One option.
pub struct Entry {
    /// The name.
    pub name: &'static str,
    /// The documentation.
    pub doc: &'static str,
    /// One of [`option_kind`].
    pub kind: u32,
    /// Whether there must be a value.
    pub required: bool,
    /// The default.
    pub default: Option<String>,
    /// The values that it may have, if not all.
    pub allowed: Vec<String>,
}

/// The field `name` from the user's options, or its default.
///
/// # Errors
/// When the value is not a `T`, or there is none.
pub fn field<T: OptionValue>(
    options: Options<'_>,
    name: &str,
    default: Option<String>,
) -> Result<T, Refusal> {
    let Some(text) = options.get(name).map(str::to_owned).or(default) else {
        let missing = || Refusal::new(format!("the option `{name}` is required and was not set"));
        return T::absent().ok_or_else(missing);
    };
    T::parse(&text).ok_or_else(|| Refusal::new(format!("the option `{name}` cannot be {text:?}")))
}

/// Whether `entries` allow the values of `options`.
///
/// # Errors
/// When one is not.
pub fn check(entries: &[Entry], options: Options<'_>) -> Result<(), Refusal> {
    for entry in entries.iter().filter(|entry| !entry.allowed.is_empty()) {
        let given = options.get(entry.name).filter(|text| !entry.allowed.iter().any(|a| a == text));
        if let Some(text) = given {
            let message = format!("the option `{}` cannot be {text:?}", entry.name);
            return Err(Refusal::new(message).help(format!("it can be {}", entry.allowed.join(", "))));
        }
    }
    Ok(())
}

/// The answer of [`AboutTable::options`](onnxport_abi::about::AboutTable::options); the memory behind it
/// lives as long as the process.
pub fn entries<T: PluginOptions>() -> Vec<OptionEntry<'static>> {
    let text = |text: String| RStr::from_str(String::leak(text));
    let mut entries: Vec<OptionEntry<'static>> = T::entries()
        .into_iter()
        .map(|entry| OptionEntry {
            name: RStr::from_str(entry.name),
            kind: entry.kind,
            required: u32::from(entry.required),
            default: text(entry.default.unwrap_or_default()),
            doc: RStr::from_str(entry.doc.trim()),
            allowed: RSlice::from_slice(Vec::leak(entry.allowed.into_iter().map(text).collect())),
        })
        .collect();
    entries.sort_by_key(|entry| entry.name.lent());
    entries
}

/// Takes the user's options.
pub fn configure<T: PluginOptions>(options: RSlice<'_, OptionRecord<'_>>, sink: &Sink) -> u32 {
    let report = |refusal: &Refusal| {
        let (message, help) = (refusal.message.as_str(), refusal.help.as_str());
        (sink.error)(sink.receiver, RStr::from_str(message), RStr::from_str(help));
    };
    match catch_unwind(AssertUnwindSafe(|| T::read(Options::new(options.lent())))) {
        Ok(Ok(values)) => {
            *T::slot().0.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(values));
            status::OK
        }
        Ok(Err(refusal)) => {
            report(&refusal);
            status::REFUSED
        }
        Err(payload) => {
            report(&Refusal::new(panic::message(payload.as_ref())));
            status::PANICKED
        }
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Self::new(refusal.message).help(refusal.help)
    }
}

/// Makes a struct of options; see [`options`](crate::options).
#[macro_export]
macro_rules! options {
    ($(#[$meta:meta])* $vis:vis struct $name:ident {
        $($(#[doc = $doc:literal])+ $field:ident: $ty:ty
          $(= $default:literal $(in [$($allowed:literal),+ $(,)?])?)?),* $(,)?
    }) => {
        $(#[$meta])*
        #[derive(Clone, Debug)]
        $vis struct $name {
            $($(#[doc = $doc])+ $vis $field: $ty,)*
        }

        impl $name {
            /// The values that the user set, and defaults.
            ///
            /// # Errors
            /// When an option is required and the host set nothing.
            $vis fn get() -> Result<std::sync::Arc<Self>, $crate::Refusal> {
                <Self as $crate::options::PluginOptions>::current()
            }
        }

        impl $crate::options::PluginOptions for $name {
            fn entries() -> Vec<$crate::options::Entry> {
                vec![$($crate::options::Entry {
                    name: stringify!($field),
                    doc: concat!($($doc),+),
                    kind: <$ty as $crate::options::OptionValue>::KIND,
                    required: $crate::options!(@default $($default)?).is_none()
                        && <$ty as $crate::options::OptionValue>::absent().is_none(),
                    default: $crate::options!(@default $($default)?),
                    allowed: vec![$($($($allowed.to_string()),+)?)?],
                },)*]
            }

            fn read(options: $crate::executor::Options<'_>) -> Result<Self, $crate::Refusal> {
                Ok(Self {
                    $($field: $crate::options::field(
                        options,
                        stringify!($field),
                        $crate::options!(@default $($default)?),
                    )?,)*
                })
            }

            fn over(&self, options: $crate::executor::Options<'_>) -> Result<Self, $crate::Refusal> {
                $crate::options::check(&<Self as $crate::options::PluginOptions>::entries(), options)?;
                Ok(Self {
                    $($field: match options.get(stringify!($field)) {
                        Some(_) => $crate::options::field(options, stringify!($field), None)?,
                        None => self.$field.clone(),
                    },)*
                })
            }

            fn slot() -> &'static $crate::options::Slot<Self> {
                static SLOT: $crate::options::Slot<$name> = $crate::options::Slot::new();
                &SLOT
            }
        }
    };
    (@default $default:literal) => { Some($default.to_string()) };
    (@default) => { None::<String> };
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::{PluginOptions, entries};
    use crate::abi::about::option_kind;
    use crate::executor::Options;
    use crate::lent::Lent as _;
    use onnxport_abi::RStr;
    use onnxport_abi::executor::OptionRecord;

    crate::options! {
        /// For the tests.
        struct Settings {
            /// How many.
            threads: usize = 4,
            /// Which
            /// ones.
            mode: String = "fast" in ["fast", "exact"],
            /// Where.
            cache: Option<PathBuf>,
            /// Needed.
            key: i64,
        }
    }

    fn read(given: &[(&'static str, &'static str)]) -> Result<Settings, String> {
        let record = |(name, value): &(&'static str, &'static str)| OptionRecord {
            name: RStr::from_str(name),
            value: RStr::from_str(value),
        };
        let records: Vec<OptionRecord<'_>> = given.iter().map(record).collect();
        Settings::read(Options::new(&records)).map_err(|refusal| refusal.message)
    }

    #[test]
    fn an_executor_s_own_options_come_before_those_of_the_process() {
        let settings = read(&[("key", "-3"), ("threads", "2")]).expect("all is there");
        let over = |name: &'static str, value: &'static str| {
            let record = OptionRecord { name: RStr::from_str(name), value: RStr::from_str(value) };
            settings.over(Options::new(&[record])).map_err(|refusal| refusal.message)
        };
        let exact = over("mode", "exact").expect("it is allowed");
        assert_eq!((exact.mode.as_str(), exact.threads, exact.key), ("exact", 2, -3));
        assert!(over("mode", "slow").expect_err("it is not allowed").contains("cannot be \"slow\""));
        assert!(over("threads", "many").expect_err("it is not a number").contains("cannot be \"many\""));
    }

    #[test]
    fn a_struct_is_read_from_what_is_set_and_defaults() {
        let settings = read(&[("key", "-3"), ("cache", "/tmp/x")]).expect("all is there");
        assert_eq!((settings.threads, settings.mode.as_str(), settings.key), (4, "fast", -3));
        assert_eq!(settings.cache, Some(PathBuf::from("/tmp/x")));
        assert_eq!(read(&[]).err().as_deref(), Some("the option `key` is required and was not set"));
        let wrong = read(&[("key", "1"), ("threads", "-1")]);
        assert_eq!(wrong.err().as_deref(), Some("the option `threads` cannot be \"-1\""));
        assert!(Settings::get().is_err(), "nobody configured it");
    }

    #[test]
    fn the_schema_says_what_there_is() {
        let entries = entries::<Settings>();
        let names: Vec<&str> = entries.iter().map(|entry| entry.name.lent()).collect();
        assert_eq!(names, ["cache", "key", "mode", "threads"]);
        let required: Vec<u32> = entries.iter().map(|entry| entry.required).collect();
        assert_eq!(required, [0, 1, 0, 0]);
        assert_eq!((entries[2].doc.lent(), entries[2].default.lent()), ("Which ones.", "fast"));
        assert_eq!(entries[2].allowed.len(), 2);
        assert_eq!((entries[0].kind, entries[3].kind), (option_kind::PATH, option_kind::INT));
    }
}
