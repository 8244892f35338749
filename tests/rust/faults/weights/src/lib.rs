//! Quantisers that misbehave on purpose, for the tests: one for each promise of the contract.

use std::sync::atomic::{AtomicU32, Ordering};

use onnxport_sdk::executor::Failure;
use onnxport_sdk::weights::{Block, Part, Quantiser, QuantiserGranule, Row, Weights};

#[derive(Default)]
struct Hasty;

impl Weights for Hasty {
    fn quantisers(&self) -> Vec<Box<dyn Quantiser>> {
        let fault = |name, spoil| Box::new(Fault { name, spoil }) as Box<dyn Quantiser>;
        vec![
            fault("fine", |_, _| {}),
            fault("panics", |_, _| panic!("out of cheese")),
            fault("nan", |_, block| *block.scale = f32::NAN),
            fault("negative", |_, block| *block.scale = -*block.scale),
            fault("unstored", |_, block| *block.scale = 0.1 + f32::EPSILON),
            fault("silent", |_, block| *block.scale = 0.0),
            fault("beyond", |part, block| block.codes[0] = part.codes().end() + 1),
            fault("shifted", |part, block| *block.zero = part.codes().start() - 1),
            fault("restless", |part, block| {
                block.codes[0] = (CALLS.fetch_add(1, Ordering::Relaxed) % 2) as i32 + part.codes().start();
            }),
            fault("waits", |_, _| {
                loop {
                    std::thread::park();
                }
            }),
            Box::new(Neighbours),
            Box::new(Refuses),
        ]
    }
}

static CALLS: AtomicU32 = AtomicU32::new(0);

/// Rounds to nearest, and then corrupts the result.
struct Fault {
    name: &'static str,
    spoil: fn(&Part<'_>, &mut Block<'_>),
}

impl Quantiser for Fault {
    fn name(&self) -> &str {
        self.name
    }

    fn quantise(&self, part: &Part<'_>, row: Row<'_>) -> Result<(), Failure> {
        for mut block in row.blocks(part) {
            let step = part.nearest(block.values);
            block.put(part, step);
            (self.spoil)(part, &mut block);
        }
        Ok(())
    }
}

/// Says that a block is all that it needs, and looks at the whole row.
struct Neighbours;

impl Quantiser for Neighbours {
    fn name(&self) -> &'static str {
        "neighbours"
    }

    fn granule(&self) -> QuantiserGranule {
        QuantiserGranule::Block
    }

    fn quantise(&self, part: &Part<'_>, row: Row<'_>) -> Result<(), Failure> {
        let step = part.nearest(row.values);
        row.blocks(part).for_each(|mut block| block.put(part, step));
        Ok(())
    }
}

struct Refuses;

impl Quantiser for Refuses {
    fn name(&self) -> &'static str {
        "refuses"
    }

    fn quantise(&self, part: &Part<'_>, _: Row<'_>) -> Result<(), Failure> {
        let weight = part.weight;
        Err(Failure::new(format!("there is no calibration for `{weight}`")).help("calibrate it first"))
    }
}

onnxport_sdk::export_plugin! { id: "hasty", weights: Hasty }
