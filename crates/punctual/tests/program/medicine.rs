//! The medicine story: asked, asked again, put off in the person's own words, somebody else asked, and done.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use punctual_testkit::faketime::Faketime;
use punctual_testkit::platforms::telegram::{Person, Shown, Telegram};
use punctual_testkit::wait::{until, until_some};

use crate::common::{Home, Ran, Server};

const TOKEN: &str = "123456789:AAE-token_of_tests";
const ALICE: Person = Person { id: 5, name: "Alice" };
const BOB: Person = Person { id: 6, name: "Bob" };

/// Alice's and Bob's family, with a bot whose server's clock the test sets.
struct Family {
    home: Home,
    clock: Faketime,
    telegram: Telegram,
    server: Server,
}

impl Family {
    fn start(home: Home, clock: Faketime) -> Self {
        let telegram = Telegram::start(TOKEN);
        clock.set(on_the_day("07:30:00"));
        let url = telegram.url();
        let env = [
            ("PUNCTUAL_CHANNEL_FAMILY_KIND", "telegram"),
            ("PUNCTUAL_CHANNEL_FAMILY_TOKEN", TOKEN),
            ("PUNCTUAL_CHANNEL_FAMILY_API_URL", &url),
        ];
        let server = home.serve_with(&[&env[..], &clock.env()[..]].concat());
        Self { home, clock, telegram, server }
    }

    /// Runs a command at the time that the clock shows.
    fn run(&self, args: &[&str]) -> String {
        Ran::of(self.home.command(args).envs(self.clock.env()).output().unwrap()).ok()
    }

    fn it_is(&self, time: &str) {
        self.clock.set(on_the_day(time));
    }

    /// The bot's messages in a person's chat, without markup.
    fn messages(&self, who: Person) -> Vec<Shown> {
        let plain = |text: String| text.replace("<b>", "").replace("</b>", "").replace("&quot;", "\"");
        let messages = self.telegram.messages(who.id).into_iter();
        messages.map(|message| Shown { text: plain(message.text.clone()), ..message }).collect()
    }

    /// Waits for the message number `n` of the bot in a person's chat.
    async fn message(&self, who: Person, n: usize) -> Shown {
        let what = format!("message {n} to {}", who.name);
        until_some(&what, async || self.messages(who).get(n - 1).cloned()).await
    }

    /// Waits until messages that asked show what became of it.
    async fn all_show(&self, asked: &[&Shown], words: &str) {
        let shows = |message: &&Shown| {
            let now = self.telegram.message(message.chat, message.id);
            now.text.contains(words) && now.buttons.is_empty()
        };
        until(&format!("all of {} messages show {words}", asked.len()), async || asked.iter().all(shows)).await;
    }

    async fn is(&self, state: &str) {
        let id = self.run(&["show", "medicine", "--user", "alice", "--json"]);
        let id: serde_json::Value = serde_json::from_str(&id).unwrap();
        let path = format!("/v1/occurrences/{}-1", id["id"].as_str().unwrap());
        until(&format!("it is {state}"), async || self.server.get(&path).await["state"] == state).await;
    }
}

/// An instant of the day on which it happens, in Zagreb.
fn on_the_day(time: &str) -> Timestamp {
    let local: DateTime = format!("2026-03-02T{time}").parse().unwrap();
    local.to_zoned(TimeZone::get("Europe/Zagreb").unwrap()).unwrap().timestamp()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_medicine_story() {
    let Some(clock) = Faketime::new() else { return };
    let family = Family::start(Home::new(), clock);
    family.run(&["users", "set", "alice", "--timezone", "Europe/Zagreb", "--to", "family:5"]);
    family.run(&["users", "set", "bob", "--timezone", "Europe/Zagreb", "--to", "family:6"]);
    family.run(&[
        "add",
        "Take your medicine every day at 8",
        "--user",
        "alice",
        "--name",
        "medicine",
        "--ack",
        "Did you take it?",
        "--ack-timeout",
        "5m",
        "--escalate",
        "7m:bob",
    ]);

    family.it_is("08:00:01");
    let first = family.message(ALICE, 1).await;
    assert!(first.text.contains("Take your medicine") && !first.buttons.is_empty(), "{first:?}");
    family.is("awaiting_ack").await;
    // She does not answer, and is asked again.
    family.it_is("08:05:05");
    let second = family.message(ALICE, 2).await;
    family.is("awaiting_ack").await;

    family.it_is("08:06:00");
    family.telegram.write(ALICE.id, ALICE, "5 more minutes", None);
    let said = family.message(ALICE, 3).await;
    assert!(said.text.contains("08:11"), "{said:?}");
    family.is("snoozed").await;
    family.it_is("08:11:05");
    let third = family.message(ALICE, 4).await;
    family.is("awaiting_ack").await;
    family.it_is("08:16:10");
    let fourth = family.message(ALICE, 5).await;
    family.is("awaiting_ack").await;

    // Seven minutes after she was asked, bob is.
    family.it_is("08:18:10");
    let asked = family.message(BOB, 1).await;
    assert!(asked.text.contains("alice has not answered: \"Take your medicine\" (due 08:11)"), "{asked:?}");
    until("bob's question is written down", async || {
        family.run(&["show", "medicine", "--user", "alice"]).contains("asked bob: awaiting_ack")
    })
    .await;

    family.it_is("08:19:00");
    family.telegram.write(ALICE.id, ALICE, "popio sam", None);
    family.is("completed").await;
    let told = family.message(BOB, 2).await;
    assert!(told.text.contains("✓ alice: done. \"Take your medicine\"") && told.buttons.is_empty(), "{told:?}");
    family.all_show(&[&first, &second, &third, &fourth, &asked], "✓ Done").await;

    family.it_is("08:30:30");
    assert_eq!(plain(&family.run(&["show", "medicine", "--user", "alice"])), SHOWN);
    let kinds = "reminder.sent,reminder.snoozed,reminder.escalated,reminder.acknowledged";
    let entries = plain(&family.run(&["audit", "--kind", kinds]));
    assert_eq!(entries, ENTRIES);
}

/// What a command printed, without what differs from run to run: ids, seconds, how long ago, and when the reminder was made.
fn plain(text: &str) -> String {
    let is_far = |part: &&str| part.ends_with(" ago") || part.starts_with("in ");
    let line = |line: &str| {
        let parts: Vec<&str> = line.split("  ").filter(|part| !is_far(part)).collect();
        without_seconds(&without_ids(&parts.join("  ")))
    };
    let kept = text.lines().filter(|line| !line.starts_with("created"));
    kept.map(|text| line(text) + "\n").collect()
}

/// Writes `#` for every word of eight hexadecimal digits, and for whole ids.
fn without_ids(line: &str) -> String {
    let is_id = |word: &&str| word.len() >= 8 && word.chars().all(|c| c.is_ascii_hexdigit() || c == '-');
    let words: Vec<&str> = line.split_inclusive([' ', '"']).collect();
    let word = |text: &&str| {
        let bare = text.trim_end_matches([' ', '"']);
        if is_id(&bare) { text.replacen(bare, "#", 1) } else { (*text).to_owned() }
    };
    words.iter().map(word).collect()
}

/// Takes the seconds from every `08:00:01`, and from every instant.
fn without_seconds(line: &str) -> String {
    let mut rest = line;
    let mut kept = String::new();
    while let Some(colon) = rest.find(':') {
        let is_digits = |text: Option<&str>| text.is_some_and(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
        let seconds = rest.get(colon + 3..colon + 4) == Some(":") && is_digits(rest.get(colon + 4..colon + 6));
        let end = if is_digits(rest.get(colon + 1..colon + 3)) { colon + 3 } else { colon + 1 };
        kept.push_str(&rest[..end]);
        rest = &rest[end..];
        if seconds {
            rest = rest[3..].trim_start_matches(|c: char| c == '.' || c.is_ascii_digit());
        }
    }
    kept + rest
}

const SHOWN: &str = "\
id        #
name      medicine
user      alice
message   Take your medicine
schedule  every day at 08:00, Europe/Zagreb
next      Tue 3 Mar 08:00 Europe/Zagreb
status    active
answer    Did you take it?
escalate  7m bob
last run  Mon 2 Mar 08:16 Europe/Zagreb  completed
runs      1

run 2  scheduled  due Tue 3 Mar 08:00 Europe/Zagreb

run 1  completed  due Mon 2 Mar 08:11 Europe/Zagreb
  Mon 2 Mar 08:00  sent to family:5, as 5/1
  Mon 2 Mar 08:05  sent to family:5, as 5/2
  Mon 2 Mar 08:06  snooze until Mon 2 Mar 08:11 by alice on family: “5 more minutes”
  Mon 2 Mar 08:11  sent to family:5, as 5/5
  Mon 2 Mar 08:16  sent to family:5, as 5/6
  Mon 2 Mar 08:18  asked bob: completed
  Mon 2 Mar 08:18  escalated to bob
  Mon 2 Mar 08:19  ack by alice on family: “popio sam”
";

const ENTRIES: &str = "\
Mon 2 Mar 07:00  reminder.sent  alice  # run 1  attempt=1 channel=family
Mon 2 Mar 07:05  reminder.sent  alice  # run 1  attempt=2 channel=family
Mon 2 Mar 07:06  reminder.snoozed  alice  # run 1  by channel:family via inbound  by_user=alice channel=family minutes=5 name=Alice \
text=\"5 more minutes\" until=2026-03-02T07:11Z
Mon 2 Mar 07:11  reminder.sent  alice  # run 1  attempt=3 channel=family
Mon 2 Mar 07:16  reminder.sent  alice  # run 1  attempt=4 channel=family
Mon 2 Mar 07:18  reminder.escalated  alice  # run 1  \
to=[{\"due_at\":\"2026-03-02T07:18Z\",\"reminder_id\":\"#\",\"user\":\"bob\"}] why=unanswered
Mon 2 Mar 07:18  reminder.sent  bob  # run 1  attempt=1 channel=family
Mon 2 Mar 07:19  reminder.acknowledged  alice  # run 1  by channel:family via inbound  by_user=alice channel=family name=Alice \
text=\"popio sam\"
Mon 2 Mar 07:19  reminder.acknowledged  bob  # run 1  by channel:family via inbound  by_user=alice
Mon 2 Mar 07:19  reminder.sent  bob  # run 1  attempt=1 channel=family
";
