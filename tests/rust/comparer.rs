//! `compare/1`: a comparer's metrics equal the host's, and contradictory ones are refused.

use onnxport_core::compare::{Chosen, Comparer, Difference, Tolerance, compare};
use onnxport_core::diagnose::Code;
use onnxport_core::host::Host;
use onnxport_core::tensor::DType;

/// A comparer of float32 as an author would write it; the name of the output says how it errs.
mod plugin {
    use onnxport_sdk::comparer::{Comparer, Comparison, Metrics, Pair};
    use onnxport_sdk::executor::{Failure, Options};
    use onnxport_sdk::prelude::DType;

    pub(super) struct Floats;

    pub(super) struct Running {
        name: String,
        rtol: f64,
        atol: Box<dyn Fn(f64) -> f64>,
        found: Metrics,
        squares: f64,
        products: [f64; 3],
    }

    fn floats(bytes: &[u8]) -> impl Iterator<Item = f64> {
        bytes.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]).into())
    }

    impl Comparer for Floats {
        const NAME: &'static str = "floats";
        type Comparison = Running;

        fn open(_: Options<'_>) -> Result<Self, Failure> {
            Ok(Self)
        }

        fn begin(&mut self, pair: Pair<'_>) -> Result<Running, Failure> {
            if pair.dtype() != Some(DType::F32) {
                return Err(Failure::new("only float32 is compared").unsupported());
            }
            let unit = pair.atol(0.0);
            let limit = pair.atol(f64::INFINITY);
            let found = Metrics {
                elements: 0,
                wrong: 0,
                first: None,
                max_abs: 0.0,
                max_rel: 0.0,
                largest: 0.0,
                rms: 0.0,
                cosine: 1.0,
            };
            Ok(Running {
                name: pair.name().to_owned(),
                rtol: pair.rtol(),
                atol: Box::new(move |largest| (unit * largest).clamp(unit, limit)),
                found,
                squares: 0.0,
                products: [0.0; 3],
            })
        }
    }

    impl Comparison for Running {
        fn scan(&mut self, expected: &[u8]) -> Result<(), Failure> {
            let largest = floats(expected).filter(|e| e.is_finite()).map(f64::abs);
            self.found.largest = largest.fold(self.found.largest, f64::max);
            Ok(())
        }

        fn chunk(&mut self, got: &[u8], expected: &[u8]) -> Result<(), Failure> {
            assert!(self.name != "panics", "out of cheese");
            let atol = (self.atol)(self.found.largest);
            for (got, expected) in floats(got).zip(floats(expected)) {
                let difference = (got - expected).abs();
                self.found.max_abs = self.found.max_abs.max(difference);
                if expected.abs() > atol {
                    self.found.max_rel = self.found.max_rel.max(difference / expected.abs());
                }
                if difference > atol + self.rtol * expected.abs() {
                    self.found.first.get_or_insert(self.found.elements);
                    self.found.wrong += 1;
                }
                self.found.elements += 1;
                self.squares += difference * difference;
                for (sum, term) in
                    self.products.iter_mut().zip([got * expected, got * got, expected * expected])
                {
                    *sum += term;
                }
            }
            Ok(())
        }

        fn finish(&mut self) -> Result<Metrics, Failure> {
            let mut found = self.found;
            let [product, got, expected] = self.products;
            found.rms = (self.squares / found.elements as f64).sqrt();
            found.cosine = product / (got.sqrt() * expected.sqrt());
            match self.name.as_str() {
                "short" => found.elements -= 1,
                "nowhere" => found.first = None,
                _ => {}
            }
            Ok(found)
        }
    }

    onnxport_sdk::export_plugin! { id: "floats", comparer: Floats }
}

/// `rows` times a thousand numbers; the last three are wrong.
fn tensors(rows: u64) -> (Vec<u8>, Vec<u8>) {
    let count = rows as usize * 1000;
    let expected: Vec<f32> = (0..count).map(|n| ((n % 1013) as f32 - 500.0) / 7.0).collect();
    let mut got: Vec<f32> = expected.iter().map(|x| x * 1.000_01).collect();
    for wrong in &mut got[count - 3..] {
        *wrong += 1.0;
    }
    let bytes = |values: Vec<f32>| values.into_iter().flat_map(f32::to_le_bytes).collect();
    (bytes(got), bytes(expected))
}

fn by_plugin(name: &str, got: &[u8], expected: &[u8]) -> Result<Difference, (Code, String)> {
    let host = Host::new(&[&plugin::ROOT]).expect("the plugin attaches");
    let comparer = Comparer::open(&host, "floats", &[]).expect("it opens");
    let tolerance = Tolerance::of(DType::F32);
    let shape = [expected.len() as u64 / 4000, 1000];
    let found = comparer.compare(name, DType::F32, &shape, got, expected, tolerance);
    found.map_err(|problem| (problem.code, problem.message))
}

#[test]
fn a_plugin_compares_as_the_host_does() {
    // More than one chunk.
    let (got, expected) = tensors(2200);
    let ours = compare(DType::F32, &[2200, 1000], &got, &expected, Tolerance::of(DType::F32));
    let theirs = by_plugin("y", &got, &expected).expect("it compares");
    assert_eq!(ours.wrong, 3);
    assert_eq!(ours.first.as_ref().map(|first| first.index.as_slice()), Some([2199, 997].as_slice()));
    // The plugin sums in another order, and does not say how differences are spread.
    assert!((theirs.rms - ours.rms).abs() < 1e-9 && (theirs.cosine - ours.cosine).abs() < 1e-9);
    let Difference { rms, cosine, .. } = theirs;
    assert_eq!(theirs, Difference { rms, cosine, spread: None, ..ours });
}

#[test]
fn what_cannot_be_is_refused() {
    let (got, expected) = tensors(3);
    let (code, text) = by_plugin("short", &got, &expected).expect_err("it lost an element");
    let words = "plugin `floats` compared 2999 elements of 3000 and found 3 wrong ones";
    assert_eq!((code, text.as_str()), (Code::PLUGIN_CONTRACT, words));
    let (code, _) = by_plugin("nowhere", &got, &expected).expect_err("wrong ones are nowhere");
    assert_eq!(code, Code::PLUGIN_CONTRACT);
    let (code, text) = by_plugin("panics", &got, &expected).expect_err("it panics");
    assert_eq!(code, Code::PLUGIN_PANIC);
    assert!(text.starts_with("floats panicked: out of cheese"), "{text}");
}

#[test]
fn a_comparer_must_exist_and_know_the_type() {
    let host = Host::new(&[&plugin::ROOT]).expect("the plugin attaches");
    let missing = Comparer::open(&host, "nobody", &[]).err().expect("there is none");
    assert_eq!(missing.code, Code::VERIFY_COMPARER);
    assert_eq!(missing.help.as_deref(), Some("there are floats"));
    let comparer = Comparer::open(&host, "floats", &[]).expect("it opens");
    let bytes = 1_i64.to_le_bytes();
    let refused = comparer.compare("y", DType::I64, &[1], &bytes, &bytes, Tolerance::EXACT);
    assert_eq!(refused.expect_err("integers").message, "only float32 is compared");
}

#[test]
fn the_host_compares_what_a_plugin_does_not_where_it_may() {
    let host = Host::new(&[&plugin::ROOT]).expect("the plugin attaches");
    let (got, expected) = (5_i64.to_le_bytes(), 7_i64.to_le_bytes());
    let compared = |chosen: &Chosen, name: &str, dtype: DType| {
        let shape = [8 / u64::from(dtype.bits() / 8)];
        chosen.compare(name, dtype, &shape, &got, &expected, Tolerance::EXACT)
    };
    let strict = Chosen::open(&host, "floats", &[], false).expect("it opens");
    let refused = compared(&strict, "y", DType::I64).expect_err("integers");
    assert_eq!(refused.message, "only float32 is compared");
    assert!(strict.reasons().is_empty());
    let lenient = Chosen::open(&host, "floats", &[], true).expect("it opens");
    let by_plugin = compared(&lenient, "y", DType::F32).expect("floats");
    assert_eq!(by_plugin.spread, None, "the plugin does not say how differences are spread");
    for _ in 0..2 {
        let found = compared(&lenient, "y", DType::I64).expect("the host compares");
        assert_eq!(found, compare(DType::I64, &[1], &got, &expected, Tolerance::EXACT));
    }
    // An impossible answer is a fault of the plugin, and no tolerance covers it.
    let lie = compared(&lenient, "short", DType::F32).expect_err("it lost an element");
    assert_eq!(lie.code, Code::PLUGIN_CONTRACT);
    let reasons: Vec<_> = lenient.reasons().into_iter().map(|reason| (reason.code, reason.message)).collect();
    assert_eq!(reasons, [(Code::VERIFY_COMPARER, "only float32 is compared".to_owned())]);
    // A name that nobody has is a slip of the user's.
    let missing = Chosen::open(&host, "nobody", &[], true).err().expect("there is none");
    assert_eq!(missing.code, Code::VERIFY_COMPARER);
}
