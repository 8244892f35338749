//! Archives with random damage: any answer will do, but there must be one.

use onnxport_core::pt2;

use super::archive::{Archive, write};
use super::measure::measured;
use super::random::Random;

fn survive(bytes: &[u8]) {
    let file = write(bytes);
    let ((), peak) = measured(|| {
        let Ok(archive) = pt2::read(file.path()) else { return };
        if let Ok(Some(samples)) = archive.sample_inputs() {
            drop(samples.flatten(&archive.program.signature));
        }
    });
    assert!(peak < 64 << 20, "{peak} bytes");
}

#[test]
fn flipped_bytes_never_panic() {
    let bytes = Archive::base().bytes();
    let mut random = Random::new(1);
    for _ in 0..1500 {
        let mut bytes = bytes.clone();
        for _ in 0..=random.below(4) {
            let at = random.below(bytes.len());
            bytes[at] = random.below(256) as u8;
        }
        survive(&bytes);
    }
}

#[test]
fn damaged_entries_never_panic() {
    let mut random = Random::new(2);
    // Damage below an intact zip, which checksums would hide.
    for suffix in ["models/model.json", "model_weights_config.json", "sample_inputs/model.pt"] {
        for _ in 0..700 {
            let mut archive = Archive::base();
            let entry = archive.entry(suffix);
            for _ in 0..=random.below(3) {
                let at = random.below(entry.len());
                match random.below(3) {
                    0 => entry[at] = b"0123456789{}[]\",:-eNsR.tq("[random.below(26)],
                    1 => entry[at] = random.below(256) as u8,
                    _ => {
                        entry.remove(at);
                    }
                }
            }
            survive(&archive.bytes());
        }
    }
}

#[test]
fn damaged_pickles_never_panic() {
    let mut random = Random::new(3);
    let base = Archive::base();
    let samples = base.clone().entry("sample_inputs/model.pt").clone();
    let mut inner = zip::ZipArchive::new(std::io::Cursor::new(samples)).unwrap();
    let mut pickle = Vec::new();
    std::io::Read::read_to_end(&mut inner.by_name("archive/data.pkl").unwrap(), &mut pickle).unwrap();
    for _ in 0..3000 {
        let mut pickle = pickle.clone();
        for _ in 0..=random.below(3) {
            let at = random.below(pickle.len());
            pickle[at] = random.below(256) as u8;
        }
        survive(&base.clone().with_samples(&pickle, &[("0", &[0; 64]), ("1", &[0; 64])]).bytes());
    }
}
