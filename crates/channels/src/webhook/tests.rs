//! The channel against real servers on this machine.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::{ConnectInfo, Path, State};
use axum::http::{HeaderMap as Headers, Response, header};
use axum::routing::post;
use serde_json::Value;

use punctual_core::channel::Whom;

use super::*;
use crate::sample;

const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/// A request that the receiver got.
#[derive(Debug, Clone)]
struct Got {
    from: SocketAddr,
    headers: Headers,
    body: Bytes,
}

/// A receiver that writes down what it gets.
#[derive(Clone, Default)]
struct Receiver {
    got: Arc<Mutex<Vec<Got>>>,
}

impl Receiver {
    /// Starts `router` with this as its state, and returns its base URL.
    async fn serve(&self, router: Router<Self>) -> String {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let service = router.with_state(self.clone()).into_make_service_with_connect_info::<SocketAddr>();
        tokio::spawn(async move { axum::serve(listener, service).await });
        base
    }

    fn got(&self) -> Vec<Got> {
        self.got.lock().unwrap().clone()
    }
}

async fn record(
    State(receiver): State<Receiver>,
    ConnectInfo(from): ConnectInfo<SocketAddr>,
    headers: Headers,
    body: Bytes,
) {
    receiver.got.lock().unwrap().push(Got { from, headers, body });
}

/// A receiver that always answers with `status`, `headers` and `body`.
async fn answering(status: u16, headers: &[(header::HeaderName, &str)], body: impl Into<String>) -> String {
    let body = body.into();
    let headers: Vec<_> = headers.iter().map(|(name, value)| (name.clone(), value.to_string())).collect();
    let answer = move || {
        let mut response = Response::builder().status(status);
        for (name, value) in &headers {
            response = response.header(name, value);
        }
        let response = response.body(axum::body::Body::from(body.clone())).unwrap();
        async move { response }
    };
    Receiver::default().serve(Router::new().route("/{*path}", post(answer))).await
}

fn webhook(change: impl FnOnce(&mut Config)) -> Webhook {
    let mut config = Config { allow_private: true, ..Config::default() };
    change(&mut config);
    Webhook::new(config).unwrap()
}

async fn send(address: &str) -> Result<Receipt, SendError> {
    webhook(|_| {}).send(&sample::message(address)).await
}

#[tokio::test]
async fn a_receiver_gets_a_signed_standard_webhook() {
    let receiver = Receiver::default();
    let base = receiver.serve(Router::new().route("/hook", post(record))).await;
    let message = sample::message(&format!("{base}/hook?token=t"));
    let webhook = webhook(|config| {
        config.secret = Some(SECRET.parse().unwrap());
        config.public_url = Some("https://p.example".into());
    });
    assert_eq!(webhook.send(&message).await, Ok(Receipt::default()));

    let [got] = receiver.got().try_into().unwrap();
    let header = |name: &str| got.headers[name].to_str().unwrap();
    assert_eq!(header("content-type"), "application/json");
    assert_eq!(header("webhook-id"), message.idempotency_key);
    assert_eq!(header("idempotency-key"), message.idempotency_key);
    assert_eq!(header("webhook-timestamp"), message.sent_at.as_second().to_string());
    assert!(header("user-agent").starts_with("punctual/"));
    let secret: Secret = SECRET.parse().unwrap();
    let timestamp = header("webhook-timestamp").parse().unwrap();
    assert_eq!(header("webhook-signature"), secret.sign(header("webhook-id"), timestamp, &got.body));
    assert_eq!(got.body, event::to_json(&message, Some("https://p.example")));
    let body: Value = serde_json::from_slice(&got.body).unwrap();
    assert_eq!(body["data"]["message"], "Take your \"medicine\"");
}

#[tokio::test]
async fn a_program_that_is_told_gets_a_signed_standard_webhook() {
    let receiver = Receiver::default();
    let base = receiver.serve(Router::new().route("/hook", post(record))).await;
    let webhook = webhook(|config| config.secret = Some(SECRET.parse().unwrap()));
    let notice = sample::notice(&format!("{base}/hook"));
    assert_eq!(webhook.tell(&notice).await, Ok(Receipt::default()));
    let [got] = receiver.got().try_into().unwrap();
    let header = |name: &str| got.headers[name].to_str().unwrap();
    // Position 812, of 2026-03-02T07:00:01Z.
    let key = "evt-812-64c0522b37e40";
    assert_eq!((header("webhook-id"), header("idempotency-key")), (key, key));
    let secret: Secret = SECRET.parse().unwrap();
    let timestamp = header("webhook-timestamp").parse().unwrap();
    assert_eq!(header("webhook-signature"), secret.sign(key, timestamp, &got.body));
    assert_eq!(got.body, event::notice_to_json(&notice));
    let refusing = answering(410, &[], "").await;
    let gone = webhook.tell(&sample::notice(&format!("{refusing}/hook"))).await;
    assert!(matches!(gone, Err(SendError::Gone(_))), "{gone:?}");
}

#[tokio::test]
async fn without_a_secret_nothing_is_signed() {
    let receiver = Receiver::default();
    let base = receiver.serve(Router::new().route("/hook", post(record))).await;
    send(&format!("{base}/hook")).await.unwrap();
    assert!(!receiver.got()[0].headers.contains_key("webhook-signature"));
}

#[tokio::test]
async fn every_attempt_of_an_occurrence_has_the_same_key() {
    let receiver = Receiver::default();
    let base = receiver.serve(Router::new().route("/hook", post(record))).await;
    let mut message = sample::message(&format!("{base}/hook"));
    let webhook = webhook(|_| {});
    webhook.send(&message).await.unwrap();
    message.attempt += 1;
    webhook.send(&message).await.unwrap();
    let keys: Vec<_> = receiver.got().iter().map(|got| got.headers["webhook-id"].clone()).collect();
    assert_eq!(keys[0], keys[1]);
}

#[tokio::test]
async fn a_user_and_password_in_the_url_are_sent_as_basic_authentication() {
    let receiver = Receiver::default();
    let base = receiver.serve(Router::new().route("/hook", post(record))).await;
    send(&format!("{}/hook", base.replace("//", "//anna:word@"))).await.unwrap();
    assert_eq!(receiver.got()[0].headers["authorization"], "Basic YW5uYTp3b3Jk");
}

/// The outcome of a send, without its text.
fn kind(sent: &Result<Receipt, SendError>) -> &'static str {
    match sent {
        Ok(_) => "sent",
        Err(SendError::Throttled { .. }) => "throttled",
        Err(SendError::Unavailable(_)) => "unavailable",
        Err(SendError::Refused(_)) => "refused",
        Err(SendError::Gone(_)) => "gone",
        Err(SendError::Unknown(_)) => "unknown",
    }
}

#[tokio::test]
async fn every_status_has_its_meaning() {
    async fn status(Path(status): Path<u16>) -> Response<String> {
        Response::builder().status(status).body(String::new()).unwrap()
    }
    let base = Receiver::default().serve(Router::new().route("/{status}", post(status))).await;
    let rows: &[(&str, &[u16])] = &[
        ("sent", &[200, 201, 202, 204, 206, 299]),
        ("gone", &[410]),
        ("refused", &[400, 401, 403, 404, 405, 409, 413, 415, 422, 451, 499]),
        ("unavailable", &[408, 425, 429, 500, 501, 502, 503, 504, 599, 300, 301, 302, 303, 304, 307, 308, 600]),
    ];
    for (expect, statuses) in rows {
        for status in *statuses {
            let sent = send(&format!("{base}/{status}")).await;
            assert_eq!(kind(&sent), *expect, "{status}: {sent:?}");
        }
    }
}

#[tokio::test]
async fn a_receiver_that_asks_for_a_pause_gets_it() {
    let whom = Whom::Shared;
    for status in [429, 503] {
        let throttled = |seconds| Err(SendError::Throttled { wait: Duration::from_secs(seconds), whom });
        let base = answering(status, &[(header::RETRY_AFTER, "120")], "").await;
        assert_eq!(send(&format!("{base}/x")).await, throttled(120));
        let base = answering(status, &[(header::RETRY_AFTER, "86400")], "").await;
        assert_eq!(send(&format!("{base}/x")).await, throttled(86_400));
        // The sample message is sent at 07:00:01.5.
        let date = "Mon, 02 Mar 2026 07:02:00 GMT";
        let base = answering(status, &[(header::RETRY_AFTER, date)], "").await;
        assert_eq!(
            send(&format!("{base}/x")).await,
            Err(SendError::Throttled { wait: Duration::from_millis(118_500), whom })
        );
        let base = answering(status, &[(header::RETRY_AFTER, "later")], "").await;
        assert_eq!(kind(&send(&format!("{base}/x")).await), "unavailable");
    }
}

#[tokio::test]
async fn a_refusal_quotes_the_receiver_without_what_only_the_owner_knows() {
    let said = format!("no\x1b[2J such room\r\nfor tok-123 of pass-word: {}", "x".repeat(100_000));
    let base = answering(404, &[], said).await;
    let address = format!("{}/hook?token=tok-123", base.replace("//", "//anna:pass-word@"));
    let Err(SendError::Refused(text)) = send(&address).await else { panic!("not refused") };
    assert!(text.starts_with("answered 404 Not Found: no[2J such room for … of …: xxx"), "{text}");
    assert_eq!(text.chars().count(), "answered 404 Not Found: ".len() + 200);
}

#[tokio::test]
async fn no_part_of_a_path_that_may_be_a_secret_is_shown() {
    let cannot = |path: &str| format!("Cannot POST {path}");
    let base = answering(404, &[], cannot("/hooks/s3cret")).await;
    let Err(SendError::Refused(text)) = send(&format!("{base}/hooks/s3cret")).await else { panic!("not refused") };
    assert_eq!(text, "answered 404 Not Found: Cannot POST …");
    // Nor of the path that a redirect leads to.
    let target = answering(404, &[], cannot("/other/s3cret-2")).await;
    let base = answering(307, &[(header::LOCATION, &format!("{target}/other/s3cret-2"))], "").await;
    let Err(SendError::Refused(text)) = send(&format!("{base}/hooks/s3cret")).await else { panic!("not refused") };
    assert_eq!(text, "answered 404 Not Found: Cannot POST …");
}

#[tokio::test]
async fn a_temporary_redirect_is_followed_with_the_same_body() {
    let receiver = Receiver::default();
    let target = receiver.serve(Router::new().route("/hook", post(record))).await;
    for status in [307, 308] {
        let base = answering(status, &[(header::LOCATION, &format!("{target}/hook"))], "").await;
        let message = sample::message(&format!("{base}/old?token=t"));
        assert_eq!(webhook(|_| {}).send(&message).await, Ok(Receipt::default()));
        let got = receiver.got().pop().unwrap();
        assert_eq!(got.body, event::to_json(&message, None));
        assert_eq!(got.headers["webhook-id"], message.idempotency_key.as_str());
        assert!(!got.headers.contains_key("referer"));
    }
}

#[tokio::test]
async fn other_redirects_are_named_and_not_followed() {
    let receiver = Receiver::default();
    let target = receiver.serve(Router::new().route("/hook", post(record).get(record))).await;
    for status in [301, 302, 303] {
        let base = answering(status, &[(header::LOCATION, &format!("{target}/hooks/s3cret?key=k"))], "").await;
        let Err(SendError::Unavailable(text)) = send(&format!("{base}/x")).await else { panic!("not unavailable") };
        assert!(text.ends_with(&format!("moved to {target}; update the address")), "{text}");
    }
    assert!(receiver.got().is_empty());
}

#[tokio::test]
async fn a_redirect_in_circles_ends() {
    let base = answering(307, &[(header::LOCATION, "/again")], "").await;
    let expect = "redirected more than 3 times; update the address";
    assert_eq!(send(&format!("{base}/x")).await, Err(SendError::Unavailable(expect.into())));
}

#[tokio::test]
async fn a_redirect_to_something_else_than_http_is_not_followed() {
    for place in ["ftp://example.org/x", "http://", "http://exa mple", "http://a:99999/", "//", "mailto:a@b.example"] {
        let base = answering(307, &[(header::LOCATION, place)], "").await;
        let sent = send(&format!("{base}/x")).await;
        assert_eq!(kind(&sent), "unavailable", "{place}: {sent:?}");
    }
}

#[tokio::test]
async fn a_receiver_that_hangs_leaves_it_unknown() {
    let base = Receiver::default().serve(Router::new().route("/{*path}", post(std::future::pending::<()>))).await;
    let webhook = webhook(|config| config.timeout = Duration::from_millis(200));
    let sent = webhook.send(&sample::message(&format!("{base}/x?token=tok-123"))).await;
    let expect = format!("no answer from {base} within 200ms; it may have arrived");
    assert_eq!(sent, Err(SendError::Unknown(expect)));
}

#[tokio::test]
async fn an_answer_whose_body_never_ends_still_counts() {
    let address = once(|mut stream| {
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf").unwrap();
        // Open until the client gives up.
        let _ = stream.read(&mut [0; 1]);
    });
    let webhook = webhook(|config| config.timeout = Duration::from_millis(200));
    assert_eq!(webhook.send(&sample::message(&address)).await, Ok(Receipt::default()));
}

#[tokio::test]
async fn a_connection_cut_after_the_request_leaves_it_unknown() {
    let address = once(drop);
    let Err(SendError::Unknown(text)) = send(&address).await else { panic!("not unknown") };
    assert!(text.ends_with("it may have arrived"), "{text}");
    let address = once(|mut stream| stream.write_all(b"SSH-2.0-OpenSSH_9.9\r\n").unwrap());
    assert_eq!(kind(&send(&address).await), "unknown");
}

/// A server that takes one connection and its request, and goes on with `answer`.
fn once(answer: impl FnOnce(std::net::TcpStream) + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/x", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut request = Vec::new();
        while !request.ends_with(b"}}") {
            let mut part = [0; 4096];
            let n_read = stream.read(&mut part).unwrap();
            request.extend_from_slice(&part[..n_read]);
        }
        answer(stream);
    });
    address
}

#[tokio::test]
async fn without_a_connection_it_is_unavailable() {
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let Err(SendError::Unavailable(text)) = send(&format!("http://u:pass-word@{closed}/x?token=tok-123")).await else {
        panic!("not unavailable")
    };
    assert!(text.starts_with(&format!("no connection to http://{closed}: ")), "{text}");
    assert!(text.contains("refused") && !text.contains("tok-123") && !text.contains("pass-word"), "{text}");
}

#[tokio::test]
async fn a_name_that_does_not_exist_is_unavailable() {
    let Err(SendError::Unavailable(text)) = send("http://nowhere.invalid/x?token=tok-123").await else {
        panic!("not unavailable")
    };
    assert!(text.starts_with("the name in http://nowhere.invalid:80 was not found"), "{text}");
    assert!(!text.contains("tok-123"), "{text}");
}

#[tokio::test]
async fn https_to_a_server_without_tls_is_unavailable_and_says_so() {
    let base = answering(200, &[], "").await;
    let Err(SendError::Unavailable(text)) = send(&format!("{}/x", base.replace("http", "https"))).await else {
        panic!("not unavailable")
    };
    assert!(text.ends_with("it does not speak TLS; is it http and not https?"), "{text}");
}

#[tokio::test]
async fn a_connection_is_used_again() {
    let receiver = Receiver::default();
    async fn chatty(state: State<Receiver>, from: ConnectInfo<SocketAddr>, headers: Headers, body: Bytes) -> String {
        record(state, from, headers, body).await;
        "x".repeat(20_000)
    }
    let base = receiver.serve(Router::new().route("/hook", post(chatty))).await;
    let webhook = webhook(|_| {});
    for _ in 0..5 {
        webhook.send(&sample::message(&format!("{base}/hook"))).await.unwrap();
    }
    let got = receiver.got();
    assert!(got.iter().all(|request| request.from == got[0].from), "{got:?}");
}

#[tokio::test]
async fn private_targets_are_refused_by_address_and_by_name() {
    let receiver = Receiver::default();
    let base = receiver.serve(Router::new().route("/hook", post(record))).await;
    let port = base.rsplit(':').next().unwrap();
    let webhook = webhook(|config| config.allow_private = false);
    for host in ["127.0.0.1", "0x7f.1", "2130706433", "[::ffff:127.0.0.1]", "[::1]", "localhost"] {
        let sent = webhook.send(&sample::message(&format!("http://{host}:{port}/hook"))).await;
        let Err(SendError::Refused(text)) = sent else { panic!("{host}: {sent:?}") };
        let expect = "is a private address; set PUNCTUAL_WEBHOOK_ALLOW_PRIVATE=true to allow it";
        assert!(text.ends_with(expect), "{host}: {text}");
    }
    assert!(receiver.got().is_empty());
}

#[test]
fn a_channel_of_ones_own_names_its_own_setting() {
    let make =
        |pairs: &[(&str, &str)]| crate::setup::make("webhook", sample::settings(pairs), &Server::new(sample::clock()));
    let refused = make(&[]).unwrap().check_address("http://127.0.0.1:9000/hook").unwrap_err();
    let expect = "address: 127.0.0.1 is a private address; set the channel's allow_private = true to allow it";
    assert_eq!(refused.to_string(), expect);
    let allowed = make(&[("allow_private", "true")]).unwrap();
    assert_eq!(allowed.check_address("http://127.0.0.1:9000/hook"), Ok(()));
}

/// The first hop can only be on this machine too, so each half of the guard stands alone here.
#[tokio::test]
async fn a_redirect_home_is_refused_by_address_and_by_name() {
    let receiver = Receiver::default();
    let target = receiver.serve(Router::new().route("/hook", post(record))).await;
    let named = |base: &str| base.replace("127.0.0.1", "localhost");
    let (open, closed) = (Guard::test(true), Guard::test(false));
    let config = Config::default();

    let base = answering(307, &[(header::LOCATION, &format!("{target}/hook"))], "").await;
    let client = builder(&config, open).build().unwrap();
    let followed = Webhook { config: config.clone(), guard: closed, client };
    let message = sample::message(&format!("{}/x", named(&base)));
    assert_eq!(followed.send(&message).await, Ok(Receipt::default()), "the way itself is open");
    let client = builder(&config, open).redirect(redirect::policy(closed)).build().unwrap();
    let by_address = Webhook { config: config.clone(), guard: closed, client };
    let Err(SendError::Refused(text)) = by_address.send(&message).await else { panic!("not refused") };
    assert!(text.starts_with("redirected: 127.0.0.1 is a private address"), "{text}");

    let base = answering(307, &[(header::LOCATION, &format!("{}/hook", named(&target)))], "").await;
    let client = builder(&config, closed).build().unwrap();
    let by_name = Webhook { config, guard: open, client };
    let sent = by_name.send(&sample::message(&format!("{base}/x"))).await;
    let Err(SendError::Refused(text)) = sent else { panic!("{sent:?}") };
    assert!(text.starts_with("localhost is a private address"), "{text}");
    assert_eq!(receiver.got().len(), 1);
}

#[tokio::test]
async fn an_address_that_is_no_url_is_refused() {
    assert_eq!(kind(&send("nonsense").await), "refused");
    assert_eq!(webhook(|_| {}).receiver("nonsense"), "invalid");
    assert_eq!(webhook(|_| {}).receiver("https://u:p@example.org/x?y"), "https://example.org:443");
}

#[test]
fn a_config_that_could_send_nothing_is_refused() {
    let field = |change: fn(&mut Config)| {
        let mut config = Config::default();
        change(&mut config);
        Webhook::new(config).unwrap_err().field
    };
    assert_eq!(field(|config| config.timeout = Duration::ZERO), "timeout");
    assert_eq!(field(|config| config.concurrency = 0), "concurrency");
    assert_eq!(field(|config| config.user_agent = "a\nb".into()), "user_agent");
    assert_eq!(field(|config| config.public_url = Some("p.example".into())), "public_url");
}

#[test]
fn no_secret_is_printed() {
    let webhook = webhook(|config| config.secret = Some(SECRET.parse().unwrap()));
    let printed = format!("{webhook:?}");
    assert!(printed.contains("redacted") && !printed.contains("MfKQ9r8"), "{printed}");
}
