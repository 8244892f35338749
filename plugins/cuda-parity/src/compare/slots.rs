//! Two slots of memory, each with a stream: while one is copied and computed, the other one is filled.

use std::sync::Arc;

use cudarc::driver::{
    CudaContext, CudaFunction, CudaSlice, CudaStream, DevicePtr, DevicePtrMut, DriverError, LaunchConfig,
    PinnedHostSlice, PushKernelArg, result,
};
use onnxport_sdk::executor::Failure;

use super::engine::{At, Engine, Side};
use super::totals::{NOTHING, Totals, WORDS};
use super::{BLOCKS, THREADS};
use crate::device::{Device, failed};

/// How many bytes of each tensor a slot holds, where there is memory enough.
const ROOM: usize = 6 << 20;
/// Below this size, launches take longer than their work.
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
    /// The result of each block.
    parts: CudaSlice<u64>,
    /// The results so far.
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
    /// An expected tensor, and how many bytes may be taken for one.
    kept: Option<CudaSlice<u8>>,
    spare: u64,
    next: usize,
    sound: bool,
}

impl Slots {
    /// Takes memory on the device and pinned memory beside it.
    pub(super) fn new(device: &Device) -> Result<Self, Failure> {
        let context = Arc::clone(device.context());
        let fixed = 2 * 8 * (WORDS * (BLOCKS as usize + 1) + 1);
        let memory = device.memory()?.saturating_sub(fixed);
        // Whole elements of every type.
        let room = (memory / 4).min(ROOM) / 16 * 16;
        if room < LEAST {
            let least = fixed + 4 * LEAST;
            return Err(Failure::new(format!("comparing takes at least {least} bytes on the device"))
                .help("give it more with the option `memory`, or free its memory"));
        }
        let slots = [Slot::new(&context, room)?, Slot::new(&context, room)?];
        // Others compute on the device as well.
        let spare = (memory.saturating_sub(4 * room) / 2) as u64;
        Ok(Self { context, kernels: None, slots, room, kept: None, spare, next: 0, sound: true })
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

    /// The current slot. Its previous work is finished, since its memory is refilled.
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
    fn keep(&mut self, bytes: u64) -> Result<Option<u64>, Failure> {
        if bytes == 0 || bytes > self.spare {
            return Ok(None);
        }
        self.guarded(|slots| {
            let [Slot { stream, .. }, _] = &slots.slots;
            if slots.kept.as_ref().is_none_or(|kept| (kept.len() as u64) < bytes) {
                slots.kept = None;
                // SAFETY: bytes are read only after they were written. Without memory the tensor is copied twice.
                slots.kept = unsafe { stream.alloc(bytes as usize) }.ok();
            }
            // The other stream may use it as well.
            stream.synchronize().map_err(failed("taking memory for comparisons"))?;
            Ok(slots.kept.as_ref().map(|kept| kept.device_ptr(stream).0))
        })
    }

    fn scan(&mut self, expected: &[u8], size: usize, to: Option<u64>) -> Result<(), Failure> {
        let room = self.room;
        self.guarded(|slots| {
            let mut to = to;
            for piece in expected.chunks(room) {
                let (slot, kernels) = slots.turn()?;
                slot.scan(kernels, piece, size, to).map_err(failed("looking for the largest element"))?;
                to = to.map(|address| address + piece.len() as u64);
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

    fn chunk(
        &mut self,
        got: Side<'_>,
        expected: Side<'_>,
        count: u64,
        size: usize,
        at: At,
    ) -> Result<(), Failure> {
        // Values on the device need no buffer.
        let piece = match (got, expected) {
            (Side::Device(_), Side::Device(_)) => count,
            _ => (self.room / size) as u64,
        };
        self.guarded(|slots| {
            let mut done = 0;
            while done < count {
                let next = piece.min(count - done);
                let (from, most) = (done as usize * size, next as usize * size);
                let (got, expected) = (got.part(from, most), expected.part(from, most));
                let at = At { base: at.base + done, ..at };
                let (slot, kernels) = slots.turn()?;
                let compared = slot.compare(kernels, got, expected, next, at);
                compared.map_err(failed("comparing on the device"))?;
                done += next;
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

    /// Copies the sides that are not on the device to it, through pinned memory; returns both addresses.
    fn send(&mut self, got: Side<'_>, expected: Side<'_>) -> Result<[u64; 2], DriverError> {
        let pinned = self.pinned.as_mut_slice()?;
        let half = pinned.len() / 2;
        let (ours, theirs) = pinned.split_at_mut(half);
        let mut places = [0; 2];
        let parts = [(got, ours, &mut self.got), (expected, theirs, &mut self.expected)];
        for ((side, room, buffer), place) in parts.into_iter().zip(&mut places) {
            *place = match side {
                Side::Device(address) => address,
                Side::Host(bytes) => {
                    let (pointer, _done) = buffer.device_ptr_mut(&self.stream);
                    upload(&self.stream, bytes, room, pointer)?;
                    pointer
                }
            };
        }
        Ok(places)
    }

    fn scan(
        &mut self,
        kernels: &Kernels,
        expected: &[u8],
        size: usize,
        to: Option<u64>,
    ) -> Result<(), DriverError> {
        let address = match to {
            Some(address) => {
                upload(&self.stream, expected, self.pinned.as_mut_slice()?, address)?;
                address
            }
            None => {
                let [_, address] = self.send(Side::Host(&[]), Side::Host(expected))?;
                address
            }
        };
        let count = (expected.len() / size) as u64;
        let mut launch = self.stream.launch_builder(&kernels.largest);
        launch.arg(&address).arg(&count).arg(&mut self.most);
        // SAFETY: the arguments are those of `largest` in `compare.cu`, and there are `count` elements.
        unsafe { launch.launch(grid(BLOCKS)) }?;
        Ok(())
    }

    fn compare(
        &mut self,
        kernels: &Kernels,
        got: Side<'_>,
        expected: Side<'_>,
        count: u64,
        At { base, rtol, atol }: At,
    ) -> Result<(), DriverError> {
        let [got, expected] = self.send(got, expected)?;
        let mut launch = self.stream.launch_builder(&kernels.compare);
        launch.arg(&got).arg(&expected).arg(&count).arg(&base).arg(&rtol).arg(&atol);
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

/// Copies bytes to an address of the device by way of pinned memory, which has room for them.
fn upload(stream: &CudaStream, bytes: &[u8], pinned: &mut [u8], to: u64) -> Result<(), DriverError> {
    let room = &mut pinned[..bytes.len()];
    room.copy_from_slice(bytes);
    // SAFETY: the caller has so many bytes there; nobody writes to the pinned ones before the stream was waited for.
    unsafe { result::memcpy_htod_async(to, room, stream.cu_stream()) }
}

pub(super) fn grid(blocks: u32) -> LaunchConfig {
    LaunchConfig { grid_dim: (blocks, 1, 1), block_dim: (THREADS, 1, 1), shared_mem_bytes: 0 }
}
