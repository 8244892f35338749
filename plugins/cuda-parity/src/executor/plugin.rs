//! `executor/1`: opening the device, loading models.

use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;

use onnxport_ir::diagnose::Diagnostic;
use onnxport_ir::ir::import;
use onnxport_ir::ops::Limits;
use onnxport_sdk::executor::{Executor, Failure, Options};

use super::cuda::Cuda;
use super::engine::Engine;
use super::report::Report;
use super::session::{Loaded, failure};
use crate::device::{Device, lost};

/// The executor, on a device that it shares with nobody. Its options are those of [`Device::open`].
pub struct CudaExecutor {
    device: Device,
    about: String,
    report: Rc<RefCell<Report>>,
}

impl Executor for CudaExecutor {
    const NAME: &'static str = "CUDA";
    type Session = Session;

    fn open(options: Options<'_>) -> Result<Self, Failure> {
        let device = Device::open(options).map_err(Failure::unsupported)?;
        let about = engine(&device)?.describe();
        Ok(Self { device, about, report: Rc::default() })
    }

    fn describe(&self) -> String {
        let report = self.report.borrow().describe();
        let gap = if report.is_empty() { "" } else { "; " };
        format!("{} {} on {}{gap}{report}", Self::NAME, env!("CARGO_PKG_VERSION"), self.about)
    }

    fn load(&mut self, path: &Path) -> Result<Session, Failure> {
        self.load_with(path, &[])
    }

    fn load_with(&mut self, path: &Path, values: &[&str]) -> Result<Session, Failure> {
        let model = import::import(path).map_err(unreadable)?;
        let engine = engine(&self.device)?;
        Loaded::new(model, engine, values, self.report.clone()).map(Session)
    }
}

fn engine(device: &Device) -> Result<Engine, Failure> {
    let made = Engine::new(Box::new(Cuda::on(device)), device.limit(), Limits::default());
    made.map_err(|error| device.lost().map_or_else(|| failure(error), |why| lost(&why)))
}

/// A model on the device.
pub struct Session(Loaded);

impl onnxport_sdk::executor::Session for Session {
    fn run(
        &mut self,
        inputs: &[onnxport_sdk::abi::executor::TensorView<'_>],
        outputs: &mut onnxport_sdk::executor::Outputs<'_>,
    ) -> Result<(), Failure> {
        self.0.run(inputs, outputs)
    }

    fn measure(
        &mut self,
        inputs: &[onnxport_sdk::abi::executor::TensorView<'_>],
        expected: &[onnxport_sdk::abi::executor::TensorView<'_>],
        measured: &mut onnxport_sdk::executor::Measured<'_>,
        outputs: &mut onnxport_sdk::executor::Outputs<'_>,
    ) -> Result<(), Failure> {
        self.0.measure(inputs, expected, measured, outputs)
    }
}

fn unreadable(problem: Diagnostic) -> Failure {
    let failure = Failure::new(format!("the model cannot be read: {}", problem.message));
    match problem.help {
        Some(help) => failure.help(help),
        None => failure,
    }
}
