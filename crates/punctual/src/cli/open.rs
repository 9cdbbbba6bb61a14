//! Opening the page, signed in.

use std::process::{Command, Stdio};

use super::{Context, print, print_json};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Print the link, and open no browser. It works once, for ten minutes
    #[arg(long)]
    print: bool,
}

pub(super) async fn run(args: &Args, context: &Context) -> anyhow::Result<()> {
    let link = context.client.sign_in_link().await?;
    if context.json {
        return print_json(&link);
    }
    if args.print || !opens(&link.url) {
        return print(&format!("{}\n", link.url));
    }
    print("opened in the browser\n")
}

/// Hands a link to the browser of this machine; false where there is none.
fn opens(url: &str) -> bool {
    // Without a screen, programs that open a browser either fail or open one in the terminal.
    let has_screen = cfg!(target_os = "macos")
        || ["DISPLAY", "WAYLAND_DISPLAY"]
            .into_iter()
            .any(|name| std::env::var_os(name).is_some_and(|on| !on.is_empty()));
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    has_screen
        && Command::new(program)
            .arg(url)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success())
}
