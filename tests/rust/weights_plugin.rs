//! `weights/1`: tensors and transforms of a plugin, and its failures.

use std::time::Duration;

use onnxport_core::diagnose::{Code, Report};
use onnxport_core::host::{Host, watch};
use onnxport_core::ir::Model;
use onnxport_core::precision::{self, Patterns, PluginTransform, PrecisionOptions};
use onnxport_core::tensor::{DType, LazyTensor};
use onnxport_core::weights::WeightSet;

/// A plugin as an author would write it.
mod plugin {
    use onnxport_sdk::executor::Failure;
    use onnxport_sdk::prelude::DType;
    use onnxport_sdk::weights::{Granule, Tensor, Transform, Weights};

    #[derive(Default)]
    pub(super) struct Mine;

    impl Weights for Mine {
        fn tensors(&self) -> Vec<Tensor> {
            let tensor = |name: &str, shape: &[u64]| Tensor {
                name: name.to_owned(),
                dtype: DType::U16,
                shape: shape.to_vec(),
            };
            vec![tensor("counted", &[300, 1000]), tensor("missing", &[2])]
        }

        fn fill(&self, tensor: usize, offset: u64, out: &mut [u8]) -> Result<(), Failure> {
            if tensor == 1 {
                return Err(Failure::new("the server is down").help("try again"));
            }
            for (at, byte) in (offset..).zip(out) {
                *byte = (((at / 2) % 65521) >> (8 * (at % 2))) as u8;
            }
            Ok(())
        }

        fn transforms(&self) -> Vec<Box<dyn Transform>> {
            vec![Box::new(Reverse), Box::new(Sums), Box::new(Panics), Box::new(Waits)]
        }
    }

    /// Turns every row of f32 around.
    struct Reverse;

    impl Transform for Reverse {
        fn name(&self) -> &'static str {
            "reverse"
        }

        fn granule(&self) -> Granule {
            Granule::Row
        }

        fn output(&self, dtype: DType, shape: &[u64]) -> Option<(DType, Vec<u64>)> {
            (dtype == DType::F32).then(|| (dtype, shape.to_vec()))
        }

        fn apply(
            &self,
            _: DType,
            shape: &[u64],
            _: u64,
            bytes: &[u8],
            out: &mut [u8],
        ) -> Result<(), Failure> {
            let row = 4 * shape[shape.len() - 1] as usize;
            for (from, to) in bytes.chunks(row).zip(out.chunks_mut(row)) {
                for (from, to) in from.chunks(4).rev().zip(to.chunks_mut(4)) {
                    to.copy_from_slice(from);
                }
            }
            Ok(())
        }
    }

    /// Rounds f32 to whole numbers of 8 bits, in blocks of 7, and adds the number of the block.
    struct Sums;

    impl Transform for Sums {
        fn name(&self) -> &'static str {
            "round"
        }

        fn granule(&self) -> Granule {
            Granule::Block(7)
        }

        fn output(&self, _: DType, shape: &[u64]) -> Option<(DType, Vec<u64>)> {
            Some((DType::I8, shape.to_vec()))
        }

        fn apply(
            &self,
            _: DType,
            _: &[u64],
            first: u64,
            bytes: &[u8],
            out: &mut [u8],
        ) -> Result<(), Failure> {
            for (i, (from, to)) in bytes.chunks(4).zip(out).enumerate() {
                let value = f32::from_le_bytes([from[0], from[1], from[2], from[3]]);
                *to = (value as i8).wrapping_add((first as usize + i / 7) as i8) as u8;
            }
            Ok(())
        }
    }

    struct Panics;

    impl Transform for Panics {
        fn name(&self) -> &'static str {
            "panics"
        }

        fn granule(&self) -> Granule {
            Granule::Whole
        }

        fn output(&self, dtype: DType, shape: &[u64]) -> Option<(DType, Vec<u64>)> {
            Some((dtype, shape.to_vec()))
        }

        fn apply(&self, _: DType, _: &[u64], _: u64, _: &[u8], _: &mut [u8]) -> Result<(), Failure> {
            panic!("out of cheese")
        }
    }

    /// Never comes back.
    struct Waits;

    impl Transform for Waits {
        fn name(&self) -> &'static str {
            "waits"
        }

        fn granule(&self) -> Granule {
            Granule::Row
        }

        fn output(&self, dtype: DType, shape: &[u64]) -> Option<(DType, Vec<u64>)> {
            Some((dtype, shape.to_vec()))
        }

        fn apply(&self, _: DType, _: &[u64], _: u64, _: &[u8], _: &mut [u8]) -> Result<(), Failure> {
            loop {
                std::thread::park();
            }
        }
    }

    onnxport_sdk::export_plugin! { id: "mine", weights: Mine }
}

fn host() -> Host {
    Host::new(&[&plugin::ROOT]).unwrap_or_else(|_| panic!("the plugin attaches"))
}

fn collect(tensor: &LazyTensor, budget: usize) -> Result<Vec<u8>, Code> {
    let mut out = Vec::new();
    let len = tensor.byte_len().unwrap();
    let result = tensor.stream(0..len, budget, &mut |bytes: &[u8]| {
        out.extend_from_slice(bytes);
        Ok(())
    });
    result.map(|()| out).map_err(|error| error.code())
}

fn floats(count: usize) -> Vec<f32> {
    (0..count).map(|n| (n % 101) as f32 - 50.0).collect()
}

/// A product with a weight of 40 rows of 50, changed by `transform`.
fn changed(transform: &str, pattern: &str) -> Result<Model, Report> {
    let text = "opset 20\ngraph {\n  constant %w: f32[40, 50] = ...\n  input %x: f32[s0, 40]\n  \
                %y: f32[s0, 50] = MatMul(%x, %w)\n  output %y as y\n}\n";
    let mut model = Model::parse(text).unwrap();
    let bytes: Vec<u8> = floats(2000).iter().flat_map(|v| v.to_le_bytes()).collect();
    let initializer = &mut model.graph.initializers[0];
    initializer.weight = true;
    initializer.data = LazyTensor::inline(DType::F32, vec![40, 50], bytes);
    let transform = PluginTransform {
        plugin: "mine".to_owned(),
        name: transform.to_owned(),
        only: Patterns::new([pattern.to_owned()]),
    };
    let options = PrecisionOptions { transforms: vec![transform], ..PrecisionOptions::default() };
    precision::known(&model, &options)?;
    precision::apply(&host(), &mut model, &options, false).map(|_| model)
}

#[test]
fn a_plugin_makes_tensors_piece_by_piece() {
    let mut set = WeightSet::default();
    set.insert_plugin(&host(), "mine").unwrap_or_else(|_| panic!("the plugin makes tensors"));
    assert_eq!(set.names().collect::<Vec<_>>(), ["counted", "missing"]);
    let counted = set.get("counted").unwrap();
    let expected: Vec<u8> = (0..300_000u32).flat_map(|n| ((n % 65521) as u16).to_le_bytes()).collect();
    for budget in [1000, 1 << 24] {
        assert!(collect(counted, budget) == Ok(expected.clone()));
    }
    let turned = counted.permute(&[1, 0]).unwrap().slice(0, 0, 3, 1).unwrap();
    let bytes = collect(&turned, 1 << 20).unwrap();
    assert_eq!(bytes[2..4], 1000u16.to_le_bytes());
    assert_eq!(collect(set.get("missing").unwrap(), 1 << 20), Err(Code::WEIGHT_PLUGIN));
    assert_eq!(set.insert_plugin(&host(), "mine").unwrap_err().diagnostics[0].code, Code::WEIGHTS_TWICE);
    assert_eq!(set.insert_plugin(&host(), "nobody").unwrap_err().diagnostics[0].code, Code::WEIGHT_SCHEME);
}

#[test]
fn a_plugin_changes_weights_piece_by_piece() {
    let model = changed("reverse", "w").unwrap_or_else(|_| panic!("it takes f32"));
    let expected: Vec<u8> = floats(2000)
        .chunks(50)
        .flat_map(|row| row.iter().rev().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>())
        .collect();
    let data = &model.graph.initializers[0].data;
    assert_eq!(collect(data, 1000), Ok(expected.clone()), "a row and its result take 400 bytes");
    assert_eq!(collect(data, 1 << 20), Ok(expected));
    assert_eq!(collect(data, 300), Err(Code::WEIGHT_BUDGET));

    let model = changed("round", "*").unwrap_or_else(|_| panic!("it takes f32"));
    let ops: Vec<&str> =
        model.graph.order(model.graph.main()).map(|n| model.graph.nodes[n].op.as_str()).collect();
    assert_eq!(ops, ["Cast", "MatMul"], "another type is cast back");
    let expected: Vec<u8> =
        floats(2000).iter().enumerate().map(|(i, v)| (*v as i8).wrapping_add((i / 7) as i8) as u8).collect();
    for budget in [200, 1 << 20] {
        assert_eq!(collect(&model.graph.initializers[0].data, budget), Ok(expected.clone()));
    }
}

#[test]
fn a_plugin_that_fails_is_named() {
    let code = |transform, pattern| changed(transform, pattern).unwrap_err().diagnostics[0].code.clone();
    assert_eq!(code("nothing", "*"), Code::WEIGHT_SCHEME);
    assert_eq!(code("reverse", "v"), Code::WEIGHT_PATTERN);
    let model = changed("panics", "w").unwrap_or_else(|_| panic!("it takes everything"));
    let data = &model.graph.initializers[0].data;
    assert_eq!(collect(data, 1 << 20), Err(Code::PLUGIN_PANIC));
    assert_eq!(collect(data, 1 << 20), Err(Code::PLUGIN_PANIC), "and is not called again");
}

#[test]
fn one_that_does_not_come_back_is_named() {
    // Several pieces at a time, on threads of a pool.
    let work = || {
        let model = changed("waits", "w").unwrap_or_else(|_| panic!("it takes everything"));
        collect(&model.graph.initializers[0].data, 4000)
    };
    let problem = watch::run(Some(Duration::from_millis(100)), work).expect_err("it waits forever");
    assert_eq!(problem.code, Code::PLUGIN_TIMEOUT);
    assert!(problem.message.starts_with("plugin `mine` did not finish "), "{}", problem.message);
}
