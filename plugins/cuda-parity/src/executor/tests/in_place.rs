//! Comparisons on the device, against those of the host for the same values.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use onnxport_core::bisect::{Found, Options, Reference, bisect};
use onnxport_core::compare::Difference;
use onnxport_core::host::Host;
use onnxport_core::verify::{Executor as Plugin, Runtime};
use onnxport_core::write::{WriteOptions, write};
use onnxport_ir::ir::Model;
use onnxport_ir::ir::import::import;
use onnxport_ir::ops::Limits;
use onnxport_sdk::executor::{Executor, Failure};

use super::{Emulated, Engine};
use crate::executor::report::Report;
use crate::executor::session::{Loaded, failure};

onnxport_sdk::export_plugin! { id: "emulated", executor: Device }

/// The executor on the emulated device.
struct Device(std::rc::Rc<std::cell::RefCell<Report>>);

impl Executor for Device {
    const NAME: &'static str = "emulated";
    type Session = Loaded;

    fn open(_: onnxport_sdk::executor::Options<'_>) -> Result<Self, Failure> {
        Ok(Self(std::rc::Rc::default()))
    }

    fn describe(&self) -> String {
        self.0.borrow().describe()
    }

    fn load(&mut self, path: &Path) -> Result<Loaded, Failure> {
        self.load_with(path, &[])
    }

    fn load_with(&mut self, path: &Path, values: &[&str]) -> Result<Loaded, Failure> {
        let device = Box::new(Emulated::new(4).map_err(failure)?);
        let engine = Engine::new(device, Some(1 << 20), Limits::default()).map_err(failure)?;
        let model = import(path).map_err(|why| Failure::new(why.message))?;
        Loaded::new(model, engine, values, self.0.clone())
    }
}

/// A model with values of several types and a shape, which adds `bias` to exponentials.
fn model(folder: &Path, name: &str, bias: f32) -> PathBuf {
    let text = format!(
        "opset 20\ngraph {{\n  input %x: f32[3, 50]\n  constant %b: f32[] = [{bias}]\n  constant %k: i64[1] = [2]\n  \
         constant %zero: i64[] = [0]\n  %e: f32[3, 50] = Exp(%x)\n  %s: f32[3, 50] = Add(%e, %b)\n  \
         %n: i64[2] = Shape(%s)\n  %o: i64[] = Gather(%n, %zero)\n  %h: f16[3, 50] = Cast(%s) {{to = 10}}\n  \
         %l: bool[3, 50] = Greater(%s, %e)\n  %v, %i = TopK(%s, %k)\n  %y: f32[3, 50] = Tanh(%s)\n  \
         output %y as y\n  output %h as h\n  output %l as l\n  output %v as v\n  output %i as i\n  output %o as o\n}}\n"
    );
    let path = folder.join(name);
    write(&Model::parse(&text).unwrap(), &path, &WriteOptions::default()).unwrap();
    path
}

fn found(runtime: &Runtime, paths: &[PathBuf; 2], in_place: bool) -> Found {
    let options = Options { whole: true, in_place, seed: 3, ..Options::default() };
    bisect(&paths[0], runtime, &Reference::Model(&paths[1], runtime), &options).unwrap()
}

/// All of a difference but sums, whose order is another one.
fn exact(found: &Difference) -> String {
    let Difference { max_abs, max_rel, wrong, not_finite, elements, largest, first, spread, .. } = found;
    let spread = spread.as_ref().map(|s| (&s.ulps, &s.decades, s.max_ulps, [s.nan, s.infinite, s.zero]));
    format!("{max_abs} {max_rel} {wrong} {not_finite} {elements} {largest} {first:?} {spread:?}")
}

#[test]
fn what_is_compared_on_the_device_is_what_the_host_finds() {
    if let Err(why) = crate::compiled::can_compile() {
        return onnxport_harness::note(&why);
    }
    let (host, folder) = (Host::new(&[&ROOT]).unwrap(), tempfile::tempdir().unwrap());
    let open = || Plugin::find(&host, Some("emulated")).unwrap().open(&[]).unwrap();
    let paths = [model(folder.path(), "a.onnx", 0.5), model(folder.path(), "b.onnx", 0.6)];
    let runtime = open();
    let by_host = found(&runtime, &paths, false);
    assert!(!runtime.describe().unwrap().contains("compared"));
    let runtime = open();
    let in_place = found(&runtime, &paths, true);
    // The shape and elements of it are on the host by nature.
    assert!(
        runtime.describe().unwrap().contains("; 7 values compared there"),
        "{}",
        runtime.describe().unwrap()
    );
    assert_eq!(by_host.values.rows.len(), 9);
    assert_eq!(in_place.values.rows.len(), 9);
    let mut departs = String::new();
    for (here, there) in by_host.values.rows.iter().zip(&in_place.values.rows) {
        let [a, b] = [here, there].map(|row| row.difference.as_ref().unwrap());
        assert_eq!(exact(a), exact(b), "{}", here.value);
        assert!((a.rms - b.rms).abs() <= 1e-12 * a.rms && (a.cosine - b.cosine).abs() < 1e-12);
        let [a, b] =
            [here, there].map(|row| (row.error, &row.verdict, &row.got, &row.expected, row.is_usable));
        assert_eq!(a, b, "{}", here.value);
        let _ = write!(departs, "{}:{} ", here.value, u8::from(here.error > 0.0));
    }
    assert_eq!(departs, "e:0 s:1 n:0 o:0 h:1 l:0 v:1 i:0 y:1 ");
    let [a, b] =
        [&by_host, &in_place].map(|found| found.fault.as_ref().map(|fault| fault.row.value.as_str()));
    assert_eq!((a, b), (Some("s"), Some("s")));
}
