//! The `dynamic_shapes` of an export, in the names and the structure of the program's inputs.

use std::collections::BTreeMap;

use crate::diagnose::{Subject, Suggestion};
use crate::program::{Arg, InputKind, InputSpec, Program};
use crate::pt2::TreeSpec;
use crate::sym::{Dim, is_name};

/// Suggests an export in which the axis `axis` of the input `input`, a name of the program, is dynamic as well; `None`
/// if the arguments of the call are not known well enough.
pub(in crate::lower) fn dynamic(program: &Program, input: &str, axis: usize) -> Option<Suggestion> {
    let inputs = program.signature.inputs.iter().zip(&program.body.inputs);
    let users = inputs.filter(|(spec, _)| matches!(spec.kind, InputKind::User | InputKind::Constant));
    let leaves: Vec<Leaf> = users.map(|(spec, arg)| Leaf::of(program, spec, arg, (input, axis))).collect();
    let spec = TreeSpec::parse(program.signature.in_spec.as_deref()?).ok()?;
    let [args, kwargs] = spec.children_spec.as_slice() else { return None };
    let shapes = arguments(args, kwargs, &mut leaves.into_iter())?;
    let title = format!("`dynamic_shapes` for the export, with axis {axis} of `{input}` dynamic");
    let text = format!("torch.export.export(model, args, dynamic_shapes={shapes})");
    Some(Suggestion::new(Subject::Shapes, title, text))
}

/// A tensor or a number among the arguments.
struct Leaf {
    name: String,
    /// The request for its axes, `None` if all are static.
    shape: Option<String>,
}

impl Leaf {
    fn of(program: &Program, spec: &InputSpec, arg: &Arg, (input, axis): (&str, usize)) -> Self {
        let value = arg.as_value().and_then(|val| program.body.values.find(val));
        let dims = value.and_then(|value| value.ty.as_tensor()).map_or(&[] as &[Dim], |ty| &ty.shape);
        let mut axes = BTreeMap::new();
        for (at, dim) in dims.iter().enumerate() {
            let is_wanted = spec.name == input && at == axis;
            match dim {
                _ if is_wanted => axes.insert(at, "torch.export.Dim.DYNAMIC"),
                Dim::Const(_) => None,
                Dim::Expr(_) => axes.insert(at, "torch.export.Dim.AUTO"),
            };
        }
        let axes: Vec<String> = axes.iter().map(|(axis, dim)| format!("{axis}: {dim}")).collect();
        let shape = (!axes.is_empty()).then(|| format!("{{{}}}", axes.join(", ")));
        Self { name: spec.name.clone(), shape }
    }
}

/// Formats the shapes of a call: by name if all arguments have one, else by position.
fn arguments(args: &TreeSpec, kwargs: &TreeSpec, leaves: &mut impl Iterator<Item = Leaf>) -> Option<String> {
    let keys = kwargs.keys()?;
    if !keys.iter().all(|key| is_name(key)) || keys.len() != kwargs.children_spec.len() {
        return None;
    }
    let is_flat = args.children_spec.iter().all(TreeSpec::is_leaf);
    let mut given = Vec::new();
    for child in &args.children_spec {
        if is_flat {
            let leaf = leaves.next()?;
            // PyTorch numbers the inputs that it flattened, such as `*args`.
            let is_numbered = leaf.name.rsplit_once('_').is_some_and(|(_, end)| end.parse::<u32>().is_ok());
            if !is_name(&leaf.name) || is_numbered {
                return None;
            }
            given.push((leaf.name, leaf.shape.unwrap_or_else(|| "None".to_owned())));
        } else {
            given.push((String::new(), shape(child, leaves)?));
        }
    }
    if !is_flat && !keys.is_empty() {
        return None;
    }
    for (key, child) in keys.into_iter().zip(&kwargs.children_spec) {
        given.push((key, shape(child, leaves)?));
    }
    if !is_flat {
        let places: Vec<&str> = given.iter().map(|(_, shape)| shape.as_str()).collect();
        return Some(format!("({},)", places.join(", ")));
    }
    let named: Vec<String> = given.iter().map(|(name, shape)| format!("\"{name}\": {shape}")).collect();
    Some(format!("{{{}}}", named.join(", ")))
}

/// The shapes of one argument.
fn shape(spec: &TreeSpec, leaves: &mut impl Iterator<Item = Leaf>) -> Option<String> {
    if spec.is_leaf() {
        return Some(leaves.next()?.shape.unwrap_or_else(|| "None".to_owned()));
    }
    let parts: Vec<String> =
        spec.children_spec.iter().map(|child| shape(child, leaves)).collect::<Option<_>>()?;
    if parts.iter().all(|part| part == "None") {
        return Some("None".to_owned());
    }
    match spec.r#type.as_deref()? {
        "builtins.list" => Some(format!("[{}]", parts.join(", "))),
        "builtins.tuple" => Some(format!("({},)", parts.join(", "))),
        "builtins.dict" | "collections.OrderedDict" => {
            let keys = spec.keys().filter(|keys| keys.iter().all(|key| is_name(key)))?;
            let named: Vec<String> =
                keys.iter().zip(&parts).map(|(key, part)| format!("\"{key}\": {part}")).collect();
            Some(format!("{{{}}}", named.join(", ")))
        }
        _ => None,
    }
}
