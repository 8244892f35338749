//! Two slots of memory, each with a stream: while one is copied and computed, the other one is filled.

use std::sync::Arc;

use cudarc::driver::{
    CudaContext, CudaFunction, CudaSlice, CudaStream, DevicePtrMut, DriverError, LaunchConfig,
    PinnedHostSlice, PushKernelArg, result,
};
use onnxport_sdk::executor::Failure;

use super::engine::{At, Engine};
use super::totals::{NOTHING, Totals, WORDS};
use super::{BLOCKS, THREADS};
use crate::device::{Device, failed};

/// How many bytes of each tensor a slot holds, where there is memory enough.
const ROOM: usize = 6 << 20;
/// With less than this, launches take longer than what they do.
const LEAST: usize = 64 << 10;

/// The kernels for one element type.
#[derive(Clone)]
pub(super) struct Kernels {
    largest: CudaFunction,
    pub(super) compare: CudaFunction,
    merge: CudaFunction,
}

impl Kernels {
    pub(super) fn load(device: &Device, source: &str) -> Result<Self, Failure> {
        let module = device.load(source)?;
        let find = |name: &str| module.load_function(name).map_err(failed("finding a kernel"));
        Ok(Self { largest: find("largest")?, compare: find("compare")?, merge: find("merge")? })
    }
}

/// A stream with its memory.
struct Slot {
    stream: Arc<CudaStream>,
    pinned: PinnedHostSlice<u8>,
    got: CudaSlice<u8>,
    expected: CudaSlice<u8>,
    /// What each block finds.
    parts: CudaSlice<u64>,
    /// What was found so far.
    total: CudaSlice<u64>,
    /// The largest finite magnitude so far, as bits.
    most: CudaSlice<u64>,
}

/// The slots of a comparison.
pub(super) struct Slots {
    context: Arc<CudaContext>,
    kernels: Option<Kernels>,
    slots: [Slot; 2],
    room: usize,
    next: usize,
    sound: bool,
}

impl Slots {
    /// Takes memory on the device and pinned memory beside it.
    pub(super) fn new(device: &Device) -> Result<Self, Failure> {
        let context = Arc::clone(device.context());
        let fixed = 2 * 8 * (WORDS * (BLOCKS as usize + 1) + 1);
        let room = device.memory()?.saturating_sub(fixed) / 4;
        // Whole elements of every type.
        let room = room.min(ROOM) / 16 * 16;
        if room < LEAST {
            let least = fixed + 4 * LEAST;
            return Err(Failure::new(format!("comparing takes at least {least} bytes on the device"))
                .help("give it more with the option `memory`, or free its memory"));
        }
        let slots = [Slot::new(&context, room)?, Slot::new(&context, room)?];
        Ok(Self { context, kernels: None, slots, room, next: 0, sound: true })
    }

    /// Makes ready for a comparison.
    pub(super) fn begin(&mut self, kernels: Kernels) -> Result<(), Failure> {
        self.kernels = Some(kernels);
        self.next = 0;
        self.guarded(|slots| {
            for slot in &mut slots.slots {
                let cleared = slot.stream.memcpy_htod(&NOTHING, &mut slot.total);
                cleared
                    .and_then(|()| slot.stream.memset_zeros(&mut slot.most))
                    .map_err(failed("clearing memory on the device"))?;
            }
            Ok(())
        })
    }

    /// Whether nothing went wrong.
    pub(super) fn is_sound(&self) -> bool {
        self.sound
    }

    /// Does something with the device; after an error these slots are not used again.
    fn guarded<T>(&mut self, task: impl FnOnce(&mut Self) -> Result<T, Failure>) -> Result<T, Failure> {
        self.sound = false;
        self.context.bind_to_thread().map_err(failed("using the device on this thread"))?;
        let done = task(self)?;
        self.sound = true;
        Ok(done)
    }

    /// The slot whose turn it is. What it did before is over, since its memory is filled again.
    fn turn(&mut self) -> Result<(&mut Slot, &Kernels), Failure> {
        self.next = 1 - self.next;
        let (slot, kernels) = (self.slots.get_mut(self.next), self.kernels.as_ref());
        let (Some(slot), Some(kernels)) = (slot, kernels) else {
            return Err(Failure::new("no comparison has begun"));
        };
        slot.stream.synchronize().map_err(failed("comparing on the device"))?;
        Ok((slot, kernels))
    }
}

impl Engine for Slots {
    fn scan(&mut self, expected: &[u8], size: usize) -> Result<(), Failure> {
        let room = self.room;
        self.guarded(|slots| {
            for piece in expected.chunks(room) {
                let (slot, kernels) = slots.turn()?;
                slot.scan(kernels, piece, size).map_err(failed("looking for the largest element"))?;
            }
            Ok(())
        })
    }

    fn largest(&mut self) -> Result<f64, Failure> {
        self.guarded(|slots| {
            let mut largest = 0.0;
            for slot in &slots.slots {
                let found = slot.stream.clone_dtoh(&slot.most).and_then(|found| {
                    slot.stream.synchronize()?;
                    Ok(found)
                });
                let found = found.map_err(failed("looking for the largest element"))?;
                largest = found.into_iter().map(f64::from_bits).fold(largest, f64::max);
            }
            Ok(largest)
        })
    }

    fn chunk(&mut self, got: &[u8], expected: &[u8], size: usize, at: At) -> Result<(), Failure> {
        let room = self.room;
        self.guarded(|slots| {
            let mut at = at;
            for (got, expected) in got.chunks(room).zip(expected.chunks(room)) {
                let (slot, kernels) = slots.turn()?;
                slot.compare(kernels, got, expected, size, at).map_err(failed("comparing on the device"))?;
                at.base += (expected.len() / size) as u64;
            }
            Ok(())
        })
    }

    fn totals(&mut self) -> Result<Totals, Failure> {
        self.guarded(|slots| {
            let mut totals = Totals(NOTHING);
            for slot in &slots.slots {
                let found = slot.stream.clone_dtoh(&slot.total).and_then(|found| {
                    slot.stream.synchronize()?;
                    Ok(found)
                });
                let found = found.map_err(failed("comparing on the device"))?;
                let found = found.try_into().map_err(|_| Failure::new("the device gave back too little"))?;
                totals.add(&found);
            }
            Ok(totals)
        })
    }
}

impl Drop for Slots {
    fn drop(&mut self) {
        // Memory that is still being copied from is not given back. An error has been told already.
        for slot in &self.slots {
            let _ = slot.stream.synchronize();
        }
    }
}

impl Slot {
    fn new(context: &Arc<CudaContext>, room: usize) -> Result<Self, Failure> {
        let make = || {
            let stream = context.new_stream()?;
            // SAFETY: bytes are read only after they were written.
            let (pinned, got, expected) =
                unsafe { (context.alloc_pinned(2 * room)?, stream.alloc(room)?, stream.alloc(room)?) };
            let parts = stream.alloc_zeros(WORDS * BLOCKS as usize)?;
            let (total, most) = (stream.alloc_zeros(WORDS)?, stream.alloc_zeros(1)?);
            Ok(Self { stream, pinned, got, expected, parts, total, most })
        };
        make().map_err(failed("taking memory for comparisons"))
    }

    /// Copies bytes to the device, by way of pinned memory.
    fn send(&mut self, got: &[u8], expected: &[u8]) -> Result<(), DriverError> {
        let pinned = self.pinned.as_mut_slice()?;
        let half = pinned.len() / 2;
        let (ours, theirs) = pinned.split_at_mut(half);
        for (bytes, room, place) in [(got, ours, &mut self.got), (expected, theirs, &mut self.expected)] {
            let room = &mut room[..bytes.len()];
            room.copy_from_slice(bytes);
            let (pointer, _done) = place.device_ptr_mut(&self.stream);
            // SAFETY: a piece is not longer than a slot, and nobody writes to it before the stream was waited for.
            unsafe { result::memcpy_htod_async(pointer, room, self.stream.cu_stream())? };
        }
        Ok(())
    }

    fn scan(&mut self, kernels: &Kernels, expected: &[u8], size: usize) -> Result<(), DriverError> {
        self.send(&[], expected)?;
        let count = (expected.len() / size) as u64;
        let mut launch = self.stream.launch_builder(&kernels.largest);
        launch.arg(&self.expected).arg(&count).arg(&mut self.most);
        // SAFETY: the arguments are those of `largest` in `compare.cu`, and there are `count` elements.
        unsafe { launch.launch(grid(BLOCKS)) }?;
        Ok(())
    }

    fn compare(
        &mut self,
        kernels: &Kernels,
        got: &[u8],
        expected: &[u8],
        size: usize,
        At { base, rtol, atol }: At,
    ) -> Result<(), DriverError> {
        self.send(got, expected)?;
        let count = (got.len().min(expected.len()) / size) as u64;
        let mut launch = self.stream.launch_builder(&kernels.compare);
        launch.arg(&self.got).arg(&self.expected).arg(&count).arg(&base).arg(&rtol).arg(&atol);
        launch.arg(&mut self.parts);
        // SAFETY: the arguments are those of `compare` in `compare.cu`; there are `count` elements, and a part for each
        // block.
        unsafe { launch.launch(grid(BLOCKS)) }?;
        let blocks = u64::from(BLOCKS);
        let mut launch = self.stream.launch_builder(&kernels.merge);
        launch.arg(&self.parts).arg(&blocks).arg(&mut self.total);
        // SAFETY: the arguments are those of `merge` in `compare.cu`, and there are so many parts.
        unsafe { launch.launch(grid(1)) }?;
        Ok(())
    }
}

pub(super) fn grid(blocks: u32) -> LaunchConfig {
    LaunchConfig { grid_dim: (blocks, 1, 1), block_dim: (THREADS, 1, 1), shared_mem_bytes: 0 }
}
