//! Text for terminals and logs.

use std::fmt::Write;

use super::escape::{one_line, printable};
use super::group::{Group, groups};
use crate::diagnose::{Code, Origin, Report, Severity, explanation};

/// The number of origins shown for each problem.
const PLACES: usize = 3;

/// The escape sequences around the parts of a text.
#[derive(Clone, Copy, Debug, Default)]
pub struct Palette {
    error: &'static str,
    warning: &'static str,
    note: &'static str,
    strong: &'static str,
    faint: &'static str,
    reset: &'static str,
}

impl Palette {
    /// No colours.
    pub const PLAIN: Self = Self { error: "", warning: "", note: "", strong: "", faint: "", reset: "" };

    /// The colours of a terminal.
    pub const COLOR: Self = Self {
        error: "\x1b[1;31m",
        warning: "\x1b[1;33m",
        note: "\x1b[1;36m",
        strong: "\x1b[1m",
        faint: "\x1b[2m",
        reset: "\x1b[0m",
    };

    fn severity(self, severity: Severity) -> (&'static str, &'static str) {
        match severity {
            Severity::Error => (self.error, "error"),
            Severity::Warning => (self.warning, "warning"),
            Severity::Note => (self.note, "note"),
        }
    }
}

/// Renders the report as text: for each problem its code and message, its position in the user's code, and the next
/// step. Problems that differ only in their origin are shown once, with the first origins.
pub fn text(report: &Report, palette: Palette) -> String {
    let mut out = String::new();
    for (i, group) in groups(report).iter().enumerate() {
        if i > 0 {
            out.push('\n');
        }
        // Writing to a String cannot fail.
        let _ = write_group(&mut out, group, palette);
    }
    out
}

fn write_group(out: &mut String, group: &Group<'_>, palette: Palette) -> std::fmt::Result {
    let Palette { strong, faint, note, reset, .. } = palette;
    let diagnostic = group.first;
    let (color, name) = palette.severity(diagnostic.severity);
    write!(
        out,
        "{color}{name}[{}]{reset}{strong}: {}{reset}",
        one_line(diagnostic.code.as_str()),
        indent(&diagnostic.message)
    )?;
    if group.count > 1 {
        write!(out, " {faint}({} times){reset}", group.count)?;
    }
    out.push('\n');
    for place in group.places.iter().take(PLACES) {
        write_place(out, place, palette)?;
    }
    if group.places.len() > PLACES {
        writeln!(out, "  {faint}...{reset} and {} more occurrences", group.places.len() - PLACES)?;
    }
    for line in &diagnostic.notes {
        writeln!(out, "  {faint}={reset} {}", indent(line))?;
    }
    if let Some(provider) = &diagnostic.provider {
        writeln!(out, "  {faint}={reset} reported by the plugin `{}`", one_line(provider))?;
    }
    match &diagnostic.help {
        Some(help) => writeln!(out, "  {note}help{reset}: {}", indent(help)),
        // A help that fits every wrong command line helps with none of them.
        None if diagnostic.code == Code::USAGE => Ok(()),
        // Nobody is left without a next step.
        None if diagnostic.severity == Severity::Error && explanation(&diagnostic.code).is_some() => {
            writeln!(out, "  {note}help{reset}: `onnxport explain {}` lists ways out", diagnostic.code)
        }
        None => Ok(()),
    }
}

fn write_place(out: &mut String, origin: &Origin, palette: Palette) -> std::fmt::Result {
    let Palette { faint, reset, .. } = palette;
    let frames = [("-->", origin.user_frame()), (":::", origin.library_frame())];
    for (arrow, frame) in frames.into_iter().filter_map(|(arrow, frame)| Some((arrow, frame?))) {
        write!(out, "  {faint}{arrow}{reset} {}:{}", one_line(&frame.file), frame.line)?;
        if !frame.function.is_empty() {
            write!(out, " {faint}in {}{reset}", one_line(&frame.function))?;
        }
        out.push('\n');
        if !frame.code.trim().is_empty() {
            writeln!(out, "   {faint}|{reset}  {}", one_line(frame.code.trim()))?;
        }
    }
    let module = if origin.module.is_empty() { "the root module" } else { origin.module.as_str() };
    let class = origin.class.rsplit('.').next().filter(|class| !class.is_empty());
    write!(out, "  {faint}={reset} in {}", one_line(module))?;
    if let Some(class) = class {
        write!(out, " ({})", one_line(class))?;
    }
    if !origin.node.is_empty() {
        write!(out, ", node {}", one_line(&origin.node))?;
        if !origin.target.is_empty() {
            write!(out, " = {}", one_line(&origin.target))?;
        }
    }
    out.push('\n');
    Ok(())
}

fn indent(text: &str) -> String {
    printable(text).replace('\n', "\n    ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::{CallSite, Code, Diagnostic, Frame};

    fn origin(module: &str, line: u32) -> Origin {
        let frame = |file: &str, line, code: &str| Frame {
            file: file.to_owned(),
            line,
            function: "forward".to_owned(),
            code: code.to_owned(),
        };
        let place = CallSite {
            target: "aten.foo.default".into(),
            module: module.into(),
            class: "model.Block".into(),
            frames: [
                frame("model.py", line, "  y = torch.foo(x)"),
                frame("/venv/lib/python3.11/site-packages/torch/nn/functional.py", 7, "return foo(x)"),
            ]
            .into(),
            ..CallSite::default()
        };
        Origin::new(format!("foo_{line}"), place)
    }

    fn report() -> Report {
        let mut report = Report::default();
        for (module, line) in [("a", 3), ("b", 4), ("b", 4), ("c", 5), ("d", 6)] {
            let id = report.origins.push(origin(module, line));
            report.diagnostics.push(
                Diagnostic::error(Code::LOWER_UNSUPPORTED, "no lowering for aten.foo.default")
                    .at(id)
                    .help("write a lowering"),
            );
        }
        report.diagnostics.push(Diagnostic::warning(Code::VALIDATE, "odd").note("a fact"));
        report
    }

    #[test]
    fn the_same_problem_in_many_places_is_shown_once() {
        let expected = "\
error[OP301]: no lowering for aten.foo.default (5 times)
  --> model.py:3 in forward
   |  y = torch.foo(x)
  = in a (Block), node foo_3 = aten.foo.default
  --> model.py:4 in forward
   |  y = torch.foo(x)
  = in b (Block), node foo_4 = aten.foo.default
  --> model.py:5 in forward
   |  y = torch.foo(x)
  = in c (Block), node foo_5 = aten.foo.default
  ... and 1 more occurrences
  help: write a lowering

warning[OP401]: odd
  = a fact
";
        assert_eq!(text(&report(), Palette::PLAIN), expected);
    }

    #[test]
    fn a_wrapped_library_has_its_own_line() {
        let frame = |file: &str, line, code: &str| Frame {
            file: file.to_owned(),
            line,
            function: "forward".to_owned(),
            code: code.to_owned(),
        };
        let packages = "/venv/lib/python3.11/site-packages";
        let frames = [
            frame(&format!("{packages}/pytest/main.py"), 1, "run()"),
            frame("/home/me/wrapper.py", 3, "return self.model(x)"),
            frame(&format!("{packages}/models/llama.py"), 40, "x = self.layer(x)"),
            frame(&format!("{packages}/models/rotary.py"), 7, "return torch.foo(x)"),
            frame(&format!("{packages}/torch/nn/functional.py"), 9, "return foo(x)"),
        ];
        let shown = |frames: &[Frame]| {
            let mut report = Report::default();
            let place = CallSite { module: "model".into(), frames: frames.into(), ..CallSite::default() };
            let id = report.origins.push(Origin::new("foo", place));
            report.diagnostics.push(Diagnostic::warning(Code::VALIDATE, "odd").at(id));
            text(&report, Palette::PLAIN)
        };
        let library = format!("{packages}/models/rotary.py:7 in forward\n   |  return torch.foo(x)\n");
        let user = "  --> /home/me/wrapper.py:3 in forward\n   |  return self.model(x)\n";
        let end = "  = in model, node foo\n";
        assert_eq!(shown(&frames), format!("warning[OP401]: odd\n{user}  ::: {library}{end}"));
        assert_eq!(shown(&frames[2..]), format!("warning[OP401]: odd\n  --> {library}{end}"));
        assert_eq!(shown(&frames[1..2]), format!("warning[OP401]: odd\n{user}{end}"));
    }

    #[test]
    fn quoted_names_do_not_move_the_cursor() {
        let hostile = Diagnostic::error(Code::VALIDATE, "`a\u{1b}[2Jb`").note("c\rd\ne");
        let shown = text(&hostile.into(), Palette::PLAIN);
        let help = "  help: `onnxport explain OP401` lists ways out\n";
        assert_eq!(shown, format!("error[OP401]: `a\\u{{1b}}[2Jb`\n  = c\\rd\n    e\n{help}"));
    }

    #[test]
    fn colours_are_only_around_the_text() {
        let colored = text(&report(), Palette::COLOR);
        let mut plain = String::new();
        let mut rest = colored.as_str();
        while let Some((before, after)) = rest.split_once('\x1b') {
            plain.push_str(before);
            rest = after.split_once('m').map_or("", |(_, tail)| tail);
        }
        plain.push_str(rest);
        assert_eq!(plain, text(&report(), Palette::PLAIN));
    }

    #[test]
    fn markdown_and_json_name_the_same_things() {
        let markdown = super::super::markdown(&report());
        assert!(markdown.contains("`OP301`"), "{markdown}");
        assert!(markdown.contains("model.py:3"), "{markdown}");
        let json = super::super::json(&report());
        assert_eq!(json.len(), 6);
        assert_eq!(json[0].file.as_deref(), Some("model.py"));
        assert_eq!(json[0].module.as_deref(), Some("a"));
    }
}
