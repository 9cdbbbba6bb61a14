//! Links in messages that lead nowhere but to this machine.

use punctual_channels::setup::carries_links;

use crate::config::Config;

/// Links and buttons whose address only this machine can reach.
#[derive(Debug, Clone)]
pub(crate) struct LocalLinks {
    /// Where they lead, and what to do.
    pub(crate) warning: String,
    /// Whether a channel was set up whose messages have them: then somebody will see them.
    pub(crate) is_certain: bool,
}

impl LocalLinks {
    /// Whether links of a server at `url` lead to its own machine only, because no `public_url` is set.
    pub(crate) fn of(config: &Config, url: &str) -> Option<Self> {
        if config.public_url.is_some() || !is_local(url) {
            return None;
        }
        let set_up = config.channels.iter().filter(|channel| carries_links(&channel.kind));
        let mut names: Vec<&str> = set_up.map(|channel| channel.name.as_str()).collect();
        let is_certain = !names.is_empty();
        names.push("webhook");
        let warning = format!(
            "links and buttons in messages ({}) lead to {url}, which only this machine can reach; set public_url to where people and \
             programs reach this server, such as https://reminders.example.org",
            names.join(", ")
        );
        Some(Self { warning, is_certain })
    }
}

fn is_local(url: &str) -> bool {
    let host = reqwest::Url::parse(url).ok().and_then(|url| url.host_str().map(str::to_owned)).unwrap_or_default();
    let ip: Option<std::net::IpAddr> = host.trim_matches(['[', ']']).parse().ok();
    host == "localhost" || ip.is_some_and(|ip| ip.is_loopback() || ip.is_unspecified())
}
