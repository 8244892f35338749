//! What a command found, in files: as text, as JSON, or as a page.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use onnxport_core::diagnose::{Code, Diagnostic, Report};
use onnxport_core::write;

use crate::format::unstyled;
use crate::outcome::Outcome;

/// Arguments about reports.
#[derive(Debug, Args)]
pub(crate) struct ReportArguments {
    /// Write what was found to this file as well, .txt, .json or .html; can be repeated
    #[arg(long = "report", value_name = "FILE")]
    paths: Vec<PathBuf>,
}

/// The formats of reports.
#[derive(Clone, Copy)]
enum Format {
    Text,
    Json,
    Html,
}

impl Format {
    fn of(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()? {
            "txt" => Some(Self::Text),
            "json" => Some(Self::Json),
            "html" => Some(Self::Html),
            _ => None,
        }
    }
}

/// What reports say.
pub(crate) struct Contents<'a> {
    /// The command that found it.
    pub(crate) command: &'a str,
    /// The text, which may be coloured.
    pub(crate) text: &'a str,
    /// The page.
    pub(crate) page: &'a dyn Fn() -> String,
}

impl ReportArguments {
    /// Fails where a report cannot be written in the format that the name of its file asks for.
    ///
    /// # Errors
    /// `OP001`.
    pub(crate) fn check(&self) -> Result<(), Diagnostic> {
        match self.paths.iter().find(|path| Format::of(path).is_none()) {
            Some(path) => {
                let path = path.display();
                let message = format!("a report is .txt, .json or .html, and `{path}` is none of them");
                Err(Diagnostic::error(Code::USAGE, message))
            }
            None => Ok(()),
        }
    }

    /// Writes the reports, none of which takes the place of one of `sources`.
    ///
    /// # Errors
    /// `OP601`, `OP603`.
    pub(crate) fn write(
        &self,
        sources: &[PathBuf],
        contents: &Contents<'_>,
        outcome: &mut Outcome,
    ) -> Result<(), Report> {
        for path in &self.paths {
            let text = match Format::of(path) {
                Some(Format::Json) => format!("{:#}\n", outcome.json(contents.command)),
                Some(Format::Html) => (contents.page)(),
                _ => format!("{}{}", unstyled(contents.text), unstyled(&outcome.problem())),
            };
            write::file(path, sources, |file| file.write_all(text.as_bytes()))?;
        }
        if !self.paths.is_empty() {
            let paths: Vec<String> = self.paths.iter().map(|path| path.display().to_string()).collect();
            outcome.put("reports", paths);
        }
        Ok(())
    }
}
