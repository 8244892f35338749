//! The host's side of `backend/1`: the callbacks of a backend during `claim` and `compile`.
//!
//! The model does not change during a call. The host keeps the emitted nodes until the backend has returned
//! and everything has been checked.

use onnxport_abi::backend::{BackendHost, EmitRecord, NO_BLOB, RegionView, claim_flags};
use onnxport_abi::graph::{AttributeView, GraphContext, NOTHING};
use onnxport_abi::lowering::{TypeRecord, arg_kind, attr_kind, dim_kind};
use onnxport_abi::{Malformed, RSlice, RSliceMut, RStr, Table, status};
use rustc_hash::{FxHashMap, FxHashSet};

use super::blob::Blob;
use super::region::Ports;
use super::select::Selected;
use crate::graph_access::{self, Access, Frame};
use crate::host::{Site, Validated, cross};
use crate::incoming;
use crate::ir::{Attr, Attribute, Model, NodeId, Shape, Type, ValueId};
use crate::sym::Dim;
use crate::tensor::{DType, LazyTensor};

static HOST: BackendHost =
    BackendHost { offered, claim, refuse_node, region, constant, blob, emit, finish, refuse };

/// The envelope of the functions.
pub(crate) fn host_table() -> Table {
    Table::of(&HOST)
}

/// The state of a call: its purpose, and the backend's answers so far.
pub(super) enum Call {
    Claim(Box<Claim>),
    Compile(Box<Compile>),
}

/// A call of `claim`.
#[derive(Default)]
pub(super) struct Claim {
    /// The nodes, by block and in order.
    pub(super) offered: Vec<NodeId>,
    /// Whether each offered node was claimed.
    pub(super) claimed: FxHashMap<NodeId, bool>,
    /// The claims, and whether the nodes of each belong together.
    pub(super) groups: Vec<(Vec<NodeId>, bool)>,
    /// Why nodes are not claimed.
    pub(super) reasons: FxHashMap<NodeId, String>,
    /// How the backend broke the contract.
    pub(super) broken: Option<String>,
    /// Why the backend refuses the call.
    pub(super) refusal: Option<Refusal>,
    ids: Vec<u64>,
}

impl Claim {
    pub(super) fn from_offered(offered: Vec<NodeId>) -> Self {
        let claimed = offered.iter().map(|node| (*node, false)).collect();
        Self { offered, claimed, ..Self::default() }
    }
}

/// A call of `compile`.
#[derive(Default)]
pub(super) struct Compile {
    /// The region's name.
    pub(super) name: String,
    /// The domain of the backend's own operators.
    pub(super) domain: String,
    /// The region's nodes.
    pub(super) nodes: Vec<NodeId>,
    /// The inputs and outputs of the region.
    pub(super) ports: Ports,
    /// The emitted nodes, in order.
    pub(super) made: Vec<Addition>,
    /// The blobs by their numbers.
    pub(super) blobs: FxHashMap<u32, Blob>,
    /// The replacements of the outputs.
    pub(super) answer: Option<Vec<ValueId>>,
    /// How the backend broke the contract.
    pub(super) broken: Option<String>,
    /// Why the backend refuses the call.
    pub(super) refusal: Option<Refusal>,
    /// Whether a blob could not be kept, which `refusal` says.
    is_full: bool,
    /// The nodes because of which it does, with reasons.
    pub(super) refused: FxHashMap<NodeId, String>,
    /// The region's inputs and weights.
    allowed: FxHashSet<ValueId>,
    /// The number of new values; their ids follow those of the graph.
    values: u32,
    ids: [Vec<u64>; 4],
}

/// An addition by the backend.
pub(super) enum Addition {
    /// A constant, and the number of its value.
    Constant(ValueId, LazyTensor),
    /// A node.
    Node(Emitted),
}

/// A node that a backend emitted.
pub(super) struct Emitted {
    pub(super) domain: String,
    pub(super) op: String,
    pub(super) inputs: Vec<Option<ValueId>>,
    pub(super) attributes: Vec<Attribute>,
    /// The ids of the outputs, and their stated types.
    pub(super) outputs: Vec<(ValueId, Type)>,
    /// The blob, and the attribute that holds it.
    pub(super) blob: Option<(u32, String)>,
}

/// A backend's reason.
pub(super) struct Refusal {
    pub(super) code: String,
    pub(super) message: String,
    pub(super) help: String,
}

impl Refusal {
    /// The default reason of a backend that states none.
    pub(super) fn none() -> Self {
        Self { code: String::new(), message: "no reason given".to_owned(), help: String::new() }
    }
}

/// Runs `body` with the access and the state behind `cx`.
fn with(cx: GraphContext, body: impl FnOnce(&mut Access<'_>, &mut Call) -> Option<()>) -> u32 {
    // SAFETY: the context was made by `run` from a frame with this state; see there.
    unsafe {
        graph_access::with_frame(cx, |frame: &mut Frame<'_, Call>| body(&mut frame.access, &mut frame.state))
    }
}

fn with_claim(cx: GraphContext, body: impl FnOnce(&mut Access<'_>, &mut Claim) -> Option<()>) -> u32 {
    with(cx, |access, call| match call {
        Call::Claim(claim) => body(access, claim),
        Call::Compile(_) => None,
    })
}

fn with_compile(cx: GraphContext, body: impl FnOnce(&mut Access<'_>, &mut Compile) -> Option<()>) -> u32 {
    with(cx, |access, call| match call {
        Call::Claim(_) => None,
        Call::Compile(compile) => body(access, compile),
    })
}

/// Calls `function` of the backend's table with `model` and the state of the call. Returns its status and the state.
pub(super) fn run(
    model: &Model,
    call: Call,
    backend: &Selected,
    task: &'static str,
    function: impl FnOnce(&Table, &Table, GraphContext) -> u32,
) -> (u32, Call) {
    let mut frame = Frame::new(Access::read(model), call);
    let cx = frame.context();
    let site = Site { plugin: backend.plugin_id, task, subject: backend.entry.id.validated() };
    let status = cross(site, || function(&host_table(), &graph_access::host_table(), cx));
    (status, frame.state)
}

/// Has the backend compile a region.
pub(super) fn compile(model: &Model, compile: Box<Compile>, backend: &Selected) -> (u32, Box<Compile>) {
    let asked = run(model, Call::Compile(compile), backend, "compiling", |host, graph, cx| {
        (backend.table.compile)(backend.index, host, graph, cx)
    });
    match asked {
        (status, Call::Compile(compile)) => (status, compile),
        (_, Call::Claim(_)) => (status::INVALID, Box::default()),
    }
}

/// Returns the value that a plugin handed over, or a sentence that says how it breaks the contract.
fn read<T>(given: Result<T, Malformed>) -> Result<T, String> {
    given.map_err(|malformed| format!("it hands over {malformed}"))
}

/// A slice that the plugin may use until its next call into the host.
fn lend<'a, T>(items: &[T]) -> RSlice<'a, T> {
    // SAFETY: the items live in the state of the call, which changes them only in a later call of the
    // plugin; the contract ends the borrow there.
    RSlice::from_slice(unsafe { std::slice::from_raw_parts(items.as_ptr(), items.len()) })
}

extern "C" fn offered<'a>(cx: GraphContext, out: &mut RSlice<'a, u64>) -> u32 {
    with_claim(cx, |access, claim| {
        claim.ids = claim.offered.iter().map(|node| access.epoch.node(*node)).collect();
        *out = lend(&claim.ids);
        Some(())
    })
}

extern "C" fn claim(cx: GraphContext, nodes: RSlice<'_, u64>, flags: u32) -> u32 {
    with_claim(cx, |access, claim| {
        let mut group = Vec::with_capacity(nodes.len());
        let mut seen = FxHashSet::default();
        for id in nodes.list().ok()? {
            let node = access.node(*id);
            let known = node.and_then(|node| Some((node, *claim.claimed.get(&node)?)));
            let problem = match known {
                None => "that was not offered",
                Some((_, true)) => "that it claimed before",
                Some((node, false)) if !seen.insert(node) => "twice in one claim",
                Some((node, false)) => {
                    group.push(node);
                    continue;
                }
            };
            claim.broken.get_or_insert(format!("it claims a node {problem}"));
            return None;
        }
        claim.claimed.extend(group.iter().map(|node| (*node, true)));
        if !group.is_empty() {
            claim.groups.push((group, flags & claim_flags::TOGETHER != 0));
        }
        Some(())
    })
}

extern "C" fn refuse_node(cx: GraphContext, node: u64, reason: RStr<'_>) -> u32 {
    with(cx, |access, call| {
        let node = access.node(node)?;
        let (reasons, is_known) = match call {
            Call::Claim(claim) => (&mut claim.reasons, claim.claimed.contains_key(&node)),
            Call::Compile(compile) => (&mut compile.refused, compile.nodes.contains(&node)),
        };
        is_known.then(|| reasons.insert(node, reason.message().into_owned()))?;
        Some(())
    })
}

extern "C" fn region<'a>(cx: GraphContext, out: &mut RegionView<'a>) -> u32 {
    with_compile(cx, |access, compile| {
        let epoch = access.epoch;
        let values = |values: &[ValueId]| values.iter().map(|v| epoch.value(*v)).collect::<Vec<_>>();
        let ports = &compile.ports;
        let nodes = compile.nodes.iter().map(|n| epoch.node(*n)).collect();
        compile.ids = [nodes, values(&ports.inputs), values(&ports.outputs), values(&ports.weights)];
        let [nodes, inputs, outputs, weights] = &compile.ids;
        // SAFETY: as for `lend`.
        let name: &'a str = unsafe { &*std::ptr::from_ref::<str>(&compile.name) };
        *out = RegionView {
            name: RStr::from_str(name),
            nodes: lend(nodes),
            inputs: lend(inputs),
            outputs: lend(outputs),
            weights: lend(weights),
        };
        Some(())
    })
}

extern "C" fn constant(
    cx: GraphContext,
    dtype: i32,
    dims: RSlice<'_, u64>,
    bytes: RSlice<'_, u8>,
    out: &mut u64,
) -> u32 {
    with_compile(cx, |access, compile| {
        let data = LazyTensor::inline(
            DType::from_onnx(dtype)?,
            incoming::extents(dims)?,
            bytes.get().ok()?.to_vec(),
        );
        if data.byte_len()? != bytes.len() as u64 {
            return None;
        }
        let value = compile.fresh(access);
        compile.made.push(Addition::Constant(value, data));
        *out = access.epoch.value(value);
        Some(())
    })
}

extern "C" fn blob(cx: GraphContext, blob: u32, bytes: RSlice<'_, u8>) -> u32 {
    let mut refused = false;
    let answer = with_compile(cx, |_, compile| {
        if blob == NO_BLOB {
            return None;
        }
        if let Err(error) = compile.blobs.entry(blob).or_default().write(bytes.get().ok()?) {
            let message = format!("a blob cannot be kept: {error}");
            compile.refusal = Some(Refusal { code: String::new(), message, help: String::new() });
            compile.is_full = true;
            refused = true;
        }
        Some(())
    });
    if answer == status::OK && refused { status::REFUSED } else { answer }
}

extern "C" fn emit(cx: GraphContext, node: &EmitRecord<'_>, outputs: RSliceMut<'_, u64>) -> u32 {
    with_compile(cx, |access, compile| {
        let outputs = outputs.list().ok()?;
        let emitted = match compile.emitted(access, node, outputs.len()) {
            Ok(emitted) => emitted,
            Err(problem) => {
                compile.broken.get_or_insert(problem);
                return None;
            }
        };
        for (place, (value, _)) in outputs.iter_mut().zip(&emitted.outputs) {
            *place = access.epoch.value(*value);
        }
        compile.made.push(Addition::Node(emitted));
        Some(())
    })
}

extern "C" fn finish(cx: GraphContext, outputs: RSlice<'_, u64>) -> u32 {
    with_compile(cx, |access, compile| {
        let values =
            outputs.list().ok()?.iter().map(|id| compile.usable(access, *id)).collect::<Option<Vec<_>>>();
        let Some(values) = values else {
            compile.broken.get_or_insert("an output is a value that it may not use".to_owned());
            return None;
        };
        compile.answer = Some(values);
        Some(())
    })
}

extern "C" fn refuse(cx: GraphContext, code: RStr<'_>, message: RStr<'_>, help: RStr<'_>) {
    with(cx, |_, call| {
        let [code, message, help] = [code, message, help].map(|text| text.message().into_owned());
        let refusal = Some(Refusal { code, message, help });
        match call {
            Call::Claim(claim) => claim.refusal = refusal,
            // The plugin refuses because the host did, which has the better reason.
            Call::Compile(compile) if compile.is_full => {}
            Call::Compile(compile) => compile.refusal = refusal,
        }
        Some(())
    });
}

impl Compile {
    pub(super) fn for_region(name: String, domain: String, nodes: Vec<NodeId>, ports: Ports) -> Self {
        let allowed = ports.inputs.iter().chain(&ports.weights).copied().collect();
        Self { name, domain, nodes, ports, allowed, ..Self::default() }
    }

    /// Returns the id of a new value: the next after all values of the graph.
    fn fresh(&mut self, access: &Access<'_>) -> ValueId {
        let value = ValueId::new(access.model().graph.values.len() as u32 + self.values);
        self.values += 1;
        value
    }

    /// Returns the value that `id` names, if a replacement of the region may use it.
    fn usable(&self, access: &Access<'_>, id: u64) -> Option<ValueId> {
        let value = ValueId::new(id as u32);
        if access.epoch.value(value) != id {
            return None;
        }
        let own = access.model().graph.values.len();
        let made = (own..own + self.values as usize).contains(&value.index());
        (made || self.allowed.contains(&value)).then_some(value)
    }

    fn emitted(
        &mut self,
        access: &Access<'_>,
        record: &EmitRecord<'_>,
        outputs: usize,
    ) -> Result<Emitted, String> {
        let (domain, op) = (read(record.domain.get())?.to_owned(), read(record.op.get())?.to_owned());
        if op.is_empty() {
            return Err("a node has no operator".to_owned());
        }
        if !domain.is_empty() && domain != self.domain {
            return Err(format!("`{op}` is of the domain `{domain}`, the backend's is `{}`", self.domain));
        }
        if outputs != record.outputs.len() || outputs == 0 {
            return Err(format!("`{op}` has {outputs} outputs, and types for {}", record.outputs.len()));
        }
        let input = |id: &u64| match *id {
            NOTHING => Some(None),
            id => self.usable(access, id).map(Some),
        };
        let inputs = read(record.inputs.list())?.iter().map(input).collect::<Option<Vec<_>>>();
        let inputs = inputs.ok_or_else(|| format!("an input of `{op}` is a value that it may not use"))?;
        let mut attributes = Vec::new();
        for view in read(record.attributes.list())? {
            let name = read(view.name.get())?.to_owned();
            let value = attribute(view);
            let value = value.ok_or_else(|| format!("the attribute `{name}` of `{op}` cannot be given"))?;
            attributes.push(Attribute { name: name.into(), value });
        }
        let blob = match record.blob {
            NO_BLOB => None,
            number if self.blobs.contains_key(&number) && !record.blob_attribute.is_empty() => {
                Some((number, read(record.blob_attribute.get())?.to_owned()))
            }
            number => return Err(format!("`{op}` has the blob {number}, which was not made or named")),
        };
        let blob_names = blob.iter().map(|(_, name)| name.as_str());
        let mut names: Vec<&str> = attributes.iter().map(|a| a.name.as_str()).chain(blob_names).collect();
        names.sort_unstable();
        if let Some(pair) = names.windows(2).find(|pair| pair.first() == pair.last()) {
            return Err(format!("the attribute `{}` of `{op}` occurs twice", pair.concat()));
        }
        let types = read(record.outputs.list())?.iter().map(|ty| read_type(access.model(), ty));
        let types = types.collect::<Option<Vec<_>>>();
        let types = types.ok_or_else(|| format!("the type of an output of `{op}` is none"))?;
        let outputs = types.into_iter().map(|ty| (self.fresh(access), ty)).collect();
        Ok(Emitted { domain, op, inputs, attributes, outputs, blob })
    }
}

fn attribute(view: &AttributeView<'_>) -> Option<Attr> {
    Some(match view.kind {
        attr_kind::INT => Attr::Int(*view.ints.list().ok()?.first()?),
        attr_kind::FLOAT => Attr::Float(*view.floats.list().ok()?.first()?),
        attr_kind::STR => Attr::Str(view.text.get().ok()?.to_owned()),
        attr_kind::INTS => Attr::Ints(view.ints.get().ok()?.to_vec()),
        attr_kind::FLOATS => Attr::Floats(view.floats.get().ok()?.to_vec()),
        attr_kind::STRS => Attr::Strs(incoming::strings(view.texts)?),
        attr_kind::TENSOR => {
            let data = &view.tensor;
            let tensor = LazyTensor::inline(
                DType::from_onnx(data.dtype)?,
                data.dims.get().ok()?.to_vec(),
                data.bytes.get().ok()?.to_vec(),
            );
            (tensor.byte_len()? == data.bytes.len() as u64).then_some(Attr::Tensor(tensor))?
        }
        _ => return None,
    })
}

/// The type that a record states; `None` if it is not a tensor of known element type.
fn read_type(model: &Model, record: &TypeRecord<'_>) -> Option<Type> {
    if record.kind != arg_kind::TENSOR {
        return None;
    }
    let shape = if record.rank < 0 {
        Shape::Unranked
    } else if record.rank as usize == record.dims.len() {
        let dims = record.dims.list().ok()?.iter().map(|dim| match dim.kind {
            dim_kind::CONST => Some(Some(Dim::Const(dim.value))),
            dim_kind::EXPR => model.symbols.check(dim.expr).map(|expr| Some(Dim::Expr(expr))),
            dim_kind::UNKNOWN => Some(None),
            _ => None,
        });
        Shape::Ranked(dims.collect::<Option<_>>()?)
    } else {
        return None;
    };
    Some(Type::tensor(DType::from_onnx(record.dtype)?, shape))
}
