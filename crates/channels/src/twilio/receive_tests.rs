//! Answers by SMS and delivery reports: requests signed as Twilio signs them.

use jiff::Timestamp;
use punctual_core::answer::Verb;
use punctual_core::channel::receive::{Became, Call, Inbound, NotRead, Reaction, What};
use punctual_core::phrase::Lang;
use punctual_testkit::platforms::signed;
use serde_json::json;

use super::*;
use crate::common::links::Links;
use crate::sample;
use crate::spec::{Platform, class, fields};

const ACCOUNT: &str = "ACaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
const TOKEN: &str = "auth-s3cret";
const URL: &str = "https://p.example/v1/inbound/sms";

fn twilio_at(url: &str, more: &[(&str, &str)]) -> Result<Arc<dyn Channel>, Invalid> {
    let links = Links::new("https://p.example", b"secret");
    let server = Server {
        public_url: Some("https://p.example".into()),
        door: Some(links.door("sms")),
        ..Server::new(sample::clock())
    };
    let mut pairs = vec![("account_sid", ACCOUNT), ("auth_token", TOKEN), ("from", "+14155552345"), ("api_url", url)];
    pairs.extend(more);
    make(&mut fields(&pairs), &server)
}

fn twilio(more: &[(&str, &str)]) -> Arc<dyn Channel> {
    twilio_at("http://127.0.0.1:1", more).unwrap()
}

fn read(query: &str, request: &signed::Signed) -> Result<Vec<Inbound>, NotRead> {
    let headers: Vec<(&str, &[u8])> = request.headers.iter().map(|(name, value)| (*name, value.as_bytes())).collect();
    let path = format!("/v1/inbound/sms{query}");
    let call = Call { is_get: false, path_and_query: &path, headers: &headers, body: &request.body };
    twilio(&[]).receives().unwrap().read(&call, Timestamp::UNIX_EPOCH)
}

fn sms(text: &'static str) -> Vec<(&'static str, &'static str)> {
    vec![
        ("MessageSid", "SM00000000000000000000000000000001"),
        ("AccountSid", ACCOUNT),
        ("From", "+4915112345678"),
        ("To", "+14155552345"),
        ("Body", text),
        ("SmsStatus", "received"),
    ]
}

#[test]
fn an_sms_is_read_as_words() {
    let [inbound] = read("", &signed::twilio(TOKEN, URL, &sms("popio sam & više"))).unwrap().try_into().unwrap();
    assert_eq!(inbound.what, What::Words { text: "popio sam & više".into(), reply_to: None, about: None });
    assert_eq!(inbound.from.unwrap().person, ["+4915112345678"]);
    let id = inbound.id.unwrap();
    assert_eq!(id.id, "message SM00000000000000000000000000000001");
    assert_eq!(id.remember_for, Duration::from_secs(30 * 24 * 3600));
    let mut other = sms("x");
    other[1].1 = "ACbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";
    assert_eq!(read("", &signed::twilio(TOKEN, URL, &other)), Ok(Vec::new()), "another account's");
}

#[test]
fn only_a_signed_request_is_read() {
    let request = signed::twilio(TOKEN, URL, &sms("done"));
    assert_eq!(read("?o=1", &request), Err(NotRead::Forged), "the URL is signed");
    assert_eq!(read("", &signed::twilio("another", URL, &sms("done"))), Err(NotRead::Forged));
    let mut tampered = request.clone();
    tampered.body.extend_from_slice(b"&Body=dismiss");
    assert_eq!(read("", &tampered), Err(NotRead::Forged));
    let unsigned = signed::Signed { headers: Vec::new(), ..request };
    assert_eq!(read("", &unsigned), Err(NotRead::Forged));
}

#[test]
fn a_report_moves_its_message_whether_the_fragment_is_signed_or_not() {
    let occurrence = sample::message("").occurrence;
    let query = format!("?o={occurrence}");
    let report = |status: &str, code: &str, url: &str| {
        let fields = [("MessageSid", "SM1"), ("MessageStatus", status), ("ErrorCode", code), ("AccountSid", ACCOUNT)];
        read(&query, &signed::twilio(TOKEN, url, &fields))
    };
    for url in [format!("{URL}{query}"), format!("{URL}{query}#rc=3&rp=5xx,ct,rt")] {
        for (status, code, expect) in [
            ("queued", "", None),
            ("sent", "", None),
            ("delivered", "", Some("delivered")),
            ("read", "", Some("delivered")),
            ("undelivered", "30003", Some("unavailable")),
            ("undelivered", "30005", Some("gone")),
            ("failed", "30007", Some("refused")),
            ("failed", "30001", Some("unavailable")),
            ("failed", "", Some("unavailable")),
        ] {
            let became = report(status, code, &url).unwrap().into_iter().next().map(|inbound| match inbound.what {
                What::Report { occurrence: whose, message_id, became }
                    if whose == occurrence && message_id == "SM1" =>
                {
                    match became {
                        Became::Delivered => "delivered".to_owned(),
                        Became::Failed(error) => class(&Err(error)),
                    }
                }
                other => panic!("{other:?}"),
            });
            assert_eq!(became.as_deref(), expect, "{status} {code}");
        }
    }
    assert_eq!(report("delivered", "", "https://p.example/elsewhere"), Err(NotRead::Forged));
}

#[tokio::test]
async fn a_message_says_where_its_report_goes_unless_the_operator_does() {
    let (platform, url) = Platform::start().await;
    platform.usually(json!({"sid": "SM1", "status": "queued"}));
    let message = sample::message("+4915112345678");
    let callback = |sent: &[u8]| {
        let pairs = crate::common::http::pairs(sent);
        pairs.into_iter().find(|(name, _)| name == "StatusCallback").map(|(_, value)| value)
    };
    twilio_at(&url, &[]).unwrap().send(&message).await.unwrap();
    let expect = format!("{URL}?o={}#rc=3&rp=5xx,ct,rt", message.occurrence);
    assert_eq!(callback(&platform.take()[0].body), Some(expect));
    twilio_at(&url, &[("status_callback", "https://example.org/twilio")]).unwrap().send(&message).await.unwrap();
    assert_eq!(callback(&platform.take()[0].body).as_deref(), Some("https://example.org/twilio"));
    twilio_at(&url, &[("receive", "off")]).unwrap().send(&message).await.unwrap();
    assert_eq!(callback(&platform.take()[0].body), None);
}

#[test]
fn a_no_is_told_and_a_yes_where_the_operator_wants_it() {
    let [inbound] = read("", &signed::twilio(TOKEN, URL, &sms("done"))).unwrap().try_into().unwrap();
    let reply = |channel: Arc<dyn Channel>, reaction| channel.receives().unwrap().reply(&[(inbound.clone(), reaction)]);
    let done = || Reaction::Answered { verb: Verb::Ack, until: None, edit: None, language: Lang::En };
    assert_eq!(reply(twilio(&[]), done()).body, "<Response></Response>");
    let told = reply(twilio(&[("confirm", "true")]), done());
    assert_eq!((told.content_type, told.body.as_str()), ("text/xml", "<Response><Message>✓ Done</Message></Response>"));
    let say = |text: &str, is_taken| Reaction::Say { text: text.into(), choices: Vec::new(), is_taken };
    assert_eq!(reply(twilio(&[]), say("✓ Done", true)).body, "<Response></Response>", "in words it is the same");
    assert!(reply(twilio(&[("confirm", "true")]), say("✓ Done", true)).body.contains("✓ Done"));
    let ask = say("Which <one> & when?", false);
    assert_eq!(reply(twilio(&[]), ask).body, "<Response><Message>Which &lt;one&gt; &amp; when?</Message></Response>");
    assert_eq!(reply(twilio(&[]), Reaction::Nothing).body, "<Response></Response>");
}

#[test]
fn it_hears_where_this_server_has_a_public_address() {
    assert!(twilio(&[]).receives().is_some() && twilio(&[("receive", "off")]).receives().is_none());
    let pairs = [("account_sid", ACCOUNT), ("auth_token", TOKEN), ("from", "+14155552345")];
    let hidden = make(&mut fields(&pairs), &Server::new(sample::clock())).unwrap();
    assert!(hidden.receives().is_none());
    assert_eq!(twilio_at("http://127.0.0.1:1", &[("receive", "connection")]).err().unwrap().field, "receive");
}
