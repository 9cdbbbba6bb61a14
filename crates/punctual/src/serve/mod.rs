//! Everything wired together, from start to orderly stop.

/// The admin's key and the webhooks' secret, made on first start.
mod secrets;

/// Where the running server is found.
pub(crate) mod place;

/// The dead-man's switch.
mod heartbeat;

/// Links in messages that lead nowhere but to this machine.
pub(crate) mod links;

/// The signals that end the server.
mod signals;

use std::collections::BTreeMap;
use std::io::{self, IsTerminal, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, anyhow};
use punctual_channels::common::fields::Fields;
use punctual_channels::common::links::Links;
use punctual_channels::{Console, Shadow, Webhook, Webpush, setup, webhook, webpush};
use punctual_core::alarm::Alarm;
use punctual_core::channel::Channel;
use punctual_core::clock::{Clock, Machine, Random, within};
use punctual_core::opinion::Opinion;
use punctual_core::reminder::Address;
use punctual_core::store::{Shared, Store};
use punctual_engine::{DefinedWatch, Engine, Parts, Running, Settings, Subscription, TokioRuntime, machine};
use punctual_store::postgres::{PostgresStore, Published, PublishedChannel};
use punctual_store::sqlite::{self, SqliteStore};
use punctual_store::watched;
use tokio::net::TcpListener;
use tokio::sync::watch;

use self::links::LocalLinks;
use crate::config::{ChannelConfig, Config, Database, RedisConfig, Secret, WatchConfig, paths};
use crate::connections::{self, Listener, Tls};
use crate::feeds::Sources;
use crate::http::{self, ChannelLabel, ShadowSends};
use crate::opinion::Endpoint;
use crate::redis::Reminders;

/// How long a request that is under way at a stop may still take.
const REQUESTS_GRACE: Duration = Duration::from_secs(5);

/// Serves until a signal comes.
pub(crate) async fn run(config: Config) -> anyhow::Result<()> {
    start(config, true).await
}

/// Runs watches, and delivers, until a signal comes: everything but the API.
pub(crate) async fn watch(config: Config) -> anyhow::Result<()> {
    if config.watches.is_empty() {
        return Err(anyhow!("there are no watches; write [watches.NAME] into the config file"));
    }
    start(config, false).await
}

/// Starts everything, with the API or without.
async fn start(config: Config, has_door: bool) -> anyhow::Result<()> {
    for warning in &config.warnings {
        tracing::warn!("{warning}");
    }
    let machine = machine();
    check_channels(&config, &machine)?;
    let descriptors = connections::descriptors::divide();
    let mut signals = signals::Signals::listen().context("cannot listen for signals")?;
    let Machine { clock, random } = machine.clone();
    let tls = config.tls.clone().filter(|_| has_door).map(|files| Tls::open(files, Arc::clone(&clock)));
    let tls = tls.transpose().map_err(anyhow::Error::msg)?;
    paths::make_private_dir(&config.data_dir)
        .with_context(|| format!("cannot make the data directory {}", config.data_dir.display()))?;
    secrets::check(&config)?;
    let database = open_database(&config.database, &machine).await?;
    let secrets = secrets::all(&config, &database, &*random).await?;
    let mut settings = Settings { shared: secrets.shared.clone(), ..settings(&config, &*random) };
    settings.sends_max = settings.sends_max.min(descriptors.sends_max);
    let node = settings.node.clone();
    settings.watches = watches(&config, &machine)?;
    let listener = match has_door {
        true => Some(listen(&config.listen).await?),
        false => None,
    };
    let address = listener.as_ref().map(TcpListener::local_addr).transpose();
    let address = address.context("the listening socket has no address")?;
    // Without the API, links lead to the server that has it.
    let is_encrypted = config.tls.is_some();
    let scheme = if is_encrypted { "https" } else { "http" };
    let url = address.map_or_else(|| format!("{scheme}://{}", config.listen), |at| place::url_of(at, is_encrypted));
    let made = make(&config, &machine, &database, secrets, settings, &url).await?;
    let Made { engine, admin, links, webpush_key, local_links, shadow, sources } = made;
    let running = engine.start().await.context("cannot start")?;
    if let Opened::Postgres(store) = &database {
        admin.share(Arc::clone(store), node, Arc::clone(&clock)).await;
    }
    let (Some(listener), Some(address)) = (listener, address) else {
        run_watches(&config, &engine, running, signals).await;
        return Ok(());
    };

    let local_key = Secret::new(http::new_key(&**engine.random()));
    let (stop, stopping) = watch::channel(false);
    let app = http::App::new(http::Parts {
        engine: engine.clone(),
        zone: config.timezone.clone(),
        retries_max: config.retries_max,
        admin_key: admin.key,
        local_key: local_key.clone(),
        key_rate: config.key_rate,
        hosts: http::Hosts::new(
            &config.listen,
            address,
            config.public_url.as_deref().unwrap_or(&url),
            config.allowed_hosts.iter().cloned(),
        ),
        origins: http::Origins::new(&config.cors_origins),
        database: config.database.file().unwrap_or(&config.data_dir).to_owned(),
        metrics_key: config.metrics_key,
        links,
        webpush_key,
        sources: Some(sources),
        local_links: local_links.clone(),
        shadow,
        in_force: config.in_force.clone(),
        stopping: stopping.clone(),
    });
    let cert = config.tls.as_ref().map(|files| files.cert.as_path());
    let place = place::Place::announce(&config.data_dir, &url, &local_key, cert)?;
    if let Some(tls) = tls.clone() {
        signals::Signals::reloads(move || tls.reload()).context("cannot listen for SIGHUP")?;
    }
    say_ready(address, &config, &engine.settings().node, local_links.as_ref());
    say_sign_in(&app);

    heartbeat::start(&engine, config.heartbeat.clone(), &stop);
    tokio::spawn(http::write_key_uses(Arc::clone(&app), stopping.clone()));
    let router = http::router(Arc::clone(&app));
    let listener = Listener { socket: listener, tls };
    let serving = connections::serve(listener, router, descriptors.connections_max, Arc::clone(&clock), stopping);
    let serving = tokio::spawn(serving);
    let signal = signals.next().await;
    tracing::info!("{signal}: stopping; again to stop at once");
    tokio::spawn(signals.next_exits());
    drop(place);
    // The receiver may be gone already, if the listener failed.
    let _ = stop.send(true);
    if within(&*clock, REQUESTS_GRACE, serving).await.is_none() {
        tracing::warn!("some requests did not end in time");
    }
    within(&*clock, REQUESTS_GRACE, http::write_key_uses_now(&app)).await;
    running.stop().await;
    tracing::info!("stopped");
    Ok(())
}

/// An engine that has not been started, and what its door needs of what it was made with.
struct Made {
    engine: Engine,
    admin: secrets::AdminKey,
    links: Option<Links>,
    webpush_key: String,
    local_links: Option<LocalLinks>,
    shadow: Option<ShadowSends>,
    sources: Sources,
}

/// Makes the channels and, with them, the engine of a server that is reached at `url`.
async fn make(
    config: &Config,
    machine: &Machine,
    database: &Opened,
    secrets: secrets::Secrets,
    settings: Settings,
    url: &str,
) -> anyhow::Result<Made> {
    let Machine { clock, random } = machine.clone();
    let local_links = LocalLinks::of(config, url);
    let server = server(config, url, &secrets, &clock);
    let links = server.links.clone();
    let webpush_key = secrets.webpush.public().to_owned();
    let browsers = browsers(config, secrets.webpush, server.links.clone(), machine)?;
    let mut channels = channels(config, Some(secrets.webhook), browsers, server)?;
    let settings = Settings { shared: shared(settings.shared, config, &channels), ..settings };
    if let Opened::Postgres(store) = database {
        publish(store, config, &channels).await;
    }
    let shadow = config.shadow.then(ShadowSends::default);
    if let Some(sends) = &shadow {
        channels = rehearsed(channels, sends);
    }
    let engine = Engine::new(Parts {
        store: database.store(),
        channels,
        clock: Arc::clone(&clock),
        random,
        runtime: Arc::new(TokioRuntime::current()),
        settings,
        alarm: alarm(config.redis.as_ref(), &clock)?,
        opinion: opinion(config, &clock)?,
    });
    let sources = Sources::new(config.calendar_allow_private, config.calendar_files.clone())?;
    engine.follow_calendars(Arc::new(sources.clone()));
    Ok(Made { engine, admin: secrets.admin, links, webpush_key, local_links, shadow, sources })
}

/// Runs watches, and delivers, until a signal comes.
async fn run_watches(config: &Config, engine: &Engine, running: Running, mut signals: signals::Signals) {
    let (version, database, node) = (env!("CARGO_PKG_VERSION"), &config.database, &engine.settings().node);
    let n_watches = config.watches.len();
    tracing::info!(version, %database, node, n_watches, "punctual {version} runs watches on {database}, node {node}");
    let signal = signals.next().await;
    tracing::info!("{signal}: stopping; again to stop at once");
    tokio::spawn(signals.next_exits());
    running.stop().await;
    tracing::info!("stopped");
}

/// The watches of the config file, each with its application's rows. Nothing is opened yet.
pub(crate) fn watches(config: &Config, machine: &Machine) -> anyhow::Result<Vec<DefinedWatch>> {
    let watch = |WatchConfig { watch, url }: &WatchConfig| {
        let watch = Arc::new(watch.clone());
        let source = watched::open(url.expose(), Arc::clone(&watch), machine);
        let source = source.map_err(|problem| anyhow!("watches.{}.database: {problem}", watch.name))?;
        Ok(DefinedWatch { watch, source })
    };
    config.watches.iter().map(watch).collect()
}

/// A database that can be used.
enum Opened {
    Sqlite(Arc<SqliteStore>),
    Postgres(Arc<PostgresStore>),
}

impl Opened {
    fn store(&self) -> Arc<dyn Store> {
        match self {
            Self::Sqlite(store) => store.clone(),
            Self::Postgres(store) => store.clone(),
        }
    }
}

async fn open_database(database: &Database, machine: &Machine) -> anyhow::Result<Opened> {
    let path = match database {
        Database::Sqlite(path) => path,
        Database::Postgres { url, .. } => {
            return Ok(Opened::Postgres(Arc::new(PostgresStore::open(url.expose(), machine).await?)));
        }
    };
    if let Some(dir) = path.parent().filter(|dir| !dir.as_os_str().is_empty()) {
        paths::make_private_dir(dir).with_context(|| format!("cannot make the directory {}", dir.display()))?;
    }
    // SQLite gives its side files the mode of the file, so that what it makes is its owner's alone
    // as well.
    paths::write_private_once(path, "").with_context(|| format!("cannot write {}", path.display()))?;
    Ok(Opened::Sqlite(Arc::new(SqliteStore::open(path, sqlite::Options::default())?)))
}

/// Publishes what this server accepts, for the checks of punctual's functions in SQL.
async fn publish(store: &PostgresStore, config: &Config, channels: &BTreeMap<String, Arc<dyn Channel>>) {
    let published = Published {
        channels: channels.iter().map(published).collect(),
        timezone: config.timezone.clone(),
        retries_max: config.retries_max,
        webhook_allow_private: config.webhook.allow_private,
        default_is_chosen: config.default_channel.is_chosen,
    };
    if let Err(error) = store.publish(&published).await {
        tracing::warn!(%error, "callers in SQL cannot be told which channels there are");
    }
}

fn published((name, channel): (&String, &Arc<dyn Channel>)) -> PublishedChannel {
    PublishedChannel { name: name.clone(), kind: channel.kind().to_owned(), rule: channel.address_rule() }
}

fn alarm(redis: Option<&RedisConfig>, clock: &Arc<dyn Clock>) -> anyhow::Result<Option<Arc<dyn Alarm>>> {
    let Some(redis) = redis else { return Ok(None) };
    tracing::info!("a second timer runs in the Redis at {}", redis.shown);
    Ok(Some(Arc::new(Reminders::at(redis.url.expose(), Arc::clone(clock))?)))
}

async fn listen(wanted: &str) -> anyhow::Result<TcpListener> {
    match TcpListener::bind(wanted).await {
        Ok(listener) => Ok(listener),
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
            let host = wanted.rsplit_once(':').map_or("127.0.0.1", |(host, _)| host);
            Err(anyhow!(
                "cannot listen on {wanted}: the port is in use; stop the program that has it, \
                 or let --listen {host}:0 pick a free one"
            ))
        }
        Err(error) => Err(anyhow!("cannot listen on {wanted}: {error}")),
    }
}

/// What all channels are told about this server, which listens at `url`.
fn server(config: &Config, url: &str, secrets: &secrets::Secrets, clock: &Arc<dyn Clock>) -> setup::Server {
    let public_url = config.public_url.clone().unwrap_or_else(|| url.to_owned());
    let links = Links::new(&public_url, secrets.link.expose().as_bytes());
    setup::Server { clock: Arc::clone(clock), public_url: Some(public_url), links: Some(links), door: None }
}

/// Refuses settings of channels that cannot be right, before anything is made or opened.
pub(crate) fn check_channels(config: &Config, machine: &Machine) -> anyhow::Result<()> {
    let server = setup::Server::new(Arc::clone(&machine.clock));
    let mut made: BTreeMap<String, Arc<dyn Channel>> = BTreeMap::new();
    for wanted in &config.channels {
        made.insert(wanted.name.clone(), channel(wanted, &server)?);
    }
    made.insert("console".into(), Arc::new(Console::stdout()));
    let webhook = webhook::Config { allow_private: config.webhook.allow_private, ..webhook::Config::default() };
    made.insert("webhook".into(), Arc::new(Webhook::new(webhook)?));
    // Nothing is sent, so any key will do.
    let key = webpush::VapidKey::make(&*machine.random).parse()?;
    made.insert("webpush".into(), Arc::new(browsers(config, key, None, machine)?));
    check_default(&config.default_channel.address, &made)?;
    config.subscriptions.iter().try_for_each(|subscription| check_subscription(subscription, &made))?;
    for WatchConfig { watch, .. } in &config.watches {
        if let Some(to) = watch.to.as_ref().filter(|to| !made.contains_key(&to.channel)) {
            let known = made.keys().cloned().collect::<Vec<_>>().join(", ");
            return Err(anyhow!("watches.{}.to: unknown channel `{}`; known are {known}", watch.name, to.channel));
        }
    }
    Ok(())
}

/// Refuses a subscription whose receiver could not be told. The address is not shown: it may be a secret.
fn check_subscription(
    Subscription { name, to, .. }: &Subscription,
    channels: &BTreeMap<String, Arc<dyn Channel>>,
) -> anyhow::Result<()> {
    let able = || {
        let able = channels.iter().filter(|(_, channel)| channel.takes_notices());
        able.map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ")
    };
    let channel_name = &to.channel;
    let Some(channel) = channels.get(channel_name) else {
        return Err(anyhow!(
            "subscription `{name}`: to: unknown channel `{channel_name}`; programs are told by {}",
            able()
        ));
    };
    if !channel.takes_notices() {
        let kind = channel.kind();
        return Err(anyhow!(
            "subscription `{name}`: to: `{channel_name}` is of kind {kind}, which tells people; programs are told by {}",
            able()
        ));
    }
    channel.check_address(&to.address).map_err(|invalid| anyhow!("subscription `{name}`: to: {}", invalid.problem))
}

/// Refuses a `default_channel` that could reach nobody.
fn check_default(default: &Address, channels: &BTreeMap<String, Arc<dyn Channel>>) -> anyhow::Result<()> {
    let Address { channel: name, address } = default;
    let Some(channel) = channels.get(name) else {
        let known = channels.keys().cloned().collect::<Vec<_>>().join(", ");
        return Err(anyhow!("default_channel: unknown channel `{name}`; known are {known}"));
    };
    let Err(invalid) = channel.check_address(address) else { return Ok(()) };
    let example = setup::address_example(channel.kind()).unwrap_or("ADDRESS");
    Err(match address.is_empty() {
        true => anyhow!(
            "default_channel: `{name}` is a channel and no address; write \"{name}:ADDRESS\", such as \"{name}:{example}\""
        ),
        false => anyhow!(
            "default_channel: `{name}:{address}`: {invalid}; write \"{name}:ADDRESS\", such as \"{name}:{example}\""
        ),
    })
}

fn channel(wanted: &ChannelConfig, server: &setup::Server) -> anyhow::Result<Arc<dyn Channel>> {
    let door = server.links.as_ref().map(|links| links.door(&wanted.name));
    let server = setup::Server { door, ..server.clone() };
    let made = setup::make(&wanted.kind, Fields::new(wanted.fields.clone()), &server);
    made.map_err(|invalid| anyhow!("channels.{}.{invalid}", wanted.name))
}

/// The channel that reaches browsers.
fn browsers(
    config: &Config,
    key: webpush::VapidKey,
    links: Option<Links>,
    machine: &Machine,
) -> anyhow::Result<Webpush> {
    let contact = config.webpush.contact.clone();
    let allow_private = config.webpush.allow_private;
    Ok(Webpush::new(webpush::Config { key, contact, allow_private, links, machine: machine.clone() })?)
}

fn channels(
    config: &Config,
    secret: Option<webhook::Secret>,
    browsers: Webpush,
    server: setup::Server,
) -> anyhow::Result<BTreeMap<String, Arc<dyn Channel>>> {
    let webhook = Webhook::new(webhook::Config {
        secret,
        allow_private: config.webhook.allow_private,
        public_url: server.public_url.clone(),
        timeout: config.webhook.timeout,
        concurrency: config.webhook.concurrency,
        ..webhook::Config::default()
    })?;
    let mut channels: BTreeMap<String, Arc<dyn Channel>> = BTreeMap::new();
    channels.insert("console".into(), Arc::new(Console::stdout()));
    channels.insert("webhook".into(), Arc::new(webhook));
    channels.insert("webpush".into(), Arc::new(browsers));
    for wanted in &config.channels {
        channels.insert(wanted.name.clone(), channel(wanted, &server)?);
    }
    Ok(channels)
}

/// What all nodes should have alike: beside the secrets, the way in which the answers of each channel come.
fn shared(secrets: Shared, config: &Config, channels: &BTreeMap<String, Arc<dyn Channel>>) -> Shared {
    config.channels.iter().fold(secrets, |shared, ChannelConfig { name, .. }| {
        let receives = channels.get(name).and_then(|channel| channel.receives());
        shared.with_receive(name, receives.map(|receives| receives.way()))
    })
}

/// Who is asked about words that are no answer in any language, if anybody is.
fn opinion(config: &Config, clock: &Arc<dyn Clock>) -> anyhow::Result<Option<Arc<dyn Opinion>>> {
    let Some(config) = &config.opinion else { return Ok(None) };
    Ok(Some(Arc::new(Endpoint::new(config.clone(), Arc::clone(clock))?)))
}

/// The channels, each with something before it that keeps its messages.
fn rehearsed(channels: BTreeMap<String, Arc<dyn Channel>>, sends: &ShadowSends) -> BTreeMap<String, Arc<dyn Channel>> {
    let shadow = |(name, channel): (String, Arc<dyn Channel>)| {
        let n_sends = sends.get_or_create_owned(&ChannelLabel { channel: name.clone() });
        let shadow: Arc<dyn Channel> = Arc::new(Shadow::before(channel, move |_| {
            n_sends.inc();
        }));
        (name, shadow)
    };
    channels.into_iter().map(shadow).collect()
}

fn settings(config: &Config, random: &dyn Random) -> Settings {
    let defaults = Settings::default();
    let node = match &config.database {
        Database::Sqlite(_) => defaults.node.clone(),
        // Where other nodes may lease, too, a name that no other process has had: leases under it are this process's alone.
        Database::Postgres { .. } => {
            let [a, b, c, d, ..] = random.ten();
            format!("{}-{a:02x}{b:02x}{c:02x}{d:02x}", std::process::id())
        }
    };
    Settings {
        node,
        batch_max: config.batch_size.unwrap_or(defaults.batch_max),
        // A channel ends its own sends; this is for one that does not.
        send_timeout: defaults.send_timeout.max(config.webhook.timeout + Duration::from_secs(5)),
        fallback_interval: config.fallback_interval,
        fallback_grace: config.fallback_grace,
        keep_history_for: config.history_keep,
        keep_journal_for: config.journal_keep,
        search: config.search,
        subscriptions: config.subscriptions.clone(),
        retry: config.retry,
        default_channel: config.default_channel.clone(),
        language: config.language,
        timezone: config.timezone.clone(),
        retries_max: config.retries_max,
        commands: config
            .channels
            .iter()
            .filter(|channel| channel.commands)
            .map(|channel| channel.name.clone())
            .collect(),
        ..defaults
    }
}

fn say_ready(address: SocketAddr, config: &Config, node: &str, local_links: Option<&LocalLinks>) {
    if !address.ip().is_loopback() && config.tls.is_none() {
        tracing::warn!(
            "listening beyond this machine without TLS: keys can be read on the way; set tls_cert and tls_key, or put a TLS proxy before it"
        );
    }
    match local_links {
        Some(links) if links.is_certain => tracing::warn!("{}", links.warning),
        Some(links) => tracing::info!("{}", links.warning),
        None => {}
    }
    if config.shadow {
        tracing::warn!("in shadow: everything is done but the send; nobody gets a message from this server");
    }
    let (version, database) = (env!("CARGO_PKG_VERSION"), &config.database);
    tracing::info!(version, %database, node, "punctual {version} on {database}, node {node}");
    let scheme = if config.tls.is_some() { "https" } else { "http" };
    tracing::info!("listening on {scheme}://{address}");
    if io::stderr().is_terminal() {
        eprintln!("\n  A first reminder, from another terminal:  punctual add \"drink a glass of water\" --in 1m");
        eprintln!("  Everything is kept in {}; Ctrl-C stops.\n", config.database);
    }
}

/// Says how to open the page as the admin: one plain line, whatever the format of the log. It is for the person who starts the server.
fn say_sign_in(app: &http::App) {
    if let Some(url) = app.admin_sign_in_link() {
        // A server whose output nobody reads serves all the same.
        let _ = writeln!(io::stdout(), "sign in: {url}");
    }
}

/// Where the admin's key is kept.
pub(crate) fn admin_key_path(data_dir: &Path) -> std::path::PathBuf {
    data_dir.join(secrets::ADMIN_KEY_FILE)
}
