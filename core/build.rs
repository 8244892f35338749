//! Tells the host which target it is built for: a plugin's manifest states one.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-env=ONNXPORT_TARGET={}", std::env::var("TARGET").unwrap_or_default());
}
