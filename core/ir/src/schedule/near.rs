//! Moves nodes of an order closer to the nodes that they should be near.

use super::flow::Flow;

/// `order`, but nodes that add bytes come right in front of the first that needs them, and nodes that take bytes away right
/// behind the last that they need.
pub(super) fn order(flow: &Flow, order: &[u32]) -> Vec<u32> {
    let adds = growth(flow, order);
    let mut before: Vec<Vec<u32>> = vec![Vec::new(); flow.steps.len()];
    for (node, step) in (0..).zip(&flow.steps) {
        step.after.iter().for_each(|next| before[*next as usize].push(node));
    }
    let mut waits: Vec<u32> = flow.steps.iter().map(|step| step.needs).collect();
    let mut came = vec![false; order.len()];
    let (mut new, mut stack) = (Vec::with_capacity(order.len()), Vec::new());
    // Nodes that add bytes wait until they are needed, or for the end.
    let wanted = order.iter().filter(|node| !adds[**node as usize].is_positive()).chain(order);
    for node in wanted {
        stack.push(*node);
        while let Some(node) = stack.last().copied() {
            if came[node as usize] {
                stack.pop();
                continue;
            }
            let missing = stack.len();
            stack.extend(before[node as usize].iter().rev().filter(|maker| !came[**maker as usize]));
            if stack.len() > missing {
                continue;
            }
            stack.pop();
            came[node as usize] = true;
            new.push(node);
            for next in flow.steps[node as usize].after.iter().rev() {
                waits[*next as usize] -= 1;
                if waits[*next as usize] == 0 && adds[*next as usize].is_negative() {
                    stack.push(*next);
                }
            }
        }
    }
    new
}

/// Returns the bytes that each node adds in `order`: its outputs less the buffers that it is the last to read.
fn growth(flow: &Flow, order: &[u32]) -> Vec<i128> {
    let mut left: Vec<u32> = flow.buffers.iter().map(|buffer| buffer.readers.len() as u32).collect();
    let mut adds = vec![0_i128; order.len()];
    let bytes = |buffer: u32| i128::from(flow.buffers[buffer as usize].bytes[0]);
    for node in order {
        let step = &flow.steps[*node as usize];
        let add = &mut adds[*node as usize];
        *add += step.makes.iter().map(|buffer| bytes(*buffer)).sum::<i128>();
        for buffer in &step.reads {
            left[*buffer as usize] -= 1;
            if left[*buffer as usize] == 0 && !flow.buffers[*buffer as usize].kept {
                *add -= bytes(*buffer);
            }
        }
    }
    adds
}
