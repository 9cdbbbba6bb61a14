//! E-mail: links in a mail, which a scanner may fetch before the person does.

use punctual_testkit::servers::Exim;
use punctual_testkit::wait::until_some;
use reqwest::{Method, StatusCode};
use serde_json::json;

use super::{answers, asked, run};
use crate::common::{Home, Server, soon};

/// What a browser sends.
const BROWSER: &str = "text/html,application/xhtml+xml,*/*;q=0.8";

fn serve(home: &Home, exim: &Exim) -> Server {
    home.serve_with(&[
        ("PUNCTUAL_CHANNEL_CHAT_KIND", "email"),
        ("PUNCTUAL_CHANNEL_CHAT_HOST", "127.0.0.1"),
        ("PUNCTUAL_CHANNEL_CHAT_PORT", &exim.port().to_string()),
        ("PUNCTUAL_CHANNEL_CHAT_TLS", "none"),
        ("PUNCTUAL_CHANNEL_CHAT_FROM", "Punctual <p@example.net>"),
    ])
}

/// The text of a mail, with the lines that were cut for the way put together again.
fn readable(mail: &str) -> String {
    mail.replace("=\r\n", "").replace("=\n", "").replace("=3D", "=")
}

/// A run that asks for an answer in a mail: its id, and the link behind this label.
async fn mailed(server: &Server, exim: &Exim, label: &str) -> (String, String) {
    let id = asked(server, "medicine", "ann@example.org").await;
    let before = format!("{label}: ");
    let link = until_some("the mail is there", async || {
        let mails: Vec<String> = exim.mails().iter().map(|mail| readable(mail)).collect();
        let mut lines = mails.iter().flat_map(|mail| mail.lines());
        lines.find_map(|line| line.strip_prefix(&before).filter(|link| link.contains(&id)).map(str::to_owned))
    })
    .await;
    (id, link)
}

/// Follows a link; returns what the person or the scanner sees.
async fn follow(server: &Server, method: Method, link: &str) -> (StatusCode, String) {
    let response = soon(server.client.request(method, link).header("accept", BROWSER).send()).await.unwrap();
    (response.status(), soon(response.text()).await.unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_answers_by_a_click_and_not_by_being_fetched() {
    let Some(exim) = Exim::start() else { return };
    let home = Home::new();
    let server = serve(&home, &exim);
    let (id, link) = mailed(&server, &exim, "Done").await;
    for method in [Method::GET, Method::HEAD, Method::GET] {
        let (status, page) = follow(&server, method.clone(), &link).await;
        assert_eq!(status, 200);
        assert!(
            method == Method::HEAD || page.contains("<form method=\"post\"><button>Done</button></form>"),
            "{page}"
        );
    }
    let before = run(&server, &id).await;
    assert_eq!((&before["state"], &before["responses"]), (&json!("awaiting_ack"), &json!([])), "a scanner has looked");

    let (status, page) = follow(&server, Method::POST, &link).await;
    assert_eq!(status, 200);
    assert!(page.contains("✓ Done"), "{page}");
    let [answer] = answers(&server, &id).await.try_into().unwrap();
    assert_eq!((&answer["response"], &answer["channel"]), (&json!("ack"), &json!("chat")), "{answer}");
    assert_eq!(run(&server, &id).await["state"], "completed");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_that_is_followed_again_says_so_and_counts_once() {
    let Some(exim) = Exim::start() else { return };
    let home = Home::new();
    let server = serve(&home, &exim);
    let (id, link) = mailed(&server, &exim, "Done").await;
    assert_eq!(follow(&server, Method::POST, &link).await.0, 200);
    for method in [Method::GET, Method::POST] {
        let (status, page) = follow(&server, method, &link).await;
        assert_eq!(status, 410);
        assert!(page.contains("answered already"), "{page}");
    }
    assert_eq!(answers(&server, &id).await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_that_was_tampered_with_changes_nothing() {
    let Some(exim) = Exim::start() else { return };
    let home = Home::new();
    let server = serve(&home, &exim);
    let (other, _) = mailed(&server, &exim, "Done").await;
    let (id, link) = mailed(&server, &exim, "Done").await;
    let (start, _) = link.rsplit_once('.').unwrap();
    let forged = [link.replace("/a/ack.", "/a/dismiss."), link.replace(&id, &other), format!("{link}A"), start.into()];
    for link in forged {
        for method in [Method::GET, Method::POST] {
            assert_eq!(follow(&server, method, &link).await.0, 404, "{link}");
        }
    }
    for id in [&id, &other] {
        let run = run(&server, id).await;
        assert_eq!((&run["state"], &run["responses"]), (&json!("awaiting_ack"), &json!([])), "{run}");
    }
}
