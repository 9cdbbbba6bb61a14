//! An assistant's way in: a server of the Model Context Protocol on standard input and output, which is a client of the running server.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context as _;
use clap::ValueEnum;
use punctual_engine::SystemClock;
use rmcp::model::Extensions;
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::io::stdio_pipes;
use rmcp::{ErrorData, ServiceExt};

use super::{Context, Global, Usage, User, print};
use crate::config::process_env;
use crate::mcp::install::{Assistant, Way};
use crate::mcp::{Acting, Door, Server};

/// The longest message, in bytes.
const LINE_BYTES_MAX: usize = 1024 * 1024;

const EXAMPLES: &str = "\
Examples:
  punctual mcp install                       print the configuration for common assistants
  punctual mcp install --client cursor       for one of them
  punctual mcp install --client vscode --http
  punctual mcp install --user alice          for an assistant that acts for her alone
  punctual mcp --user alice                  what an assistant starts

It talks to a running server, with the same --url and key as every other command, and starts none.";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    user: User,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Print the configuration for common assistants; nothing is changed
    Install(Install),
}

#[derive(Debug, clap::Args)]
struct Install {
    /// For which assistant [default: all]
    #[arg(long, value_enum, value_name = "NAME")]
    client: Option<Assistant>,
    /// Let the assistant reach the server over HTTP, with a key of its own, instead of starting this program
    #[arg(long)]
    http: bool,
    #[command(flatten)]
    user: User,
}

pub(super) async fn run(args: &Args, global: &Global, context: &Context) -> anyhow::Result<()> {
    match &args.command {
        Some(Command::Install(install)) => print(&told(install, global, context)?),
        None => serve(args, context).await,
    }
}

async fn serve(args: &Args, context: &Context) -> anyhow::Result<()> {
    let door = Fixed(Acting { client: context.client.clone(), user: args.user.named() });
    let server = Server::new(door, Arc::new(SystemClock::start()));
    let (input, output) = stdio_pipes();
    let transport = AsyncRwTransport::new_server(input, output).with_max_line_length(LINE_BYTES_MAX);
    let running = server.serve(transport).await.context("the assistant did not begin as the protocol asks")?;
    // It ends when the assistant closes its side.
    running.waiting().await?;
    Ok(())
}

/// Every request acts as the person who started the program.
struct Fixed(Acting);

impl Door for Fixed {
    fn acting(&self, _: &Extensions) -> Result<Acting, ErrorData> {
        Ok(self.0.clone())
    }
}

fn told(install: &Install, global: &Global, context: &Context) -> anyhow::Result<String> {
    if let Some(assistant) = install.client.filter(|assistant| install.http && !assistant.takes_http()) {
        let name = assistant.name();
        let problem = format!("--http: the configuration of {name} takes no HTTP server with a key; leave out --http");
        return Err(Usage(problem).into());
    }
    let program = std::env::current_exe().context("cannot tell where this program is")?;
    let user = install.user.named();
    let way = Way {
        program: program.display().to_string(),
        before: in_force(global)?,
        after: user.iter().flat_map(|user| ["--user".to_owned(), user.clone()]).collect(),
        url: context.client.url().to_owned(),
        http: install.http,
    };
    let assistants = match &install.client {
        Some(one) => std::slice::from_ref(one),
        None => Assistant::value_variants(),
    };
    let mut text = String::new();
    for assistant in assistants {
        if install.http && !assistant.takes_http() && install.client.is_none() {
            continue;
        }
        text.push_str(&format!("# {}\n\n{}\n\n", assistant.name(), assistant.told(&way)));
    }
    match install.http {
        true => text.push_str(&format!(
            "Make a key for it, bound to its user: punctual keys create assistant --user {}\n",
            user.as_deref().unwrap_or("me")
        )),
        false => text.push_str(
            "On another machine, set PUNCTUAL_URL and PUNCTUAL_API_KEY in its environment, or --http and a key of its own.\n",
        ),
    }
    Ok(text)
}

/// The options with which this program finds its server, whether they were said or are in the environment: an assistant has neither the same
/// environment nor the same working directory.
fn in_force(global: &Global) -> anyhow::Result<Vec<String>> {
    let absolute = |path: PathBuf| std::path::absolute(&path).map(|path| path.display().to_string());
    let path = |said: Option<PathBuf>, name: &str| said.or_else(|| process_env(name).map(PathBuf::from)).map(absolute);
    let config = path(global.config.clone(), "PUNCTUAL_CONFIG").transpose()?;
    let data_dir = path(global.data_dir.clone().map(PathBuf::from), "PUNCTUAL_DATA_DIR").transpose()?;
    let url = global.url.clone().or_else(|| process_env("PUNCTUAL_URL"));
    let options = [("--config", config), ("--data-dir", data_dir), ("--url", url)];
    let said = |(option, value): (&str, Option<String>)| value.map(|value| [option.to_owned(), value]);
    Ok(options.into_iter().filter_map(said).flatten().collect())
}
