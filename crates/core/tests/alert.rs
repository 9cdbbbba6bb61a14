//! What admins are told about a critical reminder that led to nothing.

#![expect(clippy::unwrap_used, reason = "what a test does not find is its failure")]

mod common;

use common::{at, occurrence, once, reminder};
use punctual_core::alert::{self, NOBODY, News, VIA, looked_for, shown, to_write};
use punctual_core::occurrence::{Attempt, AttemptStatus, Occurrence, State};
use punctual_core::reminder::{Address, OnUnknown, Priority, Reminder};
use punctual_core::store::NewReminder;
use punctual_core::user::User;
use punctual_core::zone::Zone;

fn critical() -> Reminder {
    let timezone = Zone::named("Europe/Berlin").unwrap();
    Reminder { priority: Priority::Critical, message: "Take your medicine".into(), timezone, ..reminder(once()) }
}

fn ended(reminder: &Reminder, state: State) -> Occurrence {
    Occurrence { state, ..occurrence(reminder, 1, at(0)) }
}

fn failed() -> State {
    State::Failed { at: at(60), error: "nothing is left to try".into() }
}

fn attempt(number: u32, address: &str, error: Option<&str>) -> Attempt {
    let Address { channel, address } = address.parse().unwrap();
    Attempt {
        number,
        channel,
        address,
        status: if error.is_some() { AttemptStatus::Failed } else { AttemptStatus::Sent },
        started_at: at(0),
        ended_at: Some(at(1)),
        error: error.map(str::to_owned),
        message_id: None,
        key: None,
    }
}

fn admin(id: &str, language: Option<&str>, timezone: Option<&str>) -> User {
    User {
        id: id.into(),
        timezone: timezone.map(|name| Zone::named(name).unwrap()),
        language: language.map(str::to_owned),
        addresses: vec![],
        quiet_hours: None,
        paused_until: None,
        escalate: Vec::new(),
        habits: punctual_core::habits::Habits::default(),
        admin: true,
        created_at: at(0),
        updated_at: at(0),
    }
}

/// The alerts about a run that has ended.
fn alerts(
    reminder: &Reminder,
    run: &Occurrence,
    attempts: &[Attempt],
    admins: &[User],
    now: jiff::Timestamp,
) -> Vec<NewReminder> {
    to_write(alert::alerts(News::Ended, reminder, run, attempts, admins, now), &[])
}

/// The text for an admin who speaks `language`.
fn text(language: Option<&str>, state: State, attempts: &[Attempt]) -> String {
    let reminder = critical();
    let made = alerts(&reminder, &ended(&reminder, state), attempts, &[admin("root", language, None)], at(60));
    assert_eq!(made.len(), 1);
    made[0].reminder.message.clone()
}

#[test]
fn it_says_whose_what_when_and_what_went_wrong_where() {
    let attempts = [
        attempt(1, "discord:123", Some("answered 500")),
        attempt(2, "webhook:https://hooks.example:8443/secret?token=1", Some("connection refused")),
        attempt(3, "discord:123", Some("answered 403 Forbidden")),
    ];
    assert_eq!(
        text(None, failed(), &attempts),
        "❗ A critical reminder for alice was not delivered: \"Take your medicine\" (due 2027-01-15 09:00 Europe/Berlin). \
         discord:123: answered 403 Forbidden; webhook:hooks.example:8443: connection refused"
    );
}

#[test]
fn it_speaks_the_admins_language_and_zone() {
    let unanswered = State::Unanswered { at: at(600) };
    let sent = [attempt(1, "telegram:7", None)];
    for (language, expect) in [
        (
            "en-GB",
            "❗ A critical reminder for alice was never answered: \"Take your medicine\" (due 2027-01-15 09:00 Europe/Berlin). telegram:7: sent",
        ),
        (
            "de",
            "❗ Eine kritische Erinnerung für alice blieb ohne Antwort: „Take your medicine“ (fällig 2027-01-15 09:00 Europe/Berlin). telegram:7: gesendet",
        ),
        (
            "hr",
            "❗ Kritični podsjetnik za alice ostao je bez odgovora: „Take your medicine” (za 2027-01-15 09:00 Europe/Berlin). telegram:7: poslano",
        ),
        (
            "bs",
            "❗ Kritični podsjetnik za alice ostao je bez odgovora: „Take your medicine” (za 2027-01-15 09:00 Europe/Berlin). telegram:7: poslano",
        ),
        (
            "sr",
            "❗ Kritični podsetnik za alice ostao je bez odgovora: „Take your medicine” (za 2027-01-15 09:00 Europe/Berlin). telegram:7: poslato",
        ),
        (
            "sr-Cyrl",
            "❗ Критични подсетник за alice остао је без одговора: „Take your medicine” (за 2027-01-15 09:00 Europe/Berlin). telegram:7: послато",
        ),
    ] {
        assert_eq!(text(Some(language), unanswered.clone(), &sent), expect);
    }
    for (language, expect) in [
        ("en", "A critical reminder for alice was missed because nothing ran when it was due: \"Take"),
        ("de", "Eine kritische Erinnerung für alice wurde verpasst, weil nichts lief, als sie fällig war: „Take"),
        ("hr", "Kritični podsjetnik za alice propušten je jer u to vrijeme ništa nije radilo: „Take"),
        ("bs", "Kritični podsjetnik za alice propušten je jer u to vrijeme ništa nije radilo: „Take"),
        ("sr", "Kritični podsetnik za alice propušten je jer u to vreme ništa nije radilo: „Take"),
        ("sr-Cyrl", "Критични подсетник за alice пропуштен је јер у то време ништа није радило: „Take"),
    ] {
        let said = text(Some(language), State::Missed { at: at(600) }, &[]);
        assert!(said.contains(expect), "{said}");
    }
    assert!(text(Some("tlh"), failed(), &[]).starts_with("❗ A critical"), "whoever speaks another is told in English");
    let reminder = critical();
    let tokyo = [admin("root", None, Some("Asia/Tokyo"))];
    let made = alerts(&reminder, &ended(&reminder, failed()), &[], &tokyo, at(60));
    assert!(made[0].reminder.message.contains("2027-01-15 17:00 Asia/Tokyo"), "{}", made[0].reminder.message);
    assert!(made[0].reminder.message.ends_with("nothing is left to try"), "without attempts the state says why");
}

#[test]
fn trouble_and_its_end_are_told_in_the_admins_language() {
    let reminder = critical();
    let waiting = common::retrying(at(70), "answered 500");
    let tried = [attempt(1, "telegram:7", Some("answered 500"))];
    let sent = [tried[0].clone(), attempt(2, "telegram:7", None)];
    for (language, trouble, recovered) in [
        (
            "en",
            "❗ A critical reminder for alice has not been delivered so far and is tried again: \"Take",
            "✅ A critical reminder for alice was delivered after all: \"Take",
        ),
        (
            "de",
            "❗ Eine kritische Erinnerung für alice wurde bisher nicht zugestellt und wird erneut versucht: „Take",
            "✅ Eine kritische Erinnerung für alice wurde doch noch zugestellt: „Take",
        ),
        (
            "hr",
            "❗ Kritični podsjetnik za alice još nije dostavljen; pokušava se ponovo: „Take",
            "✅ Kritični podsjetnik za alice ipak je dostavljen: „Take",
        ),
        (
            "bs",
            "❗ Kritični podsjetnik za alice još nije dostavljen; pokušava se ponovo: „Take",
            "✅ Kritični podsjetnik za alice ipak je dostavljen: „Take",
        ),
        (
            "sr",
            "❗ Kritični podsetnik za alice još nije isporučen; pokušava se ponovo: „Take",
            "✅ Kritični podsetnik za alice ipak je isporučen: „Take",
        ),
        (
            "sr-Cyrl",
            "❗ Критични подсетник за alice још није испоручен; покушава се поново: „Take",
            "✅ Критични подсетник за alice ипак је испоручен: „Take",
        ),
    ] {
        let admins = [admin("root", Some(language), None)];
        let say = |news, state: &State, attempts: &[Attempt]| {
            let made = alert::alerts(news, &reminder, &ended(&reminder, state.clone()), attempts, &admins, at(60));
            made[0].new.reminder.message.clone()
        };
        let said = say(News::Trouble, &waiting, &tried);
        assert!(said.starts_with(trouble) && said.ends_with("telegram:7: answered 500"), "{said}");
        let said = say(News::Recovered, &State::Delivered { at: at(80) }, &sent);
        assert!(said.starts_with(recovered), "{said}");
    }
}

#[test]
fn an_admin_who_was_told_of_trouble_is_told_that_it_got_through_and_no_other() {
    let reminder = critical();
    let waiting = ended(&reminder, common::retrying(at(70), "500"));
    let through = ended(&reminder, State::Delivered { at: at(80) });
    let (root, ops) = (admin("root", None, None), admin("ops", None, None));
    let users = |made: &[NewReminder]| made.iter().map(|new| new.reminder.user.clone()).collect::<Vec<_>>();
    let make = |news, run: &Occurrence, admins: &[User]| alert::alerts(news, &reminder, run, &[], admins, at(60));

    let trouble = to_write(make(News::Trouble, &waiting, std::slice::from_ref(&root)), &[]);
    assert_eq!(users(&trouble), ["root"]);
    let there = [trouble[0].reminder.id];
    let again = make(News::Trouble, &waiting, std::slice::from_ref(&root));
    assert!(to_write(again, &there).is_empty(), "once");
    let recovered = make(News::Recovered, &through, &[root.clone(), ops.clone()]);
    assert!(there.iter().all(|id| looked_for(&recovered).contains(id)));
    assert_eq!(users(&to_write(recovered.clone(), &there)), ["root"]);
    assert!(to_write(recovered, &[]).is_empty(), "nobody was told of trouble");

    let trouble = to_write(make(News::Trouble, &waiting, &[]), &[]);
    assert_eq!(users(&trouble), [NOBODY]);
    let recovered = make(News::Recovered, &through, std::slice::from_ref(&root));
    assert_eq!(users(&to_write(recovered, &[trouble[0].reminder.id])), [NOBODY]);

    let failed = to_write(make(News::Ended, &ended(&reminder, failed()), &[root, ops]), &there);
    assert_eq!(users(&failed), ["root", "ops"], "that it was given up is told to all");
    for spared in
        [Reminder { priority: Priority::High, ..critical() }, Reminder { created_via: VIA.into(), ..critical() }]
    {
        for (news, run) in [(News::Trouble, &waiting), (News::Recovered, &through)] {
            assert!(alert::alerts(news, &spared, run, &[], &[], at(60)).is_empty());
        }
    }
}

#[test]
fn a_long_text_is_shortened_visibly_and_fits() {
    let reminder = Reminder { message: "č".repeat(40_000), ..critical() };
    let attempts: Vec<_> = (0..32).map(|n| attempt(n + 1, &format!("sms:+{n}"), Some(&"ž\n".repeat(5000)))).collect();
    let made = alerts(&reminder, &ended(&reminder, failed()), &attempts, &[], at(60)).remove(0).reminder;
    assert!(made.message.contains("č…\""), "{}", made.message);
    assert!(made.message.len() < 32 * 1024, "{}", made.message.len());
    assert_eq!(made.validate(), Ok(()));
}

#[test]
fn it_is_a_critical_reminder_for_each_admin_due_at_once() {
    let reminder = critical();
    let run = ended(&reminder, failed());
    let admins = [admin("root", None, None), admin("ops", None, None)];
    let made = alerts(&reminder, &run, &[], &admins, at(60));
    let users: Vec<_> = made.iter().map(|new| new.reminder.user.as_str()).collect();
    assert_eq!(users, ["root", "ops"]);
    for new in &made {
        let alert = &new.reminder;
        assert_eq!((new.first_due_at, alert.priority, alert.retries_max), (at(60), Priority::Critical, 10));
        assert_eq!((alert.to.len(), alert.created_via.as_str(), alert.on_unknown), (0, VIA, OnUnknown::Auto));
        let about = &alert.metadata.to_value()["about"];
        assert_eq!(about["occurrence_id"], run.id.to_string());
        assert_eq!(about["reminder_id"], reminder.id.to_string());
        assert_eq!(about["user"], "alice");
        assert_eq!(alert.validate(), Ok(()));
    }
    let again = alerts(&reminder, &run, &[], &admins, at(99));
    let ids = |made: &[NewReminder]| made.iter().map(|n| n.reminder.id).collect::<Vec<_>>();
    assert_eq!(ids(&made), ids(&again), "however often it is made");
    let unanswered = alerts(&reminder, &ended(&reminder, State::Unanswered { at: at(60) }), &[], &admins, at(60));
    let mut all = [ids(&made), ids(&unanswered)].concat();
    all.sort();
    all.dedup();
    assert_eq!(all.len(), 4, "one for each admin and ending");
    assert_eq!(alerts(&reminder, &run, &[], &[], at(60))[0].reminder.user, NOBODY, "somebody is told");
}

#[test]
fn only_what_is_critical_and_led_to_nothing_is_told_and_an_alert_raises_no_other() {
    let root = [admin("root", None, None)];
    let told =
        |reminder: &Reminder, state: State| !alerts(reminder, &ended(reminder, state), &[], &root, at(60)).is_empty();
    assert!(told(&critical(), failed()));
    assert!(told(&critical(), State::Unanswered { at: at(60) }));
    assert!(told(&critical(), State::Missed { at: at(60) }));
    for state in [
        State::Delivered { at: at(60) },
        State::Cancelled { at: at(60) },
        State::Dismissed { at: at(60) },
        common::retrying(at(60), "500"),
    ] {
        assert!(!told(&critical(), state));
    }
    assert!(!told(&Reminder { priority: Priority::High, ..critical() }, failed()));
    assert!(!told(&Reminder { created_via: VIA.into(), ..critical() }, failed()));
}

#[test]
fn of_an_address_that_may_be_a_secret_only_the_host_is_shown() {
    for (address, expect) in [
        ("webhook:https://hooks.example/T0/B0/secret", "webhook:hooks.example"),
        ("webhook:https://user:password@hooks.example:8443/x", "webhook:hooks.example:8443"),
        ("webhook:https://a@b@hooks.example?token=secret", "webhook:hooks.example"),
        ("webhook:http://hooks.example#secret", "webhook:hooks.example"),
        ("webhook:http://[::1]:80/secret", "webhook:[::1]:80"),
        ("discord:discord.com/api/webhooks/1/secret", "discord:discord.com/…"),
        ("discord:123", "discord:123"),
        ("sms:+4915112345678", "sms:+4915112345678"),
        ("mail:ann@example.org", "mail:ann@example.org"),
        ("console", "console"),
    ] {
        let text = shown(&address.parse().unwrap());
        assert_eq!(text, expect);
        assert!(!text.contains("secret") && !text.contains("password"));
    }
}
