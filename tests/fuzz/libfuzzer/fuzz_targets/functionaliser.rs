#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| onnxport_fuzz::run("functionaliser", data));
