//! When, in words: what the API understands of them, and what the person is asked where they could mean several times.

use jiff::Timestamp;
use punctual_client::wire::{ParseInput, Reminder};
use punctual_core::invalid::Invalid;
use punctual_core::span;
use reqwest::Method;
use serde_json::{Map, Value, json};

use super::arguments::When;
use super::ask::Question;
use super::say;
use super::scheduler::{Scheduler, Stop};

/// The key of the question when it shall be.
pub(super) const KEY: &str = "when";

/// How words are read: in which language and zone, and whose habits they follow.
#[derive(Default)]
pub(super) struct Speaker {
    lang: Option<String>,
    zone: Option<String>,
    user: Option<String>,
}

impl Speaker {
    /// The person of a reminder, who means its zone unless `fields` name another.
    pub(super) fn of(reminder: &Reminder<'_>, fields: &Map<String, Value>) -> Self {
        let said = Self::new(fields, Some(&reminder.user));
        Self { zone: said.zone.or_else(|| Some(reminder.timezone.clone().into_owned())), ..said }
    }

    /// Whoever asks for a new reminder of `user` with these fields.
    pub(super) fn new(fields: &Map<String, Value>, user: Option<&str>) -> Self {
        let field = |name: &str| fields.get(name).and_then(Value::as_str).map(str::to_owned);
        Self { lang: field("lang"), zone: field("timezone"), user: user.map(str::to_owned) }
    }
}

impl Scheduler<'_> {
    /// The schedule that is meant.
    pub(super) async fn schedule(&self, when: When, speaker: &Speaker) -> Result<Value, Stop> {
        let words = match when {
            When::Schedule(schedule) => return self.settled(schedule, speaker).await,
            When::Words(words) => words,
        };
        let understood = self.understood(&words, speaker).await?;
        if let Some(rest) = understood["rest"].as_str().filter(|rest| !rest.is_empty()) {
            let problem =
                format!("{} in it says no time; write only when, such as \"tomorrow at 8\"", say::quoted(rest));
            return Err(Invalid::new("schedule", problem).into());
        }
        self.choice(&understood, "schedule")
    }

    /// A schedule whose words mean one thing: where they could mean several, the person says which. Words that the API reads in one way, or not
    /// at all, are left to it.
    async fn settled(&self, schedule: Value, speaker: &Speaker) -> Result<Value, Stop> {
        let Some((field, words)) = words_in(&schedule) else { return Ok(schedule) };
        let understood = self.understood(words, speaker).await?;
        let says_more = understood["rest"].as_str().is_some_and(|rest| !rest.is_empty());
        if says_more || alternatives(&understood).is_empty() {
            return Ok(schedule);
        }
        let mut chosen = self.choice(&understood, &format!("schedule.{field}"))?;
        // Such as where it starts and ends, beside the words.
        let beside = schedule.as_object().into_iter().flatten().filter(|(name, _)| *name != "type" && *name != field);
        for (name, value) in beside {
            chosen[name] = value.clone();
        }
        Ok(chosen)
    }

    /// Until when something is put off, where `words` could mean several times; else `None`: the API reads them.
    pub(super) async fn until(&self, words: &str, speaker: &Speaker) -> Result<Option<Value>, Stop> {
        if is_written(words) {
            return Ok(None);
        }
        let mut understood = self.understood(words, speaker).await?;
        let says_more = understood["rest"].as_str().is_some_and(|rest| !rest.is_empty());
        // `until friday at 6` is a stretch from now on: its end is what is meant.
        ends(&mut understood);
        if says_more || alternatives(&understood).is_empty() {
            return Ok(None);
        }
        Ok(Some(self.choice(&understood, "until")?["at"].take()))
    }

    /// Makes a reminder's fields of a sentence. Where the server alone would read the same, it gets the sentence.
    pub(super) async fn understand(&self, mut text: String, fields: &mut Map<String, Value>) -> Result<(), Stop> {
        let speaker = Speaker::new(fields, self.user());
        let mut understood = self.understood(&text, &speaker).await?;
        if understood["kind"] == "none" {
            let words = format!("When shall the reminder {} come? ({})", say::quoted(&text), reason(&understood));
            let said = self.ask(Question::in_words(KEY, words))?;
            text = format!("{text} {said}");
            understood = self.understood(&text, &speaker).await?;
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
    pub(super) async fn understood(&self, text: &str, speaker: &Speaker) -> Result<Value, Stop> {
        let asked = ParseInput {
            text: Some(text.to_owned()),
            lang: speaker.lang.clone(),
            tz: speaker.zone.clone(),
            user: speaker.user.clone(),
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

/// The words in a schedule that could mean several times, with the name of their field.
fn words_in(schedule: &Value) -> Option<(&'static str, &str)> {
    match schedule["type"].as_str()? {
        "once" => Some(("at", schedule["at"].as_str().filter(|at| !is_written(at))?)),
        "smart" if schedule.get("rules").is_none() => Some(("text", schedule["text"].as_str()?)),
        _ => None,
    }
}

/// Whether a time is written so that it can mean only one: as a timestamp or as a span from now.
fn is_written(at: &str) -> bool {
    let at = at.trim();
    let span = at.strip_prefix("in ").unwrap_or(at);
    at.parse::<Timestamp>().is_ok() || span::parse(span).is_ok()
}

/// Makes each reading that is a stretch of time the instant at which it ends.
fn ends(understood: &mut Value) {
    let end = |reading: &mut Value| {
        if let Some(to) = reading["to"].as_str().map(str::to_owned) {
            reading["at"] = to.into();
        }
    };
    if understood["kind"] == "interval" {
        end(understood);
        understood["alternatives"].as_array_mut().into_iter().flatten().for_each(end);
    }
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

    /// An API that understands every text in two ways, with this beside the time, and refuses what it is asked to make.
    struct Torn(Arc<Mutex<Option<Value>>>, &'static str);

    #[async_trait]
    impl Transport for Torn {
        fn name(&self) -> &str {
            "torn"
        }

        async fn ask(&self, request: Request) -> Result<Response, Failure> {
            if request.uri().path() == "/v1/parse" {
                let (noon, midnight) = ("2026-03-02T12:00:00Z", "2026-03-02T00:00:00Z");
                let other = json!({ "at": midnight, "summary": "at midnight" });
                let read = json!({ "kind": "instant", "at": noon, "summary": "at noon", "rest": self.1, "alternatives": [other] });
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
        let acting = Acting { client: Client::over(Torn(Arc::clone(&asked), "call mom")), user: None };
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

    /// What is asked for by a call whose words could mean noon or midnight, once midnight was chosen.
    async fn asked_after_a_choice(arguments: Value) -> Value {
        let asked = Arc::new(Mutex::new(None));
        let acting = Acting { client: Client::over(Torn(Arc::clone(&asked), "")), user: None };
        let clock = SystemClock::start();
        let Value::Object(arguments) = arguments else { unreachable!() };
        let mut answers = Answers::default();
        let question = Scheduler::new(acting.clone(), &clock, &answers).call(arguments.clone(), None).await;
        assert_eq!(question.expect_err("it asks back").key(), KEY, "{arguments:?}");
        assert_eq!(*asked.lock().unwrap(), None, "nothing is made before the answer");
        answers.put(KEY, Answer::Said("at midnight".into()));
        let done = Scheduler::new(acting, &clock, &answers).call(arguments, None).await;
        assert!(done.is_ok(), "it asks no more");
        asked.lock().unwrap().take().unwrap()
    }

    #[tokio::test]
    async fn words_within_a_schedule_are_asked_back_as_well() {
        let midnight = json!({ "type": "once", "at": "2026-03-02T00:00:00Z" });
        for when in [
            json!({ "at": "at 12" }),
            json!({ "schedule": { "type": "once", "at": "at 12" } }),
            json!({ "schedule": { "type": "smart", "text": "at 12" } }),
            json!({ "date": "monday", "time": "noon" }),
            json!({ "schedule": "at 12" }),
        ] {
            let mut call = json!({ "action": "add", "message": "call mom" });
            call.as_object_mut().unwrap().extend(when.as_object().unwrap().clone());
            let made = asked_after_a_choice(call).await;
            assert_eq!((&made["schedule"], &made["message"]), (&midnight, &json!("call mom")), "{when}");
        }
        let beside = json!({ "type": "smart", "text": "at 12", "ends_at": "2027-01-01T00:00:00Z" });
        let made = asked_after_a_choice(json!({ "action": "add", "message": "m", "schedule": beside })).await;
        assert_eq!(made["schedule"]["ends_at"], "2027-01-01T00:00:00Z", "{made}");
    }

    #[test]
    fn a_time_that_is_written_is_not_asked_about() {
        for at in ["2026-03-02T08:00:00+01:00", "2026-03-02T08:00:00Z", "5m", "2h", "in 5m", "1d"] {
            assert!(is_written(at), "{at}");
            assert_eq!(words_in(&json!({ "type": "once", "at": at })), None);
        }
        for at in ["friday at 6", "at 6", "um 6", "tomorrow at 8"] {
            assert_eq!(words_in(&json!({ "type": "once", "at": at })), Some(("at", at)));
        }
        assert_eq!(words_in(&json!({ "type": "daily", "time": "08:00" })), None);
        let ruled = json!({ "type": "smart", "text": "at 6", "rules": ["FREQ=DAILY"] });
        assert_eq!(words_in(&ruled), None, "the rules say what is meant");
    }

    #[test]
    fn a_stretch_until_when_means_its_end() {
        let stretch = |to: &str| json!({ "kind": "interval", "from": "2026-03-01T10:00:00+01:00", "to": to });
        let (evening, morning) = ("2026-03-06T18:00:00+01:00", "2026-03-06T06:00:00+01:00");
        let mut read = stretch(evening);
        read["alternatives"] = json!([stretch(morning)]);
        ends(&mut read);
        assert_eq!(schedule_of(&read).unwrap()["at"], evening);
        assert_eq!(schedule_of(alternatives(&read)[0]).unwrap()["at"], morning);
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
