//! The metadata in which PyTorch's exporter records the origin of parts of a model
//! (`torch/onnx/_internal/exporter/_core.py` of PyTorch 2.15): its keys, and readers and writers of its texts.

use crate::Name;
use crate::diagnose::{CallSite, Frame, ModuleCall, Origin, frames, module_path};
use crate::python;

/// On nodes: the modules around a call and the call itself, `path: class/path: class/node: operator`.
pub const NAMESPACE: &str = "namespace";
/// On nodes: the classes of these modules, and the operator, as a list in Python.
pub const CLASSES: &str = "pkg.torch.onnx.class_hierarchy";
/// On nodes: the call as PyTorch prints it.
pub const FX_NODE: &str = "pkg.torch.onnx.fx_node";
/// On nodes: the names of the arguments of a call that is not lowered, as a list in Python.
pub const INPUT_NAMES: &str = "pkg.torch.onnx.input_names";
/// On nodes: the paths of the modules, and the name of the call, as a list in Python.
pub const SCOPES: &str = "pkg.torch.onnx.name_scopes";
/// On nodes: the Python stack of the call.
pub const STACK: &str = "pkg.torch.onnx.stack_trace";
/// On values: the name in the program, if the model uses another one.
pub const ORIGINAL_NAME: &str = "pkg.torch.onnx.original_node_name";
/// On inputs and weights: their kind in the program.
pub const INPUT_KIND: &str = "pkg.torch.export.graph_signature.InputSpec.kind";
/// On inputs and weights: whether the state dict holds a buffer.
pub const PERSISTENT: &str = "pkg.torch.export.graph_signature.InputSpec.persistent";
/// On outputs: their kind in the program.
pub const OUTPUT_KIND: &str = "pkg.torch.export.graph_signature.OutputSpec.kind";
/// On the main graph: the program's signature.
pub const SIGNATURE: &str = "pkg.torch.export.ExportedProgram.graph_signature";
/// On the main graph: the ranges of the program's symbols.
pub const RANGES: &str = "pkg.torch.export.ExportedProgram.range_constraints";
/// On the main graph: the guards of the program, as a list in Python. PyTorch's exporter does not write them.
pub const GUARDS: &str = "pkg.torch.export.ExportedProgram.guards";

/// Returns the metadata that PyTorch's exporter writes for a node with the origin `origin`, sorted by key.
/// `printed` is the call as PyTorch prints it; stack paths below the folder `root` are written relative to it.
pub fn describe(origin: &Origin, printed: Option<&str>, root: Option<&str>) -> Vec<(&'static str, String)> {
    let target = target(&origin.target);
    let mut names: Vec<String> =
        origin.modules.iter().map(|call| format!("{}: {}", call.path, call.class)).collect();
    names.push(format!("{}: {target}", origin.node));
    let classes = origin.modules.iter().map(|call| call.class.as_str()).chain([target.as_str()]);
    let scopes = origin.modules.iter().map(|call| call.path.as_str()).chain([origin.node.as_str()]);
    let mut entries = vec![(NAMESPACE, names.join("/")), (CLASSES, python::list(classes))];
    entries.extend(printed.map(|text| (FX_NODE, text.to_owned())));
    entries.push((SCOPES, python::list(scopes)));
    entries.push((STACK, relative(&origin.trace, root)));
    entries
}

/// Parses the origin in a node's metadata, and returns it with the call as PyTorch prints it. `said` looks up an
/// entry by key. `None` for metadata that PyTorch's exporter did not write.
pub fn origin<'e>(said: impl Fn(&str) -> Option<&'e str>) -> Option<(Origin, Option<&'e str>)> {
    let mut scopes = python::read_list(said(SCOPES)?)?;
    let mut classes = python::read_list(said(CLASSES)?)?;
    let (node, target) = (scopes.pop()?, classes.pop()?);
    let calls = scopes.into_iter().zip(classes);
    let calls = calls.map(|(path, class)| ModuleCall { path: path.into(), class: class.into(), repeat: 0 });
    let modules: Vec<ModuleCall> = calls.collect();
    let innermost = modules.last().filter(|call| !call.path.starts_with("_empty_nn_module_stack"));
    let trace = said(STACK).unwrap_or_default();
    let place = CallSite {
        target: target.into(),
        module: innermost.map(|call| module_path(&call.path).into()).unwrap_or_default(),
        class: innermost.map(|call| call.class.clone()).unwrap_or_default(),
        modules: modules.into(),
        trace: trace.into(),
        frames: frames(trace).into(),
    };
    Some((Origin::new(node, place), said(FX_NODE)))
}

/// The module and the line of the user's code that a node's metadata names, in whichever form; empty where it names
/// none.
pub fn place<'e>(said: impl Fn(&str) -> Option<&'e str>) -> (String, String) {
    match origin(&said) {
        Some((origin, _)) => {
            (origin.module.to_string(), origin.user_frame().map(Frame::place).unwrap_or_default())
        }
        None => {
            let text = |key| said(key).unwrap_or_default().to_owned();
            (text(NAMESPACE), text(super::SOURCE_KEY))
        }
    }
}

/// How Python prints an operator: functions of the module `operator` are built in.
fn target(target: &Name) -> String {
    match target.strip_prefix("_operator.") {
        Some(function) => format!("<built-in function {function}>"),
        None => target.strip_prefix("higher_order.").unwrap_or(target).to_owned(),
    }
}

/// `trace` with paths below the folder `root` relative to it.
fn relative(trace: &str, root: Option<&str>) -> String {
    let Some(root) = root.map(|root| root.trim_end_matches(['/', '\\'])).filter(|root| !root.is_empty())
    else {
        return trace.to_owned();
    };
    let line = |line: &str| {
        let (indent, path) = line.split_at(line.find("File \"").map_or(0, |at| at.saturating_add(6)));
        let inside = path.strip_prefix(root).and_then(|rest| rest.strip_prefix(['/', '\\']));
        inside
            .filter(|_| indent.trim() == "File \"")
            .map_or_else(|| line.to_owned(), |rest| format!("{indent}{rest}"))
    };
    trace.split_inclusive('\n').map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = "File \"/home/me/m.py\", line 6, in forward\n    y = s.fc(x)\n  File \"/lib/python3/l.py\", line 1, in f";

    fn linear() -> Origin {
        let call = |path: &str, class: &str| ModuleCall { path: path.into(), class: class.into(), repeat: 0 };
        let place = CallSite {
            target: "aten.linear.default".into(),
            modules: [call("", "__main__.M"), call("fc@1", "torch.nn.Linear")].into(),
            trace: TRACE.into(),
            ..CallSite::default()
        };
        Origin::new("linear_1", place)
    }

    #[test]
    fn a_node_is_described_as_pytorch_does_and_read_again() {
        let entries = describe(&linear(), Some("%linear_1 : ..."), None);
        assert_eq!(
            entries,
            [
                (NAMESPACE, ": __main__.M/fc@1: torch.nn.Linear/linear_1: aten.linear.default".to_owned()),
                (CLASSES, "['__main__.M', 'torch.nn.Linear', 'aten.linear.default']".to_owned()),
                (FX_NODE, "%linear_1 : ...".to_owned()),
                (SCOPES, "['', 'fc@1', 'linear_1']".to_owned()),
                (STACK, TRACE.to_owned()),
            ]
        );
        let said = |key: &str| entries.iter().find(|(known, _)| *known == key).map(|(_, text)| text.as_str());
        let (read, printed) = origin(said).unwrap();
        assert_eq!((read.node.as_str(), read.module.as_str(), read.frames.len()), ("linear_1", "fc", 2));
        assert_eq!(
            (&read.modules, &read.target, printed),
            (&linear().modules, &linear().target, said(FX_NODE))
        );
        assert_eq!(place(said), ("fc".to_owned(), "me/m.py:6".to_owned()));
    }

    #[test]
    fn paths_below_a_root_are_relative() {
        assert_eq!(relative(TRACE, Some("/home/me/")), TRACE.replace("/home/me/", ""));
        assert_eq!(relative(TRACE, Some("/home/m")), TRACE);
        assert_eq!(relative(TRACE, None), TRACE);
    }

    #[test]
    fn calls_outside_of_modules_have_a_namespace_of_one_part() {
        let place = CallSite { target: "_operator.mul".into(), ..CallSite::default() };
        let entries = describe(&Origin::new("mul", place), None, None);
        assert_eq!(entries[0], (NAMESPACE, "mul: <built-in function mul>".to_owned()));
        assert_eq!(entries.len(), 4);
    }
}
