//! Quantizers of `weights/1`: the part of a weight that a plugin sees, that all parts and both written forms hold
//! its choices, and that weights share them exactly when they are the same tensor.

use onnxport_core::diagnose::Code;
use onnxport_core::host::{Host, PluginRoot};
use onnxport_core::ir::Model;
use onnxport_core::precision::{self, Form, PrecisionOptions, Scheme};
use onnxport_core::tensor::{DType, LazyTensor};

/// A plugin as an author would write it.
mod plugin {
    use onnxport_sdk::executor::Failure;
    use onnxport_sdk::weights::{Part, Quantiser, QuantiserGranule, Row, Step, Weights};

    #[derive(Default)]
    pub(super) struct Mine;

    impl Weights for Mine {
        fn quantisers(&self) -> Vec<Box<dyn Quantiser>> {
            vec![Box::new(Rows), Box::new(Named)]
        }
    }

    /// One step for all blocks of a row, and a code that is the number of its block.
    struct Rows;

    impl Quantiser for Rows {
        fn name(&self) -> &'static str {
            "rows"
        }

        fn granule(&self) -> QuantiserGranule {
            QuantiserGranule::Row
        }

        fn quantise(&self, part: &Part<'_>, row: Row<'_>) -> Result<(), Failure> {
            if part.columns != (0..part.shape[1]) || !part.rows.contains(&row.index) {
                return Err(Failure::new("this is not a whole row"));
            }
            let step = part.nearest(row.values);
            for (number, mut block) in row.blocks(part).enumerate() {
                block.put(part, step);
                block.codes[0] = part.codes().start() + number as i32;
            }
            Ok(())
        }
    }

    /// A scale that depends only on the name of the weight.
    struct Named;

    impl Quantiser for Named {
        fn name(&self) -> &'static str {
            "named"
        }

        fn quantise(&self, part: &Part<'_>, row: Row<'_>) -> Result<(), Failure> {
            let scale = match part.weight {
                "v" => 1.0,
                "w" => 2.0,
                other => return Err(Failure::new(format!("nobody knows `{other}`"))),
            };
            row.blocks(part).for_each(|mut block| block.put(part, Step { scale, zero: 0 }));
            Ok(())
        }
    }

    onnxport_sdk::export_plugin! { id: "mine", weights: Mine }
}

/// The plugin as others would have built it: with contract 1.1, with a later one whose quantisers see more, and
/// badly.
mod others {
    use std::sync::OnceLock;

    use onnxport_sdk::abi::about::{self, AboutTable};
    use onnxport_sdk::abi::weights::{self, QuantiserEntry, WeightsTable};
    use onnxport_sdk::abi::{PluginRoot, Table, Version};
    use onnxport_sdk::abi::{RSlice, RStr};

    use super::plugin;

    pub(super) static OLD: PluginRoot = PluginRoot { query: old, attach: plugin::ROOT.attach };
    pub(super) static LATER: PluginRoot = PluginRoot { query: later, attach: plugin::ROOT.attach };
    pub(super) static DEAF: PluginRoot = PluginRoot { query: deaf, attach: plugin::ROOT.attach };
    pub(super) static LATIN1: PluginRoot = PluginRoot { query: latin1, attach: plugin::ROOT.attach };

    extern "C" fn old(interface: RStr<'_>) -> Table {
        static ABOUT: OnceLock<AboutTable> = OnceLock::new();
        let version = Version { major: 1, minor: 1 };
        let full = (plugin::ROOT.query)(interface);
        match interface.get().unwrap_or_default() {
            about::INTERFACE => {
                // SAFETY: it is the answer for this table.
                let table = unsafe { full.read::<AboutTable>() }.ok().flatten().expect("the plugin's");
                Table::of(ABOUT.get_or_init(|| AboutTable { contract: version, ..table }))
            }
            weights::INTERFACE => {
                // The table before quantizers were added.
                let layout = RSlice::from_slice(&full.layout.get().expect("a layout")[..5]);
                Table { version, layout, ..full }
            }
            _ => full,
        }
    }

    extern "C" fn later(interface: RStr<'_>) -> Table {
        static TABLE: OnceLock<WeightsTable> = OnceLock::new();
        listing(interface, &TABLE, |table| WeightsTable { quantisers: Some(later_list), ..table })
    }

    extern "C" fn later_list() -> RSlice<'static, QuantiserEntry> {
        static LIST: [QuantiserEntry; 1] =
            [QuantiserEntry { name: RStr::from_str("rows"), doc: RStr::from_str(""), granule: 77 }];
        RSlice::from_slice(&LIST)
    }

    extern "C" fn deaf(interface: RStr<'_>) -> Table {
        static TABLE: OnceLock<WeightsTable> = OnceLock::new();
        listing(interface, &TABLE, |table| WeightsTable { quantise: None, ..table })
    }

    extern "C" fn latin1(interface: RStr<'_>) -> Table {
        static TABLE: OnceLock<WeightsTable> = OnceLock::new();
        listing(interface, &TABLE, |table| WeightsTable { quantisers: Some(latin1_list), ..table })
    }

    extern "C" fn latin1_list() -> RSlice<'static, QuantiserEntry> {
        static LIST: OnceLock<Vec<QuantiserEntry>> = OnceLock::new();
        RSlice::from_slice(LIST.get_or_init(|| {
            // SAFETY: none; that is the point.
            let name = unsafe { RStr::from_raw_parts(b"r\xf6ws".as_ptr(), 4) };
            vec![QuantiserEntry { name, doc: RStr::from_str(""), granule: 1 }]
        }))
    }

    /// The plugin's answer with another table of weights.
    fn listing(
        interface: RStr<'_>,
        table: &'static OnceLock<WeightsTable>,
        change: fn(WeightsTable) -> WeightsTable,
    ) -> Table {
        let full = (plugin::ROOT.query)(interface);
        if interface.get() != Ok(weights::INTERFACE) {
            return full;
        }
        // SAFETY: it is the answer for this table.
        let own = unsafe { full.read::<WeightsTable>() }.ok().flatten().expect("the plugin's");
        Table::of(table.get_or_init(|| change(own)))
    }
}

/// The sizes of the weights: the summed axis of a product, and its results.
const SHAPE: [u64; 2] = [40, 50];

fn collect(tensor: &LazyTensor, budget: usize) -> Result<Vec<u8>, Code> {
    let mut out = Vec::new();
    let len = tensor.byte_len().unwrap();
    let result = tensor.stream(0..len, budget, &mut |bytes: &[u8]| {
        out.extend_from_slice(bytes);
        Ok(())
    });
    result.map(|()| out).map_err(|error| error.code())
}

fn value(weight: usize, index: usize) -> f32 {
    (((index + weight) * 37) % 101) as f32 - 50.0
}

/// Products with the weights `v` and `w`, quantised; with `tied`, both are the same tensor.
fn quantised(scheme: &str, form: Form, tied: bool) -> Model {
    let text = "opset 21\ngraph {\n  constant %v: f32[40, 50] = ...\n  constant %w: f32[40, 50] = ...\n  \
                input %x: f32[s0, 40]\n  %y: f32[s0, 50] = MatMul(%x, %v)\n  \
                %z: f32[s0, 50] = MatMul(%x, %w)\n  output %y as y\n  output %z as z\n}\n";
    let mut model = Model::parse(text).unwrap();
    for (weight, initializer) in model.graph.initializers.iter_mut().enumerate() {
        let weight = if tied { 0 } else { weight };
        let bytes: Vec<u8> = (0..2000).flat_map(|index| value(weight, index).to_le_bytes()).collect();
        initializer.weight = true;
        initializer.data = LazyTensor::inline(DType::F32, SHAPE.to_vec(), bytes);
    }
    let scheme = Scheme { form, ..scheme.parse().unwrap() };
    let options = PrecisionOptions { quantise: Some(scheme), ..PrecisionOptions::default() };
    precision::apply(&host(&plugin::ROOT), &mut model, &options, false)
        .unwrap_or_else(|_| panic!("it is there"));
    model
}

fn host(root: &'static PluginRoot) -> Host {
    Host::new(&[root]).unwrap_or_else(|_| panic!("the plugin attaches"))
}

fn data<'a>(model: &'a Model, name: &str) -> &'a LazyTensor {
    let graph = &model.graph;
    let named = |value| graph.values[value].name.as_deref() == Some(name);
    &graph.initializers.iter().find(|initializer| named(initializer.value)).unwrap().data
}

fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b)).collect()
}

/// Numbers of 4 bits, the first one in the low half.
fn nibbles(bytes: &[u8]) -> Vec<u8> {
    bytes.iter().flat_map(|byte| [byte & 15, byte >> 4]).collect()
}

#[test]
fn all_parts_in_both_forms_hold_what_was_chosen() {
    let [columns, rows] = SHAPE.map(|extent| extent as usize);
    for kind in ["symmetric", "asymmetric"] {
        let scheme = format!("int4:block=16,{kind},by=mine/rows");
        let model = quantised(&scheme, Form::Dequantize, false);
        let read = |model: &Model, name: &str| {
            let whole = collect(data(model, name), 1 << 22).unwrap();
            // Some rows at a time.
            let least = data(model, name).least_memory() as usize;
            for budget in [least, 2 * least, 32_000] {
                assert!(collect(data(model, name), budget) == Ok(whole.clone()), "{name} in {budget} bytes");
            }
            whole
        };
        let codes = nibbles(&read(&model, "w"));
        let scales = floats(&read(&model, "w_scale"));
        assert_eq!((codes.len(), scales.len()), (rows * columns, rows * 3));
        for row in 0..rows {
            let of_row: Vec<f32> = (0..columns).map(|k| value(1, k * rows + row)).collect();
            let low = of_row.iter().fold(0f32, |a, b| a.min(*b));
            let high = of_row.iter().fold(0f32, |a, b| a.max(*b));
            let largest = if high > -low { high } else { low };
            let scale = if kind == "symmetric" { largest / -8.0 } else { (high - low) / 15.0 };
            for block in 0..3 {
                assert_eq!(scales[block * rows + row], scale, "row {row}");
                // The first code of a block says which one it is.
                let code = codes[block * 16 * rows + row];
                let first = if kind == "symmetric" { 8 } else { 0 };
                assert_eq!(code, first + block as u8, "row {row}");
            }
        }
        let other = quantised(&scheme, Form::MatMulNBits, false);
        let (packed, turned) = (nibbles(&read(&other, "w")), floats(&read(&other, "w_scale")));
        for row in 0..rows {
            for k in 0..columns {
                // `MatMulNBits` takes unsigned codes; those of symmetric ones start at -8.
                let code =
                    if kind == "symmetric" { codes[k * rows + row] ^ 8 } else { codes[k * rows + row] };
                assert_eq!(packed[row * 48 + k], code, "{row}, {k}");
                assert_eq!(turned[row * 3 + k / 16], scales[k / 16 * rows + row], "{row}, {k}");
            }
        }
        if kind == "asymmetric" {
            let zeros = nibbles(&read(&model, "w_zero_point"));
            let turned = nibbles(&read(&other, "w_zero_point"));
            for row in 0..rows {
                for block in 0..3 {
                    assert_eq!(turned[row * 4 + block], zeros[block * rows + row], "{row}, {block}");
                }
            }
        }
    }
}

#[test]
fn a_weight_has_its_name_and_the_same_tensor_the_first() {
    let scales = |model: &Model, name: &str| floats(&collect(data(model, name), 1 << 22).unwrap());
    let model = quantised("int8:block=channel,by=mine/named", Form::Dequantize, false);
    assert_eq!(scales(&model, "v_scale"), [1.0; 50]);
    assert_eq!(scales(&model, "w_scale"), [2.0; 50]);
    assert!(!data(&model, "v").same_bytes(data(&model, "w")));
    for form in [Form::Dequantize, Form::MatMulNBits] {
        let model = quantised("int8:block=16,by=mine/named", form, true);
        assert_eq!(scales(&model, "v_scale"), [1.0; 150]);
        for part in ["", "_scale"] {
            let [v, w] = ["v", "w"].map(|name| data(&model, &format!("{name}{part}")).clone());
            assert!(v.same_bytes(&w), "they are stored once");
        }
    }
}

#[test]
fn a_quantiser_that_is_missing_or_newer_than_the_host_is_refused_with_the_reason() {
    for (root, code, words) in [
        (&others::OLD, Code::WEIGHT_SCHEME, "plugin `mine` has no quantiser `rows`"),
        (&others::LATER, Code::PLUGIN_VERSION, "needs a granule that this host does not support (77)"),
    ] {
        let mut model = Model::parse("opset 21\ngraph {\n  input %x: f32[2]\n  output %x as y\n}\n").unwrap();
        let scheme = "int8:block=channel,by=mine/rows".parse().unwrap();
        let options = PrecisionOptions { quantise: Some(scheme), ..PrecisionOptions::default() };
        let report = precision::apply(&host(root), &mut model, &options, false).expect_err("it is refused");
        let problem = report.diagnostics.first().unwrap();
        assert_eq!(problem.code, code);
        assert!(problem.message.contains(words), "{}", problem.message);
    }
}

#[test]
fn lists_that_cannot_be_are_refused_before_anything_is_called() {
    for (root, words) in [
        (&others::DEAF, "plugin `mine` lists quantisers and has no function `quantise`"),
        (&others::LATIN1, "plugin `mine` lists weights with a text that is not UTF-8"),
    ] {
        let problem = Host::new(&[root]).err().expect("it is refused").diagnostics.remove(0);
        assert_eq!((problem.code, problem.message.as_str()), (Code::PLUGIN_CONTRACT, words));
    }
}
