//! Completions for a shell.

use clap::CommandFactory;
use clap_complete::Shell;

use super::{Cli, print};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Which shell
    #[arg(value_enum)]
    shell: Shell,
}

pub(super) fn run(args: &Args) -> anyhow::Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "punctual", &mut script);
    print(&String::from_utf8_lossy(&script))
}
