//! The channel against a local server and Discord's own specification.

use super::*;
use crate::sample;
use crate::spec::facts::Facts;
use crate::spec::{Platform, class, close, fields};
use punctual_core::phrase::Lang;

const CHANNEL: &str = "123456789012345678";
const CALLING: &str = "123456789012345678@876543210987654321";
const DM: &str = "dm:876543210987654321";
const HOOK: &str = "https://discord.com/api/webhooks/123456789012345678/hook-s3cret";
const TOKEN: &str = "bot-s3cret";

fn links() -> Server {
    Server {
        links: Some(Links::new("https://p.example", b"key")),
        public_url: Some("https://p.example".into()),
        ..Server::new(sample::clock())
    }
}

fn discord_with(more: &[(&str, &str)], base: &str, server: &Server) -> Discord {
    let mut pairs = vec![("token", TOKEN), ("api_url", base)];
    pairs.extend(more);
    Discord::new(&mut fields(&pairs), server).unwrap()
}

async fn start() -> (Platform, Discord) {
    let (platform, base) = taking().await;
    // No test waits for real time.
    (platform, discord_with(&[("rate", "none")], &base, &links()))
}

/// A Discord that takes messages.
async fn taking() -> (Platform, String) {
    let (platform, base) = Platform::start().await;
    platform.usually(json!({"id": "1"}));
    (platform, base)
}

/// Discord's specification leaves other members open; we send none.
fn facts() -> Facts {
    Facts::of("discord", close)
}

#[tokio::test]
async fn every_request_is_what_discord_publishes() {
    let ((platform, discord), facts) = (start().await, facts());
    for address in [CHANNEL, CALLING, HOOK, &format!("{HOOK}?thread_id={CHANNEL}")] {
        for message in sample::shapes(address, "@everyone *💊* <@&1> ") {
            platform.then(200, json!({"id": "42", "channel_id": CHANNEL}));
            assert_eq!(discord.send(&message).await, Ok(Receipt::of(format!("{CHANNEL}/42"))));
            let [request] = platform.take().try_into().unwrap();
            let body = request.json();
            assert!(request.header("user-agent").starts_with("DiscordBot (https://p.example, "), "{request:?}");
            assert_eq!(request.header("content-type"), "application/json");
            if address.starts_with("https") {
                facts.check("IncomingWebhookRequest", &body);
                assert_eq!(request.uri.path(), "/webhooks/123456789012345678/hook-s3cret");
                assert_eq!(request.header("authorization"), "");
                let query = request.uri.query().unwrap();
                assert!(query.starts_with("wait=true"), "{query}");
                assert_eq!(query.contains("with_components=true"), message.reminder.ack.is_some());
                assert_eq!(query.contains("thread_id=123456789012345678"), address.contains("thread_id"));
            } else {
                facts.check("MessageCreateRequest", &body);
                assert_eq!(request.uri, "/channels/123456789012345678/messages");
                assert_eq!(request.header("authorization"), "Bot bot-s3cret");
                assert_eq!(body["enforce_nonce"], true);
                assert_eq!(body["nonce"].as_str().unwrap().len(), 24);
            }
        }
    }
}

#[tokio::test]
async fn the_text_is_the_one_that_was_always_sent() {
    let (platform, discord) = start().await;
    let mut message = sample::message(CALLING);
    discord.send(&message).await.unwrap();
    let body = platform.take()[0].json();
    assert_eq!(body["content"], "<@876543210987654321> ⏰ **Reminder:** Take your \"medicine\"");
    assert_eq!(body["allowed_mentions"], json!({"parse": [], "users": ["876543210987654321"]}));
    assert_eq!((body.get("components"), body.get("flags")), (None, None));

    message.to.address = CHANNEL.into();
    message.language = Lang::De;
    message.text = "@everyone **jetzt** <@&1>".into();
    sample::change(&mut message, |reminder| reminder.ack = Some(sample::ack("_Genommen?_")));
    discord.send(&message).await.unwrap();
    let body = platform.take()[0].json();
    let expect = "⏰ **Erinnerung:** @\u{200b}everyone \\*\\*jetzt\\*\\* \\<@&1>\n\\_Genommen?\\_";
    assert_eq!(body["content"], expect);
    assert_eq!(body["allowed_mentions"], json!({"parse": []}));
}

#[tokio::test]
async fn a_template_of_ones_own_can_call_nobody_else() {
    let (platform, base) = taking().await;
    let discord = discord_with(&[("template", "@everyone {mention}: {message} ({metadata.room})")], &base, &links());
    discord.send(&sample::message(CALLING)).await.unwrap();
    let body = platform.take()[0].json();
    assert_eq!(body["content"], "@everyone <@876543210987654321>: Take your \"medicine\" (7)");
    assert_eq!(body["allowed_mentions"], json!({"parse": [], "users": ["876543210987654321"]}));
}

#[tokio::test]
async fn a_message_has_one_nonce_however_often_it_is_sent() {
    let (platform, discord) = start().await;
    let mut message = sample::message(CHANNEL);
    discord.send(&message).await.unwrap();
    message.attempt += 1;
    message.attempt_key = "another".into();
    discord.send(&message).await.unwrap();
    message.idempotency_key.push('x');
    discord.send(&message).await.unwrap();
    let nonces: Vec<_> = platform.take().iter().map(|request| request.json()["nonce"].clone()).collect();
    assert_eq!(nonces[0], nonces[1]);
    assert_ne!(nonces[0], nonces[2]);
}

#[tokio::test]
async fn buttons_answer_and_a_snooze_that_is_not_allowed_is_not_offered() {
    let (platform, discord) = start().await;
    let mut message = sample::message(CHANNEL);
    sample::change(&mut message, |reminder| reminder.ack = Some(Default::default()));
    let id = message.occurrence;
    discord.send(&message).await.unwrap();
    let row = platform.take()[0].json()["components"][0].clone();
    assert_eq!(row["type"], 1);
    let expect = [(3, "Done", "ack"), (2, "In 10 minutes", "snooze"), (2, "Not needed", "dismiss")];
    let expect: Vec<_> = expect
        .map(|(style, label, verb)| {
            json!({"type": 2, "style": style, "label": label, "custom_id": format!("punctual:{verb}:{id}")})
        })
        .into();
    assert_eq!(row["components"], Value::from(expect.clone()));

    sample::change(&mut message, |reminder| reminder.snooze_allowed = false);
    discord.send(&message).await.unwrap();
    assert_eq!(platform.take()[0].json()["components"][0]["components"], json!([expect[0], expect[2]]));

    message.to.address = HOOK.into();
    discord.send(&message).await.unwrap();
    let body = platform.take()[0].json();
    let link = links().links.unwrap().link(Verb::Ack, id);
    let expect = json!({"type": 2, "style": 5, "label": "Done", "url": link});
    assert_eq!(body["components"][0]["components"][0], expect);

    let (platform, base) = taking().await;
    discord_with(&[], &base, &Server::new(sample::clock())).send(&message).await.unwrap();
    let request = &platform.take()[0];
    assert_eq!(request.json().get("components"), None, "without links a webhook has no buttons");
    assert_eq!(request.uri.query(), Some("wait=true"));
}

#[tokio::test]
async fn a_length_at_the_limit_is_left_alone_and_one_more_is_cut_visibly() {
    let (platform, discord) = start().await;
    let frame = "⏰ **Reminder:** ".chars().count();
    for (n, is_cut) in [(2000 - frame, false), (2000 - frame + 1, true)] {
        let mut message = sample::message(CHANNEL);
        message.text = "😀".repeat(n);
        discord.send(&message).await.unwrap();
        let body = platform.take()[0].json();
        let content = body["content"].as_str().unwrap();
        assert_eq!(content.contains(" characters)"), is_cut, "{n}");
        assert!(content.chars().count() <= 2000 && content.chars().count() > 1970, "{}", content.chars().count());
    }
}

#[tokio::test]
async fn a_persons_channel_is_opened_once() {
    let (platform, discord) = start().await;
    platform
        .then(200, json!({"id": "555555555555555555", "type": 1}))
        .then(200, json!({"id": "1", "channel_id": "555555555555555555"}));
    assert_eq!(discord.send(&sample::message(DM)).await, Ok(Receipt::of("555555555555555555/1")));
    platform.then(200, json!({"id": "2"}));
    assert_eq!(discord.send(&sample::message(DM)).await, Ok(Receipt::of("2")));
    let requests = platform.take();
    let paths: Vec<_> = requests.iter().map(|request| request.uri.to_string()).collect();
    let post = "/channels/555555555555555555/messages";
    assert_eq!(paths, ["/users/@me/channels", post, post]);
    assert_eq!(requests[0].header("authorization"), "Bot bot-s3cret");
    assert_eq!(requests[0].json(), json!({"recipient_id": "876543210987654321"}));
    facts().check("CreatePrivateChannelRequest", &requests[0].json());
    facts().check("MessageCreateRequest", &requests[1].json());
    assert_eq!(requests[1].json()["content"], "⏰ **Reminder:** Take your \"medicine\"");

    // A channel that is gone is opened anew; the person is not gone.
    platform.then(404, json!({"code": 10003, "message": "Unknown Channel"}));
    assert_eq!(class(&discord.send(&sample::message(DM)).await), "unavailable");
    platform.then(200, json!({"id": "666666666666666666"}));
    discord.send(&sample::message(DM)).await.unwrap();
    assert_eq!(platform.take()[2].uri, "/channels/666666666666666666/messages");
}

#[tokio::test]
async fn a_persons_channel_is_opened_once_for_all_messages_that_need_it_at_the_same_time() {
    let (platform, discord) = start().await;
    let eight = || async {
        let messages: Vec<_> = (0..8).map(|_| sample::message(DM)).collect();
        futures_util::future::join_all(messages.iter().map(|message| discord.send(message))).await
    };
    let n_opened = || platform.take().iter().filter(|request| request.uri == "/users/@me/channels").count();
    // A failure is that of all who waited for it, and it is not remembered.
    platform.then(500, json!({}));
    assert_eq!(eight().await.iter().map(class).collect::<Vec<_>>(), ["unavailable"; 8]);
    assert_eq!(n_opened(), 1);
    platform.then(200, json!({"id": "555555555555555555", "type": 1}));
    assert_eq!(eight().await.iter().map(class).collect::<Vec<_>>(), ["sent"; 8]);
    let requests = platform.take();
    let paths: Vec<_> = requests.iter().map(|request| request.uri.path()).collect();
    assert_eq!(paths[0], "/users/@me/channels");
    assert_eq!(paths[1..], ["/channels/555555555555555555/messages"; 8]);
}

#[tokio::test]
async fn a_persons_channel_that_cannot_be_opened() {
    let (platform, discord) = start().await;
    for (status, body, expect) in [
        (404, json!({"code": 10013, "message": "Unknown User"}), "gone"),
        (400, json!({"code": 50033, "message": "Invalid Recipient(s)"}), "refused"),
        (500, json!({}), "unavailable"),
        (200, json!({}), "unavailable"),
        (429, json!({"message": "slow", "retry_after": 7.5, "global": false}), "throttled 7.5s, address"),
    ] {
        platform.then(status, body);
        assert_eq!(class(&discord.send(&sample::message(DM)).await), expect);
    }
    platform.take();
    // No other person's channel is opened before that time, and Discord is not asked.
    let mut other = sample::message("dm:999999999999999999");
    other.sent_at += Duration::from_secs(7);
    assert_eq!(class(&discord.send(&other).await), "throttled 500ms, address");
    assert!(platform.take().is_empty());
    other.sent_at += Duration::from_millis(500);
    platform.then(200, json!({"id": "555555555555555555"}));
    assert_eq!(class(&discord.send(&other).await), "sent");
}

#[tokio::test]
async fn a_message_that_is_two_requests_counts_as_two() {
    let (platform, base) = taking().await;
    let discord = discord_with(&[("rate", "2/h")], &base, &links());
    platform.then(200, json!({"id": "555555555555555555"}));
    assert_eq!(class(&discord.send(&sample::message(DM)).await), "sent");
    assert_eq!(platform.take().len(), 2);
    for address in [DM, "dm:999999999999999999", CHANNEL, HOOK] {
        let Err(SendError::Throttled { wait, whom: Whom::Receiver }) = discord.send(&sample::message(address)).await
        else {
            panic!("{address}")
        };
        assert!(wait > Duration::from_secs(3500) && wait <= Duration::from_secs(3600), "{wait:?}");
    }
    assert!(platform.take().is_empty());
}

#[tokio::test]
async fn a_url_in_any_letters_is_named_in_those_of_a_header() {
    let (platform, base) = taking().await;
    for (url, expect) in [("https://bücher.example", "https://xn--bcher-kva.example"), ("no URL ü", "punctual")] {
        let server = Server { public_url: Some(url.into()), ..Server::new(sample::clock()) };
        discord_with(&[], &base, &server).send(&sample::message(CHANNEL)).await.unwrap();
        let agent = platform.take()[0].header("user-agent").to_owned();
        assert!(agent.starts_with(&format!("DiscordBot ({expect}, ")), "{agent}");
    }
}

#[tokio::test]
async fn every_documented_error_has_its_meaning() {
    let (platform, discord) = start().await;
    let error = |code: u64, message: &str| json!({"code": code, "message": message});
    let slow = |seconds: f64, global: bool| json!({"message": "You are being rate limited.", "retry_after": seconds, "global": global});
    type Row<'a> = (u16, &'a [(&'static str, &'a str)], Value, &'a str);
    let rows: &[Row] = &[
        (404, &[], error(10003, "Unknown Channel"), "gone"),
        (404, &[], error(10004, "Unknown Guild"), "gone"),
        (404, &[], error(10013, "Unknown User"), "gone"),
        (404, &[], error(10015, "Unknown Webhook"), "gone"),
        (401, &[], error(50027, "Invalid Webhook Token"), "gone"),
        (403, &[], error(50001, "Missing Access"), "refused"),
        (403, &[], error(50007, "Cannot send messages to this user"), "refused"),
        (403, &[], error(50278, "Cannot send messages to this user due to having no mutual guilds"), "refused"),
        (403, &[], error(50013, "You lack permissions to perform that action"), "refused"),
        (400, &[], error(50008, "Cannot send messages in a non-text channel"), "refused"),
        (400, &[], error(50006, "Cannot send an empty message"), "refused"),
        (400, &[], error(50083, "Tried to perform an operation on an archived thread"), "refused"),
        (400, &[], error(200_000, "Message was blocked by automatic moderation"), "refused"),
        (400, &[], error(240_000, "Message blocked by harmful links filter"), "refused"),
        (413, &[], error(40005, "Request entity too large"), "refused"),
        (
            400,
            &[],
            json!({"code": 50035, "message": "Invalid Form Body", "errors": {"content": {"_errors": [
                {"code": "BASE_TYPE_MAX_LENGTH", "message": "Must be 2000 or fewer in length."}]}}}),
            "refused",
        ),
        (401, &[], json!({"message": "401: Unauthorized", "code": 0}), "unavailable"),
        (401, &[], error(40001, "Unauthorized"), "unavailable"),
        (403, &[], error(40002, "You need to verify your account"), "unavailable"),
        (401, &[], error(50014, "Invalid authentication token provided"), "unavailable"),
        (403, &[], error(40333, "internal network error"), "unavailable"),
        (400, &[], error(40004, "Send messages has been temporarily disabled"), "unavailable"),
        (503, &[], error(130_000, "API resource is currently overloaded"), "unavailable"),
        (500, &[], json!({}), "unavailable"),
        (502, &[], json!("<html>bad gateway</html>"), "unavailable"),
        (504, &[], Value::Null, "unavailable"),
        (200, &[], json!("<html>a portal</html>"), "unknown"),
        (200, &[], json!({}), "unknown"),
        (204, &[], Value::Null, "unknown"),
        (429, &[("x-ratelimit-scope", "user")], slow(0.337, false), "throttled 337ms, address"),
        (429, &[("x-ratelimit-scope", "shared")], slow(64.57, false), "throttled 64.57s, address"),
        (429, &[("x-ratelimit-scope", "global")], slow(1.0, true), "throttled 1s, receiver"),
        (429, &[("x-ratelimit-global", "true")], slow(2.0, false), "throttled 2s, receiver"),
        (429, &[], slow(0.0, false), "throttled 100ms, address"),
        (429, &[], slow(90_000.0, false), "throttled 86400s, address"),
        (429, &[], slow(-1.0, false), "throttled 5s, address"),
        (429, &[("retry-after", "600")], json!("error code: 1015"), "throttled 600s, receiver"),
        (429, &[], error(20016, "slowmode"), "throttled 5s, receiver"),
        (
            400,
            &[("retry-after", "9")],
            error(40003, "You are opening direct messages too fast"),
            "throttled 9s, address",
        ),
    ];
    for (status, headers, body, expect) in rows {
        for address in [CHANNEL, HOOK] {
            platform.then_with(*status, headers, body.clone());
            let sent = discord.send(&sample::message(address)).await;
            assert_eq!(class(&sent), *expect, "{status} {body}: {sent:?}");
        }
    }
    platform.then(401, json!({"message": "401: Unauthorized", "code": 0}));
    let Err(SendError::Unavailable(said)) = discord.send(&sample::message(CHANNEL)).await else { panic!() };
    let expect = "the token is not accepted; check the channel's token: Discord answered 401: 401: Unauthorized (0)";
    assert_eq!(said, expect);
}

#[tokio::test]
async fn it_stops_before_discord_bans() {
    let (platform, base) = taking().await;
    let discord = discord_with(&[("invalid_requests_max", "3")], &base, &links());
    let another_bot = discord_with(&[("invalid_requests_max", "3")], &base, &links());
    let mut message = sample::message(CHANNEL);
    let missing = || json!({"code": 50001, "message": "Missing Access"});
    let shared = json!({"message": "slow", "retry_after": 1.0, "global": false});
    platform.then(403, missing()).then(401, json!({})).then(404, json!({"code": 10003, "message": "x"}));
    platform.then_with(429, &[("x-ratelimit-scope", "shared")], shared.clone());
    platform.then_with(429, &[("x-ratelimit-scope", "user")], shared);
    for expect in ["refused", "unavailable", "gone", "throttled 1s, address", "throttled 1s, address"] {
        assert_eq!(class(&discord.send(&message).await), expect);
    }
    assert_eq!(platform.take().len(), 5);
    for discord in [&discord, &another_bot] {
        assert_eq!(class(&discord.send(&message).await), "throttled 660s, receiver");
    }
    message.to.address = HOOK.into();
    assert_eq!(class(&discord.send(&message).await), "throttled 660s, receiver");
    message.sent_at += Duration::from_millis(659_999);
    assert_eq!(class(&discord.send(&message).await), "throttled 1ms, receiver");
    assert!(platform.take().is_empty(), "nothing was asked meanwhile");
    message.sent_at += Duration::from_millis(1);
    assert_eq!(class(&discord.send(&message).await), "sent");
}

#[tokio::test]
async fn no_secret_is_ever_shown() {
    let (platform, discord) = start().await;
    let printed = format!("{discord:?}");
    assert!(!printed.contains("s3cret"), "{printed}");
    for address in [CHANNEL, HOOK, DM] {
        for status in [400, 401, 403, 404, 429, 500] {
            platform.then(status, json!({"message": "bot-s3cret and hook-s3cret", "code": 1, "errors": "bot-s3cret"}));
            let said = format!("{:?}", discord.send(&sample::message(address)).await);
            let shown = if address == HOOK { "s3cret" } else { "bot-s3cret" };
            assert!(!said.contains(shown), "{said}");
        }
    }
    let nowhere = discord_with(&[], "http://127.0.0.1:1", &links());
    for address in [CHANNEL, HOOK, DM] {
        let sent = nowhere.send(&sample::message(address)).await;
        assert_eq!(class(&sent), "unavailable");
        assert!(!format!("{sent:?}").contains("s3cret"), "{sent:?}");
    }
}

#[test]
fn addresses_are_checked_and_a_bots_need_its_token() {
    let bot = discord_with(&[], "https://discord.com/api/v10", &links());
    let hooks_only = Discord::new(&mut fields(&[]), &Server::new(sample::clock())).unwrap();
    for address in [CHANNEL, CALLING, DM] {
        assert_eq!(bot.check_address(address), Ok(()));
        let error = hooks_only.check_address(address).unwrap_err().to_string();
        assert_eq!(
            error,
            "address: the channel has no token; write the bot's token, or use a webhook's URL as address"
        );
    }
    assert_eq!((bot.check_address(HOOK), hooks_only.check_address(HOOK)), (Ok(()), Ok(())));
    assert!(bot.check_address("general").is_err());
}

#[test]
fn addresses_that_discord_counts_together_share_a_bucket() {
    let discord = discord_with(&[], "https://discord.com/api/v10", &links());
    let other_host = HOOK.replace("discord.com", "ptb.discordapp.com").replace("/api/", "/api/v9/");
    for (expect, addresses) in [
        ("123456789012345678", [CHANNEL, CALLING, "123456789012345678@111111111111111111"]),
        ("webhook:123456789012345678", [HOOK, &other_host, &format!("{HOOK}?thread_id={CHANNEL}")]),
        ("dm:876543210987654321", [DM; 3]),
        ("invalid", ["", "hook-s3cret", "https://evil.example/hook-s3cret"]),
    ] {
        for address in addresses {
            let bucket = Bucket { name: expect.into(), rate: "5/5s".parse().ok() };
            assert_eq!(discord.bucket(address), bucket, "{address}");
        }
    }
}

#[test]
fn settings_are_read_and_wrong_ones_are_named() {
    let discord = discord_with(&[("rate", "10/s"), ("timeout", "3s")], "https://discord.com/api/v10/", &links());
    assert_eq!(discord.api_url, "https://discord.com/api/v10");
    let expect = Limits { concurrency: 64, rate: Some(Rate::per_second(10)), address_rate: "5/5s".parse().ok() };
    assert_eq!(discord.limits(), expect);
    assert_eq!(
        (discord.kind(), discord.receiver(HOOK).as_str(), discord.digest_max().is_some()),
        ("discord", "discord", true)
    );
    for (name, value) in [
        ("api_url", "discord"),
        ("template", "{x}"),
        ("token", "a b"),
        ("invalid_requests_max", "10000"),
        ("tokn", "x"),
    ] {
        let error = crate::setup::make("discord", fields(&[(name, value)]), &links()).err().unwrap();
        assert_eq!(error.field, name, "{error}");
    }
}

#[test]
fn the_facts_are_what_discord_publishes() {
    facts().agree();
}

#[test]
fn the_check_itself_would_notice() {
    let right = json!({"content": "x", "nonce": "n", "allowed_mentions": {"parse": []}});
    let facts = facts();
    facts.check("MessageCreateRequest", &right);
    for (pointer, value) in [
        ("/contents", json!("x")),
        ("/content", json!(1)),
        ("/content", json!("x".repeat(2001))),
        ("/nonce", json!("26 characters are too many")),
        ("/allowed_mentions", json!({"parse": ["all"]})),
        ("/allowed_mentions", json!({"pars": []})),
        ("/components", json!([{"type": 1, "components": [{"type": 2, "label": "no style"}]}])),
    ] {
        let mut wrong = right.clone();
        wrong[&pointer[1..]] = value;
        assert!(!facts.takes("MessageCreateRequest", &wrong), "{wrong}");
    }
}

/// A server that takes a connection and says nothing; it goes when the test does.
#[tokio::test]
async fn a_silent_discord_leaves_it_unknown_unless_nothing_was_sent() {
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", silent.local_addr().unwrap());
    let discord = discord_with(&[("timeout", "200ms")], &base, &links());
    for address in [CHANNEL, HOOK] {
        assert_eq!(class(&discord.send(&sample::message(address)).await), "unknown");
    }
    let Err(SendError::Unavailable(said)) = discord.send(&sample::message(DM)).await else { panic!() };
    assert!(said.starts_with("no message was sent yet: no answer from Discord within 200ms"), "{said}");
}
