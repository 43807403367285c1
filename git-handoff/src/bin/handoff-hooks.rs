//! Entry point of the server hook and of the commands that install and check it.

fn main() -> std::process::ExitCode {
    porcelain::hooks()
}
