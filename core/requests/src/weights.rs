//! The options about weights that the user supplies beside a program.

use std::path::PathBuf;

use clap::Args;
use onnxport_core::{BindOptions, Conversion, Host, NameMap, Report, WeightSet};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The weights of one program.
#[derive(Args, Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[command(next_help_heading = "Weights")]
#[serde(default)]
pub struct Binding {
    /// The source of the weights.
    #[command(flatten)]
    #[serde(flatten)]
    pub source: WeightSource,
    /// Write a model without its weights; `onnxport weights bind` adds them later
    #[arg(long)]
    pub weightless: bool,
}

/// The source of weights, for one program or several.
#[derive(Args, Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[command(next_help_heading = "Weights")]
#[serde(default)]
pub struct WeightSource {
    /// A weight file or a folder of shards: .safetensors, an index of shards, a torch.save checkpoint, another .pt2;
    /// can be repeated
    #[arg(long = "weights", value_name = "PATH")]
    #[serde(rename = "weights")]
    pub paths: Vec<PathBuf>,
    /// The id of a plugin that provides weights; can be repeated
    #[arg(long = "weights-plugin", value_name = "ID")]
    #[serde(rename = "weights_plugin")]
    pub plugins: Vec<String>,
    /// Their names.
    #[command(flatten)]
    #[serde(flatten)]
    pub names: WeightNames,
}

/// How names in the files become the program's.
#[derive(Args, Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[command(next_help_heading = "Weights")]
#[serde(default)]
pub struct WeightNames {
    /// A TOML or JSON file that maps names, with the tables `rename` and `prefix`
    #[arg(long = "weights-map", value_name = "FILE")]
    #[serde(rename = "weights_map")]
    pub map: Option<PathBuf>,
    /// A prefix of names in the files that the program's names lack, such as model.
    #[arg(long = "weights-prefix", value_name = "PREFIX")]
    #[serde(rename = "weights_prefix")]
    pub prefix: Option<String>,
    /// The checkpoint entry that holds the weights, with dots between levels
    #[arg(long = "weights-key", value_name = "KEY")]
    #[serde(rename = "weights_key")]
    pub key: Option<String>,
    /// Round floating-point values of other types to the program's type
    #[arg(long = "weights-cast")]
    #[serde(rename = "weights_cast")]
    pub cast: bool,
}

impl Binding {
    /// Binds the user's weights to the program. Returns whether it took any.
    ///
    /// # Errors
    /// Those of opening the files, and of [`Conversion::bind`].
    pub fn bind(&self, host: &Host, conversion: &mut Conversion) -> Result<bool, Report> {
        if self.weightless {
            conversion.withhold();
        }
        let Some((set, names)) = self.source.open(host)? else { return Ok(false) };
        for file in self.source.names.files() {
            conversion.add_source(file);
        }
        let options = BindOptions { partial: self.weightless, ..self.source.options() };
        conversion.bind(&set, &names, options)
    }
}

impl WeightSource {
    /// Returns the strictness of the binding.
    pub fn options(&self) -> BindOptions {
        BindOptions { cast: self.names.cast, ..BindOptions::default() }
    }

    /// Opens the user's weights, if any.
    ///
    /// # Errors
    /// Those of [`WeightNames::open`], and of plugins.
    pub fn open(&self, host: &Host) -> Result<Option<(WeightSet, NameMap)>, Report> {
        if self.paths.is_empty() && self.plugins.is_empty() {
            return Ok(None);
        }
        let (mut set, names) = self.names.open(&self.paths)?;
        for plugin in &self.plugins {
            set.insert_plugin(host, plugin)?;
        }
        Ok(Some((set, names)))
    }
}

impl WeightNames {
    /// The file that maps names.
    pub fn files(&self) -> impl Iterator<Item = PathBuf> {
        self.map.iter().cloned()
    }

    /// Opens `paths`, with the map of their names.
    ///
    /// # Errors
    /// Those of [`WeightSet::open`] and [`NameMap::read`].
    pub fn open(&self, paths: &[PathBuf]) -> Result<(WeightSet, NameMap), Report> {
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
