//! Connections to platforms survive a hundred cuts: no answer is lost, and none is given twice.
//!
//! In each round a person presses two buttons, and the network fails at some moment around that: before the press leaves the platform,
//! between the press and its answer, or between the answer's commit and its acknowledgement. A press that the platform reports as failed
//! is pressed again, as a person would, unless the message shows that it was taken.

use punctual_testkit::platforms::{discord, slack, telegram};
use punctual_testkit::proxy::{Proxy, Toward};
use punctual_testkit::wait::{pause, until, until_some};
use serde_json::json;

use super::{connected, run};
use crate::common::{Home, Server};

const ROUNDS: usize = 100;

/// A platform with a person at it.
trait Bot {
    /// The network between it and the program.
    fn proxy(&self) -> &Proxy;
    /// How often, in a hundred rounds, a connection dies without anybody saying so. Noticing that takes a while.
    fn n_silent_deaths(&self) -> usize;
    /// How many messages it shows.
    fn n_messages(&self) -> usize;
    /// The person presses "Done" under message `n`; none where it has no buttons any more.
    fn press(&self, n: usize) -> Option<String>;
    /// Whether the press was taken; none while the person waits.
    fn pressed(&self, press: &str) -> Option<bool>;
    /// Whether message `n` shows its answer.
    fn shows(&self, n: usize) -> bool;
    /// Whether nothing waits for the program.
    fn is_quiet(&self) -> bool;
    /// Whether messages are changed over a network that is not cut.
    fn edits_surely(&self) -> bool;
}

/// The same sequence in every run.
fn number(round: usize, what: u64) -> u64 {
    let mut x = (round as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ what.wrapping_mul(0xD1B5_4A32_D192_ED03);
    x ^= x >> 31;
    x.wrapping_mul(0x94D0_49BB_1331_11EB) >> 33
}

/// Creates the reminders, and returns the ids of their runs, in the order of their messages.
async fn ask(server: &Server, bot: &impl Bot, address: impl Fn(usize) -> String) -> Vec<String> {
    let mut ids = Vec::new();
    for n in 0..2 * ROUNDS {
        let made = server
            .create(json!({
                "user": "ann", "message": format!("m{n:03}"), "schedule": { "type": "once", "at": "0s" },
                "require_ack": true, "to": [{ "channel": "chat", "address": address(n) }],
            }))
            .await;
        ids.push(format!("{}-1", made["id"].as_str().unwrap()));
    }
    until("every message was sent", async || bot.n_messages() == 2 * ROUNDS).await;
    for id in &ids {
        until("the run awaits an answer", async || run(server, id).await["state"] == "awaiting_ack").await;
    }
    ids
}

async fn survive(server: &Server, bot: &impl Bot, ids: &[String]) {
    let silent_every = ROUNDS / bot.n_silent_deaths();
    let a_moment = async |round: usize, what: u64| {
        for _ in 0..number(round, what) % 3 {
            pause().await;
        }
    };
    for round in 0..ROUNDS {
        let mut open = Vec::new();
        for n in [2 * round, 2 * round + 1] {
            open.push((n, bot.press(n).expect("a message that waits has buttons")));
        }
        a_moment(round, 1).await;
        if round % silent_every == silent_every - 1 {
            bot.proxy().swallow(Toward::Both);
            a_moment(round, 2).await;
        } else {
            match number(round, 3) % 3 {
                0 => {}
                1 => bot.proxy().withhold(Toward::Server),
                _ => bot.proxy().withhold(Toward::Client),
            }
            a_moment(round, 2).await;
            bot.proxy().cut();
        }
        bot.proxy().resume();
        for (n, mut press) in open {
            until_some("the press is taken", async || match bot.pressed(&press) {
                Some(true) => Some(()),
                None => None,
                Some(false) => match bot.press(n) {
                    Some(again) => {
                        press = again;
                        None
                    }
                    None => Some(()),
                },
            })
            .await;
        }
    }
    for (n, id) in ids.iter().enumerate() {
        until("the run is answered", async || run(server, id).await["state"] == "completed").await;
        let run = run(server, id).await;
        assert_eq!(run["responses"].as_array().unwrap().len(), 1, "{run}");
        if bot.edits_surely() {
            until("the message shows it", async || bot.shows(n)).await;
        }
    }
    until("nothing waits for the program", async || bot.is_quiet()).await;
}

const NO_RATES: [(&str, &str); 2] =
    [("PUNCTUAL_CHANNEL_CHAT_RATE", "none"), ("PUNCTUAL_CHANNEL_CHAT_ADDRESS_RATE", "none")];

struct TelegramBot {
    telegram: telegram::Telegram,
    proxy: Proxy,
}

impl TelegramBot {
    fn person(n: usize) -> telegram::Person {
        telegram::Person { id: 1000 + n as i64, name: "Ana" }
    }
}

impl Bot for TelegramBot {
    fn proxy(&self) -> &Proxy {
        &self.proxy
    }

    fn n_silent_deaths(&self) -> usize {
        10
    }

    fn n_messages(&self) -> usize {
        (0..2 * ROUNDS).filter(|n| !self.telegram.messages(Self::person(*n).id).is_empty()).count()
    }

    fn press(&self, n: usize) -> Option<String> {
        let person = Self::person(n);
        let shown = self.telegram.messages(person.id).remove(0);
        let done = shown.buttons.iter().find(|(label, _)| label == "Done")?.1.clone();
        Some(self.telegram.press_data(&shown, &done, person))
    }

    fn pressed(&self, _press: &str) -> Option<bool> {
        // Telegram keeps it until it is confirmed.
        (self.telegram.unconfirmed() == 0).then_some(true)
    }

    fn shows(&self, n: usize) -> bool {
        self.telegram.messages(Self::person(n).id)[0].n_edits > 0
    }

    fn is_quiet(&self) -> bool {
        self.telegram.unconfirmed() == 0
    }

    fn edits_surely(&self) -> bool {
        // They go over the same network.
        false
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn telegrams_polls_survive_a_hundred_cuts() {
    const TOKEN: &str = "123456789:AAE-token_of_tests";
    let (home, telegram) = (Home::new(), telegram::Telegram::start(TOKEN));
    let proxy = Proxy::before(telegram.port());
    let url = proxy.url_for(&telegram.url());
    let mut env = vec![
        ("PUNCTUAL_CHANNEL_CHAT_KIND", "telegram"),
        ("PUNCTUAL_CHANNEL_CHAT_TOKEN", TOKEN),
        ("PUNCTUAL_CHANNEL_CHAT_API_URL", &url),
        ("PUNCTUAL_CHANNEL_CHAT_POLL_TIMEOUT", "1s"),
    ];
    env.extend(NO_RATES);
    let server = home.serve_with(&env);
    connected(&server).await;
    let bot = TelegramBot { telegram, proxy };
    let ids = ask(&server, &bot, |n| TelegramBot::person(n).id.to_string()).await;
    survive(&server, &bot, &ids).await;
}

struct SlackBot {
    slack: slack::Slack,
    proxy: Proxy,
}

impl SlackBot {
    const CHANNEL: &str = "C0123456789";
    const ANA: slack::Person = slack::Person { id: "U0123456789", name: "ana" };

    fn message(&self, n: usize) -> slack::Shown {
        let all = self.slack.messages(Self::CHANNEL);
        all.into_iter().find(|message| message.text.contains(&format!("m{n:03}"))).unwrap()
    }
}

impl Bot for SlackBot {
    fn proxy(&self) -> &Proxy {
        &self.proxy
    }

    fn n_silent_deaths(&self) -> usize {
        2
    }

    fn n_messages(&self) -> usize {
        self.slack.messages(Self::CHANNEL).len()
    }

    fn press(&self, n: usize) -> Option<String> {
        let shown = self.message(n);
        (!shown.buttons.is_empty()).then(|| self.slack.press(&shown, "Done", Self::ANA))
    }

    fn pressed(&self, press: &str) -> Option<bool> {
        match self.slack.pressed(press) {
            slack::Pressed::Waits => None,
            pressed => Some(pressed == slack::Pressed::Acked),
        }
    }

    fn shows(&self, n: usize) -> bool {
        self.message(n).buttons.is_empty()
    }

    fn is_quiet(&self) -> bool {
        self.slack.unconfirmed() == 0
    }

    fn edits_surely(&self) -> bool {
        true
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn slacks_sockets_survive_a_hundred_cuts() {
    let (home, slack) = (Home::new(), slack::Slack::start());
    let proxy = Proxy::before(slack.socket_port());
    slack.lead_sockets_to(proxy.port());
    let url = slack.url();
    let mut env = vec![
        ("PUNCTUAL_CHANNEL_CHAT_KIND", "slack"),
        ("PUNCTUAL_CHANNEL_CHAT_TOKEN", "xoxb-1"),
        ("PUNCTUAL_CHANNEL_CHAT_APP_TOKEN", "xapp-1"),
        ("PUNCTUAL_CHANNEL_CHAT_API_URL", &url),
    ];
    env.extend(NO_RATES);
    let server = home.serve_with(&env);
    connected(&server).await;
    let bot = SlackBot { slack, proxy };
    let ids = ask(&server, &bot, |_| SlackBot::CHANNEL.to_owned()).await;
    survive(&server, &bot, &ids).await;
}

struct DiscordBot {
    discord: discord::Discord,
    proxy: Proxy,
}

impl DiscordBot {
    const CHANNEL: u64 = 123_456_789_012_345_678;
    const ANA: discord::Person = discord::Person { id: 876_543_210_987_654_321, name: "ana" };

    fn message(&self, n: usize) -> discord::Shown {
        let all = self.discord.messages(Self::CHANNEL);
        all.into_iter().find(|message| message.content.contains(&format!("m{n:03}"))).unwrap()
    }
}

impl Bot for DiscordBot {
    fn proxy(&self) -> &Proxy {
        &self.proxy
    }

    fn n_silent_deaths(&self) -> usize {
        10
    }

    fn n_messages(&self) -> usize {
        self.discord.messages(Self::CHANNEL).len()
    }

    fn press(&self, n: usize) -> Option<String> {
        let shown = self.message(n);
        (!shown.buttons.is_empty()).then(|| self.discord.press(&shown, "Done", Self::ANA).to_string())
    }

    fn pressed(&self, press: &str) -> Option<bool> {
        match self.discord.pressed(press.parse().unwrap()) {
            discord::Pressed::Waits => None,
            pressed => Some(pressed != discord::Pressed::Failed),
        }
    }

    fn shows(&self, n: usize) -> bool {
        self.message(n).buttons.is_empty()
    }

    fn is_quiet(&self) -> bool {
        true
    }

    fn edits_surely(&self) -> bool {
        true
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn discords_sessions_survive_a_hundred_cuts() {
    const TOKEN: &str = "bot-token";
    let (home, discord) = (Home::new(), discord::Discord::start(TOKEN));
    let proxy = Proxy::before(discord.gateway_port());
    discord.resume_at(proxy.port());
    let (url, gateway) = (discord.url(), proxy.url_for(&discord.gateway_url()));
    let mut env = vec![
        ("PUNCTUAL_CHANNEL_CHAT_KIND", "discord"),
        ("PUNCTUAL_CHANNEL_CHAT_TOKEN", TOKEN),
        ("PUNCTUAL_CHANNEL_CHAT_API_URL", &url),
        ("PUNCTUAL_CHANNEL_CHAT_GATEWAY_URL", &gateway),
    ];
    env.extend(NO_RATES);
    let server = home.serve_with(&env);
    connected(&server).await;
    let bot = DiscordBot { discord, proxy };
    let ids = ask(&server, &bot, |_| DiscordBot::CHANNEL.to_string()).await;
    survive(&server, &bot, &ids).await;
    assert_eq!(bot.discord.sessions().1, 1, "every connection but the first resumed the session");
}
