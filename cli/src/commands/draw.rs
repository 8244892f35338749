//! `onnxport draw`.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use onnxport_core::diagnose::{Code, Diagnostic, Report};
use onnxport_core::inspect::FileKind;
use onnxport_core::ir::Model;
use onnxport_core::{pipeline, write};
use onnxport_report::draw::{self, Folding, Scene};
use onnxport_requests::Plugins;
use onnxport_requests::rules::Example;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::format::{bold, count};
use crate::outcome::{CommandResult, Outcome};
use crate::plugins;

/// Arguments of `draw`.
#[derive(Debug, Args, Deserialize, JsonSchema)]
pub(crate) struct Arguments {
    /// A .pt2 or .onnx file, or two .onnx files to draw side by side
    #[arg(num_args = 1..=2, required_unless_present = "rule")]
    #[serde(default)]
    files: Vec<PathBuf>,
    /// The picture to write, .svg or .html; can be repeated
    #[arg(short, long = "output", value_name = "FILE", required = true)]
    #[serde(default, rename = "output")]
    outputs: Vec<PathBuf>,
    /// How many levels of modules to expand: at 1, top-level modules are collapsed. By default, as many as stay
    /// readable
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    #[schemars(range(min = 1))]
    depth: Option<u16>,
    /// Also expand modules whose path matches: `*` matches any characters between dots, `**` any characters; can be
    /// repeated
    #[arg(long = "module", value_name = "PATTERN")]
    #[serde(default, rename = "module")]
    modules: Vec<String>,
    /// Draw only the module with this path
    #[arg(long, value_name = "MODULE", conflicts_with = "rule")]
    only: Option<String>,
    /// Draw an optimizer rule before and after, on the example that `onnxport rules NAME` shows
    #[arg(long, value_name = "NAME", conflicts_with = "files")]
    rule: Option<String>,
    #[command(flatten)]
    #[serde(flatten)]
    plugins: Plugins,
}

impl Arguments {
    fn check(&self) -> Result<(), Diagnostic> {
        let (message, help) = match (self.files.len(), &self.rule) {
            _ if self.depth == Some(0) => ("`depth` is 0", "name at least 1 level of modules"),
            (0, None) => ("neither `files` nor `rule` is given", "name a file or an optimizer rule"),
            (3.., _) => ("a picture shows at most two files", "draw each of the files"),
            _ => return Ok(()),
        };
        Err(Diagnostic::error(Code::USAGE, message).help(help))
    }
}

/// A format of pictures.
#[derive(Clone, Copy)]
enum Format {
    Svg,
    Html,
}

impl Format {
    fn of(path: &Path) -> Result<Self, Diagnostic> {
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("svg") => Ok(Self::Svg),
            Some("html") => Ok(Self::Html),
            _ => {
                let path = path.display();
                let message = format!("unsupported picture format: `{path}`");
                Err(Diagnostic::error(Code::USAGE, message).help("use a name that ends in .svg or .html"))
            }
        }
    }
}

/// Draws a graph.
pub(crate) fn run(arguments: &Arguments) -> CommandResult {
    arguments.check()?;
    let formats: Vec<(&PathBuf, Format)> = (arguments.outputs.iter())
        .map(|path| Ok((path, Format::of(path)?)))
        .collect::<Result<_, Diagnostic>>()?;
    let mut scene = scene(arguments)?;
    if let Some(path) = &arguments.only {
        scene = scene.only(path).ok_or_else(|| unknown(path, &scene))?;
    }
    let mut folding = Folding::depth(&scene, arguments.depth.map(usize::from));
    for pattern in &arguments.modules {
        if folding.open(&scene, pattern) == 0 {
            return Err(unknown(pattern, &scene).into());
        }
    }
    for (path, format) in &formats {
        let text = match format {
            Format::Svg => draw::svg(&scene, &folding),
            Format::Html => draw::html(&scene, &folding),
        };
        write::file(path, &arguments.files, |file| file.write_all(text.as_bytes()))?;
    }
    let (nodes, modules, closed) = (scene.nodes(), scene.modules().len(), folding.closed(&scene));
    let mut outcome = Outcome::ok();
    let pictures: Vec<String> = formats.iter().map(|(path, _)| path.display().to_string()).collect();
    outcome.summary = format!(
        "{}  {}: {}, {}, {} closed\n",
        bold("drawn"),
        pictures.join(", "),
        count(nodes, "node"),
        count(modules, "module"),
        count(closed, "box").replace("boxs", "boxes"),
    );
    Ok(outcome
        .with("pictures", pictures)
        .with("nodes", nodes)
        .with("modules", modules)
        .with("closed", closed))
}

fn scene(arguments: &Arguments) -> Result<Scene, Report> {
    if let Some(name) = &arguments.rule {
        let host = plugins::host(&arguments.plugins)?;
        let Example { before, after, .. } = Example::named(&host, name)?;
        let sides = vec![("before".to_owned(), before), ("after".to_owned(), after)];
        return Ok(Scene::beside(name, sides));
    }
    let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    match arguments.files.as_slice() {
        [file] if FileKind::of(file) == FileKind::Program => {
            Ok(Scene::program(&name(file), &pipeline::read(file)?.program))
        }
        [file] => Ok(Scene::model(&name(file), &mut Model::read(file)?)),
        files => {
            let side = |path: &PathBuf| Ok((name(path), Model::read(path)?));
            let sides: Vec<(String, Model)> = files.iter().map(side).collect::<Result<_, Report>>()?;
            let title = sides.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(" and ");
            Ok(Scene::beside(&title, sides))
        }
    }
}

/// Returns the error that a picture has no such module, with the nearest ones.
fn unknown(pattern: &str, scene: &Scene) -> Diagnostic {
    let message = format!("no module matches `{pattern}`");
    let mut near: Vec<(f64, &str)> =
        scene.modules().into_iter().map(|path| (strsim::jaro_winkler(pattern, path), path)).collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    let names: Vec<&str> = near.iter().take(5).map(|(_, path)| *path).collect();
    let help = match names.as_slice() {
        [] => {
            "the file has no module names: onnxport writes them unless `--metadata none` is given".to_owned()
        }
        names => format!("available: {}", names.join(", ")),
    };
    Diagnostic::error(Code::USAGE, message).help(help)
}
