//! The kernels, compiled for the processor and by NVRTC, and a device where there is one.

pub(crate) mod emulated;
mod kept;
mod mutants;
mod speed;

use onnxport_sdk::DType;
use onnxport_testkit::comparer::Suite;

use super::format::Format;
use crate::device::nvrtc::{Compiled, Nvrtc};

#[test]
fn the_kernels_find_what_the_host_finds() {
    if let Err(why) = crate::compiled::can_compile() {
        return onnxport_harness::note(&why);
    }
    let suite = Suite::of(&emulated::ROOT, "emulated", &[]).unwrap();
    let found = suite.run();
    assert!(found.failures.is_empty(), "{found}");
    println!("{found}");
    assert!(found.cases > 500, "{found}");
    assert!(found.refused.is_empty(), "{:?}", found.refused);
}

#[test]
fn every_kernel_compiles_for_the_oldest_and_a_new_generation() {
    let nvrtc = match Nvrtc::open(None) {
        Ok(nvrtc) => nvrtc,
        Err(failure) => return onnxport_harness::note(&failure.message),
    };
    for format in DType::ALL.iter().filter_map(|dtype| Format::for_type(*dtype)) {
        for capability in [(7, 5), (10, 0)] {
            let source = format.source(super::THREADS);
            let ptx = nvrtc.ptx(&source, capability).unwrap_or_else(|f| panic!("{}", f.message));
            let code = nvrtc.compile(&source, capability).unwrap_or_else(|f| panic!("{}", f.message));
            // A newer NVRTC writes PTX that the driver may refuse.
            assert!(matches!(&code, Compiled::Cubin(code) if code.starts_with(b"\x7fELF")), "{capability:?}");
            for kernel in [".entry largest(", ".entry compare(", ".entry merge("] {
                assert!(ptx.contains(kernel), "{kernel}");
            }
            assert!(!ptx.contains("fma."), "products are fused into sums");
        }
    }
}

#[test]
fn what_does_not_compile_is_said() {
    let Ok(nvrtc) = Nvrtc::open(None) else {
        return onnxport_harness::note("there is no NVRTC");
    };
    let failure = nvrtc.compile("extern \"C\" __global__ void k() { nothing(); }", (8, 0)).unwrap_err();
    assert!(failure.message.contains("nothing"), "{}", failure.message);
}

#[test]
fn a_file_that_is_no_library_is_refused() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let failure = Nvrtc::open(Some(file.path())).err().expect("it is empty");
    assert!(failure.message.contains("cannot be used as NVRTC"), "{}", failure.message);
}

#[test]
fn a_device_finds_what_the_host_finds() {
    let mut suite = match Suite::of(&crate::ROOT, "cuda-parity", &[]) {
        Ok(suite) => suite,
        Err(problem) => {
            // Without a device the reason is one coded error.
            assert_eq!(problem.code.to_string(), "OP720");
            return crate::without_a_gpu(&problem.message);
        }
    };
    suite.huge = (1 << 32) + 1;
    let found = suite.run();
    println!("{found}");
    assert!(found.failures.is_empty(), "{found}");
}
