//! Options of a package that name its models.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap_lex::OsStrExt;
use onnxport_core::diagnose::{Code, Diagnostic};

use super::PackageRequest;
use crate::value::as_text;

/// `[NAME=]PT2`: a program, and the name of its model, which is that of the file by default.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedProgram {
    /// The name of the model.
    pub name: String,
    /// The program.
    pub path: PathBuf,
}

impl NamedProgram {
    /// Parses `NAME=PT2` or `PT2`.
    ///
    /// # Errors
    /// For a name that a file cannot have.
    pub fn parse(text: &OsString) -> Result<Self, String> {
        let (name, path) = match text.split_once("=") {
            Some((name, path)) => (name, PathBuf::from(path)),
            None => (Path::new(text).file_stem().unwrap_or_default(), PathBuf::from(text)),
        };
        let name = name.to_str().filter(|name| is_file_name(name));
        let name = name.ok_or("expected NAME=PT2, where NAME can be the name of a file")?;
        Ok(Self { name: name.to_owned(), path })
    }
}

impl FromStr for NamedProgram {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::parse(&text.into())
    }
}

impl fmt::Display for NamedProgram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.name, self.path.display())
    }
}

as_text! { NamedProgram: { "type": "string" } }

/// `NAME/VALUE`: a value for the model `NAME`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForModel<T> {
    /// The name of the model.
    pub model: String,
    /// The value.
    pub value: T,
}

impl<T: FromStr<Err = String>> FromStr for ForModel<T> {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (model, value) =
            text.split_once('/').ok_or("expected the name of a model and `/` before the value")?;
        Ok(Self { model: model.to_owned(), value: value.parse()? })
    }
}

/// Whether a file of a package can have the name.
pub fn is_file_name(name: &str) -> bool {
    !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\\'])
}

/// Returns the error about two models of the same name.
pub(super) fn same_name(name: &str) -> Diagnostic {
    Diagnostic::error(Code::LOWER_NAME, format!("two models are called `{name}`"))
        .help("name the models: `first=a.pt2`")
}

/// Fails if two models have the same name, or if an option names an unknown model.
pub(super) fn check(request: &PackageRequest) -> Result<(), Diagnostic> {
    let mut names = BTreeSet::new();
    if let Some(twice) = request.programs.iter().find(|program| !names.insert(&program.name)) {
        return Err(same_name(&twice.name));
    }
    if let Some(dim) = request.dims.iter().find(|dim| !names.contains(&dim.value.model)) {
        let ForModel { model, value: axis } = &dim.value;
        let message = format!("`--dim` for `{}`: unknown model `{model}`", axis.input());
        return Err(Diagnostic::error(Code::LOWER_NAME, message).help("write `--dim NAME/INPUT:AXIS=NAME`"));
    }
    for (flag, given) in [("input", &request.input_names), ("output", &request.output_names)] {
        let mut seen = BTreeSet::new();
        for ForModel { model, .. } in given.iter().map(|given| &given.value) {
            let message = if !names.contains(model) {
                format!("`--{flag}-names`: unknown model `{model}`")
            } else if !seen.insert(model) {
                format!("`--{flag}-names` is given twice for the model `{model}`")
            } else {
                continue;
            };
            let help = format!("write `--{flag}-names NAME/a,b` or `--{flag}-names NAME/old=new`");
            return Err(Diagnostic::error(Code::LOWER_NAME, message).help(help));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::axes::{Axis, PortNames};

    #[test]
    fn programs_have_names() {
        let parsed = |text: &str| text.parse::<NamedProgram>().ok();
        let named = |name: &str, path: &str| Some(NamedProgram { name: name.to_owned(), path: path.into() });
        assert_eq!(parsed("a=b/c.pt2"), named("a", "b/c.pt2"));
        assert_eq!(parsed("b/c.pt2"), named("c", "b/c.pt2"));
        for wrong in ["=a.pt2", "../a=b.pt2", ".a=b.pt2", ""] {
            assert!(parsed(wrong).is_none(), "{wrong}");
        }
    }

    #[test]
    fn values_belong_to_a_model() {
        let dim: ForModel<Axis> = "a/x/y:0=batch".parse().expect("an axis");
        assert_eq!((dim.model.as_str(), dim.value.input()), ("a", "x/y"));
        assert!("x:0=batch".parse::<ForModel<Axis>>().is_err());
        assert_eq!("a/x=y".parse::<ForModel<PortNames>>().expect("names").model, "a");
        assert!("x=y".parse::<ForModel<PortNames>>().is_err());
    }
}
