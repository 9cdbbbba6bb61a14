//! Reminders asked for in a sentence: the server says what it means.

use jiff::Timestamp;
use reqwest::Method;
use serde_json::{Value, json};

use crate::common::{Home, Kept, Server};

async fn asked(server: &Server, body: Value) -> (u16, Value) {
    let (status, answer) = server.call(Method::POST, "/v1/reminders", Some(body)).await;
    (status.as_u16(), answer)
}

async fn n_reminders(server: &Server) -> usize {
    server.get("/v1/reminders?limit=500").await["reminders"].as_array().unwrap().len()
}

#[tokio::test]
async fn a_sentence_makes_the_reminder_that_its_fields_would_make() {
    for kept in Kept::everywhere() {
        let home = Home::new();
        let server = home.serve_with(&kept.env());
        let text = "remind me in 5 minutes to take my medicine";
        let details = json!({
            "text": text, "user": "alice", "priority": "high", "require_ack": true, "name": "medicine",
            "to": ["console"], "timezone": "Asia/Tokyo", "metadata": { "a": 1 },
        });
        let (status, made) = asked(&server, details).await;
        assert_eq!(status, 201, "{made}");
        assert_eq!((made["message"].as_str(), made["original_text"].as_str()), (Some("take my medicine"), Some(text)));
        let fields = ["user", "priority", "require_ack", "name", "timezone", "created_via"].map(|field| &made[field]);
        assert_eq!(
            fields,
            [&json!("alice"), &json!("high"), &json!(true), &json!("medicine"), &json!("Asia/Tokyo"), &json!("api")]
        );
        assert_eq!((&made["to"][0]["channel"], &made["metadata"]), (&json!("console"), &json!({ "a": 1 })));
        let due: Timestamp = made["next_run_at"].as_str().unwrap().parse().unwrap();
        let created: Timestamp = made["created_at"].as_str().unwrap().parse().unwrap();
        assert_eq!(due.duration_since(created).as_secs(), 300, "counted from the moment of the request");
        let understood = &made["understood"];
        assert_eq!(
            (understood["kind"].as_str(), understood["rest"].as_str()),
            (Some("instant"), Some("take my medicine"))
        );
        assert_eq!(understood["at"].as_str().unwrap().parse::<Timestamp>().unwrap(), due);

        let read = server.get(&format!("/v1/reminders/{}", made["id"].as_str().unwrap())).await;
        let mut without = made.clone();
        without.as_object_mut().unwrap().remove("understood");
        assert_eq!(read, without, "what was understood is told once");
    }
}

#[tokio::test]
async fn a_sentence_is_read_in_the_language_and_zone_of_its_user() {
    let home = Home::new();
    let server = home.serve_with(&[("PUNCTUAL_TIMEZONE", "America/New_York")]);
    let ana = json!({ "timezone": "Europe/Zagreb", "language": "hr" });
    server.call(Method::PUT, "/v1/users/ana", Some(ana)).await;
    let (status, made) =
        asked(&server, json!({ "text": "radnim danom u 8, vikendom u 10 popij lijek", "user": "ana" })).await;
    assert_eq!(
        (status, made["message"].as_str(), made["timezone"].as_str()),
        (201, Some("popij lijek"), Some("Europe/Zagreb"))
    );
    let understood = &made["understood"];
    assert_eq!((understood["kind"].as_str(), understood["lang"].as_str()), (Some("recurring"), Some("hr")));
    assert_eq!((&understood["schedule"], &understood["summary"]), (&made["schedule"], &made["summary"]));
    assert_eq!(understood["next"].as_array().unwrap().len(), 5);

    let (status, made) = asked(&server, json!({ "text": "morgen um 8 Mama anrufen", "lang": "de" })).await;
    assert_eq!(
        (status, made["message"].as_str(), made["timezone"].as_str()),
        (201, Some("Mama anrufen"), Some("America/New_York"))
    );
    let (status, made) =
        asked(&server, json!({ "text": "sutra u 8 nazovi mamu", "user": "ana", "timezone": "-02:00" })).await;
    assert_eq!((status, made["timezone"].as_str()), (201, Some("-02:00")));
    assert!(made["understood"]["at"].as_str().unwrap().ends_with("T08:00:00-02:00"), "{made}");
}

#[tokio::test]
async fn a_sentence_that_is_not_understood_is_refused_with_the_reason_and_changes_nothing() {
    let home = Home::new();
    let server = home.serve();
    let daily = json!({ "type": "daily", "time": "08:00" });
    for (body, code, field, words) in [
        (
            json!({ "text": "water the plants" }),
            "not_understood",
            "text",
            &["no time was found", "`in 5 minutes`", "`schedule`"][..],
        ),
        (json!({ "text": "" }), "not_understood", "text", &["no time was found"]),
        (
            json!({ "text": "call mom tomorrow at 9 or 10", "lang": "en" }),
            "not_understood",
            "text",
            &["`or 10` was not understood", "did you mean"],
        ),
        (json!({ "text": "tomorrow at 8" }), "invalid", "text", &["what to be reminded of", "08:00"]),
        (json!({ "text": "call mom yesterday at 5" }), "invalid", "text", &["in the past"]),
        (json!({ "text": "be away until friday" }), "invalid", "text", &["has begun already"]),
        (json!({ "text": 5 }), "invalid", "text", &["must be text, not a number"]),
        (json!({ "text": "x".repeat(70_000) }), "invalid", "text", &["70000 bytes"]),
        (
            json!({ "text": "call mom tomorrow at 8", "message": "call dad" }),
            "invalid",
            "message",
            &["`text`", "`call mom`"],
        ),
        (json!({ "text": "call mom tomorrow at 8", "schedule": daily }), "invalid", "schedule", &["`text`", "08:00"]),
        (json!({ "text": "call mom", "schedule": daily }), "invalid", "text", &["`schedule`", "`message`"]),
        (
            json!({ "text": "call mom tomorrow at 8", "original_text": "other" }),
            "invalid",
            "original_text",
            &["`text`"],
        ),
        (json!({ "text": "call mom tomorrow at 8", "lang": "it" }), "invalid", "lang", &["sr-Cyrl"]),
        (json!({ "message": "a", "schedule": daily, "lang": "de" }), "invalid", "lang", &["`text`"]),
        (json!({ "text": "call mom tomorrow at 8", "priority": "urgent" }), "invalid", "priority", &["low, normal"]),
        (json!({ "text": "call mom tomorrow at 8", "to": ["pigeon"] }), "invalid", "to[0].channel", &["pigeon"]),
        (
            json!({ "text": "call mom tomorrow at 8", "understood": {} }),
            "invalid",
            "understood",
            &["set by the server"],
        ),
    ] {
        let (status, problem) = asked(&server, body.clone()).await;
        assert_eq!(
            (status, problem["code"].as_str(), problem["field"].as_str()),
            (422, Some(code), Some(field)),
            "{body}: {problem}"
        );
        for word in words {
            assert!(problem["detail"].as_str().unwrap().contains(word), "{body}: {problem}");
        }
    }
    assert_eq!(n_reminders(&server).await, 0);
    let made = server.create(json!({ "message": "a", "schedule": daily })).await;
    let path = format!("/v1/reminders/{}", made["id"].as_str().unwrap());
    let (_, problem) = server.call(Method::PATCH, &path, Some(json!({ "text": "tomorrow at 8" }))).await;
    assert_eq!(problem["field"], "text", "{problem}");
}

#[tokio::test]
async fn fields_that_say_the_same_as_the_sentence_are_taken_with_it() {
    let home = Home::new();
    let server = home.serve();
    let weekly = json!({ "type": "weekly", "time": "07:30", "days": ["weekdays"] });
    for body in [
        json!({ "text": "every weekday at 7:30 stand up", "message": "stand up", "schedule": weekly }),
        json!({ "text": "every weekday at 7:30", "message": "stand up" }),
        json!({ "text": "every weekday at 7:30 stand up", "original_text": "every weekday at 7:30 stand up" }),
    ] {
        let (status, made) = asked(&server, body.clone()).await;
        assert_eq!((status, &made["message"], &made["schedule"]), (201, &json!("stand up"), &weekly), "{body}: {made}");
    }
    let (status, made) =
        asked(&server, json!({ "text": "in 5 minutes tea", "schedule": { "type": "once", "at": "5m" } })).await;
    assert_eq!(status, 201, "{made}");
}

#[tokio::test]
async fn a_batch_mixes_sentences_and_fields_and_is_answered_the_same_again() {
    let home = Home::new();
    let server = home.serve();
    let batch = async |items: Value, key: &str| {
        let request = server.request(Method::POST, "/v1/reminders/batch").bearer_auth(&server.key);
        let request = request.header("idempotency-key", key).json(&json!({ "reminders": items }));
        crate::common::answer(request.send().await.unwrap()).await
    };
    let fields = json!({ "message": "stand up", "schedule": { "type": "daily", "time": "08:00" } });
    let (status, problem) = batch(json!([fields, { "text": "water the plants" }]), "bad").await;
    assert_eq!((status.as_u16(), problem["index"].as_u64()), (422, Some(1)), "{problem}");
    assert_eq!(
        (problem["field"].as_str(), problem["code"].as_str()),
        (Some("reminders[1].text"), Some("not_understood"))
    );
    assert_eq!(n_reminders(&server).await, 0);

    let mixed = json!([{ "text": "every day at 9 tea" }, fields, { "text": "in 2 hours pizza" }]);
    let (status, created) = batch(mixed.clone(), "good").await;
    assert_eq!((status.as_u16(), created["created"].as_u64()), (201, Some(3)), "{created}");
    let said: Vec<_> = created["reminders"]
        .as_array()
        .unwrap()
        .iter()
        .map(|made| (&made["message"], made["understood"]["kind"].as_str()))
        .collect();
    assert_eq!(
        said,
        [(&json!("tea"), Some("recurring")), (&json!("stand up"), None), (&json!("pizza"), Some("instant"))]
    );
    assert_eq!(batch(mixed, "good").await, (status, created));
    assert_eq!(n_reminders(&server).await, 3);

    let once = async || {
        let request = server.request(Method::POST, "/v1/reminders").bearer_auth(&server.key);
        let request = request.header("idempotency-key", "one").json(&json!({ "text": "call mom in 3 hours" }));
        crate::common::answer(request.send().await.unwrap()).await.1
    };
    let (first, again) = (once().await, once().await);
    assert_eq!(first, again);
    assert_eq!((first["understood"]["kind"].as_str(), n_reminders(&server).await), (Some("instant"), 4));
}

#[tokio::test]
async fn the_sentences_of_a_batch_share_the_work_that_one_request_may_ask_for() {
    let home = Home::new();
    let server = home.serve();
    let long = |n: usize| {
        let text = format!("tomorrow at 8 {}", "tell them about it ".repeat(3_000));
        let items: Vec<Value> = (0..n).map(|_| json!({ "text": text })).collect();
        server.call(Method::POST, "/v1/reminders/batch", Some(json!({ "reminders": items })))
    };
    let (status, problem) = long(100).await;
    let index = problem["index"].as_u64().unwrap();
    assert!(index > 2 && index < 99, "some sentences fit and more do not: {problem}");
    let field = json!(format!("reminders[{index}].text"));
    assert_eq!((status.as_u16(), &problem["field"], &problem["errors"][0]["field"]), (422, &field, &field));
    assert!(problem["detail"].as_str().unwrap().contains("takes too long to work out"), "{problem}");
    assert_eq!(n_reminders(&server).await, 0);
    let (status, created) = long(2).await;
    assert_eq!((status.as_u16(), created["created"].as_u64()), (201, Some(2)));
}
