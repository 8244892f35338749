//! The archive around a chain: its signature, its weights, and the zip file.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use serde_json::{Value, json};
use zip::write::{SimpleFileOptions, ZipWriter};

use super::graph::{Graph, SIZE, STATE, WIDTH, batch, parameter, tensor, tensor_meta};

/// The alignment of payloads.
const ALIGNMENT: u16 = 64;

pub(super) fn write(graph: &Graph, path: &Path) -> io::Result<()> {
    let mut zip = ZipWriter::new(BufWriter::new(File::create(path)?));
    let options = SimpleFileOptions::default()
        .compression_method(zip::CompressionMethod::Stored)
        .with_alignment(ALIGNMENT);
    let mut entry = |name: &str, bytes: &[u8]| -> io::Result<()> {
        zip.start_file(format!("chain/{name}"), options)?;
        zip.write_all(bytes)
    };
    let mut config = serde_json::Map::new();
    for (at, (name, value)) in weights(graph).enumerate() {
        let file = format!("weight_{at}");
        entry(&format!("data/weights/{file}"), &value.to_le_bytes().repeat(WIDTH))?;
        let payload = payload(&file, name != "state");
        config.insert(name, payload);
    }
    let config = json!({ "config": config }).to_string();
    entry("data/weights/model_weights_config.json", config.as_bytes())?;
    entry("data/constants/model_constants_config.json", br#"{"config": {}}"#)?;
    entry("data/sample_inputs/model.pt", b"")?;
    entry("models/model.json", program(graph).as_bytes())?;
    entry("archive_format", b"pt2")?;
    entry("archive_version", b"0")?;
    entry("byteorder", b"little")?;
    entry(".data/version", b"6\n")?;
    zip.finish()?.flush()
}

/// The module's names of its tensors, and the value that fills each.
fn weights(graph: &Graph) -> impl Iterator<Item = (String, f32)> {
    let bias = |block: usize| (format!("blocks.{block}.bias"), (block % 7) as f32 / 8.0 - 0.25);
    (0..graph.blocks).map(bias).chain([("state".to_owned(), 0.0)])
}

fn payload(file: &str, is_param: bool) -> Value {
    json!({
        "path_name": file,
        "is_param": is_param,
        "use_pickle": false,
        "tensor_meta": tensor_meta(&json!([{ "as_int": WIDTH }]), &json!([{ "as_int": 1 }])),
    })
}

/// The program's JSON. The long lists of the graph are text already, and are put in at the end.
fn program(graph: &Graph) -> String {
    let names: Vec<String> =
        (0..graph.blocks).map(parameter).chain([STATE.to_owned(), "x".to_owned()]).collect();
    let inputs: Vec<Value> = names.iter().map(|name| tensor(name)).collect();
    let output = tensor(&graph.output);
    let document = json!({
        "graph_module": {
            "graph": {
                "inputs": inputs,
                "outputs": [output],
                "nodes": ["@nodes"],
                "tensor_values": { "@types": null },
                "sym_int_values": { SIZE: { "as_expr": batch() } },
                "sym_bool_values": {},
                "is_single_tensor_return": false,
                "custom_obj_values": {},
                "sym_float_values": {},
            },
            "signature": {
                "input_specs": input_specs(&names, graph.blocks),
                "output_specs": [{ "user_output": { "arg": output } }],
            },
            "module_call_graph": [{ "fqn": "", "signature": call_signature() }],
            "metadata": {},
            "treespec_namedtuple_fields": {},
        },
        "opset_version": { "aten": 10 },
        "range_constraints": { "s77": { "min_val": 0, "max_val": null } },
        "schema_version": { "major": 8, "minor": 20 },
        "verifiers": ["TRAINING"],
        "torch_version": "2.15.0",
        "guards_code": [],
    });
    let document = document.to_string();
    document.replacen("\"@nodes\"", &graph.nodes, 1).replacen("\"@types\":null", &graph.types, 1)
}

/// The parameters, the buffer and the user's input.
fn input_specs(names: &[String], parameters: usize) -> Vec<Value> {
    let spec = |(at, name): (usize, &String)| match name.as_str() {
        STATE => json!({ "buffer": { "arg": { "name": name }, "buffer_name": "state", "persistent": true } }),
        _ if at < parameters => json!({
            "parameter": { "arg": { "name": name }, "parameter_name": format!("blocks.{at}.bias") },
        }),
        _ => json!({ "user_input": { "arg": tensor(name) } }),
    };
    names.iter().enumerate().map(spec).collect()
}

/// One positional argument, one result.
pub(crate) fn call_signature() -> Value {
    let leaf = json!({ "type": null, "context": null, "children_spec": [] });
    let tuple = json!({ "type": "builtins.tuple", "context": "null", "children_spec": [leaf] });
    let dict = json!({ "type": "builtins.dict", "context": "[]", "children_spec": [] });
    let call = json!({ "type": "builtins.tuple", "context": "null", "children_spec": [tuple, dict] });
    json!({
        "inputs": [],
        "outputs": [],
        "in_spec": json!([1, call]).to_string(),
        "out_spec": json!([1, leaf]).to_string(),
        "forward_arg_names": ["x"],
    })
}
