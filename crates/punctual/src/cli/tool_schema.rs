//! The tool `scheduler`, as an assistant's API takes it.

use super::print_json;
use crate::mcp::schema;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// For which API
    #[arg(long, value_enum, default_value = "mcp")]
    format: Format,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Format {
    /// Chat completions of OpenAI, and servers that follow it
    Openai,
    /// Messages of Anthropic
    Anthropic,
    /// The Model Context Protocol
    Mcp,
}

pub(super) fn run(args: &Args) -> anyhow::Result<()> {
    print_json(&match args.format {
        Format::Openai => schema::openai(),
        Format::Anthropic => schema::anthropic(),
        Format::Mcp => schema::mcp(),
    })
}
