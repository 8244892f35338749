//! The archive around a decoder.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;

use serde_json::{Value, json};
use zip::write::{SimpleFileOptions, ZipWriter};

use super::Llama;
use super::graph::{Graph, INPUT, placeholder, strided, weights};
use crate::chain::archive::call_signature;
use crate::chain::graph::tensor;

/// Weights are written in pieces of this size.
const PIECE: usize = 1 << 20;

/// No hole is smaller than this.
const PAGE: usize = 4096;

pub(super) fn write(llama: &Llama, path: &Path) -> io::Result<()> {
    let mut zip = ZipWriter::new(Sparse { file: File::create(path)?, at: 0 });
    let options = SimpleFileOptions::default()
        .compression_method(zip::CompressionMethod::Stored)
        .large_file(true)
        .with_alignment(4096);
    let mut bytes = vec![0; PIECE];
    let mut state = 0;
    let mut config = serde_json::Map::new();
    for (at, (name, shape)) in weights(llama).into_iter().enumerate() {
        let file = format!("weight_{at}");
        zip.start_file(format!("llama/data/weights/{file}"), options)?;
        let mut left = 4 * shape.iter().product::<u64>() as usize;
        if !llama.filled {
            // Equal weights would be stored once.
            let mut page = [0; PAGE];
            page[..4].copy_from_slice(&(at as f32).to_le_bytes());
            let page = &page[..left.min(PAGE)];
            zip.write_all(page)?;
            left -= page.len();
        }
        while left > 0 {
            if llama.filled {
                fill(&mut state, &mut bytes);
            }
            let piece = &bytes[..left.min(PIECE)];
            zip.write_all(piece)?;
            left -= piece.len();
        }
        let payload = json!({
            "path_name": file, "is_param": true, "use_pickle": false, "tensor_meta": strided(&shape, &llama.strides(&name, &shape)),
        });
        config.insert(name, payload);
    }
    let config = json!({ "config": config }).to_string();
    let program = program(llama).to_string();
    let entries = [
        ("data/weights/model_weights_config.json", config.as_bytes()),
        ("data/constants/model_constants_config.json", br#"{"config": {}}"#),
        ("data/sample_inputs/model.pt", b""),
        ("models/model.json", program.as_bytes()),
        ("archive_format", b"pt2"),
        ("archive_version", b"0"),
        ("byteorder", b"little"),
        (".data/version", b"6\n"),
    ];
    for (name, bytes) in entries {
        zip.start_file(format!("llama/{name}"), options)?;
        zip.write_all(bytes)?;
    }
    zip.finish()?.close()
}

/// Numbers between -2 and 2 that look random and are always the same.
fn fill(state: &mut u64, bytes: &mut [u8]) {
    for pair in bytes.as_chunks_mut::<8>().0 {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let mixed = *state ^ (*state >> 29);
        // Without the upper bit of their exponents.
        *pair = (mixed & 0xbfff_ffff_bfff_ffff).to_le_bytes();
    }
}

fn program(llama: &Llama) -> Value {
    let graph = Graph::of(llama);
    let weights = weights(llama);
    let parameters = weights.iter().map(
        |(name, _)| json!({ "parameter": { "arg": { "name": placeholder(name) }, "parameter_name": name } }),
    );
    let user = json!({ "user_input": { "arg": tensor(INPUT) } });
    let specs: Vec<Value> = parameters.chain([user]).collect();
    let inputs = weights.iter().map(|(name, _)| tensor(&placeholder(name)));
    let inputs: Vec<Value> = inputs.chain([tensor(INPUT)]).collect();
    let output = tensor(&graph.output);
    json!({
        "graph_module": {
            "graph": {
                "inputs": inputs,
                "outputs": [output],
                "nodes": graph.nodes,
                "tensor_values": graph.types,
                "sym_int_values": {},
                "sym_bool_values": {},
                "is_single_tensor_return": false,
                "custom_obj_values": {},
                "sym_float_values": {},
            },
            "signature": {
                "input_specs": specs,
                "output_specs": [{ "user_output": { "arg": output } }],
            },
            "module_call_graph": [{ "fqn": "", "signature": call_signature() }],
            "metadata": {},
            "treespec_namedtuple_fields": {},
        },
        "opset_version": { "aten": 10 },
        "range_constraints": {},
        "schema_version": { "major": 8, "minor": 20 },
        "verifiers": ["TRAINING"],
        "torch_version": "2.15.0",
        "guards_code": [],
    })
}

/// A file in which long runs of zeros are holes.
struct Sparse {
    file: File,
    at: u64,
}

impl Sparse {
    /// Extends the file to the length written, in case it ends in a hole.
    fn close(mut self) -> io::Result<()> {
        let end = self.file.seek(SeekFrom::End(0))?.max(self.at);
        self.file.set_len(end)
    }
}

impl Write for Sparse {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let hole = bytes.len() >= PAGE && bytes.iter().all(|byte| *byte == 0);
        let written = if hole {
            self.file.seek(SeekFrom::Current(bytes.len() as i64))?;
            bytes.len()
        } else {
            self.file.write(bytes)?
        };
        self.at += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Seek for Sparse {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.at = self.file.seek(to)?;
        Ok(self.at)
    }
}
