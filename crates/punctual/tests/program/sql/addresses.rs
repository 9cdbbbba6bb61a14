//! Addresses of every channel, judged in SQL as over HTTP.

use punctual_testkit::servers::Postgres;
use reqwest::Method;
use serde_json::json;

use super::Sql;
use crate::common::Home;

/// Channels of every kind, and those that take other addresses because of a setting.
const CHANNELS: &str = "
[channels.discord]
kind = 'discord'
token = 't'
[channels.discord-hooks]
kind = 'discord'
[channels.discord-own]
kind = 'discord'
token = 't'
api_url = 'http://127.0.0.1:5000'
[channels.slack]
kind = 'slack'
token = 't'
[channels.slack-hooks]
kind = 'slack'
[channels.telegram]
kind = 'telegram'
token = '123456789:AAEhBOweik6ad9r_QXMENQjcrGbqCr4K-bc'
[channels.email]
kind = 'email'
host = 'localhost'
from = 'me@example.org'
[channels.ntfy]
kind = 'ntfy'
[channels.twilio]
kind = 'twilio'
account_sid = 'AC00000000000000000000000000000000'
auth_token = 't'
from = '+14155552345'
[channels.vapi]
kind = 'vapi'
api_key = 'k'
assistant_id = 'a'
phone_number_id = 'p'
[channels.whatsapp]
kind = 'whatsapp'
token = 't'
phone_number_id = '1'
[channels.nats]
kind = 'nats'
url = 'nats://127.0.0.1:1'
[channels.nats-fixed]
kind = 'nats'
url = 'nats://127.0.0.1:1'
subject = 'game.due'
[channels.rabbitmq]
kind = 'rabbitmq'
url = 'amqp://127.0.0.1:1'
[channels.rabbitmq-fixed]
kind = 'rabbitmq'
url = 'amqp://127.0.0.1:1'
routing_key = 'game.due'
[channels.private]
kind = 'webhook'
allow_private = true
[channels.public]
kind = 'webhook'
";

/// Addresses, right and wrong, by the kind of channel they are for.
fn addresses() -> Vec<(&'static str, Vec<String>)> {
    let of = |addresses: &[&str]| addresses.iter().map(|address| (*address).to_owned()).collect::<Vec<_>>();
    let mut discord = of(&[
        "",
        "general",
        "#general",
        "12345",
        "123456789012345",
        "12345678901234",
        "123456789012345678",
        "0123456789012345678",
        "+12345678901234567",
        "18446744073709551615",
        "18446744073709551616",
        "99999999999999999999",
        "123456789012345678901234",
        "123456789012345678@",
        "@123456789012345678",
        "123456789012345678@alice",
        "123456789012345678@223456789012345678",
        "123456789012345678@123456789012345678@1",
        "dm:",
        "dm:alice",
        "dm:123456789012345678",
        "dm:123456789012345678@123456789012345678",
        " 123456789012345678",
        "123456789012345678\n",
        "://",
    ]);
    for url in [
        "https://discord.com/api/webhooks/ID/tok-en_1.x",
        "HTTPS://Discord.com:443/api/webhooks/ID/tok",
        "https://discord.com/api/v9/webhooks/ID/tok/",
        "https://ptb.discord.com/api/webhooks/ID/tok",
        "https://canary.discordapp.com/api/webhooks/ID/tok?wait=true&thread_id=ID#x",
        "https://discord.com/api/webhooks/ID/tok?thread_id=x",
        "https://discord.com/api/webhooks/ID/tok?a=1&thread_id",
        "https://discord.com/api/webhooks/ID/tok?thread_id=ID&thread_id=x",
        "https://discord.com/api/webhooks/ID",
        "https://discord.com/api/webhooks/ID/",
        "https://discord.com/api/webhooks/ID/tok/github",
        "https://discord.com/api/webhooks/alice/tok",
        "https://discord.com/webhooks/ID/tok",
        "https://discord.com/x/webhooks/ID/tok",
        "https://discord.com:444/api/webhooks/ID/tok",
        "http://discord.com/api/webhooks/ID/tok",
        "https://evil.example/api/webhooks/ID/tok",
        "https://evildiscord.com/api/webhooks/ID/tok",
        "https://discord.com.evil.example/api/webhooks/ID/tok",
        "https://discord.com@evil.example/api/webhooks/ID/tok",
        "https://u:p@discord.com/api/webhooks/ID/tok",
        "https://discord.com/api/webhooks/ID/..%2f",
        "http://127.0.0.1:5000/api/webhooks/ID/tok",
        "http://127.0.0.1:5000/webhooks/ID/tok",
        "http://127.0.0.1:5001/api/webhooks/ID/tok",
    ] {
        discord.push(url.replace("ID", "123456789012345678"));
    }
    let mut slack = of(&[
        "",
        "general",
        "#",
        "#general",
        "#General",
        "#a b",
        "#büro-2",
        "#Ärger",
        "#ärger",
        "#日本",
        "#€",
        "#b\u{a0}c",
        "c0123456789",
        "C0123456789",
        "C01",
        "C0123456",
        "C01234567890123456789012",
        "C012345678901234567890123456",
        "X0123456789",
        "U0123456789",
        "D0123456789",
        "C0123456789@",
        "C0123456789@alice",
        "C0123456789@U0123456789",
        "#general@W0123456789",
        "U0123456789@U0123456789",
        "@U0123456789",
        "<#C0123456789>",
        "https://hooks.slack.com/services/T01/B02/s3cret",
        "HTTPS://HOOKS.slack.com:443/services/T01/B02/s3cret#x",
        "https://hooks.slack-gov.com/services/T01/B02/s3cret",
        "https://hooks.slack.com/services/T01/B02",
        "https://hooks.slack.com/services/T01/B02/s3cret?x=1",
        "https://hooks.slack.com/services/T01/B02/s3cret/more",
        "https://hooks.slack.com/workflows/T01/B02/s3cret",
        "http://hooks.slack.com/services/T01/B02/s3cret",
        "https://hooks.slack.com:444/services/T01/B02/s3cret",
        "https://hooks.slack.com.evil.example/services/T01/B02/s3cret",
        "https://u:p@hooks.slack.com/services/T01/B02/s3cret",
        "https://slack.com/services/T01/B02/s3cret",
    ]);
    slack.extend([80, 81].map(|n| format!("#{}", "a".repeat(n))));
    let telegram = of(&[
        "",
        "0",
        "-0",
        "-",
        "007",
        "+49151",
        "alice",
        "@",
        "@abc",
        "@abcd",
        "@1abcd",
        "@na me",
        "@ünal",
        "@my_channel",
        "1.5",
        " 1",
        "1",
        "-100123456789",
        "1/",
        "1/0",
        "1/x",
        "1/7",
        "1/+7",
        "1/007",
        "1/4294967295",
        "1/4294967296",
        "@my_channel/7",
        "/7",
        "4503599627370495",
        "-4503599627370495",
        "4503599627370496",
        "99999999999999999999",
        "@a_name_that_is_far_too_long_for_telegram",
        "--1",
        "1\n",
    ]);
    let phone = of(&[
        "",
        "+",
        "+14155552345",
        "+2901234",
        "+123456",
        "+123456789012345",
        "+1234567890123456",
        "4915112345678",
        "004915112345678",
        "+49 151 12345678",
        "+49-151",
        "+0123456789",
        "+4915a12345678",
        "+٤٩١٥١١٢٣٤٥",
        "tel:+14155552345",
        "+14155552345\n",
    ]);
    let mut email = of(&[
        "alice@example.org",
        "a.b+tag@sub.example.org",
        "me@localhost",
        "o'neil@example.org",
        "me@bücher.example",
        "jörg@example.org",
        "alice",
        "alice@",
        "@example.org",
        "a b@example.org",
        "\"a b\"@example.org",
        "\"a\\\"b\"@example.org",
        "\"\"@example.org",
        ".a@example.org",
        "a..b@example.org",
        "a.@example.org",
        "alice@example.org, bob@example.org",
        "Alice <alice@example.org>",
        "alice@example.org\r\nBcc: all@example.org",
        "alice@exa mple.org",
        "alice@bü/cher.example",
        "alice@-x.example",
        "alice@x-.example",
        "alice@x..example",
        "a@b@c.example",
        "a(b)@example.org",
        "a@[192.0.2.1]",
        "a@[192.0.2.256]",
        "a@[IPv6:2001:db8::1]",
        "a@[IPv6:xyz]",
        "a@[x]",
        "a@b_c.example",
        "",
        "@",
    ]);
    email.push(format!("{}@example.org", "x".repeat(64)));
    email.push(format!("{}@example.org", "x".repeat(65)));
    email.push(format!("x@{}.org", "x".repeat(63)));
    email.push(format!("x@{}.org", "x".repeat(64)));
    email.push(format!("x@{}", vec!["x".repeat(60); 4].join(".")));
    email.push(format!("x@{}", vec!["x".repeat(63); 4].join(".")));
    let mut nats = of(&[
        "",
        "a",
        "game.reminder_due",
        "a.b.c-d.E_f",
        "päckchen.da",
        "a.$b._c",
        " ",
        "a b",
        "a\r\nPUB x 0",
        "a\tb",
        "a\u{2003}b",
        "a\u{85}b",
        ".",
        ".a",
        "a.",
        "a..b",
        "*",
        "a.*",
        "a.>",
        ">",
        "$JS.API.STREAM.DELETE.ORDERS",
        "_INBOX.x",
        "a[b]\\",
    ]);
    nats.extend([255, 256].map(|n| "x".repeat(n)));
    let rabbitmq =
        vec![String::new(), "a".into(), "a b*#".into(), "x".repeat(255), "x".repeat(256), "ä".repeat(128), "\n".into()];
    let ntfy = vec![
        String::new(),
        "my-reminders_7".into(),
        "a b".into(),
        "ä".into(),
        "x".repeat(64),
        "x".repeat(65),
        "a/b".into(),
        "a\n".into(),
    ];
    let urls = of(&[
        "",
        "https://example.org/hook",
        "http://127.0.0.1:9000/",
        "http://localhost/",
        "http://10.0.0.1/",
        "example.org",
        "https://",
    ]);
    vec![
        ("discord", discord.clone()),
        ("discord-hooks", discord.clone()),
        ("discord-own", discord),
        ("slack", slack.clone()),
        ("slack-hooks", slack),
        ("telegram", telegram),
        ("email", email),
        ("ntfy", ntfy),
        ("twilio", phone.clone()),
        ("vapi", phone.clone()),
        ("whatsapp", phone),
        ("nats", nats.clone()),
        ("nats-fixed", nats),
        ("rabbitmq", rabbitmq.clone()),
        ("rabbitmq-fixed", rabbitmq),
        ("private", urls.clone()),
        ("public", urls),
        ("webpush", browsers()),
        ("console", vec![String::new(), "x".repeat(256), "x".repeat(257)]),
    ]
}

/// Addresses of browsers. That a key lies on the curve is not for SQL to see.
fn browsers() -> Vec<String> {
    let keys = "#p256dh=BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4&auth=BTBZMqHH6r4Tts7J_aSIgg";
    let endpoints = [
        "https://push.example.net/abc",
        "https://wns2-par02p.notify.windows.com/w/?token=BQYAAACnv%2fd",
        "https://push.example.net:8443/",
        "https://push.example.net:65535/x",
        "https://push.example.net:65536/x",
        "https://push.example.net:0/x",
        "https://push.example.net:080/x",
        "https://push.example.net:/x",
        "https://push.example.net",
        "https://push.example.net/a b",
        "https://push.example.net/ä",
        "https://Push.example.net/x",
        "https://u:p@push.example.net/x",
        "https://-a.example/x",
        "https://a-.example/x",
        "https://a..example/x",
        "https://push.example./x",
        "https://localhost/x",
        "https://api.localhost/x",
        "https://api.localhost:8/x",
        "https://localhost.example/x",
        "https://router/x",
        "https://127.0.0.1/x",
        "https://8.8.8.8/x",
        "https://0x7f.1/x",
        "https://[::1]/x",
        "http://push.example.net/x",
        "ftp://push.example.net/x",
        "",
    ];
    let mut all: Vec<String> = endpoints.iter().map(|endpoint| format!("{endpoint}{keys}")).collect();
    let right = &all[0];
    let wrong = [
        String::new(),
        "https://push.example.net/abc".into(),
        right.replace("p256dh=BC", "p256dh=AC"),
        right.replace("p256dh=BC", "p256dh=BZ"),
        right.replace("iw4&", "iw5&"),
        right.replace("iw4&", "iw&"),
        right.replace("SIgg", "SIgh"),
        right.replace("SIgg", "SIggg"),
        right.replace("_aSIgg", "+aSIgg"),
        format!("{right}&x=1"),
        format!("{right}\n"),
        right.replace("/abc#", &format!("/{}#", "x".repeat(2048))),
    ];
    all.extend(wrong);
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_that_http_refuses_is_refused_in_sql_whatever_its_channel() {
    let Some(postgres) = Postgres::start() else { return };
    let database = postgres.new_database(None);
    let (home, url) = (Home::new(), postgres.url(&database));
    let file = home.path().join("punctual.toml");
    std::fs::write(&file, CHANNELS).unwrap();
    let server = home.serve_with(&[("PUNCTUAL_DATABASE_URL", &url), ("PUNCTUAL_CONFIG", file.to_str().unwrap())]);
    let sql = Sql::new(&postgres, &database);
    let (mut n_accepted, mut n_refused, mut wrong) = (0, 0, Vec::new());
    for (channel, addresses) in addresses() {
        for address in addresses {
            let to = json!([{ "channel": channel, "address": address }]);
            let body =
                json!({ "message": "m", "schedule": { "type": "once", "at": "2099-01-01T00:00:00Z" }, "to": to });
            let (status, answer) = server.call(Method::POST, "/v1/reminders", Some(body)).await;
            let arguments = format!("user_id => 'ann', message => 'm', at => '2099-01-01', \"to\" => $to${to}$to$");
            let by_sql = sql.call("remind", &arguments);
            match (status.as_u16(), &by_sql) {
                (201, Ok(_)) => n_accepted += 1,
                (422, Err(column)) if column == "to[0].address" && answer["field"] == "to[0].address" => n_refused += 1,
                _ => wrong.push(format!("{channel} {address:?}\n  http {status} {answer}\n  sql  {by_sql:?}")),
            }
        }
    }
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(n_accepted > 50 && n_refused > 150, "{n_accepted} accepted, {n_refused} refused");
}
