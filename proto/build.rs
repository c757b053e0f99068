//! Compiles the `.proto` files without `protoc`.

use std::path::PathBuf;

use prost::Message as _;

#[expect(
    clippy::disallowed_methods,
    reason = "this is how cargo tells a build script where to write"
)]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let files = [
        "search/v1/search.proto",
        "search/v1/explanation.proto",
        "search/v1/records.proto",
        "search/v1/index.proto",
        "keys/v1/keys.proto",
        "billing/v1/billing.proto",
    ];
    for file in files {
        println!("cargo::rerun-if-changed={file}");
    }
    let descriptors = protox::compile(files, ["."])?;
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    std::fs::write(out.join("descriptors.bin"), descriptors.encode_to_vec())?;
    tonic_prost_build::configure()
        .build_transport(false)
        .compile_fds(descriptors)?;
    Ok(())
}
