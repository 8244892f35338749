//! A device with its memory: values up and down, planned work and chains.

use std::collections::BTreeMap;
use std::rc::Rc;

use onnxport_ir::ops::strides::broadcast;
use onnxport_ir::ops::{Error, Fault, Limits, Res, Tensor};
use onnxport_ir::tensor::{DType, LazyTensor};

use super::arena::{Arena, Memory};
use super::device::{Address, Args, Device, Launch, NUMBERS, POINTERS, REALS, Ran};
use super::ops::chain::{Chain, LEAVES, Of, TERMS, Term};
use super::ops::{Formula, Operand, Pointer, Step, Work, volume};
use super::plan::Claim;
use super::rehearsal::{Nowhere, Rehearsed};
use super::source::{bytes, width};
use super::value::{Array, Held, Pending};
use crate::compare;

/// The bytes of the fault.
const FAULT: u64 = 256;
/// The bytes of a weight that are read at a time.
const PIECE: usize = 16 << 20;

/// The nodes of one run beyond which it is given up: a loop may have no end.
const STEPS: u64 = 50_000_000;

/// Counts of nodes by device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Nodes on the device.
    pub(crate) device: u64,
    /// Nodes on the host by their nature: arithmetic of shapes, constants, control flow.
    pub(crate) host: u64,
    /// Nodes that the device lacks, by operator: these were evaluated on the processor.
    pub(crate) lacking: BTreeMap<String, u64>,
    /// Kernels and products that were run.
    pub(crate) launches: u64,
    /// Products of matrices that a library computed.
    pub(crate) library: u64,
    /// Values that were compared on the device.
    pub(crate) compared: u64,
}

/// A device, its memory, and its statistics.
pub(crate) struct Engine {
    device: Box<dyn Device>,
    arena: Arena,
    /// An `int` on the device that kernels set.
    fault: Address,
    /// Whether nothing is computed on the device, so that its contents are unknown.
    rehearses: bool,
    /// The bytes of the plan of the last run.
    pub(crate) planned: u64,
    pub(crate) counts: Counts,
    pub(crate) limits: Limits,
    steps: u64,
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.arena.close(self.device.as_mut());
        self.device.release(self.fault);
    }
}

impl Engine {
    /// An engine that uses at most `memory` bytes of the device, or three quarters of its free memory.
    pub(crate) fn new(mut device: Box<dyn Device>, memory: Option<u64>, limits: Limits) -> Res<Self> {
        let memory = match memory {
            Some(memory) => memory,
            None => device.free()? / 4 * 3,
        };
        let arena = Arena::new(memory.saturating_sub(FAULT));
        let fault = device.allocate(FAULT)?;
        device.write(fault, &[0; 4])?;
        let counts = Counts::default();
        Ok(Self { device, arena, fault, rehearses: false, planned: 0, counts, limits, steps: 0 })
    }

    /// An engine that computes nothing, and records the memory of a run.
    pub(crate) fn rehearsing(limits: Limits) -> Self {
        let (device, arena, counts) = (Box::new(Nowhere), Arena::rehearsing(), Counts::default());
        Self { device, arena, fault: 0, rehearses: true, planned: 0, counts, limits, steps: 0 }
    }

    /// The allocations of a rehearsal.
    pub(crate) fn claims(&self) -> Vec<Claim> {
        self.arena.claims()
    }

    /// Takes the memory of a run that was rehearsed.
    ///
    /// # Errors
    /// [`Fault::Memory`] where the run would take more than there may be.
    pub(crate) fn prepare(&mut self, rehearsed: Rehearsed) -> Res<()> {
        self.planned = rehearsed.layout.bytes;
        self.arena.plan(self.device.as_mut(), rehearsed.layout, rehearsed.complete)
    }

    pub(crate) fn describe(&self) -> String {
        self.device.describe()
    }

    /// Why the device cannot be used any more; `None` as long as it works.
    pub(crate) fn lost(&self) -> Option<String> {
        self.device.lost()
    }

    /// The most bytes of the device that were in use at once.
    pub(crate) fn peak(&self) -> u64 {
        self.arena.peak()
    }

    /// The bytes that are taken from the device now, in use or not.
    #[cfg(test)]
    pub(crate) fn taken(&self) -> u64 {
        self.arena.taken()
    }

    /// Starts a run.
    pub(crate) fn begin(&mut self) {
        (self.counts, self.steps) = (Counts::default(), 0);
    }

    /// Counts a node.
    pub(crate) fn step(&mut self) -> Res<()> {
        self.steps += 1;
        if self.steps <= STEPS {
            return Ok(());
        }
        Err(Error { fault: Fault::Steps, message: format!("{STEPS} nodes were computed without an end") })
    }

    fn array(&mut self, dtype: DType, shape: Vec<usize>) -> Res<Array> {
        let elements = shape.iter().try_fold(1u64, |n, d| n.checked_mul(*d as u64));
        let bytes = elements.and_then(|count| bytes(dtype, count));
        let Some(bytes) = bytes else {
            let message = format!("{dtype}{shape:?} does not fit into any memory");
            return Err(Error { fault: Fault::Memory, message });
        };
        let memory = self.arena.take(self.device.as_mut(), bytes)?;
        Ok(Array { dtype, shape, memory })
    }

    /// A tensor on the device.
    pub(crate) fn upload(&mut self, tensor: &Tensor) -> Res<Array> {
        let array = self.array(tensor.dtype(), tensor.shape().to_vec())?;
        if self.rehearses {
            return Ok(array);
        }
        self.device.write(array.memory.address, &tensor.to_packed()?)?;
        Ok(array)
    }

    /// A weight on the device, whose bytes go there piece by piece.
    pub(crate) fn stream(&mut self, data: &LazyTensor) -> Res<Array> {
        let shape: Option<Vec<usize>> = data.shape.iter().map(|n| usize::try_from(*n).ok()).collect();
        let unreadable =
            |why: &dyn std::fmt::Display| Error::invalid(format!("a weight cannot be read: {why}"));
        let shape = shape.ok_or_else(|| unreadable(&"it is too large"))?;
        let array = self.array(data.dtype, shape)?;
        if self.rehearses {
            return Ok(array);
        }
        let end = data.byte_len().unwrap_or_default();
        let (mut piece, mut at) = (Vec::new(), 0);
        while at < end {
            let next = end.min(at + PIECE as u64);
            piece.clear();
            let read = data.stream(at..next, PIECE, &mut |bytes: &[u8]| {
                piece.extend_from_slice(bytes);
                Ok(())
            });
            read.map_err(|why| unreadable(&why))?;
            self.device.write(array.memory.address + at, &piece)?;
            at = next;
        }
        Ok(array)
    }

    /// A tensor from the device.
    pub(crate) fn download(&mut self, array: &Array) -> Res<Tensor> {
        self.settle()?;
        let bytes = bytes(array.dtype, volume(&array.shape) as u64).unwrap_or(0);
        let data = self.bytes(array.memory.address, bytes as usize)?;
        Tensor::packed(array.dtype, array.shape.clone(), data.into())
    }

    /// So many bytes from the device.
    pub(super) fn bytes(&mut self, from: Address, count: usize) -> Res<Vec<u8>> {
        let mut data = vec![0u8; count];
        if !data.is_empty() {
            self.device.read(from, &mut data)?;
        }
        Ok(data)
    }

    /// The comparer of values on the device.
    pub(super) fn comparison(&mut self, format: &compare::Format) -> Res<Box<dyn compare::Engine>> {
        self.device.comparison(format)
    }

    /// Waits for the kernels, and returns their errors.
    pub(crate) fn settle(&mut self) -> Res<()> {
        if self.rehearses {
            return Ok(());
        }
        let mut code = [0u8; 4];
        self.device.read(self.fault, &mut code)?;
        if code == [0; 4] {
            return Ok(());
        }
        self.device.write(self.fault, &[0; 4])?;
        Err(Error::invalid(match code[0] {
            2 => "an integer is divided by zero",
            _ => "an index is out of range",
        }))
    }

    fn launch(&mut self, step: &Step, at: impl Fn(Pointer) -> Option<u64>) -> Res<()> {
        if step.is_empty() {
            return Ok(());
        }
        let fits = step.places.len() < POINTERS && step.numbers.len() <= NUMBERS && step.reals.len() <= REALS;
        let pointers: Option<Vec<u64>> = step.places.iter().map(|place| at(*place)).collect();
        let Some(pointers) = pointers.filter(|_| fits) else {
            return Err(Error::unsupported(format!("the kernel {} lacks an argument", step.kernel.name)));
        };
        let mut args = Args { pointers: [0; POINTERS], numbers: [0; NUMBERS], reals: [0.0; REALS] };
        args.pointers.iter_mut().zip(pointers).for_each(|(slot, value)| *slot = value);
        args.numbers.iter_mut().zip(&step.numbers).for_each(|(slot, value)| *slot = *value);
        args.reals.iter_mut().zip(&step.reals).for_each(|(slot, value)| *slot = *value);
        args.pointers[POINTERS - 1] = self.fault;
        self.counts.launches += 1;
        let launch = Launch { kernel: &step.kernel, args: &args, grid: step.grid, product: step.product };
        let ran = self.device.launch(&launch)?;
        self.counts.library += u64::from(ran == Ran::Library);
        Ok(())
    }

    /// Does planned work.
    pub(crate) fn work(&mut self, work: &Work, inputs: &[Option<Array>]) -> Res<Vec<Array>> {
        let input = |index: usize| inputs.get(index).and_then(Option::as_ref);
        let mut made = Vec::with_capacity(work.made.len());
        for result in &work.made {
            made.push(match result.same {
                None => self.array(result.dtype, result.shape.clone())?,
                Some(index) => match input(index) {
                    Some(x) => Array { shape: result.shape.clone(), ..x.clone() },
                    None => return Err(Error::invalid(format!("input {index} is missing"))),
                },
            });
        }
        let mut scratch = Vec::with_capacity(work.scratch.len());
        for part in &work.scratch {
            let memory = self.arena.take(self.device.as_mut(), part.bytes)?;
            if !part.contents.is_empty() {
                self.device.write(memory.address, &part.contents)?;
            }
            scratch.push(memory);
        }
        for step in &work.steps {
            self.launch(step, |place| match place {
                Pointer::Input(index) => input(index).map(|x| x.memory.address),
                Pointer::Output(index) => made.get(index).map(|x: &Array| x.memory.address),
                Pointer::Scratch(index) => scratch.get(index).map(|m: &Rc<Memory>| m.address),
                Pointer::Nothing => Some(0),
            })?;
        }
        for (array, result) in made.iter_mut().zip(&work.made) {
            let Some((axis, place)) = result.counted else { continue };
            let counted = scratch.get(place).map(|memory: &Rc<Memory>| memory.address);
            self.cut(array, axis, counted)?;
        }
        Ok(made)
    }

    /// Cuts a result to the size along `axis` that the device states at an address.
    fn cut(&mut self, array: &mut Array, axis: usize, at: Option<Address>) -> Res<()> {
        let stated = at.map(|at| self.bytes(at, 8)).transpose()?.unwrap_or_default();
        let count = stated.as_chunks().0.first().map(|bytes| u64::from_le_bytes(*bytes));
        match (array.shape.get_mut(axis), count) {
            (Some(extent), Some(count)) if count <= *extent as u64 => *extent = count as usize,
            _ => return Err(Error::invalid("a kernel states no size that can be")),
        }
        Ok(())
    }

    /// A value on the device; `None` for one that cannot be there.
    pub(crate) fn on_device(&mut self, held: &Held) -> Res<Option<Array>> {
        if let Some(array) = held.array() {
            return Ok(Some(array));
        }
        let array = if let Some(pending) = held.pending() {
            self.compute(&pending)?
        } else if let Some(data) = held.weight() {
            self.stream(&data)?
        } else {
            match held.host().as_ref().and_then(|value| value.tensor()) {
                Some(tensor) if width(tensor.dtype()).is_some() => self.upload(tensor)?,
                _ => return Ok(None),
            }
        };
        held.keep_array(array.clone());
        Ok(Some(array))
    }

    /// A value on the host.
    pub(crate) fn on_host(&mut self, held: &Held) -> Res<onnxport_ir::ops::Value> {
        if let Some(value) = held.host() {
            return Ok(value);
        }
        if let Some(data) = held.weight() {
            let value: onnxport_ir::ops::Value = Tensor::read(&data)?.into();
            held.keep_host(value.clone());
            return Ok(value);
        }
        let Some(array) = self.on_device(held)? else { return Err(Error::invalid("a value is missing")) };
        let value: onnxport_ir::ops::Value = self.download(&array)?.into();
        held.keep_host(value.clone());
        Ok(value)
    }

    /// Computes a chain.
    pub(crate) fn compute(&mut self, pending: &Pending) -> Res<Array> {
        let dtype = pending.chain.dtype().ok_or_else(|| Error::invalid("a chain is empty"))?;
        let step = pending.chain.step().ok_or_else(|| Error::unsupported("a chain has too many axes"))?;
        let inputs: Vec<Option<Array>> = pending.leaves.iter().cloned().map(Some).collect();
        let work = Work::new(dtype, pending.chain.shape.clone(), vec![step]);
        let mut made = self.work(&work, &inputs)?;
        made.pop().ok_or_else(|| Error::invalid("a chain has no result"))
    }

    /// The chain of an operator and of those of its inputs that are chains themselves; `None` where it does not fit a kernel.
    pub(crate) fn chain(&mut self, formula: &Formula, inputs: &[Option<Held>]) -> Res<Option<Pending>> {
        let shape = broadcast(formula.arguments.iter().map(|(_, shape)| shape.as_slice()))?;
        for fuse in [true, false] {
            let mut out =
                Pending { chain: Chain { shape: shape.clone(), ..Chain::default() }, leaves: Vec::new() };
            let mut from = Vec::new();
            for (index, own) in &formula.arguments {
                let held = inputs.get(*index).and_then(Option::as_ref);
                let held = held.ok_or_else(|| Error::invalid(format!("input {index} is missing")))?;
                let inner =
                    held.pending().filter(|p| fuse && p.chain.shape == *own && volume(own) == volume(&shape));
                if let Some(inner) = inner {
                    from.push(out.append(&inner));
                    continue;
                }
                let Some(array) = self.on_device(held)? else { return Ok(None) };
                from.push(Of::Leaf(out.leaf(Array { shape: own.clone(), ..array })));
            }
            out.chain.terms.push(Term { dtype: formula.dtype, formula: formula.text.clone(), from });
            let fits = out.leaves.len() <= LEAVES && out.chain.terms.len() <= TERMS;
            if fits && out.chain.step().is_some() {
                return Ok(Some(out));
            }
        }
        Ok(None)
    }
}

impl Pending {
    /// The place of a leaf, which is new or is there.
    fn leaf(&mut self, array: Array) -> usize {
        let operand = Operand { dtype: array.dtype, shape: array.shape.clone() };
        let same =
            |(leaf, own): (&Array, &Operand)| Rc::ptr_eq(&leaf.memory, &array.memory) && *own == operand;
        match self.leaves.iter().zip(&self.chain.leaves).position(same) {
            Some(at) => at,
            None => {
                self.leaves.push(array);
                self.chain.leaves.push(operand);
                self.leaves.len() - 1
            }
        }
    }

    /// Takes over the leaves and terms of another chain, and returns its result in this chain.
    fn append(&mut self, other: &Self) -> Of {
        let leaves: Vec<usize> = other.leaves.iter().map(|leaf| self.leaf(leaf.clone())).collect();
        let first = self.chain.terms.len();
        for term in &other.chain.terms {
            let from = term.from.iter().map(|of| match of {
                Of::Leaf(at) => Of::Leaf(leaves.get(*at).copied().unwrap_or_default()),
                Of::Term(at) => Of::Term(first + at),
            });
            self.chain.terms.push(Term { from: from.collect(), ..term.clone() });
        }
        Of::Term(self.chain.terms.len() - 1)
    }
}
