//! Levels: how much rules and passes may change.

use std::fmt;
use std::str::FromStr;

use super::OptimiseOptions;
use crate::host::Plugin;
use crate::rules::Class;

/// How much of the model rules and passes may change. Each level includes those below it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Nothing runs, and nothing is computed in advance.
    Nothing,
    /// Results stay the same, bit for bit.
    Exact,
    /// Results stay within the bounds that rules and passes state.
    #[default]
    Bounded,
    /// Operators that only the target has may replace ONNX's own.
    Target,
}

impl Level {
    /// All, in order, as they are written.
    pub const NAMES: [&str; 4] = ["0", "1", "2", "target"];
}

impl FromStr for Level {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "0" => Ok(Self::Nothing),
            "1" => Ok(Self::Exact),
            "2" => Ok(Self::Bounded),
            "target" => Ok(Self::Target),
            _ => Err(format!("the levels are {}", Self::NAMES.join(", "))),
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Nothing => "0",
            Self::Exact => "1",
            Self::Bounded => "2",
            Self::Target => "target",
        })
    }
}

impl OptimiseOptions {
    /// Why a rule or pass of this name and class does not run, in words.
    pub(super) fn obstacle(&self, plugin: &Plugin, name: &str, class: &Class) -> Option<String> {
        if let Some(only) = self.only.as_ref().filter(|only| *only != name) {
            return Some(format!("only `{only}` runs"));
        }
        if self.skip.iter().any(|skipped| skipped == name) {
            return Some("it is skipped on request".to_owned());
        }
        let level = self.level;
        match class {
            Class::Exact => None,
            Class::Bounded { .. } | Class::Unstated if level < Level::Bounded => {
                Some(format!("it may change results, which level {level} does not"))
            }
            Class::Unstated
                if plugin.library.is_none() && self.stated_only.iter().any(|id| id == plugin.id) =>
            {
                Some("it states no error bound, so it is off by default".to_owned())
            }
            Class::Bounded { .. } | Class::Unstated => None,
            Class::Target { target, .. } if level < Level::Target => {
                Some(format!("it emits operators that only {target} has, which level {level} does not allow"))
            }
            Class::Target { target, .. } if !is_of(self.target.name(), target) => Some(format!(
                "it emits operators that only {target} has, but the target is {}",
                self.target.name()
            )),
            Class::Target { .. } => None,
        }
    }
}

/// Whether `target` belongs to `family`: `onnxruntime-cpu` belongs to `onnxruntime`.
fn is_of(target: &str, family: &str) -> bool {
    target.strip_prefix(family).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_read_as_they_are_written() {
        let all = [Level::Nothing, Level::Exact, Level::Bounded, Level::Target];
        for (level, name) in all.into_iter().zip(Level::NAMES) {
            assert_eq!((level.to_string().as_str(), name.parse()), (name, Ok(level)));
        }
        assert!("3".parse::<Level>().is_err());
    }

    #[test]
    fn a_target_has_what_its_family_has() {
        assert!(is_of("onnxruntime-cpu", "onnxruntime") && is_of("onnxruntime", "onnxruntime"));
        assert!(!is_of("onnx", "onnxruntime") && !is_of("onnxruntime", "onnx"));
    }
}
