//! Metadata of a model: its producer, and the versions that it needs.

use onnxport_proto::{ModelProto, OperatorSetIdProto};

use crate::ir::{Def, Header, Model, OpsetImport};
use crate::tensor::DType;
use crate::write::value_info::some;

/// The lowest IR version that is written: before it, initializers had to be inputs.
pub const LEAST_IR_VERSION: i64 = 4;
/// The highest IR version that is written.
pub const MOST_IR_VERSION: i64 = 14;

pub(super) fn opsets(opsets: &[OpsetImport]) -> Vec<OperatorSetIdProto> {
    let import =
        |o: &OpsetImport| OperatorSetIdProto { domain: Some(o.domain.clone()), version: Some(o.version) };
    opsets.iter().map(import).collect()
}

/// Copies the header of an imported model to `proto`.
pub(super) fn stated(proto: &mut ModelProto, header: &Header) {
    proto.producer_name = some(&header.producer);
    proto.producer_version = some(&header.producer_version);
    proto.domain = some(&header.domain);
    proto.model_version = Some(header.version).filter(|version| *version != 0);
    proto.doc_string = some(&header.doc);
    proto.configuration.clone_from(&header.devices);
    proto.training_info.clone_from(&header.training);
}

/// The IR version of the model: the one asked for, or that of the imported model or of the opset (`VERSION_TABLE` in
/// `onnx/helper.py`), or a later one that its types and functions need.
pub(super) fn ir_version(model: &Model) -> i64 {
    let usual = match model.origin.header() {
        Some(header) => header.ir_version,
        None => by_opset(model.opset()),
    };
    model.ir_version.unwrap_or_else(|| usual.max(needed(model)))
}

/// The lowest IR version that has the element types of the model (the notes at `TensorProto.DataType`), and its functions.
///
/// A model whose IR version is asked for has initializers that are not inputs, thus at least [`LEAST_IR_VERSION`].
pub fn least_ir_version(model: &Model) -> i64 {
    needed(model).max(LEAST_IR_VERSION)
}

fn needed(model: &Model) -> i64 {
    let by_functions = match &model.functions[..] {
        [] => 1,
        functions if functions.iter().all(|function| function.overload.is_empty()) => 8,
        _ => 10,
    };
    let graphs = std::iter::once(&model.graph).chain(model.functions.iter().map(|f| &f.graph));
    let dtypes = graphs.flat_map(|g| g.values.iter()).filter(|(_, v)| v.def != Def::Gone);
    let by_dtype = dtypes.filter_map(|(_, v)| v.ty.dtype()).map(|dtype| match dtype {
        DType::F8E4M3FN | DType::F8E4M3FNUZ | DType::F8E5M2 | DType::F8E5M2FNUZ => 9,
        DType::U4 | DType::I4 => 10,
        DType::F4E2M1 => 11,
        DType::F8E8M0 => 12,
        DType::U2 | DType::I2 => 13,
        DType::F6E2M3 | DType::F6E3M2 => 14,
        _ => 1,
    });
    by_dtype.fold(by_functions, i64::max)
}

fn by_opset(opset: i64) -> i64 {
    match opset {
        ..=11 => 6,
        12..=14 => 7,
        15..=18 => 8,
        19 | 20 => 9,
        21 | 22 => 10,
        23 => 11,
        24 => 12,
        25..=27 => 13,
        _ => 14,
    }
}
