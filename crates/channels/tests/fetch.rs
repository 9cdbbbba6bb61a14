//! Texts at addresses that a user chose.

#![expect(clippy::unwrap_used, reason = "what a test does not find is its failure")]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::{IntoResponse, Redirect, Response};
use punctual_channels::fetch::{FetchError, Fetched, Fetcher};

const BYTES_MAX: usize = 1024 * 1024;

/// What a server was asked for.
type Asked = Arc<Mutex<Vec<String>>>;

/// A server that answers by its path; returns its address.
async fn server(asked: &Asked) -> String {
    let asked = asked.clone();
    let answer = move |uri: Uri, headers: HeaderMap| {
        asked.lock().unwrap().push(uri.path().to_owned());
        async move { said(uri.path(), &headers) }
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, Router::new().fallback(answer)).await });
    url
}

fn said(path: &str, headers: &HeaderMap) -> Response {
    let kept = [(header::ETAG, "\"1\""), (header::CACHE_CONTROL, "private, max-age=60")];
    match path {
        "/text" if headers.get("if-none-match").is_some_and(|tag| tag == "\"1\"") => {
            (StatusCode::NOT_MODIFIED, kept).into_response()
        }
        "/text" => (kept, "text").into_response(),
        "/moved" => Redirect::temporary("/text").into_response(),
        "/loop" => Redirect::temporary("/loop").into_response(),
        "/elsewhere" => Redirect::temporary("ftp://example.org/").into_response(),
        "/big" => vec![b'x'; BYTES_MAX + 1].into_response(),
        "/broken" => StatusCode::BAD_GATEWAY.into_response(),
        _ => StatusCode::GONE.into_response(),
    }
}

#[tokio::test]
async fn a_text_is_fetched_once() {
    let asked = Asked::default();
    let url = server(&asked).await;
    let fetcher = Fetcher::new(BYTES_MAX, true, "X").unwrap();
    for path in ["/text", "/moved"] {
        let fetched = fetcher.fetch(&format!("{url}{path}"), None, None).await.unwrap();
        let Fetched::Text { text, etag, max_age, .. } = fetched else { panic!("{path}: it is new") };
        assert_eq!((text.as_str(), etag.as_deref()), ("text", Some("\"1\"")), "{path}");
        assert_eq!(max_age, Some(Duration::from_secs(60)));
    }
    let again = fetcher.fetch(&format!("{url}/text"), Some("\"1\""), None).await.unwrap();
    assert!(matches!(again, Fetched::Unchanged { max_age: Some(_) }), "{again:?}");
}

#[tokio::test]
async fn no_mistake_of_the_other_side_costs_much_or_tells_the_address() {
    let asked = Asked::default();
    let url = server(&asked).await;
    let fetcher = Fetcher::new(BYTES_MAX, true, "X").unwrap();
    for (path, words, is_gone) in [
        ("/big", "more than 1 MB", false),
        ("/loop", "redirects too often", false),
        ("/elsewhere", "redirects too often, or to an address that is not called", false),
        ("/broken", "502", false),
        ("/none", "not there", true),
    ] {
        let error = fetcher.fetch(&format!("{url}{path}?key=secret"), None, None).await.unwrap_err();
        assert_eq!(matches!(error, FetchError::Gone(_)), is_gone, "{path}: {error}");
        assert!(error.to_string().contains(words), "{path}: {error}");
        assert!(!error.to_string().contains("secret") && !error.to_string().contains(path), "{path}: {error}");
    }
    let n_loops = asked.lock().unwrap().iter().filter(|path| *path == "/loop").count();
    assert!(n_loops <= 7, "{n_loops}");
}

#[tokio::test]
async fn nothing_in_the_servers_own_network_is_called() {
    let asked = Asked::default();
    let url = server(&asked).await;
    let fetcher = Fetcher::new(BYTES_MAX, false, "X").unwrap();
    let port = url.rsplit(':').next().unwrap();
    for address in [
        url.clone(),
        format!("https://127.0.0.1:{port}/text"),
        format!("https://localhost:{port}/text"),
        format!("https://[::1]:{port}/text"),
        format!("https://[::ffff:127.0.0.1]:{port}/text"),
        format!("https://2130706433:{port}/text"),
        "https://169.254.169.254/latest/meta-data".to_owned(),
    ] {
        let error = fetcher.fetch(&address, None, None).await.unwrap_err();
        assert!(matches!(error, FetchError::Refused(_)), "{address}: {error}");
    }
    assert_eq!(*asked.lock().unwrap(), Vec::<String>::new());
}
