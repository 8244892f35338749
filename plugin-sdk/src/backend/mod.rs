//! Backends: parts of a model for a piece of hardware.
//!
//! ```ignore
//! #[derive(Default)]
//! struct Npu;
//!
//! impl Backend for Npu {
//!     fn profile(&self) -> Profile {
//!         Profile::new("npu")
//!             .domain("com.example.npu", 1)
//!             .op(Op::named(["MatMul", "Add", "Relu"]).inputs(&[DType::F32]).outputs(&[DType::F32]).dynamic())
//!     }
//!
//!     fn compile(&self, region: &mut Region<'_>) -> Res<()> {
//!         let mut program = region.blob();
//!         program.write(b"...")?;
//!         let (inputs, outputs) = (region.inputs(), region.outputs());
//!         let made = region.own("Program").inputs(inputs).blob("program", &program).outputs_like(&outputs).emit()?;
//!         region.replace(&made)
//!     }
//! }
//!
//! onnxport_sdk::export_plugin! { id: "npu", backend: Npu }
//! ```
//!
//! `docs/backends.md` is the guide.

mod claim;
mod emit;
mod glue;
mod profile;
mod region;

pub use claim::Claim;
pub use emit::Emit;
#[doc(hidden)]
pub use glue::{BackendList, backend_table, claim_entry, compile_entry, cost_entry, environment_entry};
pub use profile::{Layout, Op, Profile};
pub use region::{Blob, Port, Region};

use crate::Res;

/// A backend. Its methods hold no state: equal calls give equal results.
pub trait Backend: Send + Sync + 'static {
    /// Its name and the operators that it supports. Called once.
    fn profile(&self) -> Profile;

    /// Takes or refuses the nodes that the profile covers. Takes all of them unless it is overridden.
    ///
    /// # Errors
    /// When it cannot work on this model at all; nothing is claimed then.
    fn claim(&self, claim: &mut Claim<'_>) -> Res<()> {
        claim.offered().into_iter().try_for_each(|node| claim.take(node))
    }

    /// Compiles a region: emits its replacement, and ends with [`Region::replace`].
    ///
    /// # Errors
    /// When it cannot; the region stays as it is, and the report says why.
    fn compile(&self, region: &mut Region<'_>) -> Res<()>;

    /// Everything that results depend on besides the region, the plugin and its options: versions of the SDK and of drivers,
    /// and the hardware. While it is the same, users may keep results in a cache; `None` forbids that.
    fn environment(&self) -> Option<String> {
        None
    }

    /// Estimates the cost of a region that was claimed. The host leaves the region as it is if it takes longer than its nodes
    /// do otherwise; `None` keeps it.
    fn cost(&self, region: &Region<'_>) -> Option<Cost> {
        let _ = region;
        None
    }
}

/// The estimated cost of a region, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// The time that the region takes on the device, without transfers.
    pub device: f64,
    /// The time that its nodes take in the runtime, without the backend.
    pub runtime: f64,
    /// The time to enter and leave the region, whatever crosses its border.
    pub entry: f64,
    /// The time for each byte of an input or output to cross the border; a dynamic dimension counts as 1.
    pub byte: f64,
}
