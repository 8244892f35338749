//! Requests in data: a JSON object whose keys are the names of options, with `_` for `-`.

use clap::{Arg, ArgAction, Args, Command};
use onnxport_core::diagnose::{Code, Diagnostic};
use schemars::{JsonSchema, SchemaGenerator, generate::SchemaSettings};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// A usage error.
pub(crate) fn wrong(message: String) -> Diagnostic {
    Diagnostic::error(Code::USAGE, message)
}

/// Fails if one of the options `given` is used without the option `name`, which it refines.
///
/// # Errors
/// `OP001`.
pub fn needs(name: &str, is_given: bool, given: &[(&str, bool)]) -> Result<(), Diagnostic> {
    match given.iter().find(|(_, given)| *given && !is_given) {
        Some((option, _)) => Err(wrong(format!("`{option}` needs `{name}`")).help(format!("add `{name}`"))),
        None => Ok(()),
    }
}

/// Fails if two of the options `given` are used, which exclude each other.
pub(crate) fn excludes(given: &[(&str, bool)]) -> Result<(), Diagnostic> {
    let mut used = given.iter().filter(|(_, given)| *given);
    match (used.next(), used.next()) {
        (Some((a, _)), Some((b, _))) => Err(wrong(format!("`{a}` cannot be used with `{b}`"))),
        _ => Ok(()),
    }
}

/// The properties of a request by their names, each a JSON schema, in the order of the options.
pub fn properties<R: JsonSchema>() -> Map<String, Value> {
    let settings = SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    let mut schema = SchemaGenerator::new(settings).into_root_schema_for::<R>().to_value();
    match schema.get_mut("properties").map(Value::take) {
        Some(Value::Object(properties)) => properties,
        _ => Map::new(),
    }
}

/// Reads the request of the command `name`.
///
/// `null` means that an option is not given. The old name of an option is accepted for the new one. `verify: false` is
/// `no_verify: true`, if that is the option, and a single value is a list of one.
///
/// # Errors
/// `OP001` for an unknown key, for a value that the option does not take, for options that exclude each other and for
/// a required option that is missing.
pub fn read<R: Args + JsonSchema + DeserializeOwned>(
    name: &str,
    object: &Map<String, Value>,
) -> Result<R, Diagnostic> {
    let mut command = R::augment_args(Command::new(name.to_owned()));
    command.build();
    let properties = properties::<R>();
    let mut given = Map::new();
    for (key, value) in object.iter().filter(|(_, value)| !value.is_null()) {
        let (own, value) = canonical(&command, &properties, key, value)?;
        let of_one = Map::from_iter([(own.clone(), value.clone())]);
        if let Err(problem) = serde_json::from_value::<R>(Value::Object(of_one)) {
            return Err(wrong(format!("invalid value for `{key}`: {problem}")));
        }
        if given.insert(own.clone(), value).is_some() {
            return Err(wrong(format!("`{own}` is given twice")));
        }
    }
    refuse_conflicts(&command, &given)?;
    let required = command.get_arguments().filter(|arg| arg.is_required_set()).map(key_of);
    if let Some(missing) = required.into_iter().find(|key| !given.contains_key(key)) {
        return Err(wrong(format!("`{missing}` is missing")));
    }
    serde_json::from_value(Value::Object(given)).map_err(|problem| wrong(problem.to_string()))
}

/// Reads the request of the command `name` from the options of `over`, and those of `under` that belong to it and that
/// `over` does not set.
///
/// # Errors
/// As [`read`].
pub fn read_over<R: Args + JsonSchema + DeserializeOwned>(
    name: &str,
    under: &Map<String, Value>,
    over: &Map<String, Value>,
) -> Result<R, Diagnostic> {
    let mut command = R::augment_args(Command::new(name.to_owned()));
    command.build();
    let properties = properties::<R>();
    let own = |(key, value): (&String, &Value)| canonical(&command, &properties, key, value).ok();
    let set: Vec<String> = over.iter().filter_map(own).map(|(key, _)| key).collect();
    let kept = under.iter().filter_map(own).filter(|(key, _)| !set.contains(key));
    let both = over.iter().map(|(key, value)| (key.clone(), value.clone())).chain(kept).collect();
    read(name, &both)
}

/// The key of an option, or of a positional argument.
pub fn key_of(arg: &Arg) -> String {
    arg.get_long().unwrap_or(arg.get_id().as_str()).replace('-', "_")
}

/// Returns the property that `key` names, and its value.
fn canonical(
    command: &Command,
    properties: &Map<String, Value>,
    key: &str,
    value: &Value,
) -> Result<(String, Value), Diagnostic> {
    let long = key.replace('_', "-");
    let is_called = |arg: &&Arg| arg.get_all_aliases().unwrap_or_default().contains(&long.as_str());
    let own = if properties.contains_key(key) {
        key.to_owned()
    } else if let Some(arg) = command.get_arguments().find(is_called) {
        key_of(arg)
    } else {
        let opposite = format!("no_{key}");
        return match (properties.contains_key(&opposite), value) {
            (true, Value::Bool(value)) => Ok((opposite, Value::Bool(!value))),
            (true, _) => Err(wrong(format!("`{key}` is true or false"))),
            (false, _) => Err(unknown(command, properties, key)),
        };
    };
    let kinds = properties.get(&own).map(kinds).unwrap_or_default();
    let takes = |kind: &str| kinds.iter().any(|known| known == kind);
    let kind = kind(value);
    if takes(kind) || kind == "integer" && takes("number") {
        return Ok((own, value.clone()));
    }
    if takes("array") {
        return Ok((own, Value::Array(vec![value.clone()])));
    }
    let words = |kind: &String| match kind.as_str() {
        "boolean" => Some("true or false"),
        "integer" => Some("an integer"),
        "number" => Some("a number"),
        "string" => Some("a string"),
        "object" => Some("an object"),
        _ => None,
    };
    let words: Vec<&str> = kinds.iter().filter_map(words).collect();
    match words.as_slice() {
        ["true or false"] => Err(wrong(format!("`{key}` is true or false"))),
        _ => Err(wrong(format!("`{key}` takes {}, not {value}", words.join(" or ")))),
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// Returns the JSON types of a property.
fn kinds(property: &Value) -> Vec<String> {
    let mut found = Vec::new();
    let mut add = |name: &str| {
        if !found.iter().any(|known| known == name) {
            found.push(name.to_owned());
        }
    };
    match &property["type"] {
        Value::String(name) => add(name),
        Value::Array(names) => names.iter().filter_map(Value::as_str).for_each(&mut add),
        _ => {}
    }
    for value in property["enum"].as_array().into_iter().flatten().chain(property.get("const")) {
        add(kind(value));
    }
    for below in ["oneOf", "anyOf"].iter().filter_map(|key| property[*key].as_array()).flatten() {
        for name in kinds(below) {
            add(&name);
        }
    }
    found
}

fn refuse_conflicts(command: &Command, given: &Map<String, Value>) -> Result<(), Diagnostic> {
    let is_given = |arg: &&Arg| given.get(&key_of(arg)).is_some_and(|value| *value != Value::Bool(false));
    let all: Vec<&Arg> = command.get_arguments().filter(is_given).collect();
    for arg in &all {
        let against = command.get_arg_conflicts_with(arg);
        let other = all.iter().find(|other| against.iter().any(|arg| arg.get_id() == other.get_id()));
        if let Some(other) = other {
            return Err(wrong(format!("`{}` cannot be used with `{}`", key_of(arg), key_of(other))));
        }
    }
    Ok(())
}

fn unknown(command: &Command, properties: &Map<String, Value>, key: &str) -> Diagnostic {
    let problem = wrong(format!("unknown option `{key}` for {}", command.get_name()));
    let is_flag = |name: &str| {
        let mut args = command.get_arguments();
        args.any(|arg| key_of(arg) == name && matches!(arg.get_action(), ArgAction::SetTrue))
    };
    let names = properties.keys().flat_map(|name| {
        let opposite = name.strip_prefix("no_").filter(|_| is_flag(name));
        [Some(name.as_str()), opposite].into_iter().flatten()
    });
    match nearest(key, names) {
        Some(near) => problem.help(format!("did you mean `{near}`?")),
        None => problem.help("docs/options.md lists the options of each command"),
    }
}

/// Returns the name among `names` that is most similar to `name`.
pub fn nearest<'n>(name: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let likeness = |known: &'n str| (strsim::jaro(known, name), known);
    let near = names.into_iter().map(likeness).filter(|(likeness, _)| *likeness > 0.75);
    near.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, known)| known)
}

#[cfg(test)]
mod tests {
    use clap::FromArgMatches as _;
    use onnxport_core::optimise::Level;
    use serde_json::json;

    use super::*;
    use crate::{Hosted, OptimizeRequest};

    type Job = Hosted<OptimizeRequest>;

    fn job(object: Value) -> Result<Job, String> {
        let Value::Object(mut object) = object else { panic!("an object") };
        object.entry("model").or_insert("a.onnx".into());
        read("optimize", &object).map_err(|problem| problem.message)
    }

    fn command() -> Command {
        Job::augment_args(Command::new("optimize").no_binary_name(true))
    }

    /// The job of a command line.
    fn line(words: &[&str]) -> Job {
        let matches = command().try_get_matches_from(words).expect("a command line");
        Job::from_arg_matches(&matches).expect("a job")
    }

    #[test]
    fn keys_are_the_names_of_options() {
        let mut command = command();
        command.build();
        let mut names: Vec<String> =
            command.get_arguments().filter(|arg| arg.get_id() != "help").map(key_of).collect();
        let mut keys: Vec<String> = properties::<Job>().keys().cloned().collect();
        names.sort();
        keys.sort();
        assert_eq!(keys, names);
        assert!(properties::<Job>().values().all(|property| property["description"].is_string()));
    }

    #[test]
    fn a_command_line_and_an_object_are_the_same_request() {
        let plain = job(json!({ "output": "b.onnx" })).unwrap();
        assert_eq!(plain, line(&["a.onnx", "-o", "b.onnx"]));
        assert_eq!(plain.request, OptimizeRequest::new("a.onnx", "b.onnx"));
        let words = "a.onnx --emit --optimize 1 --skip-rule a --skip-rule b --outline 3 --fold-budget 1KiB --inline small \
                     --external-data inline --verify --draw x=ones --rtol 0.5 --timeout 2 --use a=b --plugin-option a.b=c \
                     --target onnx --max-memory 1GB --on-plugin-panic stop";
        let object = json!({
            "emit": true, "optimize": 1, "skip_rule": ["a", "b"], "outline": 3, "fold_budget": 1024, "inline": "small",
            "external_data": "inline", "verify": true, "draw": "x=ones", "rtol": 0.5, "timeout": 2, "use": ["a=b"],
            "plugin_option": "a.b=c", "target": "onnx", "max_memory": "1GB", "on_plugin_panic": "stop", "seed": null,
        });
        let both = job(object).unwrap();
        assert_eq!(both, line(&words.split_whitespace().collect::<Vec<_>>()));
        let Value::Object(written) = serde_json::to_value(&both).unwrap() else { panic!("an object") };
        assert_eq!(serde_json::from_value::<Job>(Value::Object(written)).unwrap(), both);
    }

    #[test]
    fn levels_have_several_spellings() {
        let level = |object: Value| job(object).map(|job| job.request.optimizing.level(false));
        assert_eq!(level(json!({ "emit": true, "optimise": "target" })), Ok(Level::Target));
        assert_eq!(level(json!({ "emit": true, "optimize": false })), Ok(Level::Nothing));
        assert_eq!(level(json!({ "emit": true, "optimize": true })), Ok(Level::Bounded));
        assert_eq!(level(json!({ "emit": true, "no_optimise": true })), Ok(Level::Nothing));
        assert!(
            level(json!({ "emit": true, "optimize": 3 }))
                .unwrap_err()
                .contains("the levels are 0, 1, 2, target")
        );
        let twice = level(json!({ "emit": true, "optimize": 1, "optimise": 1 }));
        assert_eq!(twice, Err("`optimize` is given twice".to_owned()));
        assert_eq!(line(&["a", "--emit", "--no-optimise"]), line(&["a", "--emit", "--no-optimize"]));
        assert_eq!(line(&["a", "--emit", "--optimise", "1"]), line(&["a", "--emit", "--optimize", "1"]));
    }

    #[test]
    fn a_named_runtime_implies_its_operators() {
        let level = |words: &[&str]| {
            let OptimizeRequest { optimizing, targeting, .. } =
                line(&[&["a", "--emit"], words].concat()).request;
            optimizing.level(targeting.names_runtime())
        };
        assert_eq!(level(&[]), Level::Bounded);
        assert_eq!(level(&["--target", "onnxruntime"]), Level::Target);
        assert_eq!(level(&["--target", "onnxruntime", "--optimize", "1"]), Level::Exact);
        assert_eq!(level(&["--target", "onnxruntime", "--no-optimize"]), Level::Nothing);
        assert_eq!(level(&["--target", "onnx"]), Level::Bounded);
    }

    #[test]
    fn what_an_option_does_not_take_is_refused_by_its_name() {
        let refused = [
            (json!({ "ouput": "b" }), "unknown option `ouput` for optimize"),
            (json!({ "emit": 1 }), "`emit` is true or false"),
            (json!({ "check_weights": 1 }), "`check_weights` is true or false"),
            (json!({ "stop_after": true }), "`stop_after` takes an integer, not true"),
            (json!({ "stop_after": -1 }), "invalid value for `stop_after`: "),
            (json!({ "rtol": -1 }), "invalid value for `rtol`: expected a number that is not negative"),
            (json!({ "inline": "most" }), "invalid value for `inline`: unknown variant `most`"),
            (json!({ "target": "nothing" }), "invalid value for `target`: "),
            (json!({ "no_optimize": true, "reorder": true }), "`reorder` cannot be used with `no_optimize`"),
            (json!({ "emit": true, "output": "b" }), "`emit` cannot be used with `output`"),
        ];
        for (object, message) in refused {
            let said = job(object).unwrap_err();
            assert!(said.starts_with(message), "{said}");
        }
        let problem = read::<Job>("optimize", &Map::new()).unwrap_err();
        assert_eq!(problem.message, "`model` is missing");
    }

    #[test]
    fn options_that_need_others_are_refused_alone() {
        use crate::Request as _;
        let check = |object: Value| job(object).unwrap().request.check().map_err(|problem| problem.message);
        assert_eq!(check(json!({ "emit": true })), Ok(()));
        assert_eq!(check(json!({})), Err("neither `output` nor `emit` is given".to_owned()));
        assert!(check(json!({ "emit": true, "outline": 1 })).is_err());
        for (key, value) in [
            ("keep_failed", json!(true)),
            ("inputs", json!("a.npz")),
            ("draw", json!("x=ones")),
            ("seed", json!(1)),
            ("rtol", json!(1)),
            ("atol", json!(1)),
        ] {
            let alone = json!({ "output": "b", key: value });
            assert_eq!(check(alone), Err(format!("`{key}` needs `verify`")));
            assert_eq!(check(json!({ "output": "b", "verify": true, key: value })), Ok(()));
        }
    }
}
