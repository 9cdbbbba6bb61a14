//! Requests, and how long they took, by route.
//!
//! The labels are bounded: a route is counted by its template, whatever ids are in its path, and everything that no route has is one.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{MatchedPath, Request, State};
use axum::http::{Method, StatusCode};
use axum::middleware::Next;
use axum::response::Response;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use crate::http::App;

/// The route of requests that no route has.
const NO_ROUTE: &str = "none";
/// Up to how many seconds a request may have taken to be counted in a bucket.
const SECONDS: [f64; 14] = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 30.0];

/// The requests since the start.
pub(in crate::http) struct Requests {
    answered: Family<AnsweredLabels, Counter>,
    seconds: Family<RouteLabels, Histogram, fn() -> Histogram>,
}

/// Which requests, and how they were answered.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct AnsweredLabels {
    method: &'static str,
    route: String,
    status: &'static str,
}

/// Which requests.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RouteLabels {
    method: &'static str,
    route: String,
}

/// What runs here.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct BuildLabels {
    version: &'static str,
    os: &'static str,
    arch: &'static str,
}

impl Requests {
    pub(in crate::http) fn new(registry: &mut Registry) -> Self {
        let build: Family<BuildLabels, Gauge> = Family::default();
        let (os, arch) = (std::env::consts::OS, std::env::consts::ARCH);
        build.get_or_create(&BuildLabels { version: env!("CARGO_PKG_VERSION"), os, arch }).set(1);
        registry.register("punctual_build_info", "The version that runs, always 1", build);
        let answered: Family<AnsweredLabels, Counter> = Family::default();
        let seconds: Family<RouteLabels, Histogram, fn() -> Histogram> =
            Family::new_with_constructor(new_histogram as fn() -> Histogram);
        registry.register(
            "punctual_http_requests",
            "Requests by method, route and class of the answer's status",
            answered.clone(),
        );
        registry.register(
            "punctual_http_request_seconds",
            "From a request's head to the head of its answer, by method and route",
            seconds.clone(),
        );
        Self { answered, seconds }
    }

    fn count(&self, method: &'static str, route: String, status: StatusCode, took: Duration) {
        let labels = RouteLabels { method, route };
        self.seconds.get_or_create(&labels).observe(took.as_secs_f64());
        let RouteLabels { method, route } = labels;
        self.answered.get_or_create(&AnsweredLabels { method, route, status: class(status) }).inc();
    }
}

/// Counts every request, also those that no route has.
pub(in crate::http) async fn layer(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let method = known(request.method());
    let route = request.extensions().get::<MatchedPath>().map_or(NO_ROUTE, MatchedPath::as_str).to_owned();
    let begun = app.engine.clock().run_for();
    let response = next.run(request).await;
    let took = app.engine.clock().run_for().saturating_sub(begun);
    app.requests.count(method, route, response.status(), took);
    response
}

fn new_histogram() -> Histogram {
    Histogram::new(SECONDS)
}

/// The method, if it is one that routes have: a caller can invent others.
fn known(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        Method::OPTIONS => "OPTIONS",
        _ => "other",
    }
}

fn class(status: StatusCode) -> &'static str {
    match status.as_u16() / 100 {
        1 => "1xx",
        2 => "2xx",
        3 => "3xx",
        4 => "4xx",
        _ => "5xx",
    }
}
