//! Random commands on each protocol: the start of the hour that `cargo run --example bench -- soak`
//! compresses. Memory counts only there.

#[allow(dead_code, reason = "benchmarks use the rest")]
#[path = "../examples/bench/process.rs"]
mod process;
#[allow(dead_code, reason = "the long form is an example")]
#[path = "../examples/bench/soak/mod.rs"]
mod random;

use std::path::Path;
use std::time::Duration;

use random::{Extent, Protocol};

/// A few hundred commands, the same each time.
fn check(protocol: Protocol) {
    let extent = Extent {
        commands: 240,
        rounds: 4,
        settling: Duration::from_millis(150),
        patience: random::IDLE_THREADS,
        with_memory: false,
    };
    let done = random::soak(Path::new(env!("CARGO_BIN_EXE_tau")), protocol, &extent, 1);
    if let Err(why) = done {
        panic!("{why}");
    }
}

#[test]
fn random_commands_of_rpc_leave_nothing_behind() {
    check(Protocol::Rpc);
}

#[test]
fn random_lines_of_json_leave_nothing_behind() {
    check(Protocol::Json);
}

#[test]
fn random_requests_of_an_editor_leave_nothing_behind() {
    check(Protocol::Acp);
}

#[test]
fn random_requests_to_the_server_leave_nothing_behind() {
    check(Protocol::Serve);
}

#[test]
fn random_calls_of_the_server_for_mcp_leave_nothing_behind() {
    check(Protocol::Mcp);
}

#[test]
fn random_requests_to_the_proxy_leave_nothing_behind() {
    check(Protocol::Proxy);
}
