//! Entry point of `git handoff`.

fn main() -> std::process::ExitCode {
    porcelain::main()
}
