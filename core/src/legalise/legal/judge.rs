//! The verdict on one node.

use std::collections::BTreeMap;

use super::Verdict;
use crate::ir::opset::{self, OpSchema, formal};
use crate::ir::{Graph, NodeId, Type};
use crate::legalise::condition::Condition;
use crate::legalise::fit::{self, Support, Variables};
use crate::legalise::form::{self, Plan, Site};
use crate::legalise::target::{Gap, Target};
use crate::legalise::{definition, other_opset};
use crate::sym::Symbols;
use crate::tensor::DType;

/// The change for nodes that the target does not run in any form.
pub(super) const ELSEWHERE: &str = "compute it by other operators or in another type in this line, or name a `fallback` in a table of your own";

/// The change for nodes that the table does not decide.
const TRY_IT: &str = "try the node in the runtime, and state the result in a table of your own (`base`)";

/// A verdict with its reason.
pub(super) struct Finding {
    pub(super) verdict: Verdict,
    pub(super) reason: String,
    pub(super) change: Option<String>,
}

/// A node of a graph, and the target that is to run it.
#[derive(Clone, Copy)]
pub(super) struct Asked<'a> {
    pub(super) graph: &'a Graph,
    /// The versions of the domains.
    pub(super) opsets: &'a BTreeMap<&'a str, i64>,
    pub(super) target: &'a Target,
    pub(super) node: NodeId,
}

fn found(verdict: Verdict, reason: impl Into<String>, change: Option<String>) -> Finding {
    Finding { verdict, reason: reason.into(), change }
}

fn list(types: impl IntoIterator<Item = DType>) -> String {
    let names: Vec<String> = types.into_iter().map(|dtype| dtype.to_string()).collect();
    names.join(", ")
}

impl Asked<'_> {
    /// The operator, behind its domain if that is not ONNX's own.
    pub(super) fn operator(&self) -> String {
        let data = &self.graph.nodes[self.node];
        if data.domain.is_empty() { data.op.to_string() } else { format!("{}::{}", data.domain, data.op) }
    }

    fn opset(&self) -> i64 {
        self.opsets.get("").copied().unwrap_or_default()
    }

    fn schema(&self) -> Option<&'static OpSchema> {
        let data = &self.graph.nodes[self.node];
        opset::lookup(&data.op, self.opset()).filter(|_| data.domain.is_empty())
    }

    /// The version of the operator, or of its domain.
    pub(super) fn version(&self) -> i64 {
        let domain = self.graph.nodes[self.node].domain.as_str();
        let of_domain = || self.opsets.get(domain).copied().unwrap_or_default();
        self.schema().map_or_else(of_domain, |schema| i64::from(schema.since))
    }

    /// How the target takes the node.
    pub(super) fn verdict(&self, symbols: &mut Symbols) -> Finding {
        if self.target.takes_everything() {
            return found(Verdict::Native, "the target has no table: it runs every operator of ONNX", None);
        }
        if let Some((first, last)) = self.target.opsets()
            && !(first..=last).contains(&self.opset())
        {
            let reason = format!("the table covers opsets {first} to {last}, not {}", self.opset());
            let change = format!("convert with opset {}", self.opset().clamp(first, last));
            return found(Verdict::Unknown, reason, Some(change));
        }
        let own = match self.schema() {
            Some(schema) => self.standard(symbols, schema),
            None => self.foreign(),
        };
        match self.target.fallback() {
            Some(fallback) if own.verdict == Verdict::Refused => {
                let other = Asked { target: fallback, ..*self }.verdict(symbols);
                match other.verdict {
                    Verdict::Refused => own,
                    Verdict::Unknown => Finding { change: own.change, ..other },
                    _ => {
                        let reason = format!("runs on {}: {}", fallback.name(), own.reason);
                        found(Verdict::Fallback, reason, own.change)
                    }
                }
            }
            _ => own,
        }
    }

    /// Of an operator that ONNX does not define: the table lists its types, but its signature is unknown.
    fn foreign(&self) -> Finding {
        let (data, name) = (&self.graph.nodes[self.node], self.operator());
        let (target, version) = (self.target, self.version());
        if !target.describes(&name, version)
            || (!data.domain.is_empty() && !target.lists_domain(&data.domain))
        {
            let reason = format!("the table does not list operators of `{}`", data.domain);
            return found(Verdict::Unknown, reason, Some(TRY_IT.to_owned()));
        }
        let Some(rows) = target.kernels(&name, version) else {
            return found(Verdict::Native, "a kernel for every type", None);
        };
        if rows.is_empty() {
            return found(Verdict::Refused, self.unlisted(&name, version), Some(ELSEWHERE.to_owned()));
        }
        let dtypes = data.inputs.iter().flatten().filter_map(|value| self.graph.values[*value].ty.dtype());
        let lists = |dtype: &DType| {
            rows.iter().any(|row| row.is_empty() || row.iter().any(|(_, types)| target.has(*dtype, types)))
        };
        let other: Vec<DType> = dtypes.filter(|dtype| !lists(dtype)).collect();
        if other.is_empty() {
            return found(Verdict::Native, "a kernel of the runtime's own", None);
        }
        let reason = format!("the kernel does not list {}", list(other));
        found(Verdict::Refused, reason, Some(ELSEWHERE.to_owned()))
    }

    fn standard(&self, symbols: &mut Symbols, schema: &'static OpSchema) -> Finding {
        let (graph, opset, target, node) = (self.graph, self.opset(), self.target, self.node);
        let op = &graph.nodes[node].op;
        if !target.describes(op, i64::from(schema.since)) {
            let reason = format!("the table does not describe version {} of `{op}`", schema.since);
            return found(Verdict::Unknown, reason, Some(TRY_IT.to_owned()));
        }
        let taken = fit::takes(graph, opset, target, node, &Variables::new());
        if taken != Support::None
            && let Some(doubt) = self.doubt(schema)
        {
            return doubt;
        }
        if taken == Support::Kernel {
            return found(Verdict::Native, "a kernel", None);
        }
        let verdict = fit::judge(graph, opset, target, node);
        let lacks = matches!(verdict, fit::Verdict::Lacks { .. });
        let mut site = Site { graph, symbols, opset, node };
        let plan = form::choose(&mut site, target, taken, lacks);
        let plan = plan.or_else(|| lacks.then(|| definition::plan(&mut site, target)).flatten());
        let write = || Some(format!("`--target {}` of `convert` and `optimize` writes it so", target.name()));
        match (plan, verdict) {
            (Some(Plan::Body(_, by)), _) => {
                found(Verdict::Form, format!("as {by}: {}", self.gap(schema)), write())
            }
            (Some(Plan::Types(changes)), _) | (None, fit::Verdict::Change(changes)) => {
                let casts: Vec<String> = changes.iter().map(|(_, of, to)| format!("{of} as {to}")).collect();
                found(Verdict::Form, format!("{}: {}", casts.join(", "), self.gap(schema)), write())
            }
            (None, _) if taken == Support::Expanded => {
                found(Verdict::Form, "the target expands it as ONNX defines it", None)
            }
            (None, fit::Verdict::Fits) => {
                let reason = format!(
                    "the table leaves such types to other parts of the runtime: {}",
                    self.gap(schema)
                );
                found(Verdict::Unknown, reason, Some(TRY_IT.to_owned()))
            }
            (None, fit::Verdict::Lacks { .. }) => {
                found(Verdict::Refused, self.gap(schema), Some(self.change(schema)))
            }
        }
    }

    /// The reason to doubt a kernel that takes the node for all that the model states.
    fn doubt(&self, schema: &OpSchema) -> Option<Finding> {
        let data = &self.graph.nodes[self.node];
        let since = i64::from(schema.since);
        for gap in self.target.gaps(&data.op, since) {
            let truths = gap.conditions.iter().map(|c| c.truth(self.graph, data, schema));
            let truth = truths.chain([self.is_of(schema, gap)]).try_fold(Some(true), |all, one| match one {
                Some(false) => None,
                one => Some(all.and(one)),
            });
            // Some condition does not hold.
            let Some(truth) = truth else { continue };
            if truth == Some(true) && !gap.open {
                continue;
            }
            let reason = match (&*gap.reason, truth) {
                ("", None) => {
                    format!("the kernel lacks `{}`, which the model does not decide", gap.condition)
                }
                ("", Some(_)) => format!("the table leaves `{}` open", gap.condition),
                (reason, None) => format!("{reason}; the model does not decide `{}`", gap.condition),
                (reason, Some(_)) => reason.to_owned(),
            };
            return Some(found(Verdict::Unknown, reason, Some(TRY_IT.to_owned())));
        }
        let rows = self.target.kernels(&data.op, since)?;
        let is_untyped = |value: &Option<_>| {
            value.is_some_and(|value| match &self.graph.values[value].ty {
                Type::Tensor { dtype, .. } => dtype.is_none(),
                other => *other == Type::Unknown,
            })
        };
        let bound = fit::bind(self.graph, data, schema);
        let untyped = data.inputs.iter().enumerate().find_map(|(index, value)| {
            let formal = formal(schema.inputs, index).filter(|_| is_untyped(value))?;
            let variable = usize::from(fit::variable(formal)?);
            let name = schema.type_vars.get(variable)?.name;
            let is_restricted = rows.iter().any(|row| row.iter().any(|(of, _)| of == name));
            (is_restricted && bound.get(variable)?.is_none()).then_some(formal.name)
        })?;
        let reason = format!("the model does not state the type of `{untyped}`");
        Some(found(
            Verdict::Unknown,
            reason,
            Some("run ONNX's shape inference on the model first".to_owned()),
        ))
    }

    /// Whether the node is of the types of a restriction; `None` where the model does not state them.
    fn is_of(&self, schema: &OpSchema, gap: &Gap) -> Option<bool> {
        let data = &self.graph.nodes[self.node];
        let mut all = Some(true);
        for (name, types) in &gap.types {
            match Condition::Types(name.clone(), types.clone()).truth(self.graph, data, schema) {
                Some(false) => return Some(false),
                one => all = all.and(one),
            }
        }
        all
    }

    /// The restriction that holds.
    fn restriction(&self, schema: &OpSchema) -> Option<&Gap> {
        let data = &self.graph.nodes[self.node];
        let holds = |gap: &&Gap| {
            !gap.open
                && gap.conditions.iter().all(|c| c.holds(self.graph, data, schema))
                && self.is_of(schema, gap) == Some(true)
        };
        self.target.gaps(&data.op, i64::from(schema.since)).find(holds)
    }

    /// The reason why no kernel takes the node.
    fn gap(&self, schema: &OpSchema) -> String {
        let (op, since) = (&self.graph.nodes[self.node].op, i64::from(schema.since));
        if let Some(gap) = self.restriction(schema) {
            return match (&*gap.reason, &*gap.condition) {
                ("", "") => format!("no kernel for `{op}`"),
                ("", condition) => format!("no kernel where `{condition}`"),
                (reason, _) => reason.to_owned(),
            };
        }
        let rows = self.target.kernels(op, since).unwrap_or_default();
        if rows.is_empty() {
            return self.unlisted(op, since);
        }
        let data = &self.graph.nodes[self.node];
        let bound = fit::bind(self.graph, data, schema);
        for (variable, dtype) in schema.type_vars.iter().zip(&bound) {
            let Some((dtype, _)) = dtype else { continue };
            let mut allowed: Vec<DType> = Vec::new();
            for (_, types) in rows.iter().flat_map(|row| row.iter()).filter(|(of, _)| of == variable.name) {
                allowed.extend(types.iter().filter(|t| !allowed.contains(t)).collect::<Vec<_>>());
            }
            if !allowed.is_empty() && !self.target.has(*dtype, &allowed) {
                return format!("the kernel takes `{}` as {}, not {dtype}", variable.name, list(allowed));
            }
        }
        format!("no kernel takes {} together", list(bound.iter().flatten().map(|(dtype, _)| *dtype)))
    }

    fn unlisted(&self, op: &str, since: i64) -> String {
        let span = |(first, last): &(i64, i64)| {
            if first == last { first.to_string() } else { format!("{first} to {last}") }
        };
        match self.target.versions(op).as_slice() {
            [] => format!("no kernel for `{op}`"),
            versions => {
                let known: Vec<String> = versions.iter().map(span).collect();
                format!("kernels for `{op}` of version {}, not {since}", known.join(", "))
            }
        }
    }

    /// The change that lets the target run a node that it refuses.
    fn change(&self, schema: &OpSchema) -> String {
        let op = &self.graph.nodes[self.node].op;
        if let Some(first) = self.restriction(schema).and_then(|gap| gap.conditions.first()) {
            return match first {
                Condition::Constant(input, false) => format!("make `{input}` a constant of the model"),
                Condition::Static(input, false) => {
                    format!("give `{input}` constant sizes (`--dim`, `--freeze-all`)")
                }
                Condition::Rank { input, .. } => format!("reshape `{input}` to another rank in this line"),
                Condition::Attribute { name, .. } => format!("use another `{name}` in this line"),
                Condition::Given(name, true) => format!("do without `{name}` in this line"),
                _ => ELSEWHERE.to_owned(),
            };
        }
        match other_opset(self.target, op, self.opset()) {
            Some(opset) => format!("convert with opset {opset}, whose `{op}` it has kernels for"),
            None => ELSEWHERE.to_owned(),
        }
    }
}
