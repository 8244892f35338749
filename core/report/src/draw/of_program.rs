//! Pictures of exported programs.

use onnxport_core::diagnose::Origin;
use onnxport_core::program::{
    Arg, Body, Call, InputKind, NamedArg, OutputKind, Program, Subgraph, Val, ValueType,
};
use rustc_hash::FxHashMap;

use super::families::Family;
use super::of_model::source;
use super::scene::{Item, ItemId, Kind, Scene, Value, Weight, distinct};
use super::tree::{Leaf, Scope, grow};
use super::weights;

/// Adds `program` to `group`.
pub(super) fn add(scene: &mut Scene, group: ItemId, program: &Program) {
    let mut reader = Reader { scene, program, values: FxHashMap::default(), weights: FxHashMap::default() };
    let leaves = reader.body(&program.body, true);
    grow(scene, group, leaves);
}

/// The modules around a call, the outermost first, without the one that is the whole program.
pub(super) fn scopes(origin: &Origin) -> Vec<Scope> {
    let mut scopes: Vec<Scope> = Vec::new();
    for call in origin.modules.iter() {
        let path = onnxport_core::diagnose::module_path(&call.path);
        if path.is_empty() || call.path.starts_with("_empty_nn_module_stack") {
            continue;
        }
        let above = scopes.last().map(|scope| scope.path.as_str()).unwrap_or_default();
        let rest = path.strip_prefix(above).map(|rest| rest.trim_start_matches('.'));
        let mut name = rest.filter(|rest| !rest.is_empty()).unwrap_or(&path).to_owned();
        if let Some((_, again)) =
            call.path.rsplit_once('@').filter(|(_, n)| n.bytes().all(|b| b.is_ascii_digit()))
        {
            name = format!("{name}@{again}");
        }
        scopes.push(Scope { path, name, class: call.class.to_string() });
    }
    scopes
}

struct Reader<'p, 's> {
    scene: &'s mut Scene,
    program: &'p Program,
    /// Those of the body that is being read.
    values: FxHashMap<Val, usize>,
    weights: FxHashMap<Val, usize>,
}

impl<'p> Reader<'p, '_> {
    fn body(&mut self, body: &'p Body, is_main: bool) -> Vec<Leaf> {
        let mut leaves = Vec::new();
        let signature = &self.program.signature;
        for (at, input) in body.inputs.iter().enumerate() {
            let Some(value) = input.as_value() else { continue };
            let spec = signature.inputs.get(at).filter(|_| is_main);
            if let Some(name) = spec.and_then(|spec| spec.kind.tensor_name()) {
                self.weight(body, value, name);
                continue;
            }
            if spec.is_some_and(|spec| matches!(spec.kind, InputKind::Token)) {
                continue;
            }
            let mut item = Item::new(Kind::Input, body.values[value].name.to_string());
            item.tip = vec![self.told(body, value)];
            item.gives = vec![self.value(body, value)];
            leaves.push(self.leaf(item, Vec::new()));
        }
        for call in &body.calls {
            let leaf = self.call(body, call);
            leaves.push(leaf);
        }
        for (at, output) in body.outputs.iter().enumerate() {
            let Some(value) = output.as_value() else { continue };
            let kind = signature.outputs.get(at).filter(|_| is_main).map(|spec| &spec.kind);
            let mut item = Item::new(Kind::Output, body.values[value].name.to_string());
            match kind {
                Some(OutputKind::Token) => continue,
                Some(OutputKind::State { name, .. }) => {
                    item.title.clone_from(name);
                    "next value".clone_into(&mut item.class);
                }
                _ => {}
            }
            item.tip = vec![self.told(body, value)];
            self.read(&mut item, body, value);
            leaves.push(self.leaf(item, Vec::new()));
        }
        leaves
    }

    fn leaf(&mut self, item: Item, scopes: Vec<Scope>) -> Leaf {
        let (reads, gives) = (item.reads.clone(), item.gives.clone());
        let id = self.scene.items.len();
        self.scene.items.push(item);
        Leaf { item: id, scopes, reads, gives }
    }

    fn call(&mut self, body: &'p Body, call: &'p Call) -> Leaf {
        let origin = self.program.origins.get(call.origin);
        let graph = |arg: &'p NamedArg| match &arg.arg {
            Arg::Graph(graph) => Some(&**graph),
            _ => None,
        };
        let graphs: Vec<&Subgraph> = call.args.iter().filter_map(graph).collect();
        let kind =
            if graphs.is_empty() { Kind::Operator(Family::for_operator(&call.target)) } else { Kind::Holder };
        let mut item = Item::new(kind, short(&call.target));
        item.tip = vec![call.target.to_string(), format!("node {}", origin.node)];
        item.tip.extend((!origin.module.is_empty()).then(|| format!("module {}", origin.module)));
        item.tip.extend(origin.user_frame().map(source));
        for arg in &call.args {
            let mut values = Vec::new();
            arg.arg.each_value(&mut |value| values.push(value));
            for value in values {
                self.read(&mut item, body, value);
                item.tip.push(format!("reads {}", self.told(body, value)));
            }
            item.tip.extend(plain(&arg.arg).map(|text| format!("{} = {text}", arg.name)));
        }
        for output in &call.outputs {
            let mut values = Vec::new();
            output.each_value(&mut |value| values.push(value));
            for value in values {
                item.gives.push(self.value(body, value));
                item.tip.push(format!("gives {}", self.told(body, value)));
            }
        }
        item.reads = distinct(item.reads.iter().copied());
        item.weights = distinct(item.weights.iter().copied());
        let leaf = self.leaf(item, scopes(origin));
        for graph in graphs {
            self.nested(leaf.item, &graph.name, &graph.body);
        }
        leaf
    }

    /// A graph inside of a call: its values are its own.
    fn nested(&mut self, holder: ItemId, name: &str, body: &'p Body) {
        let mut item = Item::new(Kind::Graph, name);
        item.above = holder;
        let group = self.scene.items.len();
        self.scene.items.push(item);
        self.scene.items[holder].inside.push(group);
        let outer = (std::mem::take(&mut self.values), std::mem::take(&mut self.weights));
        let leaves = self.body(body, false);
        (self.values, self.weights) = outer;
        grow(self.scene, group, leaves);
    }

    fn read(&mut self, item: &mut Item, body: &Body, value: Val) {
        match self.weights.get(&value) {
            Some(weight) => item.weights.push(*weight),
            None => {
                let value = self.value(body, value);
                item.reads.push(value);
            }
        }
    }

    fn value(&mut self, body: &Body, value: Val) -> usize {
        if let Some(known) = self.values.get(&value) {
            return *known;
        }
        let at = self.scene.values.len();
        let name = body.values[value].name.to_string();
        self.scene.values.push(Value { name, label: self.type_text(body, value) });
        self.values.insert(value, at);
        at
    }

    fn weight(&mut self, body: &Body, value: Val, name: &str) {
        let data = self.program.tensors.get(name);
        let label = data.map_or_else(|| self.type_text(body, value), weights::label);
        let elements = data.map_or(0, weights::parameters);
        self.weights.insert(value, self.scene.weights.len());
        self.scene.weights.push(Weight { name: name.to_owned(), label, elements });
    }

    fn told(&self, body: &Body, value: Val) -> String {
        format!("{}: {}", body.values[value].name, self.type_text(body, value))
    }

    fn type_text(&self, body: &Body, value: Val) -> String {
        let symbols = &self.program.symbols;
        match &body.values[value].ty {
            ValueType::Tensor(ty) => {
                let extents: Vec<String> = ty.shape.iter().map(|dim| symbols.display(*dim)).collect();
                format!("{}[{}]", ty.dtype, extents.join(", "))
            }
            ValueType::SymInt(dim) => format!("int {}", symbols.display(*dim)),
            ValueType::SymFloat => "float".to_owned(),
            ValueType::SymBool => "bool".to_owned(),
            ValueType::Token => "token".to_owned(),
            ValueType::Custom(class) => class.to_string(),
        }
    }
}

/// `aten.conv2d.default` as `conv2d`, `higher_order.cond` as `cond`; other libraries keep their name.
fn short(target: &str) -> String {
    let rest = ["aten.", "higher_order.", "_operator."].iter().find_map(|prefix| target.strip_prefix(prefix));
    match rest {
        Some(rest) => rest.split('.').next().unwrap_or(rest).to_owned(),
        None => target.strip_suffix(".default").unwrap_or(target).to_owned(),
    }
}

/// An argument that is not a value, as text.
fn plain(arg: &Arg) -> Option<String> {
    Some(match arg {
        Arg::Int(n) => n.to_string(),
        Arg::Float(x) => x.to_string(),
        Arg::Bool(b) => b.to_string(),
        Arg::Str(text) => format!("{text:?}"),
        Arg::DType(dtype) => dtype.to_string(),
        Arg::List(items) if !items.is_empty() => {
            let items: Option<Vec<String>> = items.iter().map(plain).collect();
            format!("[{}]", items?.join(", "))
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_operators_are_short() {
        assert_eq!(short("aten.add.Tensor"), "add");
        assert_eq!(short("higher_order.cond"), "cond");
        assert_eq!(short("mylib.op.default"), "mylib.op");
    }
}
