//! Bodies that Rust puts together of pieces of text, as the call asks for them.

use std::fmt::Display;

use super::call::Call;
use super::graft;
use crate::ir::opset::AttrKind;
use crate::ir::{Attr, Attribute, Function, OpsetImport};

/// A body in the making.
pub(super) struct Text<'c, 'a> {
    call: &'c Call<'a>,
    stated: Vec<(&'static str, String)>,
    lines: String,
}

impl<'c, 'a> Text<'c, 'a> {
    pub(super) fn for_call(call: &'c Call<'a>) -> Self {
        Self { call, stated: Vec::new(), lines: String::new() }
    }

    /// `$name` stands for `value`, which comes before an attribute of that name.
    pub(super) fn set(&mut self, name: &'static str, value: impl Display) {
        self.stated.push((name, value.to_string()));
    }

    /// Nodes, a line each.
    pub(super) fn add(&mut self, lines: impl AsRef<str>) {
        self.lines.push_str(lines.as_ref());
        self.lines.push('\n');
    }

    /// Nodes that are there for some calls only.
    pub(super) fn add_if(&mut self, wanted: bool, lines: &str) {
        if wanted {
            self.add(lines);
        }
    }

    /// These nodes, or those.
    pub(super) fn either(&mut self, first: bool, lines: &str, others: &str) {
        self.add(if first { lines } else { others });
    }

    /// The function that takes the inputs of the operator, or `inputs` where their number is free, and returns `outputs`.
    pub(super) fn function(self, inputs: Option<&[String]>, outputs: &[&str]) -> Option<Function> {
        let (call, schema) = (self.call, self.call.schema);
        let formal: Vec<String> = schema.inputs.iter().map(|f| f.name.to_owned()).collect();
        let line = |what: &str, name: &str| format!("{what} %{name}\n");
        let inputs: String = inputs.unwrap_or(&formal).iter().map(|name| line("input", name)).collect();
        let outputs: String = outputs.iter().map(|name| line("output", name)).collect();
        let lines = call.fill(&self.lines, &self.stated)?;
        let mut function = super::parse(&format!("function \"\"::Body() {{\n{inputs}{lines}{outputs}}}"))?;
        function.domain = call.node.domain.to_string();
        schema.name.clone_into(&mut function.name);
        function.overload = schema.since.to_string();
        // Graphs are part of the body.
        let mut attributes: Vec<_> = schema.attributes.iter().filter(|a| a.kind != AttrKind::Graph).collect();
        attributes.sort_by_key(|attribute| attribute.name);
        for attribute in attributes {
            match attribute.default {
                Some(default) => function
                    .defaults
                    .push(Attribute { name: attribute.name.into(), value: Attr::from(default) }),
                None => function.attributes.push(attribute.name.to_owned()),
            }
        }
        function.opsets =
            vec![OpsetImport { domain: function.domain.clone(), version: i64::from(schema.since) }];
        graft::resolve(&mut function.graph, call)?;
        Some(function)
    }
}
