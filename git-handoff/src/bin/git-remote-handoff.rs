//! Entry point of the remote helper, which Git starts for `handoff::<url>`.

fn main() -> std::process::ExitCode {
    porcelain::remote_helper()
}
