//! Weights that the user gives besides a program.

use std::path::{Path, PathBuf};

use clap::Args;
use onnxport_core::diagnose::{Code, Diagnostic, Report, Severity};
use onnxport_core::host::Host;
use onnxport_core::program::Program;
use onnxport_core::weights::{self, BindOptions, NameMap, WeightSet};

/// Where weights come from.
#[derive(Debug, Args)]
#[command(next_help_heading = "Weights")]
pub(crate) struct WeightArguments {
    #[command(flatten)]
    shared: SharedWeights,
    /// Write a model that waits for its weights, those that the program holds included;
    /// `onnxport weights bind` gives them
    #[arg(long)]
    pub weightless: bool,
}

/// Where weights come from, for one program or several.
#[derive(Debug, Args)]
#[command(next_help_heading = "Weights")]
pub(crate) struct SharedWeights {
    /// A file of weights, or a folder of shards: .safetensors, an index of shards, a checkpoint of
    /// torch.save, another .pt2; can be repeated
    #[arg(long = "weights", value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// A plugin that makes weights, by its id; can be repeated
    #[arg(long = "weights-plugin", value_name = "ID")]
    makers: Vec<String>,
    #[command(flatten)]
    names: NameArguments,
}

/// What giving a program other weights did.
#[derive(Debug, Default)]
pub(crate) struct Given {
    /// Whether the program computes with other weights than it was saved with.
    pub any: bool,
    /// The files that were read.
    pub files: Vec<PathBuf>,
    /// Warnings.
    pub diagnostics: Vec<Diagnostic>,
}

/// How names in the files become the program's.
#[derive(Debug, Args)]
#[command(next_help_heading = "Weights")]
pub(crate) struct NameArguments {
    /// Rules for names: a TOML or JSON file with the tables `rename` and `prefix`
    #[arg(long = "weights-map", value_name = "FILE")]
    map: Option<PathBuf>,
    /// What names in the files start with and the program's do not, such as model.
    #[arg(long = "weights-prefix", value_name = "PREFIX")]
    prefix: Option<String>,
    /// The entry of a checkpoint that holds the weights, with dots between levels
    #[arg(long = "weights-key", value_name = "KEY")]
    key: Option<String>,
    /// Round floats of another type to the program's
    #[arg(long = "weights-cast")]
    pub cast: bool,
}

impl WeightArguments {
    /// Gives `program` the weights that the user named.
    pub(crate) fn bind(&self, host: &Host, program: &mut Program) -> Result<Given, Report> {
        let withheld = if self.weightless { weights::withhold(program) } else { 0 };
        let note = (withheld > 0).then(|| {
            let message =
                format!("{withheld} weights that the program holds are left out, as --weightless says");
            let note =
                Diagnostic { severity: Severity::Note, ..Diagnostic::error(Code::WEIGHTS_MISSING, message) };
            note.help(
                "give them with `onnxport weights bind`; buffers that no checkpoint holds stay in the model",
            )
        });
        let Some((set, names)) = self.shared.open(host)? else {
            return Ok(Given { diagnostics: note.into_iter().collect(), ..Given::default() });
        };
        let options = BindOptions { partial: self.weightless, ..self.shared.options() };
        let bound = weights::bind(program, &set, &names, options)?;
        let files = set.files().map(Path::to_owned).chain(self.shared.names.files()).collect();
        let diagnostics = note.into_iter().chain(bound.diagnostics).collect();
        Ok(Given { any: bound.replaced > 0, files, diagnostics })
    }
}

impl SharedWeights {
    /// How strict to be.
    pub(crate) fn options(&self) -> BindOptions {
        BindOptions { cast: self.names.cast, ..BindOptions::default() }
    }

    /// The weights that the user named, if any.
    pub(crate) fn open(&self, host: &Host) -> Result<Option<(WeightSet, NameMap)>, Report> {
        if self.paths.is_empty() && self.makers.is_empty() {
            return Ok(None);
        }
        let (mut set, names) = self.names.open(&self.paths)?;
        for maker in &self.makers {
            set.insert_plugin(host, maker)?;
        }
        Ok(Some((set, names)))
    }
}

impl NameArguments {
    /// The file of rules.
    pub(crate) fn files(&self) -> impl Iterator<Item = PathBuf> {
        self.map.iter().cloned()
    }

    /// Opens `paths`, with the rules for their names.
    pub(crate) fn open(&self, paths: &[PathBuf]) -> Result<(WeightSet, NameMap), Report> {
        let mut names = match &self.map {
            Some(path) => NameMap::read(path)?,
            None => NameMap::default(),
        };
        if let Some(prefix) = &self.prefix {
            names.add_prefix(prefix)?;
        }
        Ok((WeightSet::open(paths, self.key.as_deref())?, names))
    }
}
