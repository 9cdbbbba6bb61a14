use punctual_core::phrase::Lang;
use punctual_testkit::report;
use serde_json::{Value, json};
use tokio::io::AsyncReadExt;

use super::*;
use crate::common::buttons::Verb;
use crate::sample;
use crate::spec::facts::Facts;
use crate::spec::{Platform, published};

fn fields(url: &str, more: &[(&str, &str)]) -> Fields {
    sample::settings(&[&[("url", url)], more].concat())
}

fn channel(url: &str, more: &[(&str, &str)]) -> Arc<dyn Channel> {
    let mut fields = fields(url, more);
    let channel = make(&mut fields, &sample::server()).unwrap();
    fields.finish().unwrap();
    channel
}

fn wrong(more: &[(&str, &str)]) -> String {
    make(&mut fields("https://ntfy.sh", more), &sample::server()).map(|_| ()).unwrap_err().to_string()
}

/// What ntfy answers to a message it took.
fn taken() -> Value {
    json!({
        "id": "sPs71M8A2T", "time": 1_643_935_928, "expires": 1_643_936_928, "event": "message", "topic": "pills",
        "message": "Take your \"medicine\"", "title": "Reminder", "tags": ["alarm_clock"], "priority": 4
    })
}

fn facts() -> Facts {
    Facts::of("ntfy", |_| ())
}

fn asking() -> Message {
    let mut message = sample::message("pills");
    sample::change(&mut message, |reminder| reminder.ack = Some(sample::ack("Did you take it?")));
    message
}

#[tokio::test]
async fn a_message_is_what_ntfy_publishes() {
    let (platform, url) = Platform::start().await;
    let channel = channel(&url, &[("token", "tk_s3cret")]);
    platform.then(200, taken());
    let receipt = channel.send(&asking()).await.unwrap();
    assert_eq!(receipt, Receipt::of("sPs71M8A2T"));
    let request = platform.take().remove(0);
    assert_eq!((request.method.as_str(), request.uri.path()), ("POST", "/"));
    assert_eq!(request.header("authorization"), "Bearer tk_s3cret");
    let body = request.json();
    let link = sample::server().links.unwrap().link(Verb::Snooze, asking().occurrence);
    assert_eq!(body["message"], "Take your \"medicine\"\nDid you take it?");
    assert_eq!((&body["title"], &body["priority"]), (&json!("Reminder"), &json!(4)));
    assert_eq!(
        body["actions"][1],
        json!({"action": "http", "label": "In 10 minutes", "url": link, "method": "POST", "clear": true})
    );
    facts().check("publish", &body);
    facts().check("message", &taken());
}

#[test]
fn the_facts_are_what_ntfy_publishes() {
    let facts = facts();
    assert_eq!((facts.number("message_bytes"), facts.number("body_bytes")), (MESSAGE_BYTES_MAX, BODY_BYTES_MAX));
    facts.agree();
}

#[tokio::test]
async fn every_shape_of_message_is_what_ntfy_publishes() {
    let facts = facts();
    let (platform, url) = Platform::start().await;
    for lang in Lang::ALL {
        for priority in Priority::URGENT_FIRST {
            for (ack, snooze, name) in [(false, true, None), (true, true, None), (true, false, Some("pills"))] {
                let mut message = sample::message("pills_2-x");
                message.language = lang;
                sample::change(&mut message, |reminder| {
                    reminder.priority = priority;
                    reminder.snooze_allowed = snooze;
                    reminder.name = name.map(str::to_owned);
                    reminder.ack = ack.then(Default::default);
                });
                platform.then(200, taken());
                channel(&url, &[]).send(&message).await.unwrap();
                let body = platform.take().remove(0).json();
                facts.check("publish", &body);
                assert_eq!(body["title"], name.unwrap_or(texts(lang).reminder));
                assert_eq!(
                    body["actions"].as_array().map_or(0, Vec::len),
                    if !ack { 0 } else { 2 + usize::from(snooze) }
                );
            }
        }
    }
}

#[tokio::test]
async fn a_password_is_sent_as_a_password_and_templates_are_used() {
    let (platform, url) = Platform::start().await;
    let settings = [
        ("username", "bot"),
        ("password", "s3cret"),
        ("template", "{user}: {message}"),
        ("title", "for {user}"),
        ("rate", "none"),
        ("concurrency", "3"),
        ("timeout", "2s"),
    ];
    let channel = channel(&url, &settings);
    platform.then(200, taken());
    channel.send(&sample::message("pills")).await.unwrap();
    let request = platform.take().remove(0);
    assert_eq!(request.header("authorization"), "Basic Ym90OnMzY3JldA==");
    let body = request.json();
    assert_eq!((&body["message"], &body["title"]), (&json!("alice: Take your \"medicine\""), &json!("for alice")));
    assert_eq!(channel.limits(), Limits { concurrency: 3, rate: None, address_rate: None });
    assert_eq!((channel.receiver("a"), channel.digest_max().is_some(), channel.holds_unknown()), (url, true, false));
}

#[tokio::test]
async fn long_messages_fit_and_say_what_is_missing() {
    let (platform, url) = Platform::start().await;
    let channel = channel(&url, &[]);
    let sent = async |text: String| {
        let mut message = sample::message("pills");
        message.text = text;
        platform.then(200, taken());
        channel.send(&message).await.unwrap();
        let request = platform.take().remove(0);
        assert!(request.body.len() <= BODY_BYTES_MAX, "{}", request.body.len());
        request.json()["message"].as_str().unwrap().to_owned()
    };
    // One emoji is four bytes.
    let exact = "😀".repeat(MESSAGE_BYTES_MAX / 4);
    assert_eq!(sent(exact.clone()).await, exact);
    let cut = sent(format!("{exact}!")).await;
    assert!(cut.len() <= MESSAGE_BYTES_MAX && cut.contains("… (+"), "{}", cut.len());
    // Characters that JSON has to escape take more room in the body than in the message.
    let cut = sent("\u{1}".repeat(MESSAGE_BYTES_MAX)).await;
    assert!(cut.ends_with(" characters)"), "{cut:?}");
    let mut message = asking();
    sample::change(&mut message, |reminder| reminder.ack = Some(sample::ack(&"Really? ".repeat(256))));
    message.text = "\"\u{1}\" ".repeat(MESSAGE_BYTES_MAX);
    platform.then(200, taken());
    channel.send(&message).await.unwrap();
    let request = platform.take().remove(0);
    let said = request.json()["message"].as_str().unwrap().to_owned();
    assert!(request.body.len() <= BODY_BYTES_MAX && said.len() <= MESSAGE_BYTES_MAX, "{}", request.body.len());
    assert!(said.starts_with('"') && said.contains("Really?"), "{said:?}");
}

#[tokio::test]
async fn with_any_template_the_question_is_asked_once_and_a_text_is_said() {
    let (platform, url) = Platform::start().await;
    for (template, expect) in [
        ("{message} {prompt}", "Take your \"medicine\" Did you take it?"),
        ("{name}", "Take your \"medicine\"\nDid you take it?"),
    ] {
        platform.then(200, taken());
        channel(&url, &[("template", template)]).send(&asking()).await.unwrap();
        assert_eq!(platform.take().remove(0).json()["message"], expect);
    }
}

/// Every error that our facts list: its code, its HTTP status, and what we do next.
fn errors() -> Vec<(u64, u16, String)> {
    let facts = facts();
    let mut errors = Vec::new();
    for (class, statuses) in facts.at("/errors").as_object().unwrap() {
        for (status, codes) in statuses.as_object().unwrap() {
            let status: u16 = status.parse().unwrap();
            errors.extend(codes.as_array().unwrap().iter().map(|code| (code.as_u64().unwrap(), status, class.clone())));
        }
    }
    errors.sort();
    errors
}

#[tokio::test]
async fn every_error_of_ntfy_has_a_class() {
    let (platform, url) = Platform::start().await;
    let channel = channel(&url, &[("token", "tk_s3cret")]);
    for (code, status, expect) in errors() {
        platform.then(status, json!({"code": code, "http": status, "error": format!("the words of {code}")}));
        let failed = channel.send(&sample::message("pills")).await.unwrap_err();
        let class = match &failed {
            SendError::Throttled { wait, whom } => {
                assert_eq!((*wait, *whom), (REFILL, Whom::Receiver));
                "throttled"
            }
            SendError::Unavailable(_) => "unavailable",
            SendError::Refused(_) => "refused",
            other => panic!("{code}: {other:?}"),
        };
        assert_eq!(class, expect, "{code}");
        assert!(class == "throttled" || failed.to_string().contains(&format!("the words of {code}")), "{failed}");
    }
}

#[test]
fn the_errors_are_those_that_ntfy_publishes() {
    let Some(document) = published("ntfy/errors.json") else { return };
    let theirs = document["errors"].as_array().unwrap().iter();
    let mut theirs: Vec<_> =
        theirs.map(|error| (error["code"].as_u64().unwrap(), error["http"].as_u64().unwrap() as u16)).collect();
    theirs.sort_unstable();
    let ours: Vec<_> = errors().into_iter().map(|(code, status, _)| (code, status)).collect();
    assert_eq!(ours, theirs, "an error that is new: decide what it means");
    report::ran(&format!("{} error codes of ntfy/errors.json are those of facts/ntfy.toml", ours.len()));
}

#[tokio::test]
async fn other_answers_are_named_without_the_token() {
    let (platform, url) = Platform::start().await;
    let channel = channel(&url, &[("token", "tk_s3cret")]);
    let send = async || channel.send(&sample::message("pills")).await.unwrap_err();
    platform.then_with(429, &[("retry-after", "17")], json!({"code": 42901}));
    assert_eq!(send().await, SendError::Throttled { wait: Duration::from_secs(17), whom: Whom::Receiver });
    platform.then(429, json!("slow down"));
    assert_eq!(send().await, SendError::Throttled { wait: REFILL, whom: Whom::Receiver });
    platform.then(502, json!("tk_s3cret is no gateway"));
    assert_eq!(send().await, SendError::Unavailable("ntfy answered 502 Bad Gateway: \"… is no gateway\"".into()));
    platform.then(200, json!({"hello": 1}));
    assert!(matches!(send().await, SendError::Unknown(why) if why.ends_with("but no id: is it an ntfy server?")));
    let nobody = super::tests::channel("http://127.0.0.1:1", &[]);
    assert!(matches!(nobody.send(&sample::message("pills")).await, Err(SendError::Unavailable(_))));
}

#[tokio::test]
async fn a_server_that_was_stopped_and_started_is_found_again() {
    let platform = Platform::default();
    let (running, address) = platform.serve_at("127.0.0.1:0");
    let stop = async |running| tokio::task::spawn_blocking(move || drop(running)).await.unwrap();
    let channel = channel(&format!("http://{address}"), &[]);
    let send = async || channel.send(&sample::message("pills")).await;
    platform.then(200, taken());
    send().await.unwrap();
    stop(running).await;
    for _ in 0..2 {
        let failed = send().await.unwrap_err();
        assert!(matches!(&failed, SendError::Unavailable(why) if why.starts_with("no connection to ntfy")), "{failed}");
    }
    // One that ends with a message in its hands may have sent it on.
    let listener = tokio::net::TcpListener::bind(address).await.unwrap();
    let take_and_end = async move {
        let (mut connection, _) = listener.accept().await.unwrap();
        connection.read_exact(&mut [0; 100]).await.unwrap();
    };
    let (failed, ()) = tokio::join!(send(), take_and_end);
    assert!(matches!(&failed, Err(SendError::Unknown(_))), "{failed:?}");
    let (running, _) = platform.serve_at(&address.to_string());
    platform.then(200, taken());
    send().await.unwrap();
    // Stopped and started while nothing was sent: the connection that was kept is dead. Mostly nobody notices; a message that is
    // written into it before its end is seen may have arrived, for all we know, and the next one does arrive.
    stop(running).await;
    let (running, _) = platform.serve_at(&address.to_string());
    platform.then(200, taken());
    if let Err(failed) = send().await {
        assert!(matches!(failed, SendError::Unknown(_)), "{failed}");
        send().await.unwrap();
    }
    assert_eq!(platform.take().len(), 3);
    stop(running).await;
}

#[test]
fn settings_and_addresses_that_cannot_be_right_are_refused() {
    assert_eq!(wrong(&[("username", "x")]), "password: is missing; it belongs to the username");
    assert_eq!(wrong(&[("password", "x")]), "username: is missing; it belongs to the password");
    assert!(wrong(&[("token", "x"), ("username", "y")]).starts_with("token: is given, and so is"));
    assert!(wrong(&[("token", "a\nb")]).starts_with("token: has a space or a line break within"));
    assert!(wrong(&[("title", "{titel}")]).starts_with("title: has the unknown field {titel}"));
    let channel = channel("https://ntfy.sh/", &[("token", "tk_s3cret")]);
    for good in ["a", "my-reminders_x7", &"x".repeat(64)] {
        channel.check_address(good).unwrap();
    }
    for bad in ["", "a b", "ä", "a/b", "https://ntfy.sh/a", "a\n", &"x".repeat(65)] {
        assert!(channel.check_address(bad).is_err(), "{bad}");
    }
    let shown = format!("{:?}", login(&mut fields("https://ntfy.sh", &[("token", "tk_s3cret")])).unwrap());
    assert_eq!(shown, "Token(Token(redacted))");
}
