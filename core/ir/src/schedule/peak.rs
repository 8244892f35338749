//! The peak memory of an order.

use super::flow::Flow;
use super::sizes::{Bytes, TIMES};

/// The most bytes that are alive at once when nodes run in `order`, with nested graphs as they are now, or as they were.
pub(super) fn of(flow: &Flow, order: &[u32], now: bool) -> Bytes {
    let mut readers: Vec<u32> = flow.buffers.iter().map(|buffer| buffer.readers.len() as u32).collect();
    let (mut alive, mut peak) = ([0_u64; TIMES], [0_u64; TIMES]);
    for at in order {
        let step = &flow.steps[*at as usize];
        for buffer in &step.makes {
            add(&mut alive, &flow.buffers[*buffer as usize].bytes);
        }
        for time in 0..TIMES {
            peak[time] = peak[time].max(alive[time].saturating_add(step.inside[usize::from(now)][time]));
        }
        for buffer in &step.reads {
            readers[*buffer as usize] -= 1;
        }
        for buffer in step.reads.iter().chain(&step.makes) {
            let held = &flow.buffers[*buffer as usize];
            if readers[*buffer as usize] == 0 && !held.kept {
                for (alive, bytes) in alive.iter_mut().zip(&held.bytes) {
                    *alive = alive.saturating_sub(*bytes);
                }
            }
        }
    }
    peak
}

fn add(sum: &mut Bytes, more: &Bytes) {
    for (sum, more) in sum.iter_mut().zip(more) {
        *sum = sum.saturating_add(*more);
    }
}
