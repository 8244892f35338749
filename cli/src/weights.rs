//! Weights that the user gives besides a program.

use std::path::PathBuf;

use clap::Args;
use onnxport_core::{BindOptions, Conversion, Host, NameMap, Report, WeightSet};

/// Where weights come from.
#[derive(Debug, Args)]
#[command(next_help_heading = "Weights")]
pub(crate) struct WeightArguments {
    #[command(flatten)]
    shared: SharedWeights,
    /// Write a model without its weights; `onnxport weights bind` adds them later
    #[arg(long)]
    pub weightless: bool,
}

/// Where weights come from, for one program or several.
#[derive(Debug, Args)]
#[command(next_help_heading = "Weights")]
pub(crate) struct SharedWeights {
    /// A weight file or a folder of shards: .safetensors, an index of shards, a torch.save checkpoint, another .pt2;
    /// can be repeated
    #[arg(long = "weights", value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// The id of a plugin that provides weights; can be repeated
    #[arg(long = "weights-plugin", value_name = "ID")]
    makers: Vec<String>,
    #[command(flatten)]
    names: NameArguments,
}

/// How names in the files become the program's.
#[derive(Debug, Args)]
#[command(next_help_heading = "Weights")]
pub(crate) struct NameArguments {
    /// A TOML or JSON file that maps names, with the tables `rename` and `prefix`
    #[arg(long = "weights-map", value_name = "FILE")]
    map: Option<PathBuf>,
    /// A prefix of names in the files that the program's names lack, such as model.
    #[arg(long = "weights-prefix", value_name = "PREFIX")]
    prefix: Option<String>,
    /// The checkpoint entry that holds the weights, with dots between levels
    #[arg(long = "weights-key", value_name = "KEY")]
    key: Option<String>,
    /// Round floating-point values of other types to the program's type
    #[arg(long = "weights-cast")]
    pub cast: bool,
}

impl WeightArguments {
    /// Binds the user's weights to the program. Returns whether it took any.
    pub(crate) fn bind(&self, host: &Host, conversion: &mut Conversion) -> Result<bool, Report> {
        if self.weightless {
            conversion.withhold();
        }
        let Some((set, names)) = self.shared.open(host)? else { return Ok(false) };
        for file in self.shared.names.files() {
            conversion.add_source(file);
        }
        let options = BindOptions { partial: self.weightless, ..self.shared.options() };
        conversion.bind(&set, &names, options)
    }
}

impl SharedWeights {
    /// Returns the strictness of the binding.
    pub(crate) fn options(&self) -> BindOptions {
        BindOptions { cast: self.names.cast, ..BindOptions::default() }
    }

    /// Opens the user's weights, if any.
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
