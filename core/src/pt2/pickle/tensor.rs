//! The results of the allowed functions.

use super::global::Global;
use super::item::{Heap, Item, Ref};
use super::{Storages, refuse};
use crate::diagnose::Diagnostic;
use crate::pt2::view::{Claim, view};
use crate::tensor::{DType, LazyTensor};

/// The result of `function(*args)`.
pub(super) fn reduce(heap: &Heap, function: &Global, args: &[Ref]) -> Result<Item, Diagnostic> {
    let unexpected = || refuse(format!("the pickle calls {function:?} with unexpected arguments"));
    match (function, args) {
        (Global::RebuildTensor, [storage, offset, size, stride, ..]) => {
            tensor(heap, *storage, None, *offset, *size, *stride).ok_or_else(unexpected)?
        }
        (Global::RebuildTensorV3, [storage, offset, size, stride, _, _, dtype, ..]) => {
            let Item::DType(dtype) = heap.get(*dtype) else { return Err(unexpected()) };
            tensor(heap, *storage, Some(*dtype), *offset, *size, *stride).ok_or_else(unexpected)?
        }
        (Global::RebuildParameter, [data, ..]) => match heap.get(*data) {
            Item::Tensor(tensor) => Ok(Item::Tensor(tensor.clone())),
            _ => Err(unexpected()),
        },
        (Global::RebuildFromType, [inner, class, args, ..]) => {
            match (heap.get(*inner), heap.get(*class), heap.tuple(*args)) {
                (
                    Item::Global(
                        inner @ (Global::RebuildTensor | Global::RebuildTensorV3 | Global::RebuildParameter),
                    ),
                    Item::Global(Global::TensorType),
                    Some(args),
                ) => reduce(heap, inner, args),
                _ => Err(unexpected()),
            }
        }
        (Global::OrderedDict, []) | (Global::DefaultDict, _) => Ok(Item::Dict(Vec::new())),
        (Global::OrderedDict, [pairs]) => dict(heap, *pairs).ok_or_else(unexpected),
        (Global::Size, []) => Ok(Item::Tuple(Vec::new())),
        (Global::Size, [items]) => match heap.get(*items) {
            Item::Tuple(items) | Item::List(items) => Ok(Item::Tuple(items.clone())),
            _ => Err(unexpected()),
        },
        (Global::Complex, [real, imag]) => match (heap.get(*real), heap.get(*imag)) {
            (Item::Float(real), Item::Float(imag)) => Ok(Item::Complex(*real, *imag)),
            _ => Err(unexpected()),
        },
        (Global::Device, [kind, rest @ ..]) => {
            let kind = heap.text(*kind).ok_or_else(unexpected)?;
            let index = rest.first().and_then(|index| heap.size(*index));
            Ok(Item::Name(index.map_or_else(|| kind.to_owned(), |index| format!("{kind}:{index}"))))
        }
        (Global::Layout, [name]) => Ok(Item::Name(heap.text(*name).ok_or_else(unexpected)?.to_owned())),
        (Global::Plain(class), []) => Ok(Item::Object { class: (*class).to_owned(), state: None }),
        _ => Err(unexpected()),
    }
}

/// A dictionary from a list of pairs.
fn dict(heap: &Heap, pairs: Ref) -> Option<Item> {
    let pairs = match heap.get(pairs) {
        Item::List(pairs) | Item::Tuple(pairs) => pairs,
        Item::Dict(pairs) => return Some(Item::Dict(pairs.clone())),
        _ => return None,
    };
    let pair = |pair: &Ref| match heap.get(*pair) {
        Item::Tuple(pair) | Item::List(pair) => <[Ref; 2]>::try_from(pair.as_slice()).ok(),
        _ => None,
    };
    pairs.iter().map(|at| pair(at).map(|[key, value]| (key, value))).collect::<Option<_>>().map(Item::Dict)
}

fn tensor(
    heap: &Heap,
    storage: Ref,
    dtype: Option<DType>,
    offset: Ref,
    size: Ref,
    stride: Ref,
) -> Option<Result<Item, Diagnostic>> {
    let Item::Storage { dtype: stored, region } = heap.get(storage) else { return None };
    let sizes = |at: Ref| heap.tuple(at)?.iter().map(|n| heap.size(*n)).collect::<Option<Vec<_>>>();
    let claim = Claim {
        dtype: dtype.or(*stored)?,
        shape: sizes(size)?,
        strides: sizes(stride)?,
        offset: heap.size(offset)?,
    };
    let tensor = view(claim, region.clone(), "a tensor of the pickle");
    Some(tensor.map(|tensor: LazyTensor| Item::Tensor(Box::new(tensor))))
}

/// The bytes of the key in a persistent id, which are looked at once more for each use.
pub(super) fn key_len(heap: &Heap, id: Ref) -> usize {
    heap.tuple(id).and_then(|id| heap.text(*id.get(2)?)).map_or(0, str::len)
}

/// The storage of a persistent id: `('storage', class, key, location, elements)`.
pub(super) fn storage(heap: &Heap, id: Ref, storages: &dyn Storages) -> Result<Item, Diagnostic> {
    let unexpected = || refuse("the pickle refers to something that is not a storage");
    let [kind, class, key, _, elements] = heap.tuple(id).ok_or_else(unexpected)? else {
        return Err(unexpected());
    };
    let (Some("storage"), Item::Global(Global::Storage(dtype)), Some(key), Some(elements)) =
        (heap.text(*kind), heap.get(*class), heap.text(*key), heap.size(*elements))
    else {
        return Err(unexpected());
    };
    let region = storages.storage(key)?;
    let claimed = dtype.unwrap_or(DType::U8).byte_len(elements);
    if claimed.is_none_or(|claimed| claimed > region.len()) {
        let message =
            format!("storage `{key}` has {} bytes, fewer than its {elements} elements", region.len());
        return Err(Diagnostic::error(crate::diagnose::Code::READ_PAYLOAD, message));
    }
    Ok(Item::Storage { dtype: *dtype, region })
}
