//! When, in words: what the API understands of them, and what the person is asked where they could mean several times.

use punctual_client::wire::ParseInput;
use punctual_core::invalid::Invalid;
use reqwest::Method;
use serde_json::{Map, Value, json};

use super::arguments::When;
use super::ask::Question;
use super::say;
use super::scheduler::{Scheduler, Stop};

/// The key of the question when it shall be.
pub(super) const KEY: &str = "when";

impl Scheduler<'_> {
    /// The schedule that is meant.
    pub(super) async fn schedule(&self, when: When, fields: &Map<String, Value>) -> Result<Value, Stop> {
        let words = match when {
            When::Schedule(schedule) => return Ok(schedule),
            When::Words(words) => words,
        };
        let understood = self.understood(&words, fields).await?;
        if let Some(rest) = understood["rest"].as_str().filter(|rest| !rest.is_empty()) {
            let problem =
                format!("{} in it says no time; write only when, such as \"tomorrow at 8\"", say::quoted(rest));
            return Err(Invalid::new("schedule", problem).into());
        }
        self.choice(&understood, "schedule")
    }

    /// Makes a reminder's fields of a sentence. Where the server alone would read the same, it gets the sentence.
    pub(super) async fn understand(&self, mut text: String, fields: &mut Map<String, Value>) -> Result<(), Stop> {
        let mut understood = self.understood(&text, fields).await?;
        if understood["kind"] == "none" {
            let words = format!("When shall the reminder {} come? ({})", say::quoted(&text), reason(&understood));
            let said = self.ask(Question::in_words(KEY, words))?;
            text = format!("{text} {said}");
            understood = self.understood(&text, fields).await?;
            if understood["kind"] == "none" {
                return Err(Invalid::new("text", reason(&understood)).into());
            }
        }
        if alternatives(&understood).is_empty() && !fields.contains_key("message") {
            fields.insert("text".into(), text.into());
            return Ok(());
        }
        let schedule = self.choice(&understood, "text")?;
        fields.insert("schedule".into(), schedule);
        if !fields.contains_key("message") {
            fields.insert("message".into(), understood["rest"].clone());
        }
        fields.insert("original_text".into(), text.into());
        fields.remove("lang");
        Ok(())
    }

    /// What the API understands of a text. It is read as it comes: a newer server may say more.
    pub(super) async fn understood(&self, text: &str, fields: &Map<String, Value>) -> Result<Value, Stop> {
        let field = |name: &str| fields.get(name).and_then(Value::as_str).map(str::to_owned);
        let asked = ParseInput {
            text: Some(text.to_owned()),
            lang: field("lang"),
            tz: field("timezone"),
            user: self.user().map(str::to_owned),
            now: None,
        };
        Ok(self.client().call(Method::POST, "/v1/parse", None::<&()>, Some(&asked)).await?)
    }

    /// The schedule of what was understood. The person is asked where it could be another.
    pub(super) fn choice(&self, understood: &Value, field: &str) -> Result<Value, Stop> {
        let first = schedule_of(understood).ok_or_else(|| Invalid::new(field, reason(understood)))?;
        let others = alternatives(understood);
        let summary = |reading: &Value| reading["summary"].as_str().unwrap_or_default().to_owned();
        let mut readings = vec![(summary(understood), first)];
        readings.extend(others.iter().filter_map(|other| Some((summary(other), schedule_of(other)?))));
        if readings.len() == 1 {
            return Ok(readings.swap_remove(0).1);
        }
        let choices = readings.iter().map(|(summary, _)| (summary.clone(), summary.clone())).collect();
        let chosen = self.ask(Question::choice(KEY, "The time could be meant in several ways. Which one?", choices))?;
        let chosen = readings.into_iter().find(|(summary, _)| *summary == chosen).map(|(_, schedule)| schedule);
        chosen.ok_or_else(|| Invalid::new(field, "what was chosen is none of the choices; call again").into())
    }
}

/// The other readings that are worth a question. At seven to eleven people mean the morning, unless they say otherwise: the answer says "at 08:00", and
/// whoever meant the evening can say so. At twelve and at one to six they mean either.
fn alternatives(understood: &Value) -> Vec<&Value> {
    let others = understood["alternatives"].as_array().map(Vec::as_slice).unwrap_or_default();
    others.iter().filter(|other| !is_evening_of_morning(understood, other)).collect()
}

/// Whether `other` is the same but for the half of the day, and `first` is a morning at seven to eleven.
fn is_evening_of_morning(first: &Value, other: &Value) -> bool {
    let (Some((first, hour)), Some((other, other_hour))) = (without_hour(first), without_hour(other)) else {
        return false;
    };
    (7..=11).contains(&hour) && other_hour == hour + 12 && first == other
}

/// What a reading says, without the hour, and the hour.
fn without_hour(reading: &Value) -> Option<(Value, u8)> {
    let mut schedule = schedule_of(reading)?;
    let (field, place) = if schedule["type"] == "once" { ("at", 11..13) } else { ("time", 0..2) };
    let mut text = schedule[field].as_str()?.to_owned();
    let hour = text.get(place.clone())?.parse().ok()?;
    text.replace_range(place, "");
    schedule[field] = text.into();
    Some((schedule, hour))
}

/// The schedule that a reading of a text means.
fn schedule_of(reading: &Value) -> Option<Value> {
    if reading["schedule"].is_object() {
        return Some(reading["schedule"].clone());
    }
    let at = ["at", "due", "from"].into_iter().find_map(|field| reading[field].as_str())?;
    Some(json!({ "type": "once", "at": at }))
}

/// Why a text says no time.
fn reason(understood: &Value) -> String {
    let reason = understood["reason"].as_str().unwrap_or("it says no time that can be relied on");
    match understood["suggestion"].as_str() {
        Some(suggestion) => format!("{reason}; did you mean {}?", say::quoted(suggestion)),
        None => reason.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use async_trait::async_trait;
    use punctual_client::{Body, Client, Failure, Request, Response, Transport};
    use punctual_engine::SystemClock;

    use super::*;
    use crate::mcp::Acting;
    use crate::mcp::ask::{Answer, Answers};

    /// An API that understands every text in two ways, and refuses what it is asked to make.
    struct Torn(Arc<Mutex<Option<Value>>>);

    #[async_trait]
    impl Transport for Torn {
        fn name(&self) -> &str {
            "torn"
        }

        async fn ask(&self, request: Request) -> Result<Response, Failure> {
            if request.uri().path() == "/v1/parse" {
                let (noon, midnight) = ("2026-03-02T12:00:00Z", "2026-03-02T00:00:00Z");
                let other = json!({ "at": midnight, "summary": "at midnight" });
                let read = json!({ "kind": "instant", "at": noon, "summary": "at noon", "rest": "call mom", "alternatives": [other] });
                return Ok(Response::new(Body::whole(read.to_string())));
            }
            *self.0.lock().unwrap() = serde_json::from_slice(request.body()).ok();
            let mut refused = Response::new(Body::whole("{}"));
            *refused.status_mut() = reqwest::StatusCode::CONFLICT;
            Ok(refused)
        }
    }

    #[tokio::test]
    async fn a_sentence_that_hangs_on_a_choice_is_asked_back() {
        let asked = Arc::new(Mutex::new(None));
        let acting = Acting { client: Client::over(Torn(Arc::clone(&asked))), user: None };
        let clock = SystemClock::start();
        let Value::Object(arguments) = json!({ "action": "add", "text": "call mom at 12" }) else { unreachable!() };
        let mut answers = Answers::default();
        let question =
            Scheduler::new(acting.clone(), &clock, &answers).call(arguments.clone(), None).await.unwrap_err();
        let titles: Vec<&str> = question.choices.iter().map(|(_, title)| title.as_str()).collect();
        assert_eq!((question.key(), titles), (KEY, vec!["at noon", "at midnight"]));
        assert_eq!(*asked.lock().unwrap(), None, "nothing is made before the answer");
        answers.put(KEY, Answer::Said("at midnight".into()));
        let done = Scheduler::new(acting, &clock, &answers).call(arguments, None).await;
        assert!(done.is_ok(), "it asks no more");
        let made = asked.lock().unwrap().take().unwrap();
        assert_eq!(made["schedule"], json!({ "type": "once", "at": "2026-03-02T00:00:00Z" }), "{made}");
        assert_eq!(
            (made["message"].as_str(), made["original_text"].as_str()),
            (Some("call mom"), Some("call mom at 12"))
        );
    }

    #[test]
    fn a_morning_is_taken_without_a_question_and_what_could_be_either_is_not() {
        let once = |first: &str, other: &str| {
            let at = |text: &str| format!("2026-03-0{text}:00+01:00");
            json!({ "kind": "instant", "at": at(first), "alternatives": [{ "at": at(other) }] })
        };
        let daily = |first: &str, other: &str| {
            let schedule = |time: &str| json!({ "type": "daily", "time": time });
            json!({ "kind": "recurring", "schedule": schedule(first), "alternatives": [{ "schedule": schedule(other) }] })
        };
        for (reading, n_asked) in [
            (once("2T08:00", "2T20:00"), 0),
            (once("2T07:00", "2T19:00"), 0),
            (once("2T11:30", "2T23:30"), 0),
            (daily("09:00", "21:00"), 0),
            (once("2T18:00", "2T06:00"), 1),
            (once("2T14:00", "3T02:00"), 1),
            (once("2T12:00", "2T00:00"), 1),
            (once("2T20:00", "3T08:00"), 1),
            (once("5T08:00", "9T08:00"), 1),
            (once("2T08:00", "3T20:00"), 1),
            (daily("18:00", "06:00"), 1),
        ] {
            assert_eq!(alternatives(&reading).len(), n_asked, "{reading}");
        }
    }

    #[test]
    fn every_kind_of_reading_means_a_schedule_but_none() {
        let once = json!({ "type": "once", "at": "2026-03-02T08:00:00+01:00" });
        for reading in [
            json!({ "kind": "instant", "at": "2026-03-02T08:00:00+01:00" }),
            json!({ "kind": "duration", "seconds": 60, "at": "2026-03-02T08:00:00+01:00" }),
            json!({ "kind": "interval", "from": "2026-03-02T08:00:00+01:00", "to": "2026-03-02T09:00:00+01:00" }),
            json!({ "kind": "interval", "from": "2026-03-02T06:00:00+01:00", "due": "2026-03-02T08:00:00+01:00" }),
        ] {
            assert_eq!(schedule_of(&reading), Some(once.clone()), "{reading}");
        }
        let daily = json!({ "type": "daily", "time": "08:00" });
        assert_eq!(schedule_of(&json!({ "kind": "recurring", "schedule": daily, "next": [] })), Some(daily));
        assert_eq!(schedule_of(&json!({ "kind": "none", "reason": "no time" })), None);
        assert_eq!(reason(&json!({ "reason": "r", "suggestion": "at 8" })), "r; did you mean \"at 8\"?");
    }
}
