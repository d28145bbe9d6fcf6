//! Parse, launch, exit code; nothing else.

mod cli;
mod launch;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let cli = cli::Cli::parse();
    let runtime = match tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => {
            launch::complain(&launch::Stop { code: 1, message: format!("cannot start: {error}") });
            return ExitCode::from(1);
        }
    };
    let code = match runtime.block_on(launch::run(cli)) {
        Ok(code) => code,
        Err(stop) => {
            launch::complain(&stop);
            stop.code
        }
    };
    // A blocked read of a dead terminal or a stuck file system must not keep the process alive.
    runtime.shutdown_background();
    ExitCode::from(code)
}
