//! The channel against a local server and what Slack publishes.

use super::*;
use crate::sample;
use crate::spec::facts::Facts;
use crate::spec::{Platform, Request, class, fields};
use punctual_core::phrase::Lang;

const CHANNEL: &str = "C0123456789";
const CALLING: &str = "C0123456789@U0123456789";
const TOKEN: &str = "xoxb-s3cret";

fn links() -> Server {
    Server { links: Some(Links::new("https://p.example", b"key")), ..Server::new(sample::clock()) }
}

fn slack_with(more: &[(&str, &str)], base: &str, server: &Server) -> Slack {
    let mut pairs = vec![("token", TOKEN), ("api_url", base)];
    pairs.extend(more);
    Slack::new(&mut fields(&pairs), server).unwrap()
}

async fn start() -> (Platform, Slack, String) {
    let (platform, base) = Platform::start().await;
    (platform, slack_with(&[], &format!("{base}/api"), &links()), format!("{base}/services/T01/B02/hooks3cret"))
}

fn taken() -> Value {
    json!({"ok": true, "channel": CHANNEL, "ts": "1503435956.000247"})
}

pub(super) fn facts() -> Facts {
    Facts::of("slack", with_bodies)
}

/// Makes schemas of a request's body out of the parameters that Slack publishes for a form. In JSON the blocks are a list, and in a
/// form the text of one.
fn with_bodies(document: &mut Value) {
    let body = |method: &str, required: Value| {
        let parameters = document["paths"][method]["post"]["parameters"].as_array().into_iter().flatten();
        let in_form = parameters.filter(|parameter| parameter["in"] == "formData");
        let member = |parameter: &Value| {
            let name = parameter["name"].as_str().unwrap().to_owned();
            let kind = if name == "blocks" { json!("array") } else { parameter["type"].clone() };
            (name, json!({ "type": kind }))
        };
        let members: serde_json::Map<_, _> = in_form.map(member).collect();
        json!({"type": "object", "properties": members, "additionalProperties": false, "required": required})
    };
    if document["paths"]["/chat.postMessage"].is_null() {
        return;
    }
    // The rest of the file has schemas that are none by today's rules.
    *document = json!({ "definitions": {
        "postMessage": body("/chat.postMessage", json!(["channel"])),
        "incomingWebhook": body("/chat.postMessage", json!([])),
        "update": body("/chat.update", json!(["channel", "ts"])),
    } });
}

/// Whether blocks and parameters are what Slack takes.
#[track_caller]
fn check(request: &Request, is_webhook: bool) {
    let (body, facts) = (request.json(), facts());
    assert_eq!(request.method, "POST");
    assert_eq!(request.header("content-type"), "application/json; charset=utf-8");
    facts.check(if is_webhook { "incomingWebhook" } else { "postMessage" }, &body);
    for block in body["blocks"].as_array().unwrap() {
        facts.check("Block", block);
    }
}

#[test]
fn the_facts_are_what_slack_publishes() {
    let facts = facts();
    let limit = |pointer: &str| facts.at(&format!("/shapes/{pointer}")).as_u64().unwrap() as usize;
    assert_eq!(limit("ActionsBlock/properties/elements/words/maxItems"), facts.number("buttons"));
    assert_eq!(limit("Button/properties/text/properties/text/words/maxLength"), facts.number("label_chars"));
    assert_eq!(limit("Button/properties/action_id/words/maxLength"), facts.number("action_id_chars"));
    assert_eq!(limit("Button/properties/value/words/maxLength"), facts.number("value_chars"));
    facts.agree();
}

#[tokio::test]
async fn every_request_is_what_slack_publishes() {
    let (platform, slack, hook) = start().await;
    for address in [CHANNEL, CALLING, "U0123456789", "#general", &hook] {
        for message in sample::shapes(address, "<!channel> 💊 *&* https://a.example/x ") {
            let is_webhook = address == hook;
            platform.then(200, if is_webhook { json!("ok") } else { taken() });
            let expect = if is_webhook { Receipt::default() } else { Receipt::of("C0123456789/1503435956.000247") };
            assert_eq!(slack.send(&message).await, Ok(expect));
            let [request] = platform.take().try_into().unwrap();
            check(&request, is_webhook);
            if is_webhook {
                assert_eq!(request.uri, "/services/T01/B02/hooks3cret");
                assert_eq!(request.header("authorization"), "");
            } else {
                assert_eq!(request.uri, "/api/chat.postMessage");
                assert_eq!(request.header("authorization"), "Bearer xoxb-s3cret");
            }
        }
    }
}

#[tokio::test]
async fn a_request_in_full() {
    let (platform, slack, hook) = start().await;
    let mut message = sample::message(CALLING);
    message.text = "<!channel> *now* :pill: https://a.example".into();
    sample::change(&mut message, |reminder| reminder.ack = Some(sample::ack("_Taken?_ & gone")));
    let id = message.occurrence;
    platform.then(200, taken());
    slack.send(&message).await.unwrap();
    let elements = json!([
        {"type": "user", "user_id": "U0123456789"},
        {"type": "text", "text": " ⏰ "},
        {"type": "text", "text": "Reminder", "style": {"bold": true}},
        {"type": "text", "text": ":", "style": {"bold": true}},
        {"type": "text", "text": " "},
        {"type": "text", "text": "<!channel> *now* :pill: "},
        {"type": "link", "url": "https://a.example"},
        {"type": "text", "text": "\n_Taken?_ & gone"}]);
    let button = |label: &str, verb: &str| {
        json!({"type": "button", "text": {"type": "plain_text", "text": label, "emoji": false},
            "action_id": format!("punctual_{verb}"), "value": format!("punctual:{verb}:{id}")})
    };
    let mut done = button("Done", "ack");
    done["style"] = "primary".into();
    assert_eq!(
        platform.take()[0].json(),
        json!({
            "channel": CHANNEL,
            "text": "⏰ Reminder: &lt;!channel&gt; *now* :pill: https://a.example\n_Taken?_ &amp; gone",
            "blocks": [
                {"type": "rich_text", "elements": [{"type": "rich_text_section", "elements": elements}]},
                {"type": "actions", "elements": [done, button("In 10 minutes", "snooze"), button("Not needed", "dismiss")]}],
            "unfurl_links": false,
            "unfurl_media": false,
            "mrkdwn": false,
            "parse": "none",
            "metadata": {"event_type": "punctual_reminder", "event_payload": {"idempotency_key": message.idempotency_key}},
        })
    );
    sample::change(&mut message, |reminder| reminder.snooze_allowed = false);
    platform.then(200, taken());
    slack.send(&message).await.unwrap();
    let buttons = platform.take()[0].json()["blocks"][1]["elements"].clone();
    assert_eq!(buttons, json!([done, button("Not needed", "dismiss")]));

    message.to.address = hook.clone();
    platform.usually(json!("ok"));
    slack.send(&message).await.unwrap();
    let first = platform.take()[0].json()["blocks"][1]["elements"][0].clone();
    assert_eq!(first["url"], links().links.unwrap().link(Verb::Ack, id));
    assert_eq!((first.get("value"), first.get("action_id")), (None, None));
    let without_links =
        slack_with(&[], &hook.replace("/services/T01/B02/hooks3cret", "/api"), &Server::new(sample::clock()));
    without_links.send(&message).await.unwrap();
    assert_eq!(platform.take()[0].json()["blocks"].as_array().unwrap().len(), 1);

    message.to.address = CHANNEL.into();
    message.language = Lang::De;
    message.text = "Tabletten".into();
    sample::change(&mut message, |reminder| reminder.ack = None);
    platform.then(200, taken());
    slack.send(&message).await.unwrap();
    let body = platform.take()[0].json();
    assert_eq!(body["text"], "⏰ Erinnerung: Tabletten");
    assert_eq!(body["blocks"].as_array().unwrap().len(), 1);
    assert_eq!(body["blocks"][0]["elements"][0]["elements"][0], json!({"type": "text", "text": "⏰ "}));
}

#[tokio::test]
async fn a_length_at_the_limit_is_left_alone_and_one_more_is_cut_visibly() {
    let (platform, slack, _) = start().await;
    let frame = " ⏰ *Reminder:* ".encode_utf16().count();
    for (more, is_cut) in [(0, false), (1, true)] {
        let room = rich::TEXT_UNITS_MAX - frame;
        let mut message = sample::message(CHANNEL);
        message.text = format!("{}{}", "😀".repeat(room / 2), "x".repeat(room % 2 + more));
        platform.then(200, taken());
        slack.send(&message).await.unwrap();
        let body = platform.take()[0].json();
        let text = body["text"].as_str().unwrap();
        assert_eq!(text.contains(" characters)"), is_cut);
        assert!((2960..=3000).contains(&text.encode_utf16().count()));
    }
    let mut message = sample::message(CHANNEL);
    sample::change(&mut message, |reminder| reminder.name = Some("n".repeat(4000)));
    let (platform, base) = Platform::start().await;
    let slack = slack_with(&[("template", "{name}: {message}")], &base, &links());
    platform.then(200, taken());
    slack.send(&message).await.unwrap();
    assert_eq!(platform.take()[0].json()["text"], "Take your \"medicine\"", "the text goes without the template");
}

#[tokio::test]
async fn every_documented_error_has_its_meaning() {
    let (platform, slack, _) = start().await;
    let rows: &[(&str, &[&str])] = &[
        ("gone", &["is_archived", "user_not_found", "user_disabled"]),
        (
            "refused",
            &[
                "channel_not_found",
                "not_in_channel",
                "msg_too_long",
                "msg_blocks_too_long",
                "no_text",
                "restricted_action",
                "no_permission",
                "restricted_action_read_only_channel",
                "cannot_dm_bot",
                "messages_tab_disabled",
                "invalid_blocks",
                "too_many_attachments",
                "invalid_arg_name",
                "invalid_charset",
                "invalid_form_data",
                "ekm_access_denied",
                "metadata_too_large",
                "something_new",
            ],
        ),
        (
            "unavailable",
            &[
                "not_authed",
                "invalid_auth",
                "account_inactive",
                "token_revoked",
                "token_expired",
                "missing_scope",
                "not_allowed_token_type",
                "access_denied",
                "accesslimited",
                "team_access_not_granted",
                "enterprise_is_restricted",
                "service_unavailable",
                "request_timeout",
                "team_added_to_org",
            ],
        ),
        ("unknown", &["fatal_error", "internal_error"]),
        ("throttled 30s, address", &["ratelimited", "rate_limited", "message_limit_exceeded"]),
    ];
    for (expect, errors) in rows {
        for error in *errors {
            platform.then(200, json!({"ok": false, "error": error}));
            let sent = slack.send(&sample::message(CHANNEL)).await;
            assert_eq!(class(&sent), *expect, "{error}: {sent:?}");
        }
    }
    for (status, headers, body, expect) in [
        (429, &[("retry-after", "11")] as &[_], json!({"ok": false, "error": "ratelimited"}), "throttled 11s, address"),
        (429, &[("retry-after", "12")], json!("slow"), "throttled 12s, address"),
        (500, &[], json!("oops"), "unavailable"),
        (503, &[], json!({"ok": false, "error": "odd"}), "unavailable"),
        (502, &[], Value::Null, "unavailable"),
        (200, &[], json!("<html>a portal</html>"), "unknown"),
    ] {
        platform.then_with(status, headers, body);
        assert_eq!(class(&slack.send(&sample::message(CHANNEL)).await), expect, "{status}");
    }
    platform.then(200, json!({"ok": false, "error": "missing_scope", "needed": "chat:write", "provided": "x"}));
    let Err(SendError::Unavailable(said)) = slack.send(&sample::message(CHANNEL)).await else { panic!() };
    let expect =
        "the token may not do this; check the app's scopes (it needs chat:write): Slack answered missing_scope";
    assert_eq!(said, expect);
}

#[tokio::test]
async fn every_answer_of_a_webhook_has_its_meaning() {
    let (platform, slack, hook) = start().await;
    for (status, body, expect) in [
        (404, "no_service", "gone"),
        (404, "no_active_hooks", "gone"),
        (404, "channel_not_found", "refused"),
        (410, "channel_is_archived", "gone"),
        (403, "invalid_token", "gone"),
        (403, "action_prohibited", "refused"),
        (400, "invalid_payload", "refused"),
        (400, "no_text", "refused"),
        (500, "rollup_error", "unavailable"),
        (503, "Service Unavailable", "unavailable"),
        (429, "Too many", "throttled 30s, address"),
        (200, "ok", "sent"),
        (200, "<html>a portal</html>", "unknown"),
        (200, "", "unknown"),
    ] {
        platform.then(status, json!(body));
        assert_eq!(class(&slack.send(&sample::message(&hook)).await), expect, "{body}");
    }
}

#[tokio::test]
async fn no_secret_is_ever_shown() {
    let (platform, slack, hook) = start().await;
    assert!(!format!("{slack:?}").contains("s3cret"));
    for address in [CHANNEL, &hook] {
        for status in [200, 400, 403, 404, 500] {
            for body in [json!({"ok": false, "error": "no xoxb-s3cret hooks3cret"}), json!("xoxb-s3cret hooks3cret")] {
                platform.then(status, body);
                let said = format!("{:?}", slack.send(&sample::message(address)).await);
                let secret = if address == CHANNEL { TOKEN } else { "hooks3cret" };
                assert!(!said.contains(secret), "{said}");
            }
        }
    }
    let nowhere = slack_with(&[], "http://127.0.0.1:1", &links());
    for address in [CHANNEL, "http://127.0.0.1:1/services/T01/B02/hooks3cret"] {
        let sent = nowhere.send(&sample::message(address)).await;
        assert_eq!(class(&sent), "unavailable");
        assert!(!format!("{sent:?}").contains("s3cret"), "{sent:?}");
    }
}

#[tokio::test]
async fn addresses_that_slack_counts_together_share_a_bucket() {
    let (platform, slack, hook) = start().await;
    for (expect, address) in [
        (CHANNEL, CHANNEL),
        (CHANNEL, CALLING),
        (CHANNEL, "C0123456789@U9999999999"),
        ("U0123456789", "U0123456789"),
        ("#general", "#general@U0123456789"),
        ("T01/B02", &hook),
        ("T01/B02", "https://hooks.slack.com/services/T01/B02/hooks3cret"),
        ("invalid", "https://evil.example/hooks3cret"),
    ] {
        assert_eq!(slack.bucket(address), Bucket { name: expect.into(), rate: Some(Rate::per_second(1)) }, "{address}");
    }
    // Ten people called in one channel are one that waits, and ten channels are many.
    for n in 0..10 {
        platform.then(200, json!({"ok": false, "error": "ratelimited"}));
        let sent = slack.send(&sample::message(&format!("{CHANNEL}@U000000000{n}"))).await;
        assert_eq!(class(&sent), "throttled 30s, address");
    }
    for n in 1..=9 {
        platform.then(200, json!({"ok": false, "error": "ratelimited"}));
        let sent = slack.send(&sample::message(&format!("C000000000{n}"))).await;
        assert_eq!(class(&sent), if n < 9 { "throttled 30s, address" } else { "throttled 30s, receiver" });
    }
}

#[test]
fn settings_are_read_and_wrong_ones_are_named() {
    let slack = slack_with(&[("concurrency", "3")], "https://slack.com/api/", &links());
    assert_eq!(slack.api_url, "https://slack.com/api");
    let expect = Limits { concurrency: 3, rate: Some(Rate::per_second(5)), address_rate: Some(Rate::per_second(1)) };
    assert_eq!(slack.limits(), expect);
    assert_eq!((slack.kind(), slack.receiver(CHANNEL), slack.digest_max().is_some()), ("slack", "slack".into(), true));
    let hook = "https://hooks.slack.com/services/T01/B02/hooks3cret";
    let hooks_only = Slack::new(&mut fields(&[]), &Server::new(sample::clock())).unwrap();
    assert_eq!((slack.check_address(CALLING), slack.check_address(hook)), (Ok(()), Ok(())));
    assert_eq!(hooks_only.check_address(hook), Ok(()));
    assert!(hooks_only.check_address(CHANNEL).unwrap_err().problem.starts_with("the channel has no token"));
    assert!(slack.check_address("general").is_err());
    for (name, value) in [("api_url", "slack"), ("template", "{x}"), ("token", "a b"), ("rate", "x"), ("chanel", "x")] {
        let error = crate::setup::make("slack", fields(&[(name, value)]), &links()).err().unwrap();
        assert_eq!(error.field, name, "{error}");
    }
}

#[test]
fn the_check_itself_would_notice() {
    let facts = facts();
    assert!(facts.takes("Block", &json!({"type": "rich_text", "elements": []})));
    for wrong in [
        json!({"type": "rich"}),
        json!({"type": "rich_text", "elements": [{"type": "rich_text_section", "elements": [{"type": "text"}]}]}),
        json!({"type": "actions", "elements": [{"type": "button", "text": "no object"}]}),
        json!({"type": "actions", "elements": [], "more": 1}),
    ] {
        assert!(!facts.takes("Block", &wrong), "{wrong}");
    }
}
