//! Twilio: its requests are taken when they are signed.

use punctual_testkit::platforms::signed;

use super::{post, receives};
use crate::common::Home;

const ACCOUNT: &str = "ACaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
const TOKEN: &str = "auth-token";

#[tokio::test]
async fn a_signed_request_is_taken_and_a_forged_one_never() {
    let home = Home::new();
    let server = home.serve_with(&[
        ("PUNCTUAL_PUBLIC_URL", "https://p.example"),
        ("PUNCTUAL_CHANNEL_CHAT_KIND", "twilio"),
        ("PUNCTUAL_CHANNEL_CHAT_ACCOUNT_SID", ACCOUNT),
        ("PUNCTUAL_CHANNEL_CHAT_AUTH_TOKEN", TOKEN),
        ("PUNCTUAL_CHANNEL_CHAT_FROM", "+14155552345"),
    ]);
    let fields = [("MessageSid", "SM1"), ("AccountSid", ACCOUNT), ("From", "+4915112345678"), ("Body", "popio sam")];
    // Twilio signs the address that it was given, not the one behind a proxy.
    let request = signed::twilio(TOKEN, "https://p.example/v1/inbound/chat", &fields);
    let (status, body) = post(&server, "", &request).await;
    assert_eq!((status, body.as_str()), (200, "<Response></Response>"));
    for forged in [
        signed::twilio("another token", "https://p.example/v1/inbound/chat", &fields),
        signed::twilio(TOKEN, &format!("{}/v1/inbound/chat", server.url), &fields),
    ] {
        assert_eq!(post(&server, "", &forged).await, (401, String::new()));
    }
    let receives = receives(&server).await;
    assert_eq!((&receives["way"], &receives["forged"]), (&"webhook".into(), &2.into()), "{receives}");
}
