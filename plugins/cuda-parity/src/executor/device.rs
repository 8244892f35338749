//! The device interface of the executor: memory, copies, and ordered kernels.

use onnxport_ir::ops::Res;

use super::source::Kernel;
use crate::compare;

/// Memory of a device.
pub(crate) type Address = u64;

/// How many pointers a kernel takes; the last one is that of the fault.
pub(crate) const POINTERS: usize = 16;
/// How many integers a kernel takes.
pub(crate) const NUMBERS: usize = 112;
/// How many floats a kernel takes.
pub(crate) const REALS: usize = 8;

/// The arguments of a kernel: `Args` of `kernels/prelude.cu`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Args {
    pub(crate) pointers: [Address; POINTERS],
    pub(crate) numbers: [i64; NUMBERS],
    pub(crate) reals: [f64; REALS],
}

/// The grid of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Grid {
    /// Elements, each computed by one thread.
    Each(u64),
    /// Groups, each computed by the threads of one block.
    Groups(u64),
    /// Tiles, each computed by a block of as many threads as the kernel is compiled for: columns, rows, stacks.
    Tiles([u64; 3]),
}

/// The product of two stacks of matrices, as libraries know it: `out = factor · a · b`, or is added to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Product {
    pub(crate) dtype: onnxport_ir::tensor::DType,
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    pub(crate) depth: usize,
    /// Whether the matrices are stored column by column.
    pub(crate) transposed: [bool; 2],
    /// How many products, and the steps from one to the next in `a` and in `b`.
    pub(crate) stack: (usize, [i64; 2]),
    pub(crate) factor: f64,
    pub(crate) add: bool,
}

/// A kernel that is ready to run.
#[derive(Debug)]
pub(crate) struct Launch<'a> {
    pub(crate) kernel: &'a Kernel,
    pub(crate) args: &'a Args,
    pub(crate) grid: Grid,
    /// The same as a product of matrices, of pointers 0 and 1 into pointer 2.
    pub(crate) product: Option<Product>,
}

/// The kernel of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ran {
    /// The kernel.
    Kernel,
    /// A library of matrix products.
    Library,
}

/// A device with one queue: requests run in order.
pub(crate) trait Device {
    /// Its description in one line.
    fn describe(&self) -> String;
    /// The bytes that may be taken from it now.
    fn free(&self) -> Res<u64>;
    /// Why nothing that is asked of it works any more, and nothing that it holds can be trusted; `None` as long as it works.
    fn lost(&self) -> Option<String>;
    /// Memory of `bytes`, aligned for every type.
    fn allocate(&mut self, bytes: u64) -> Res<Address>;
    /// Gives memory back.
    fn release(&mut self, address: Address);
    /// Copies bytes to the device.
    fn write(&mut self, to: Address, bytes: &[u8]) -> Res<()>;
    /// Waits for everything before and copies bytes from the device.
    fn read(&mut self, from: Address, bytes: &mut [u8]) -> Res<()>;
    /// Runs a kernel, or has a library compute its product.
    fn launch(&mut self, launch: &Launch<'_>) -> Res<Ran>;
    /// Returns an engine that compares elements of this format on this device. It does not wait for pending work.
    fn comparison(&mut self, format: &compare::Format) -> Res<Box<dyn compare::Engine>>;
}
