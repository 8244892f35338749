//! Tests of a plugin without the host: lower a call, look at what was emitted, compute it, compare.
//!
//! Behind the feature `testkit`, which belongs into the dev-dependencies:
//!
//! ```toml
//! [dev-dependencies]
//! onnxport-sdk = { version = "0.1", features = ["testkit"] }
//! ```
//!
//! ```ignore
//! use onnxport_sdk::testkit::*;
//!
//! #[test]
//! fn scaled_multiplies() {
//!     let lowered = Plugin::attach(&crate::ROOT)
//!         .call("mylib.scaled.default")
//!         .arg("x", input("f32[n, 2]"))
//!         .arg("factor", 2.5)
//!         .gives("f32[n, 2]")
//!         .lower()
//!         .unwrap();
//!     assert_eq!(lowered.ops(), ["Mul"]);
//!     let x = Tensor::f32([1, 2], [1.0, -2.0]);
//!     let y = lowered.run(&[("x", &x)]).unwrap();
//!     assert_close(&y[0], &Tensor::f32([1, 2], [2.5, -5.0]), Tolerance::default());
//! }
//! ```
//!
//! The plugin is reached as a host reaches it: `query`, `attach`, its `lowering/1` table and its panic
//! guard. A call is bound to the plugin's own schema, defaults included. What differs from the host:
//!
//! - types of emitted nodes are inferred for the operators that the evaluator knows; of others nothing
//!   is known;
//! - extents that must be computed at run time are one node `Dims`; the host emits what reads them off;
//! - nested graphs as arguments (higher-order operators) are not available;
//! - the evaluator knows a useful set of operators, and says so when it meets another.
//!
//! Rules and passes are tested in the host itself: `docs/optimizer-plugins.md`.

mod call;
mod close;
mod eval;
mod failure;
mod graph;
mod infer;
mod lowering;
mod plugin;
mod sample;
mod sym;
mod tensor;
mod text;
mod types;

pub use call::{Argument, Call, constant, input};
pub use close::{Tolerance, assert_close};
pub use eval::Lowered;
pub use failure::Failure;
pub use graph::{Attr, Block, Graph, Node, ValueInfo};
pub use plugin::Plugin;
pub use sample::Sample;
pub use tensor::Tensor;
