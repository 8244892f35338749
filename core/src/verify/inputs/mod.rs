//! Calls whose inputs are given in files.

mod json;
pub(crate) mod npy;

use std::path::{Path, PathBuf};

use indexmap::IndexMap;

use super::expected::{Against, Case};
use super::{Extent, Port, Signature};
use crate::diagnose::{Code, Diagnostic, Report};
use crate::tensor::LazyTensor;
use crate::weights::WeightSet;

fn wrong(message: String) -> Diagnostic {
    Diagnostic::error(Code::RUN_INPUT, message)
}

/// Values by the names of inputs.
type Values = IndexMap<String, LazyTensor>;

impl Against {
    /// Takes the calls in the files at `paths` in the place of all others. A file (`.npz`, `.json`, or any file of
    /// weights) holds one call, whose values have the names of inputs; or several, of which each name begins with that of
    /// its call and a slash.
    ///
    /// # Errors
    /// `OP710` for a value that is lacking, of another type, or for no input; those of reading the files.
    pub fn give(&mut self, paths: &[PathBuf], signature: &Signature) -> Result<(), Report> {
        let ports: Vec<&Port> = signature.user_inputs().collect();
        // The program's names for the inputs, where it has others.
        let names: Option<Vec<String>> = self
            .cases
            .first()
            .filter(|case| case.inputs.len() == ports.len())
            .map(|case| case.inputs.iter().map(|(name, _)| name.clone()).collect());
        let mut cases: Vec<Case> = Vec::new();
        for path in paths {
            let stem = path.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
            for (name, values) in read(path, &ports)? {
                let name = name.unwrap_or_else(|| stem.clone());
                let inputs = inputs(&ports, names.as_deref(), &values).map_err(|problem| {
                    problem.note(format!("in the call `{name}` of `{}`", path.display()))
                })?;
                let same = cases.iter().filter(|case| case.name == name).count();
                let name = if same == 0 { name } else { format!("{name}-{}", cases.len() + 1) };
                cases.push(Case::new(name, inputs));
            }
        }
        (self.cases, self.made) = (cases, false);
        Ok(())
    }
}

/// The calls of a file, with their names where it has some.
fn read(path: &Path, ports: &[&Port]) -> Result<Vec<(Option<String>, Values)>, Report> {
    let of_kind = |kind: &str| path.extension().is_some_and(|extension| extension == kind);
    if of_kind("json") {
        return Ok(json::read(path, ports)?);
    }
    let values: Values = if of_kind("npz") {
        npy::read_all(path)?.into_iter().collect()
    } else {
        let set = WeightSet::open(&[path.to_owned()], None)?;
        set.names().filter_map(|name| Some((name.to_owned(), set.get(name)?.clone()))).collect()
    };
    Ok(parted(values, ports))
}

/// The values of each call: those whose names begin with that of a call belong to it.
fn parted(values: Values, ports: &[&Port]) -> Vec<(Option<String>, Values)> {
    let mut calls: IndexMap<Option<String>, Values> = IndexMap::new();
    for (name, tensor) in values {
        let is_input = ports.iter().any(|port| port.name == name);
        let (call, input) = match name.split_once('/') {
            Some((call, input)) if !is_input => (Some(call.to_owned()), input.to_owned()),
            _ => (None, name),
        };
        calls.entry(call).or_default().insert(input, tensor);
    }
    calls.into_iter().collect()
}

/// The inputs of a call in the model's order, with the names that the program has for them.
fn inputs(
    ports: &[&Port],
    names: Option<&[String]>,
    values: &Values,
) -> Result<Vec<(String, LazyTensor)>, Diagnostic> {
    let own = |at: usize| names.and_then(|names| names.get(at)).map(String::as_str);
    let is_known =
        |name: &str| ports.iter().enumerate().any(|(at, port)| port.name == name || own(at) == Some(name));
    if let Some(stranger) = values.keys().find(|name| !is_known(name)) {
        let known: Vec<&str> = ports.iter().map(|port| port.name.as_str()).collect();
        return Err(wrong(format!("the model has no input `{stranger}`"))
            .help(format!("it takes {}", known.join(", "))));
    }
    let mut inputs = Vec::new();
    for (at, port) in ports.iter().enumerate() {
        let own = own(at).unwrap_or(&port.name);
        let Some(tensor) = values.get(&port.name).or_else(|| values.get(own)) else {
            if port.optional {
                continue;
            }
            return Err(wrong(format!("no value is given for {}: {}", port.name, port.type_text())));
        };
        if !fits(port, tensor) {
            let given = crate::table::type_of(tensor);
            let message = format!("the input `{}` is {}, and {given} is given", port.name, port.type_text());
            return Err(wrong(message));
        }
        inputs.push((own.to_owned(), tensor.clone()));
    }
    Ok(inputs)
}

fn fits(port: &Port, tensor: &LazyTensor) -> bool {
    let dims = port.dims.as_deref();
    let known = |(extent, size): (&Extent, &u64)| match extent {
        Extent::Known(wanted) => u64::try_from(*wanted).is_ok_and(|wanted| wanted == *size),
        Extent::Named(_) | Extent::Unknown => true,
    };
    port.dtype.is_none_or(|dtype| dtype == tensor.dtype)
        && dims
            .is_none_or(|dims| dims.len() == tensor.shape.len() && dims.iter().zip(&tensor.shape).all(known))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::DType;

    fn signature() -> Signature {
        let port = |name: &str, dtype: DType, dims: Vec<Extent>| Port {
            name: name.to_owned(),
            dtype: Some(dtype),
            dims: Some(dims),
            optional: false,
        };
        let inputs = vec![
            port("x", DType::F32, vec![Extent::Named("batch".to_owned()), Extent::Known(2)]),
            port("n", DType::I64, vec![]),
        ];
        Signature { inputs, ..Signature::default() }
    }

    fn given(name: &str, text: &str) -> Result<Against, Report> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        let mut against = Against::default();
        against.give(&[path], &signature())?;
        Ok(against)
    }

    #[test]
    fn calls_are_read_with_the_types_of_the_model() {
        let against = given("mine.json", r#"{"x": [[1, 2.5], ["-Infinity", 4]], "n": 7}"#).unwrap();
        let [case] = &against.cases[..] else { panic!("{against:?}") };
        let (x, n) = (&case.inputs[0].1, &case.inputs[1].1);
        assert_eq!(
            (case.name.as_str(), x.dtype, x.shape.as_slice()),
            ("mine", DType::F32, [2, 2].as_slice())
        );
        let wanted: Vec<u8> =
            [1.0, 2.5, f32::NEG_INFINITY, 4.0].iter().flat_map(|x: &f32| x.to_le_bytes()).collect();
        assert_eq!(x.read().unwrap().as_ref(), wanted);
        assert_eq!((n.shape.len(), n.read().unwrap().as_ref()), (0, 7i64.to_le_bytes().as_slice()));
        let several = r#"{"first": {"x": [[1, 2]], "n": 1}, "second": {"x": [], "n": 2}}"#;
        assert!(given("mine.json", several).is_err(), "an empty list has no second axis");
        let several = r#"[{"x": [[1, 2]], "n": 1}, {"x": [[3, 4]], "n": 2}]"#;
        let names: Vec<String> =
            given("a.json", several).unwrap().cases.into_iter().map(|c| c.name).collect();
        assert_eq!(names, ["1", "2"]);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let bad = [
            r#"{"x": [[1, 2]]}"#,
            r#"{"x": [[1, 2, 3]], "n": 1}"#,
            r#"{"x": [[1, 2], [3]], "n": 1}"#,
            r#"{"x": [[1, 2]], "n": 1.5}"#,
            r#"{"x": [[1, 2]], "n": "three"}"#,
            r#"{"x": [[1, 2]], "n": 1, "y": 1}"#,
            r#"{"x": [[1, 2]], "n": true}"#,
            "[1]",
            "{",
        ];
        for text in bad {
            let report = given("m.json", text).unwrap_err();
            assert!(report.diagnostics.iter().all(|d| d.code == Code::RUN_INPUT), "{text}: {report:?}");
        }
    }

    #[test]
    fn values_whose_names_begin_with_a_call_belong_to_it() {
        let signature = signature();
        let ports: Vec<&Port> = signature.user_inputs().collect();
        let tensor = LazyTensor::inline(DType::I64, vec![], vec![0; 8]);
        let names = ["a/x", "a/n", "b/x", "b/n"];
        let values: Values = names.iter().map(|name| ((*name).to_owned(), tensor.clone())).collect();
        let calls = parted(values, &ports);
        let found: Vec<_> = calls.iter().map(|(name, values)| (name.as_deref(), values.len())).collect();
        assert_eq!(found, [(Some("a"), 2), (Some("b"), 2)]);
    }
}
