//! Drawing graphs.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use onnxport_core::diagnose::{Code, Diagnostic, Report};
use onnxport_core::inspect::FileKind;
use onnxport_core::{Host, Model, pipeline, write};
use onnxport_report::draw::{self, Folding, Scene};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Request;
use crate::object::excludes;
use crate::progress::Progress;
use crate::rules::Example;

/// Draws the graph of a program, a model or a rule, folded by module.
#[derive(Args, Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(default)]
pub struct DrawRequest {
    /// A .pt2 or .onnx file, or two .onnx files to draw side by side
    #[arg(num_args = 1..=2, required_unless_present = "rule")]
    pub files: Vec<PathBuf>,
    /// The picture to write, .svg or .html; can be repeated
    #[arg(short, long = "output", value_name = "FILE", required = true)]
    #[serde(rename = "output")]
    pub outputs: Vec<PathBuf>,
    /// How many levels of modules to expand: at 1, top-level modules are collapsed. By default, as many as stay
    /// readable
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    #[schemars(range(min = 1))]
    pub depth: Option<u16>,
    /// Also expand modules whose path matches: `*` matches any characters between dots, `**` any characters; can be
    /// repeated
    #[arg(long = "module", value_name = "PATTERN")]
    #[serde(rename = "module")]
    pub modules: Vec<String>,
    /// Draw only the module with this path
    #[arg(long, value_name = "MODULE", conflicts_with = "rule")]
    pub only: Option<String>,
    /// Draw an optimizer rule before and after, on the example that `onnxport rules NAME` shows
    #[arg(long, value_name = "NAME", conflicts_with = "files")]
    pub rule: Option<String>,
}

/// A drawing.
#[derive(Debug)]
pub struct Drawing {
    /// The boxes and the values between them.
    pub scene: Scene,
    /// Which boxes are open.
    pub folding: Folding,
    /// The pictures that were written.
    pub pictures: Vec<PathBuf>,
}

/// A format of pictures.
#[derive(Clone, Copy)]
pub(crate) enum Format {
    Svg,
    Html,
}

impl Drawing {
    /// Returns the picture as SVG.
    pub fn svg(&self) -> String {
        draw::svg(&self.scene, &self.folding)
    }

    /// Returns a page on which modules open and close.
    pub fn html(&self) -> String {
        draw::html(&self.scene, &self.folding)
    }

    /// The number of nodes.
    pub fn nodes(&self) -> usize {
        self.scene.nodes()
    }

    /// The number of modules.
    pub fn modules(&self) -> usize {
        self.scene.modules().len()
    }

    /// The number of closed boxes.
    pub fn closed(&self) -> usize {
        self.folding.closed(&self.scene)
    }
}

impl Format {
    pub(crate) fn from_path(path: &Path) -> Result<Self, Diagnostic> {
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

impl DrawRequest {
    /// Creates a request that draws a file, without writing a picture.
    pub fn new(file: impl Into<PathBuf>) -> Self {
        Self { files: vec![file.into()], ..Self::default() }
    }

    /// Creates a request that draws the example of the rule `name` before and after, without writing a picture.
    pub fn rule(name: impl Into<String>) -> Self {
        Self { rule: Some(name.into()), ..Self::default() }
    }

    /// Whether the answer depends on the plugins of the host: they have the rules.
    pub fn uses_plugins(&self) -> bool {
        self.rule.is_some()
    }

    fn scene(&self, host: &Host) -> Result<Scene, Report> {
        if let Some(name) = &self.rule {
            let Example { before, after, .. } = Example::named(host, name)?;
            let sides = vec![("before".to_owned(), before), ("after".to_owned(), after)];
            return Ok(Scene::beside(name, sides));
        }
        let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        match self.files.as_slice() {
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
}

impl Request for DrawRequest {
    type Outcome = Drawing;

    fn check(&self) -> Result<(), Diagnostic> {
        let rule = ("rule", self.rule.is_some());
        excludes(&[("only", self.only.is_some()), rule])?;
        excludes(&[("files", !self.files.is_empty()), rule])?;
        let (message, help) = match (self.files.len(), &self.rule) {
            _ if self.depth == Some(0) => ("`depth` is 0", "name at least 1 level of modules"),
            (0, None) => ("neither `files` nor `rule` is given", "name a file or an optimizer rule"),
            (3.., _) => ("a picture shows at most two files", "draw each of the files"),
            _ => return Ok(()),
        };
        Err(Diagnostic::error(Code::USAGE, message).help(help))
    }

    fn run(&self, host: &Host, progress: &mut dyn Progress) -> Result<Drawing, Report> {
        self.check()?;
        let formats: Vec<Format> =
            self.outputs.iter().map(|path| Format::from_path(path)).collect::<Result<_, _>>()?;
        progress.stage("reading the graph");
        let mut scene = self.scene(host)?;
        if let Some(path) = &self.only {
            scene = scene.only(path).ok_or_else(|| unknown(path, &scene))?;
        }
        let mut folding = Folding::depth(&scene, self.depth.map(usize::from));
        for pattern in &self.modules {
            if folding.open(&scene, pattern) == 0 {
                return Err(unknown(pattern, &scene).into());
            }
        }
        progress.stage("drawing");
        let drawing = Drawing { scene, folding, pictures: self.outputs.clone() };
        for (path, format) in self.outputs.iter().zip(formats) {
            let text = match format {
                Format::Svg => drawing.svg(),
                Format::Html => drawing.html(),
            };
            write::file(path, &self.files, |file| file.write_all(text.as_bytes()))?;
        }
        Ok(drawing)
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

#[cfg(test)]
mod tests {
    use super::*;

    const PROGRAM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/mlp/mlp.pt2");

    fn run(request: &DrawRequest) -> Result<Drawing, Report> {
        request.run(&Host::new(&[&onnxport_optimise::ROOT]).unwrap(), &mut ())
    }

    #[test]
    fn a_program_and_a_rule_are_drawn() {
        let folder = tempfile::tempdir().unwrap();
        let picture = folder.path().join("a.svg");
        let request = DrawRequest { outputs: vec![picture.clone()], ..DrawRequest::new(PROGRAM) };
        let drawing = run(&request).unwrap();
        assert!(drawing.nodes() > 0 && drawing.modules() > 0);
        assert_eq!(std::fs::read_to_string(&picture).unwrap(), drawing.svg());
        assert_eq!(drawing.pictures, [picture]);
        let rule = DrawRequest::rule("negate_twice");
        assert!(rule.uses_plugins() && !request.uses_plugins());
        let drawing = run(&rule).unwrap();
        assert!(drawing.pictures.is_empty() && drawing.html().contains("negate_twice"));
    }

    #[test]
    fn a_module_is_drawn_alone_and_unknown_ones_are_refused() {
        let whole =
            run(&DrawRequest { modules: vec!["fc*".to_owned()], ..DrawRequest::new(PROGRAM) }).unwrap();
        let one = run(&DrawRequest { only: Some("fc0".to_owned()), ..DrawRequest::new(PROGRAM) }).unwrap();
        assert!(0 < one.nodes() && one.nodes() < whole.nodes());
        let unknown = DrawRequest { only: Some("encoder".to_owned()), ..DrawRequest::new(PROGRAM) };
        assert_eq!(run(&unknown).unwrap_err().diagnostics[0].message, "no module matches `encoder`");
    }

    #[test]
    fn contradictions_are_refused() {
        let message = |request: DrawRequest| run(&request).unwrap_err().diagnostics[0].message.clone();
        let picture = DrawRequest { outputs: vec!["a.png".into()], ..DrawRequest::new(PROGRAM) };
        assert_eq!(message(picture), "unsupported picture format: `a.png`");
        assert_eq!(message(DrawRequest::default()), "neither `files` nor `rule` is given");
        let both = DrawRequest { files: vec![PROGRAM.into()], ..DrawRequest::rule("negate_twice") };
        assert_eq!(message(both), "`files` cannot be used with `rule`");
        let three = DrawRequest { files: vec![PROGRAM.into(); 3], ..DrawRequest::default() };
        assert_eq!(message(three), "a picture shows at most two files");
    }
}
