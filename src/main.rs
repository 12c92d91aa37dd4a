//! The binary: calls [`tau::cli::main`] and does nothing else.

fn main() -> std::process::ExitCode {
    tau::cli::main()
}
