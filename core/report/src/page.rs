//! The frame of a page: one file that needs no network, in light and dark.

use maud::{DOCTYPE, Markup, PreEscaped, html};
use onnxport_core::diagnose::render::printable;

const STYLE: &str = include_str!("assets/page.css");
const SCRIPT: &str = include_str!("assets/page.js");

/// The verdict of a page.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Verdict {
    /// All is well.
    Passed,
    /// Something is wrong.
    Failed,
    /// Nothing was found, and not everything was looked at.
    Open,
    /// It is neither right nor wrong.
    Told,
}

impl Verdict {
    /// The class of its colours.
    fn class(self) -> &'static str {
        match self {
            Self::Passed => "good",
            Self::Failed => "bad",
            Self::Open => "open",
            Self::Told => "plain",
        }
    }
}

/// A page.
#[derive(Clone, Debug)]
pub struct Page {
    /// Its subject.
    pub title: String,
    /// How it ended.
    pub verdict: Verdict,
    /// The verdict in a few words.
    pub summary: String,
    /// Names and values at its head.
    pub facts: Vec<(String, String)>,
    /// The sections, in order.
    pub sections: Vec<Section>,
}

/// A part of a page, with a heading that others can link to.
#[derive(Clone, Debug)]
pub struct Section {
    /// The anchor.
    pub id: &'static str,
    /// The heading.
    pub title: String,
    /// The text below it.
    pub body: Markup,
}

/// The page as a file.
pub fn render(page: &Page) -> String {
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="generator" content={ "onnxport " (env!("CARGO_PKG_VERSION")) };
                title { (page.title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                header {
                    h1 { (page.title) }
                    button #theme type="button" title="Switch between light and dark" { "light / dark" }
                    p.verdict.(page.verdict.class()) { (page.summary) }
                    dl.facts {
                        @for (name, value) in &page.facts { div { dt { (name) } dd { (value) } } }
                    }
                    @if page.sections.len() > 1 {
                        nav { @for section in &page.sections { a href={ "#" (section.id) } { (section.title) } } }
                    }
                }
                main {
                    @for section in &page.sections {
                        section #(section.id) { h2 { (section.title) } (section.body) }
                    }
                }
                footer { "Written by onnxport " (env!("CARGO_PKG_VERSION")) "." }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    };
    printable(&markup.into_string()).into_owned()
}
