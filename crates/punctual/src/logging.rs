//! What the program says about itself while it runs.

use std::io::{self, IsTerminal};

use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::format::FmtSpan;

use crate::config::LogFormat;

/// Sends log lines to standard error: for people on a terminal, as JSON otherwise.
pub(crate) fn start(format: LogFormat, directives: &str) {
    let human = match format {
        LogFormat::Human => true,
        LogFormat::Json => false,
        LogFormat::Auto => io::stderr().is_terminal(),
    };
    // The RabbitMQ client would log a message that was returned in full; what it has to say is in the attempt's error.
    // The server of the assistants' protocol would log the ids of sessions, and what is said in them.
    const QUIET: &str = "lapin=off,rmcp=warn";
    let filter = EnvFilter::try_new(format!("{QUIET},{directives}"));
    let filter = filter.unwrap_or_else(|_| EnvFilter::new(format!("{QUIET},info")));
    let builder =
        tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr).with_span_events(FmtSpan::NONE);
    // A second start in one process, as tests may do, keeps the first.
    let _ = if human {
        builder.with_target(false).with_ansi(colours()).try_init()
    } else {
        builder.json().flatten_event(true).with_current_span(true).with_span_list(false).try_init()
    };
}

fn colours() -> bool {
    io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}
