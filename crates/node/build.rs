//! Lets the linker leave N-API's symbols to the node process.

fn main() {
    napi_build::setup();
}
