//! Backends of one plugin, most of which misbehave in a way of their own.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};

use onnxport_sdk::backend::{Backend, Claim, Cost, Op, Port, Profile, Region};
use onnxport_sdk::{DType, Dim, NodeRef, Res, op};

const DOMAIN: &str = "test.npu";

fn profile(id: &'static str) -> Profile {
    let float = [DType::F32];
    Profile::new(id)
        .domain(DOMAIN, 1)
        .op(Op::named(["MatMul", "Add", "Mul", "Relu", "Identity"]).inputs(&float).outputs(&float).dynamic())
        .op(Op::named(["Sin"]).outputs(&float).versions(7..=18))
        .op(Op::named(["Cos"]).outputs(&float).ranks(1..=2))
        .op(Op::named(["ConstantOfShape", "Split"]).outputs(&float).dynamic())
}

/// One node with the region's weights as inputs, and the operators as its blob.
fn compile(region: &mut Region<'_>) -> Res<Vec<Port>> {
    let mut program = region.blob();
    for node in region.nodes() {
        program.append(format!("{}\n", node.op()).as_bytes())?;
    }
    let (inputs, weights, outputs) = (region.inputs(), region.weights(), region.outputs());
    let node = region.own("Program").inputs(inputs).inputs(weights);
    node.blob("program", &program).outputs_like(&outputs).emit()
}

macro_rules! backends {
    ($($(#[doc = $doc:literal])* $name:ident $id:literal { $($body:tt)* })*) => {$(
        $(#[doc = $doc])*
        #[derive(Default)]
        pub(crate) struct $name;

        impl Backend for $name {
            backends! { @ $id $($body)* }
        }
    )*};
    (@ $id:literal claim |$claim:ident| $take:block compile |$region:ident| $make:block) => {
        fn profile(&self) -> Profile {
            profile($id)
        }
        fn claim(&self, $claim: &mut Claim<'_>) -> Res<()> $take
        fn compile(&self, $region: &mut Region<'_>) -> Res<()> $make
    };
    (@ $id:literal claim |$claim:ident| $take:block) => {
        backends! { @ $id claim |$claim| $take compile |region| {
            let made = compile(region)?;
            region.replace(&made)
        } }
    };
    (@ $id:literal compile |$region:ident| $make:block) => {
        fn profile(&self) -> Profile {
            profile($id)
        }
        fn compile(&self, $region: &mut Region<'_>) -> Res<()> $make
    };
}

/// Takes everything.
#[derive(Default)]
pub(crate) struct Plain;

impl Backend for Plain {
    fn profile(&self) -> Profile {
        profile("plain").priority(1)
    }

    fn compile(&self, region: &mut Region<'_>) -> Res<()> {
        let made = compile(region)?;
        region.replace(&made)
    }
}

/// Takes only `Relu` of fixed sizes, as plain ONNX, each for itself, in regions of two nodes at least.
#[derive(Default)]
pub(crate) struct Pairs;

impl Backend for Pairs {
    fn profile(&self) -> Profile {
        Profile::new("pairs").op(Op::named(["Relu", "Add"])).min_nodes(2)
    }

    fn compile(&self, region: &mut Region<'_>) -> Res<()> {
        let (inputs, outputs) = (region.inputs(), region.outputs());
        let zero = region.constant(DType::F32, &[], &0_f32.to_le_bytes())?;
        let Some(first) = inputs.first() else { return Err("no input".into()) };
        let made = region.onnx("Max").input(*first).input(zero).outputs_like(&outputs).emit()?;
        region.replace(&made)
    }
}

/// Takes everything, but its runtime takes one region only.
#[derive(Default)]
pub(crate) struct Single;

impl Backend for Single {
    fn profile(&self) -> Profile {
        profile("single").single()
    }

    fn compile(&self, region: &mut Region<'_>) -> Res<()> {
        let made = compile(region)?;
        region.replace(&made)
    }
}

/// Compiles several regions at once, and waits for company.
#[derive(Default)]
pub(crate) struct Parallel;

/// How many regions [`Parallel`] compiles now, and how many it did at most.
pub(crate) static COMPANY: (AtomicUsize, AtomicUsize) = (AtomicUsize::new(0), AtomicUsize::new(0));

impl Backend for Parallel {
    fn profile(&self) -> Profile {
        profile("parallel").parallel()
    }

    fn compile(&self, region: &mut Region<'_>) -> Res<()> {
        let here = COMPANY.0.fetch_add(1, Ordering::SeqCst) + 1;
        COMPANY.1.fetch_max(here, Ordering::SeqCst);
        let start = std::time::Instant::now();
        while COMPANY.1.load(Ordering::SeqCst) < 2 && start.elapsed().as_millis() < 500 {
            std::thread::yield_now();
        }
        let made = compile(region);
        COMPANY.0.fetch_sub(1, Ordering::SeqCst);
        region.replace(&made?)
    }
}

/// Is three times as fast, but takes as long as four nodes to enter.
#[derive(Default)]
pub(crate) struct Distant;

impl Backend for Distant {
    fn profile(&self) -> Profile {
        profile("distant")
    }

    fn compile(&self, region: &mut Region<'_>) -> Res<()> {
        let made = compile(region)?;
        region.replace(&made)
    }

    fn cost(&self, region: &Region<'_>) -> Option<Cost> {
        let nodes = region.nodes().len() as f64;
        Some(Cost { device: nodes * 1e-6, runtime: nodes * 3e-6, entry: 3e-6, byte: 5e-8 })
    }
}

/// Does not know how long anything takes.
#[derive(Default)]
pub(crate) struct Lost;

impl Backend for Lost {
    fn profile(&self) -> Profile {
        profile("lost")
    }

    fn compile(&self, region: &mut Region<'_>) -> Res<()> {
        let made = compile(region)?;
        region.replace(&made)
    }

    fn cost(&self, _: &Region<'_>) -> Option<Cost> {
        Some(Cost { device: f64::NAN, runtime: 1.0, entry: 0.0, byte: 0.0 })
    }
}

/// Counts its compilations, whose results may be kept.
#[derive(Default)]
pub(crate) struct Kept;

thread_local! {
    /// How often [`Kept`] compiled for a test.
    pub(crate) static COMPILED: Cell<usize> = const { Cell::new(0) };
}

/// The environment of [`Kept`].
pub(crate) static DRIVER: AtomicUsize = AtomicUsize::new(1);

impl Backend for Kept {
    fn profile(&self) -> Profile {
        profile("kept")
    }

    fn compile(&self, region: &mut Region<'_>) -> Res<()> {
        COMPILED.set(COMPILED.get() + 1);
        let zero = region.constant(DType::F32, &[1], &0_f32.to_le_bytes())?;
        let mut program = region.blob();
        program.append(format!("driver {}", DRIVER.load(Ordering::SeqCst)).as_bytes())?;
        let (inputs, weights, outputs) = (region.inputs(), region.weights(), region.outputs());
        let name = region.name().to_owned();
        let node = region.own("Program").inputs(inputs).inputs(weights).input(zero);
        let node = node.int("steps", 3).str("name", name).blob("program", &program);
        let made = node.outputs_like(&outputs).emit()?;
        region.replace(&made)
    }

    fn environment(&self) -> Option<String> {
        Some(format!("driver {}", DRIVER.load(Ordering::SeqCst)))
    }
}

backends! {
    /// Regions as they are claimed: each node for itself.
    Nothing "nothing" { claim |claim| {
        for node in claim.offered() {
            claim.refuse(node, "it is not in the mood");
        }
        Ok(())
    } }
    /// Everything together, or nothing.
    Together "together" { claim |claim| {
        let offered = claim.offered();
        claim.take_together(&offered)
    } }
    /// The last first.
    Backwards "backwards" { claim |claim| {
        claim.offered().into_iter().rev().try_for_each(|node| claim.take(node))
    } }
    /// One node twice in a claim.
    Doubled "doubled" { claim |claim| {
        let offered = claim.offered();
        let twice: Vec<NodeRef<'_>> = offered.iter().chain(&offered).copied().collect();
        claim.take_together(&twice)
    } }
    /// One node in two claims.
    Again "again" { claim |claim| {
        let offered = claim.offered();
        offered.iter().chain(&offered).try_for_each(|node| claim.take(*node))
    } }
    /// Nodes that were not offered.
    Greedy "greedy" { claim |claim| {
        claim.graph().nodes().into_iter().try_for_each(|node| claim.take(node))
    } }
    /// An empty claim.
    Empty "empty" { claim |claim| { claim.take_together(&[]) } }
    /// Gives up at once.
    Unwilling "unwilling" { claim |_claim| { Err("the licence has expired".into()) } }
    PanicsInClaim "panics_in_claim" { claim |_claim| { panic!("out of coffee") } }
    Panics "panics" { compile |_region| { panic!("out of tea") } }
    Refuses "refuses" { compile |region| { Err(format!("{} is too wild", region.name()).into()) } }
    Silent "silent" { compile |_region| { Ok(()) } }
    Few "few" { compile |region| {
        compile(region)?;
        region.replace(&[])
    } }
    Other "other_dtype" { compile |region| {
        let made = region.own("Program").output(DType::F16, &[Dim::Unknown, Dim::Unknown]).emit()?;
        region.replace(&made)
    } }
    Flat "other_rank" { compile |region| {
        let made = region.own("Program").output(DType::F32, &[Dim::Unknown]).emit()?;
        region.replace(&made)
    } }
    Narrow "other_extent" { compile |region| {
        let made = region.own("Program").output(DType::F32, &[Dim::Unknown, Dim::Const(3)]).emit()?;
        region.replace(&made)
    } }
    Liar "liar" { compile |region| {
        let inputs = region.inputs();
        let made = region.onnx("Relu").inputs(inputs).output(DType::F16, &[Dim::Unknown]).emit()?;
        region.replace(&made)
    } }
    /// Uses a value that is none of the region's.
    Foreign "foreign" { compile |region| {
        let Some((_, output)) = region.graph().outputs().into_iter().next() else { return Ok(()) };
        let outputs = region.outputs();
        let made = region.own("Program").input(output).outputs_like(&outputs).emit()?;
        region.replace(&made)
    } }
    /// Hands its inputs through, and one value twice.
    Wire "wire" { compile |region| {
        let inputs: Vec<Port> = region.inputs().into_iter().map(Port::from).collect();
        let count = region.outputs().len();
        let made: Vec<Port> = inputs.into_iter().cycle().take(count).collect();
        region.replace(&made)
    } }
    /// Has the weights in its blob.
    Inside "inside" { compile |region| {
        let mut program = region.blob();
        for weight in region.weights() {
            let bytes = weight.initializer().map_or(0, |w| w.byte_length);
            let mut buffer = [0; 16];
            let mut at = 0;
            while at < bytes {
                let part = buffer.len().min((bytes - at) as usize);
                if !weight.read(at, &mut buffer[..part]) {
                    return Err("a weight cannot be read".into());
                }
                program.append(&buffer[..part])?;
                at += part as u64;
            }
        }
        let (inputs, outputs) = (region.inputs(), region.outputs());
        let made = region.own("Program").inputs(inputs).blob("program", &program).outputs_like(&outputs).emit()?;
        region.replace(&made)
    } }
    /// Another version of the domain than its neighbours.
    Twice "twice" { compile |_region| { Ok(()) } }
    /// Has no multiplier, which it finds out when it compiles; claims what feeds an `Add` together with it.
    Picky "picky" { claim |claim| {
        let offered = claim.offered();
        let mut taken: Vec<u64> = Vec::new();
        for sum in offered.iter().filter(|node| node.is(op::Add)) {
            let feeding = sum.inputs().into_iter().flatten().filter_map(|input| Some(input.producer()?.0));
            let all: Vec<NodeRef<'_>> = feeding.chain([*sum]).filter(|node| offered.contains(node)).collect();
            taken.extend(all.iter().map(|node| node.id()));
            claim.take_together(&all)?;
        }
        offered.into_iter().filter(|node| !taken.contains(&node.id())).try_for_each(|node| claim.take(node))
    } compile |region| {
        let refused: Vec<NodeRef<'_>> = region.nodes().into_iter().filter(|node| node.is(op::Mul)).collect();
        if !refused.is_empty() {
            for node in refused {
                region.refuse(node, "there is no multiplier");
            }
            return Err("it has a product".into());
        }
        let made = compile(region)?;
        region.replace(&made)
    } }
    /// 100 MB in pieces.
    Huge "huge" { compile |region| {
        let mut program = region.blob();
        let piece: Vec<u8> = (0..1_000_000_u32).map(|n| n as u8).collect();
        for _ in 0..100 {
            program.append(&piece)?;
        }
        let (inputs, outputs) = (region.inputs(), region.outputs());
        let made = region.own("Program").inputs(inputs).blob("program", &program).outputs_like(&outputs).emit()?;
        region.replace(&made)
    } }
    /// A blob without bytes.
    Void "void" { compile |region| {
        let program = region.blob();
        let (inputs, outputs) = (region.inputs(), region.outputs());
        let made = region.own("Program").inputs(inputs).blob("program", &program).outputs_like(&outputs).emit()?;
        region.replace(&made)
    } }
}

onnxport_sdk::export_plugin! {
    id: "scripted",
    backend: Plain,
    backend: Pairs,
    backend: Single,
    backend: Kept,
    backend: Parallel,
    backend: Distant,
    backend: Lost,
    backend: Nothing,
    backend: Together,
    backend: Backwards,
    backend: Doubled,
    backend: Again,
    backend: Greedy,
    backend: Empty,
    backend: Unwilling,
    backend: PanicsInClaim,
    backend: Panics,
    backend: Refuses,
    backend: Silent,
    backend: Few,
    backend: Other,
    backend: Flat,
    backend: Narrow,
    backend: Liar,
    backend: Foreign,
    backend: Wire,
    backend: Inside,
    backend: Twice,
    backend: Picky,
    backend: Huge,
    backend: Void,
}
