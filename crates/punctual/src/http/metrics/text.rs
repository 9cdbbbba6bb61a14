//! The text format 0.0.4, which everything that scrapes can read.
//!
//! The counters are written in OpenMetrics by their crate. The older format differs in little: a counter is introduced by the name of
//! its sample, and there are neither units nor an end.

use std::fmt::Write;

use axum::http::{HeaderMap, HeaderValue, header};

/// The content type of OpenMetrics.
pub(super) const OPEN_METRICS: HeaderValue =
    HeaderValue::from_static("application/openmetrics-text; version=1.0.0; charset=utf-8");
/// The content type of the text format.
pub(super) const PLAIN: HeaderValue = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");

/// Whether the caller asks for OpenMetrics, and likes nothing that it names better.
pub(super) fn wants_open_metrics(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let (mut open, mut plain) = (0.0_f32, 0.0_f32);
    for range in accepted.flat_map(|value| value.split(',')) {
        let mut parts = range.split(';').map(str::trim);
        let kind = parts.next().unwrap_or_default();
        let weight = parts.find_map(|part| part.strip_prefix("q=")).map_or(Ok(1.0), str::parse);
        let weight = weight.unwrap_or(0.0);
        if kind.eq_ignore_ascii_case("application/openmetrics-text") {
            open = open.max(weight);
        } else if kind.eq_ignore_ascii_case("text/plain") {
            plain = plain.max(weight);
        }
    }
    open > 0.0 && open >= plain
}

/// The text format 0.0.4 of `open`, which is OpenMetrics.
pub(super) fn plain(open: &str) -> String {
    let mut text = String::with_capacity(open.len());
    let mut help = None;
    for line in open.lines() {
        let mut words = line.splitn(4, ' ');
        match (words.next(), words.next(), words.next(), words.next()) {
            (Some("#"), Some("HELP"), Some(_), words) => help = words,
            (Some("#"), Some("TYPE"), Some(name), Some(kind)) => {
                let suffix = if kind == "counter" { "_total" } else { "" };
                let kind = if kind == "unknown" { "untyped" } else { kind };
                let help = help.take().unwrap_or_default();
                write!(text, "# HELP {name}{suffix} {help}\n# TYPE {name}{suffix} {kind}\n")
                    .expect("a string takes what is written to it");
            }
            (Some("#"), ..) => {}
            _ => {
                text.push_str(line);
                text.push('\n');
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_introduces_a_counter_differs() {
        let open = "# HELP a_b What it counts.\n# TYPE a_b counter\na_b_total{c=\"# TYPE x\"} 1\n\
                    # HELP d_seconds How long.\n# TYPE d_seconds histogram\n# UNIT d_seconds seconds\n\
                    d_seconds_bucket{le=\"+Inf\"} 2\nd_seconds_count 2\n# HELP e Who knows.\n# TYPE e unknown\ne 3\n# EOF\n";
        let expected = "# HELP a_b_total What it counts.\n# TYPE a_b_total counter\na_b_total{c=\"# TYPE x\"} 1\n\
                        # HELP d_seconds How long.\n# TYPE d_seconds histogram\n\
                        d_seconds_bucket{le=\"+Inf\"} 2\nd_seconds_count 2\n# HELP e Who knows.\n# TYPE e untyped\ne 3\n";
        assert_eq!(plain(open), expected);
    }
}
