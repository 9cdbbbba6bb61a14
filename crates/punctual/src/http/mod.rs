//! The API: parse, call the engine or the store, render.
//!
//! Every handler is short. What a caller may do is decided by the extractors of [`auth`]; what a
//! body means is decided in [`asked`]; every failure becomes a [`problem::Problem`].

/// Who asks, and what they may do.
mod auth;

/// Bodies and queries, read with limits and with errors that say where.
mod input;

/// JSON values read into the types of the wire.
mod read;

/// Memory for the bodies of requests.
mod bodies;

/// How much memory a JSON text takes once it is parsed.
mod weight;

/// Pages of a list, bounded in bytes.
mod pages;

/// Requests turned into what they ask for.
mod asked;

/// Turns the store's values into answers.
mod shown;

/// Where a page ends, also for whoever may not see what is there.
mod cursors;

/// Conditions of requests: who has seen what.
mod conditions;

/// Pages of other origins that may use the API.
mod cors;

/// The API's description of itself.
mod describe;

/// The description as a page.
mod docs;

/// Texts on pages.
mod html;

/// An id for every request.
mod request_id;

/// What went wrong, as RFC 9457 has it.
mod problem;

/// Calling the API from inside the process.
mod inside;

/// The assistants' door.
mod mcp;

/// The same request answered the same.
mod idempotency;

/// A user's coming reminders as a calendar.
mod calendar;

/// Foreign calendars that are followed, and calendars that are taken over.
mod feeds;

/// A cache of what was looked up a moment ago.
mod recent;

/// Sessions of the page: who has signed in.
mod sessions;

/// How often somebody may show a wrong key to the page.
mod attempts;

/// Who asks, for whoever asks; and links that sign in to the page.
mod caller;

/// The page, which asks the API like everybody.
mod web;

/// How often each key may ask, and when it last did.
mod meter;

/// The names by which this server may be called.
mod hosts;

mod answer_link;
mod audit;
mod batch;
mod channels;
mod events;
mod export;
mod groups;
mod health;
mod import;
mod keys;
mod lateness;
mod lines;
mod metrics;
mod nodes;
mod occurrences;
mod parse;
mod platforms;
mod reminders;
mod resend;
mod scopes;
mod sends;
mod settings;
mod silences;
mod stats;
mod stream;
mod subscriptions;
mod turns;
mod users;
mod watches;
mod words;
mod ws;

use std::path::PathBuf;
use std::sync::Arc;

use axum::http::{HeaderValue, header};
use axum::middleware::{from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Extension, Router};
use jiff::Timestamp;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;
use punctual_channels::common::links::Links;
use punctual_core::change::Change;
use punctual_core::channel::Rate;
use punctual_core::habits::Habits;
use punctual_core::id::ReminderId;
use punctual_core::phrase::Lang;
use punctual_core::reminder::Reminder;
use punctual_core::store::{Answered, By, ChangeError, Changed, ReminderView, StoreError};
use punctual_core::user::User;
use punctual_core::zone::Zone;
pub(crate) use punctual_engine::metrics::ChannelLabel;
use punctual_engine::{CreateError, Engine, all_right};
use tokio::sync::{Semaphore, SemaphorePermit, watch};
use tower_http::catch_panic::CatchPanicLayer;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub(crate) use self::asked::{AskedEvent, UnsaidOfEvent, event as event_of};
pub(crate) use self::auth::hash as hash_of_key;
pub(crate) use self::cors::Origins;
pub(crate) use self::hosts::Hosts;
pub(crate) use self::keys::new_key;
pub(crate) use self::meter::{write_now as write_key_uses_now, write_uses as write_key_uses};

use self::auth::{Auth, Caller};
use self::bodies::Bodies;
use self::inside::Inside;
use self::meter::Meter;
use self::problem::Problem;
use self::recent::Recent;
use crate::config::{InForce, Secret};
use crate::feeds::Sources;
use crate::serve::links::LocalLinks;
use crate::wire;

/// How long a user's zone and language or a count is believed without asking again, in seconds.
const BELIEVED_FOR_SECONDS: i64 = 10;

/// How many kilobytes the batches may take that are understood and stored at once; more wait their turn.
const BATCHES_KB_MAX: usize = 256 * 1024;
/// A smaller batch counts as this many, so that not too many share the processors.
const BATCH_KB_MIN: usize = 32 * 1024;

/// What every handler needs.
pub(crate) struct App {
    engine: Engine,
    /// The zone of reminders and users that have none.
    zone: Zone,
    /// Retries of a reminder that does not say.
    retries_max: u32,
    auth: Auth,
    meter: Meter,
    /// The names by which this server may be called.
    hosts: Hosts,
    /// The origins whose pages may use the API.
    origins: Origins,
    /// Where pages end.
    cursors: cursors::Cursors,
    /// Users' zones and languages, because most creates ask for them.
    locales: Recent<String, Locale>,
    /// Calendars that were written within this second: a program that asks again and again costs no more than that.
    calendars: Recent<String, Arc<calendar::Written>>,
    /// Permits for understanding batches, in kilobytes.
    batches: Semaphore,
    /// Permits for work that takes long: half of the processors.
    thinking: Arc<Semaphore>,
    bodies: Bodies,
    /// For the requests of the platforms.
    unproven_bodies: Bodies,
    stats: stats::Cached,
    probe: health::Probe,
    refusal: health::Refusal,
    /// The file, to see how much room there is around it.
    database: PathBuf,
    registry: Registry,
    metrics_key: bool,
    /// Knows the links that answer a reminder.
    links: Option<Links>,
    /// Knows who has signed in to the page; none where there is none.
    sessions: Option<sessions::Sessions>,
    /// Where foreign calendars are read from; none where none is read.
    sources: Option<Sources>,
    /// The public key with which browsers subscribe to pushes.
    webpush_key: String,
    /// Whether links lead nowhere but to this machine.
    local_links: Option<LocalLinks>,
    /// Whether everything is done but the send.
    shadow: bool,
    /// Every setting as people may see it.
    in_force: Vec<InForce>,
    streams: stream::Streams,
    sockets: ws::Sockets,
    requests: metrics::Requests,
}

/// What the API is made of.
pub(crate) struct Parts {
    pub(crate) engine: Engine,
    pub(crate) zone: Zone,
    pub(crate) retries_max: u32,
    pub(crate) admin_key: Secret,
    /// Opens this process to the command line on the same machine; it is an admin as well.
    pub(crate) local_key: Secret,
    /// How often a key may ask that has no rate of its own.
    pub(crate) key_rate: Rate,
    /// The names by which this server may be called.
    pub(crate) hosts: Hosts,
    /// The origins whose pages may use the API.
    pub(crate) origins: Origins,
    pub(crate) database: PathBuf,
    pub(crate) metrics_key: bool,
    /// Knows the links that answer a reminder; without it there are none.
    pub(crate) links: Option<Links>,
    /// The public key with which browsers subscribe to pushes.
    pub(crate) webpush_key: String,
    /// Where foreign calendars are read from; none where none is read.
    pub(crate) sources: Option<Sources>,
    /// Whether links lead nowhere but to this machine.
    pub(crate) local_links: Option<LocalLinks>,
    /// Counts the messages that shadow mode kept; none where everything is sent.
    pub(crate) shadow: Option<ShadowSends>,
    /// Every setting as people may see it.
    pub(crate) in_force: Vec<InForce>,
    /// Whether the server stops: then streams end.
    pub(crate) stopping: watch::Receiver<bool>,
}

/// Messages that were kept from being sent, by channel.
pub(crate) type ShadowSends = Family<ChannelLabel, Counter>;

impl App {
    pub(crate) fn new(parts: Parts) -> Arc<Self> {
        let mut registry = Registry::default();
        parts.engine.metrics().register(&mut registry);
        let shadow = parts.shadow.is_some();
        if let Some(sends) = parts.shadow {
            registry.register("punctual_shadow_sends", "Messages kept from being sent, by channel", sends);
        }
        let sessions = parts.links.as_ref().map(|links| sessions::Sessions::new(&links.secret_for("sessions")));
        let streams = stream::Streams::new(parts.stopping, &mut registry);
        let sockets = ws::Sockets::new(Arc::clone(parts.engine.clock()), &mut registry);
        let requests = metrics::Requests::new(&mut registry);
        let bodies = Bodies::new(Arc::clone(parts.engine.clock()));
        let auth = Auth::new(&parts.admin_key, &parts.local_key);
        // A server without links has no secret of its own for others.
        let of_cursors = parts.links.as_ref().map_or_else(|| auth.admin().shown(), |links| links.secret_for("cursors"));
        Arc::new(Self {
            bodies,
            unproven_bodies: Bodies::unproven(Arc::clone(parts.engine.clock())),
            engine: parts.engine,
            zone: parts.zone,
            retries_max: parts.retries_max,
            auth,
            cursors: cursors::Cursors::new(&of_cursors),
            meter: Meter::new(parts.key_rate),
            hosts: parts.hosts,
            origins: parts.origins,
            locales: Recent::new(BELIEVED_FOR_SECONDS, 10_000),
            calendars: Recent::new(1, 16),
            batches: Semaphore::new(BATCHES_KB_MAX),
            thinking: Arc::new(Semaphore::new(std::thread::available_parallelism().map_or(1, |n| n.get().div_ceil(2)))),
            stats: stats::Cached::default(),
            probe: health::Probe::default(),
            refusal: health::Refusal::default(),
            database: parts.database,
            registry,
            metrics_key: parts.metrics_key,
            links: parts.links,
            sessions,
            sources: parts.sources,
            webpush_key: parts.webpush_key,
            local_links: parts.local_links,
            shadow,
            in_force: parts.in_force,
            streams,
            sockets,
            requests,
        })
    }

    /// The present, to the microsecond: instants are stored and shown no finer, so that an
    /// answer and a later read are the same.
    fn now(&self) -> Timestamp {
        let now = self.engine.clock().now();
        Timestamp::from_microsecond(now.as_microsecond()).unwrap_or(now)
    }

    /// Does work that may take long on other threads than those that all requests and the engine share. Only so much is done at once: the
    /// machine is there for due reminders, too.
    async fn aside<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Result<T, Problem> {
        let done = in_queue(&self.thinking, work).await;
        done.map_err(|_| Problem::internal("the request hit a mistake in punctual; the log has more"))
    }

    /// Waits for the permit of a batch that takes `weight` bytes until it is answered.
    async fn batch_permit(&self, weight: usize) -> Option<SemaphorePermit<'_>> {
        let kilobytes = (weight / 1024).clamp(BATCH_KB_MIN, BATCHES_KB_MAX);
        self.batches.acquire_many(u32::try_from(kilobytes).unwrap_or(u32::MAX)).await.ok()
    }

    /// Creates through the engine, and remembers for the readiness whether the store did it.
    async fn create(
        &self,
        reminders: Vec<Reminder>,
        caller: &Caller,
        answered: Option<(String, Answered)>,
    ) -> Result<Vec<ReminderView>, CreateError> {
        let created = self.engine.create(reminders, caller.who(), answered).await;
        match &created {
            Ok(_) => self.refusal.forget(),
            Err(CreateError::Store(error)) => self.remember_refusal(error),
            Err(CreateError::Invalid { .. }) => {}
        }
        created
    }

    /// Changes through the engine, and remembers for the readiness whether the store did it.
    async fn change(&self, id: ReminderId, change: Change, by: By) -> Result<Changed, ChangeError> {
        let changed = self.engine.change(id, change, by).await;
        match &changed {
            Ok(_) => self.refusal.forget(),
            Err(ChangeError::Store(error)) => self.remember_refusal(error),
            Err(_) => {}
        }
        changed
    }

    fn remember_refusal(&self, error: &StoreError) {
        if !matches!(error, StoreError::KeyUsed) {
            self.refusal.remember(self.now(), error.to_string());
        }
    }

    /// What reminders that are about to be made will look like: the answer is kept with them, so it
    /// comes first.
    async fn first_views(&self, reminders: Vec<Reminder>, now: Timestamp) -> Result<Vec<ReminderView>, CreateError> {
        let first_due = all_right(self.engine.check(&reminders, now).await?)?;
        let view = |(reminder, first_due_at)| ReminderView::fresh(reminder, first_due_at);
        Ok(reminders.into_iter().zip(first_due).map(view).collect())
    }

    /// The zone of `user`, else the server's.
    async fn zone_of(&self, user: &str, now: Timestamp) -> Result<Zone, StoreError> {
        Ok(self.locale_of(user, now).await?.zone.unwrap_or_else(|| self.zone.clone()))
    }

    /// The language that `user` is answered in; English for one who has none, or who cannot be read just now.
    async fn lang_of(&self, user: &str) -> Lang {
        self.locale_of(user, self.now()).await.ok().and_then(|locale| locale.lang).unwrap_or(Lang::En)
    }

    /// The reminder, with the language that its user is answered in.
    async fn shown<'a>(&self, view: &'a ReminderView) -> wire::Reminder<'a> {
        shown::reminder(view, self.lang_of(&view.reminder.user).await, Vec::new())
    }

    /// An answer about a reminder with the tag that its readers get.
    async fn tagged(&self, response: Response, view: &ReminderView) -> Response {
        conditions::tagged_as(response, view.version(), &self.shown(view).await)
    }

    /// The same, of one that has just been made or changed: with what is wrong with its addresses, and with what was understood of the
    /// sentence that it was made of.
    async fn shown_new<'a>(
        &self,
        view: &'a ReminderView,
        understood: Option<Box<wire::Understood>>,
    ) -> wire::Reminder<'a> {
        let lang = self.lang_of(&view.reminder.user).await;
        wire::Reminder { understood, ..shown::reminder(view, lang, self.engine.warnings(&view.reminder)) }
    }

    /// The zone and language of `user`; a user without an entry has neither.
    async fn locale_of(&self, user: &str, now: Timestamp) -> Result<Locale, StoreError> {
        if let Some(locale) = self.locales.get(user, now) {
            return Ok(locale);
        }
        let generation = self.locales.generation();
        let locale = self.engine.store().user(user).await?.map_or_else(Locale::default, Locale::from);
        self.locales.put(generation, user.to_owned(), locale.clone(), now);
        Ok(locale)
    }
}

/// The zone and language in which a user is understood.
#[derive(Debug, Clone, Default)]
struct Locale {
    zone: Option<Zone>,
    /// Their language, if it is one that is understood.
    lang: Option<Lang>,
    habits: Habits,
}

impl From<User> for Locale {
    fn from(user: User) -> Self {
        Self { zone: user.timezone, lang: user.language.and_then(|tag| tag.parse().ok()), habits: user.habits }
    }
}

/// All routes, each with its description.
fn table() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::with_openapi(describe::empty())
        .routes(routes!(reminders::list, reminders::create))
        .routes(routes!(batch::create))
        .routes(routes!(reminders::show, reminders::update, reminders::cancel))
        .routes(routes!(occurrences::of_reminder))
        .routes(routes!(reminders::command))
        .routes(routes!(resend::resend))
        .routes(routes!(occurrences::list))
        .routes(routes!(occurrences::show))
        .routes(routes!(import::take))
        .routes(routes!(lines::take))
        .routes(routes!(sends::list))
        .routes(routes!(export::show))
        .routes(routes!(parse::parse))
        .routes(routes!(users::list))
        .routes(routes!(users::show, users::put, users::delete))
        .routes(routes!(users::show_calendar, users::renew_calendar))
        .routes(routes!(calendar::show))
        .routes(routes!(feeds::list))
        .routes(routes!(feeds::show, feeds::put, feeds::delete))
        .routes(routes!(feeds::read_now))
        .routes(routes!(feeds::import))
        .routes(routes!(users::erase))
        .routes(routes!(words::take))
        .routes(routes!(groups::list))
        .routes(routes!(groups::show, groups::put, groups::delete))
        .routes(routes!(events::list))
        .routes(routes!(events::batch))
        .routes(routes!(events::show, events::put, events::delete))
        .routes(routes!(events::put_instance, events::delete_instance))
        .routes(routes!(scopes::list))
        .routes(routes!(scopes::show, scopes::put, scopes::delete))
        .route(scopes::DEEPER, get(scopes::show).put(scopes::put).delete(scopes::delete))
        .routes(routes!(silences::list, silences::create))
        .routes(routes!(silences::show, silences::end))
        .routes(routes!(keys::list, keys::create))
        .routes(routes!(keys::show, keys::delete))
        .routes(routes!(keys::rotate))
        .routes(routes!(caller::show))
        .routes(routes!(caller::sign_in))
        .routes(routes!(channels::list))
        .routes(routes!(channels::test))
        .routes(routes!(channels::revive))
        .routes(routes!(channels::dead))
        .routes(routes!(audit::list))
        .routes(routes!(stream::show))
        .routes(routes!(ws::open))
        .routes(routes!(subscriptions::list))
        .routes(routes!(watches::list))
        .routes(routes!(watches::show, watches::forget))
        .routes(routes!(watches::show_run))
        .routes(routes!(watches::run))
        .routes(routes!(watches::test))
        .routes(routes!(stats::show))
        .routes(routes!(nodes::list))
        .routes(routes!(lateness::show))
        .routes(routes!(settings::show))
        .routes(routes!(answer_link::ask, answer_link::answer))
        .routes(routes!(platforms::greet, platforms::receive))
        .routes(routes!(health::alive))
        .routes(routes!(health::ready))
        .routes(routes!(metrics::show))
        .routes(routes!(describe::show))
        .routes(routes!(docs::show))
}

/// The API, with what stands around every route.
pub(crate) fn router(app: Arc<App>) -> Router {
    let origins = app.origins.clone();
    let api = api(app.clone());
    // The doors that call from inside find the routes here. What is added below this line is not passed by calls from inside.
    let inside = Inside::new(api.clone());
    let mut router = api.merge(mcp::routes(&app, &inside));
    if let Some(house) = web::house(&app, &inside) {
        router = router.merge(web::routes(house.clone())).layer(from_fn_with_state(house, web::missing));
    }
    let router = router
        .layer(Extension(inside))
        .layer(from_fn_with_state(app.clone(), hosts::layer))
        .layer(axum::middleware::map_response(guarded))
        .layer(from_fn_with_state(app.clone(), metrics::layer));
    // It answers what a browser asks beforehand, so it stands around everything but what gives each answer its id.
    let router = if origins.is_empty() { router } else { router.layer(cors::layer(&origins)) };
    router.layer(from_fn_with_state(app, request_id::layer))
}

/// The routes, with everything that also holds for calls from inside.
fn api(app: Arc<App>) -> Router {
    Router::from(table())
        .fallback(unknown_route)
        .method_not_allowed_fallback(wrong_method)
        .route_layer(from_fn_with_state(app.clone(), idempotency::layer))
        .route_layer(from_fn(conditions::unconditional))
        .route_layer(from_fn(input::no_nul))
        .layer(from_fn(conditions::layer))
        .layer(CatchPanicLayer::custom(panicked))
        .with_state(app)
}

/// Marks an answer as somebody's own: no proxy or browser may keep it, or take it for a script.
async fn guarded(mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    headers.entry(header::X_CONTENT_TYPE_OPTIONS).or_insert(HeaderValue::from_static("nosniff"));
    response
}

/// Does `work` on a thread of its own when there is a free permit. The permit is kept until the work ends, also where the caller has gone away.
async fn in_queue<T: Send + 'static>(
    permits: &Arc<Semaphore>,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, tokio::task::JoinError> {
    let permit = Arc::clone(permits).acquire_owned().await;
    let work = move || {
        let _permit = permit;
        work()
    };
    tokio::task::spawn_blocking(work).await
}

async fn unknown_route(uri: axum::http::Uri) -> Problem {
    Problem::not_found(format!("there is nothing at {}; /openapi.json says what there is", uri.path()))
}

async fn wrong_method(method: axum::http::Method, uri: axum::http::Uri) -> Problem {
    Problem::new(
        axum::http::StatusCode::METHOD_NOT_ALLOWED,
        "method_not_allowed",
        format!("{method} is not possible at {}; the Allow header says what is", uri.path()),
    )
}

/// A panic is a mistake of this program's: the caller is told so, and nothing else stops.
fn panicked(_: Box<dyn std::any::Any + Send>) -> Response {
    Problem::internal("the request hit a mistake in punctual; the log has more").into_response()
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    #[expect(clippy::disallowed_methods, reason = "a test that hangs must fail; this is its only clock")]
    async fn work_keeps_its_permit_when_its_caller_has_gone_away() {
        let permits = Arc::new(Semaphore::new(1));
        let ((begun, has_begun), (end, ends)) = (mpsc::channel(), mpsc::channel::<()>());
        let work = move || {
            begun.send(()).unwrap();
            // It is told to end, or the test is over.
            let _ = ends.recv();
        };
        let caller = tokio::spawn({
            let permits = Arc::clone(&permits);
            async move { in_queue(&permits, work).await }
        });
        has_begun.recv_timeout(Duration::from_secs(30)).expect("the work begins");
        caller.abort();
        assert!(caller.await.is_err_and(|error| error.is_cancelled()));
        assert_eq!(permits.available_permits(), 0, "the work goes on, and keeps its permit");
        end.send(()).unwrap();
        in_queue(&permits, || ()).await.expect("the next permit comes when the work has ended");
        assert_eq!(permits.available_permits(), 1);
    }
}
