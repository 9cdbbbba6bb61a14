//! Links in ntfy's actions and in e-mails answer as buttons do, and messages elsewhere show it.

use punctual_testkit::platforms::telegram::Telegram;
use punctual_testkit::wait::until_some;
use serde_json::json;

use super::answers;
use crate::common::{Home, soon};

const TOKEN: &str = "123456789:AAE-token_of_tests";
const SECRET: &str = "sixteen or more characters";

/// A reminder that went to a Telegram chat is answered by a link: the message in the chat shows it.
#[tokio::test]
async fn an_answer_by_link_is_shown_by_the_messages_elsewhere() {
    use punctual_channels::common::buttons::Verb;
    use punctual_channels::common::links::Links;
    let (home, telegram) = (Home::new(), Telegram::start(TOKEN));
    let server = home.serve_with(&[
        ("PUNCTUAL_LINK_SECRET", SECRET),
        ("PUNCTUAL_CHANNEL_CHAT_KIND", "telegram"),
        ("PUNCTUAL_CHANNEL_CHAT_TOKEN", TOKEN),
        ("PUNCTUAL_CHANNEL_CHAT_API_URL", &telegram.url()),
        ("PUNCTUAL_CHANNEL_CHAT_RECEIVE", "off"),
    ]);
    let id = super::asked(&server, "medicine", "5").await;
    let link = Links::new("", SECRET.as_bytes()).link(Verb::Ack, id.parse().unwrap());
    let url = format!("{}{link}", server.url);
    let first = soon(server.client.post(&url).header("accept", "application/json").send()).await.unwrap();
    assert_eq!(first.status().as_u16(), 200);
    assert_eq!(answers(&server, &id).await.len(), 1);
    let second = soon(server.client.post(&url).header("accept", "application/json").send()).await.unwrap();
    assert_eq!(second.status().as_u16(), 410, "it was answered");
    let now =
        until_some("the message shows it", async || telegram.messages(5).pop().filter(|message| message.n_edits > 0))
            .await;
    assert!(now.text.contains("✓ Done") && now.buttons.is_empty(), "{now:?}");
    assert_eq!(telegram.polls().0, 0, "nobody polls where `receive` is off");
    let listed = server.get("/v1/channels").await;
    let chat = listed["channels"].as_array().unwrap().iter().find(|channel| channel["name"] == "chat").unwrap();
    assert_eq!(chat.get("receives").unwrap_or(&json!(null)), &json!(null), "{chat}");
}
