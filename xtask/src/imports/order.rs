//! The order that ARCHITECTURE.md draws, in its block ```` ```imports ````.

use std::collections::BTreeMap;

/// Rows of rooms; a row imports only from rows above it.
#[derive(Debug, Default)]
pub(super) struct Order {
    rows: Vec<Vec<String>>,
}

impl Order {
    /// The row of a room.
    pub(super) fn row(&self, room: &str) -> Option<usize> {
        self.rows.iter().position(|row| row.iter().any(|other| other == room))
    }

    /// The rooms, top row first.
    pub(super) fn rooms(&self) -> impl Iterator<Item = &str> {
        self.rows.iter().flatten().map(String::as_str)
    }
}

/// The orders in a text: a line at the margin names one, indented lines below it are its rows.
pub(super) fn parse(text: &str) -> Result<BTreeMap<String, Order>, String> {
    let mut orders: BTreeMap<String, Order> = BTreeMap::new();
    let mut current = None;
    let lines = text.lines().skip_while(|line| *line != "```imports").skip(1);
    for line in lines.take_while(|line| *line != "```") {
        if !line.starts_with(' ') {
            current = Some(orders.entry(line.to_owned()).or_default());
        } else if let Some(order) = &mut current {
            order.rows.push(line.split_whitespace().map(str::to_owned).collect());
        }
    }
    if orders.is_empty() {
        return Err("ARCHITECTURE.md has no block ```imports".to_owned());
    }
    Ok(orders)
}
