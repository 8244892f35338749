//! How fast comparisons are on a GPU, beside plain copies of the same run.

use std::time::Instant;

use cudarc::driver::PushKernelArg;
use onnxport_sdk::DType;
use onnxport_sdk::executor::{Failure, Options};

use super::super::engine::{At, Engine, Side};
use super::super::format::Format;
use super::super::slots::{Kernels, Slots, grid};
use super::super::totals::WORDS;
use super::super::{BLOCKS, THREADS};
use crate::device::{Device, failed};

/// The bytes of each tensor.
const BYTES: usize = 256 << 20;
const TIMES: usize = 8;

/// How many thousand million bytes a second some work moves, after it was done once.
fn rate(bytes: usize, mut work: impl FnMut() -> Result<(), Failure>) -> Result<f64, Failure> {
    work()?;
    let start = Instant::now();
    (0..TIMES).try_for_each(|_| work())?;
    Ok((TIMES * bytes) as f64 / start.elapsed().as_secs_f64() / 1e9)
}

/// Copies within the device, of which each byte is read and written, and copies to it from pinned memory.
fn copies(device: &Device) -> Result<[f64; 2], Failure> {
    let stream = device.context().new_stream().map_err(failed("making a stream"))?;
    let make = || stream.alloc_zeros::<u8>(BYTES);
    let (from, mut to) = (make().map_err(failed("taking memory"))?, make().map_err(failed("taking memory"))?);
    let within = rate(2 * BYTES, || {
        let copied = stream.memcpy_dtod(&from, &mut to).and_then(|()| stream.synchronize());
        copied.map_err(failed("copying"))
    })?;
    // SAFETY: the contents do not matter; every bit pattern is a byte.
    let pinned = unsafe { device.context().alloc_pinned::<u8>(BYTES) }.map_err(failed("taking memory"))?;
    let up = rate(BYTES, || {
        let copied = stream.memcpy_htod(&pinned, &mut to).and_then(|()| stream.synchronize());
        copied.map_err(failed("copying"))
    })?;
    Ok([within, up])
}

/// The kernel alone, on tensors that lie on the device.
fn held(
    device: &Device,
    kernels: &Kernels,
    [got, expected]: [&[u8]; 2],
    size: usize,
) -> Result<f64, Failure> {
    let stream = device.context().new_stream().map_err(failed("making a stream"))?;
    let make = || Ok((stream.clone_htod(got)?, stream.clone_htod(expected)?));
    let (got, expected) = make().map_err(failed("copying"))?;
    let parts = stream.alloc_zeros::<u64>(WORDS * BLOCKS as usize);
    let mut parts = parts.map_err(failed("taking memory"))?;
    let (count, base, rtol, atol) = ((BYTES / size) as u64, 0_u64, 1e-3, 1e-4);
    rate(2 * BYTES, || {
        let mut launch = stream.launch_builder(&kernels.compare);
        launch.arg(&got).arg(&expected).arg(&count).arg(&base).arg(&rtol).arg(&atol).arg(&mut parts);
        // SAFETY: the arguments are those of `compare` in `compare.cu`; there are `count` elements, and a part for each
        // block.
        let launched = unsafe { launch.launch(grid(BLOCKS)) };
        launched.and_then(|_| stream.synchronize()).map_err(failed("comparing on the device"))
    })
}

fn table(device: &Device) -> Result<(), Failure> {
    let [within, up] = copies(device)?;
    println!("{}", device.describe());
    println!("a copy within the device: {within:.1} GB/s; from the host: {up:.1} GB/s");
    println!("{:10} {:>16} {:>16}", "compared", "on the device", "from the host");
    for dtype in [DType::F64, DType::F32, DType::F16, DType::BF16, DType::F8E4M3FN, DType::I64, DType::U8] {
        let Some(format) = Format::for_type(dtype) else { continue };
        let kernels = Kernels::load(device, &format.source(THREADS))?;
        let mut slots = Slots::new(device)?;
        slots.begin(kernels.clone())?;
        // Numbers that differ in every 4099th byte.
        let expected: Vec<u8> = (0..BYTES).map(|n| (n % 97) as u8).collect();
        let mut got = expected.clone();
        got.iter_mut().step_by(4099).for_each(|byte| *byte ^= 1);
        let at = At { base: 0, rtol: 1e-3, atol: 1e-4 };
        let sent = rate(2 * BYTES, || {
            let count = (BYTES / format.size) as u64;
            slots.chunk(Side::Host(&got), Side::Host(&expected), count, format.size, at)?;
            slots.totals().map(|_| ())
        })?;
        let held = held(device, &kernels, [&got, &expected], format.size)?;
        println!("{:10} {held:>11.1} GB/s {sent:>11.1} GB/s", dtype.as_str());
    }
    Ok(())
}

#[test]
#[ignore = "takes a GPU: cargo xtask gpu"]
fn comparisons_are_timed_beside_copies_on_a_gpu() {
    let device = match Device::open(Options::new(&[])) {
        Ok(device) => device,
        Err(why) => return crate::without_a_gpu(&why.message),
    };
    table(&device).unwrap_or_else(|why| panic!("{}", why.message));
}
