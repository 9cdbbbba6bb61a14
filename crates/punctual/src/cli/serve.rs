//! Starting everything.

use super::{Global, runtime, wait_for};
use crate::config::Flags;
use crate::{logging, serve};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// sqlite:PATH or postgres://… [env: PUNCTUAL_DATABASE_URL] [default: a file in the data directory]
    #[arg(long, value_name = "URL")]
    database: Option<String>,
    /// HOST:PORT; port 0 picks a free one [env: PUNCTUAL_LISTEN] [default: 127.0.0.1:7373]
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<String>,
    /// The certificate and its chain (PEM), for https; read again when it changes [env: PUNCTUAL_TLS_CERT]
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<String>,
    /// The certificate's private key (PEM) [env: PUNCTUAL_TLS_KEY]
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<String>,
    /// Where others reach this server, for links [env: PUNCTUAL_PUBLIC_URL]
    #[arg(long, value_name = "URL")]
    public_url: Option<String>,
    /// The zone of whoever has none [env: PUNCTUAL_TIMEZONE] [default: this machine's]
    #[arg(long, value_name = "ZONE", allow_hyphen_values = true)]
    timezone: Option<String>,
    /// auto, human or json [env: PUNCTUAL_LOG_FORMAT]
    #[arg(long, value_name = "FORMAT")]
    log_format: Option<String>,
    /// error, warn, info, debug or trace [env: PUNCTUAL_LOG]
    #[arg(long, value_name = "LEVEL")]
    log: Option<String>,
    /// Allow webhooks to private and loopback addresses [env: PUNCTUAL_WEBHOOK_ALLOW_PRIVATE]
    #[arg(long)]
    webhook_allow_private: bool,
    /// Do everything but send, to compare with another system first [env: PUNCTUAL_SHADOW]
    #[arg(long)]
    shadow: bool,
}

pub(super) fn run(args: &Args, global: &Global) -> anyhow::Result<()> {
    let given = [
        ("database", &args.database),
        ("listen", &args.listen),
        ("tls_cert", &args.tls_cert),
        ("tls_key", &args.tls_key),
        ("public_url", &args.public_url),
        ("timezone", &args.timezone),
        ("log_format", &args.log_format),
        ("log", &args.log),
    ];
    let mut flags: Flags = given.into_iter().filter_map(|(name, value)| Some((name, value.clone()?))).collect();
    if args.webhook_allow_private {
        flags.insert("webhook_allow_private", "true".into());
    }
    if args.shadow {
        flags.insert("shadow", "true".into());
    }
    let config = global.config(flags)?;
    logging::start(config.log_format, &config.log);
    wait_for(runtime()?, serve::run(config))
}
