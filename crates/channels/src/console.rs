//! A line on a terminal.

use std::fmt::{self, Write as _};
use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use punctual_core::channel::{AddressRule, Channel, Limits, Message, Receipt, SendError};
use punctual_core::invalid::Invalid;
use punctual_core::{span, terminal};

/// The longest address. A console has one place only; the address is a note for people.
pub const ADDRESS_BYTES_MAX: usize = 256;

/// Writes each message as a line, such as `⏰ 08:00:00  alice: Take your medicine`.
///
/// The time is when it was due, in the reminder's zone. Nothing in a message can move the cursor, change
/// colours, turn the direction of the text or do anything else to a terminal: see [`terminal::show`].
#[derive(Clone)]
pub struct Console {
    writer: Arc<Mutex<Box<dyn Write + Send>>>,
}

impl Console {
    /// Writes to `writer`.
    pub fn new(writer: Box<dyn Write + Send>) -> Self {
        Self { writer: Arc::new(Mutex::new(writer)) }
    }

    /// Writes to standard output.
    pub fn stdout() -> Self {
        Self::new(Box::new(io::stdout()))
    }
}

#[async_trait]
impl Channel for Console {
    fn kind(&self) -> &'static str {
        "console"
    }

    async fn send(&self, message: &Message) -> Result<Receipt, SendError> {
        let line = line(message);
        let writer = Arc::clone(&self.writer);
        // A terminal that is paused blocks its writer, and must not block a worker of the runtime.
        let writing = tokio::task::spawn_blocking(move || {
            // A writer that panicked once is asked again: it says itself whether it still works.
            let mut writer = writer.lock().unwrap_or_else(PoisonError::into_inner);
            writer.write_all(line.as_bytes())?;
            writer.flush()
        });
        match writing.await {
            Ok(Ok(())) => Ok(Receipt::default()),
            Ok(Err(error)) => Err(SendError::Unavailable(format!("cannot write to the console: {error}"))),
            Err(_) => Err(SendError::Unavailable("cannot write to the console: the writer panicked".into())),
        }
    }

    fn check_address(&self, address: &str) -> Result<(), Invalid> {
        if address.len() > ADDRESS_BYTES_MAX {
            let problem = format!("is longer than {ADDRESS_BYTES_MAX} bytes; a console needs none");
            return Err(Invalid::new("address", problem));
        }
        Ok(())
    }

    fn address_rule(&self) -> AddressRule {
        AddressRule::anything(ADDRESS_BYTES_MAX)
    }

    /// Few, because lines are written one after the other, and each that waits holds a thread.
    fn limits(&self) -> Limits {
        Limits { concurrency: 8, ..Limits::default() }
    }

    /// A person at the terminal reads lines; a list is easier to read.
    fn digest_max(&self) -> Option<usize> {
        Some(usize::MAX)
    }

    /// There is one console, whatever the address.
    fn receiver(&self, _address: &str) -> String {
        "console".into()
    }
}

impl fmt::Debug for Console {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Console").finish_non_exhaustive()
    }
}

fn line(message: &Message) -> String {
    let reminder = &*message.reminder;
    let due = message.due_at.to_zoned(reminder.timezone.rules().clone());
    let user = neutral(&reminder.user, " ");
    let mut line = format!("⏰ {}  {user}: {}", due.strftime("%H:%M:%S"), neutral(&message.text, "\n    "));
    // A long delay already stands at the front of the text.
    let late = Duration::try_from_secs_f64(message.late_seconds()).unwrap_or_default();
    if late >= Duration::from_secs(1) && !message.text.starts_with("[Late ") {
        let _ = write!(line, "  ({} late)", span::rough(late));
    }
    if let Some(ack) = &reminder.ack {
        let prompt = ack.prompt.as_deref().map(|prompt| neutral(prompt, " ") + " ").unwrap_or_default();
        let _ = write!(line, "  — {prompt}(punctual ack {})", reminder.id.short());
    }
    line.push('\n');
    line
}

/// `text` with everything made visible that a terminal would obey, and with `newline` in place of line breaks.
fn neutral(text: &str, newline: &str) -> String {
    let mut neutral = String::with_capacity(text.len());
    for character in text.trim_end().replace("\r\n", "\n").chars() {
        match character {
            '\n' => neutral.push_str(newline),
            '\t' => neutral.push('\t'),
            character => terminal::show(character, &mut neutral),
        }
    }
    neutral
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[track_caller]
    fn check_line(change: impl FnOnce(&mut Message), expect: &str) {
        let mut message = sample::message("");
        message.sent_at = message.due_at;
        message.text = "Stand up".into();
        change(&mut message);
        assert_eq!(line(&message), expect);
    }

    #[test]
    fn a_message_is_one_line_in_the_reminders_zone() {
        check_line(|_| {}, "⏰ 08:00:00  alice: Stand up\n");
    }

    #[test]
    fn lateness_is_said_once() {
        let late = |message: &mut Message| message.sent_at += jiff::SignedDuration::from_secs(95);
        check_line(late, "⏰ 08:00:00  alice: Stand up  (2 min late)\n");
        check_line(
            |message| {
                message.sent_at += jiff::SignedDuration::from_hours(2);
                message.text = "[Late 2h] Stand up".into();
            },
            "⏰ 08:00:00  alice: [Late 2h] Stand up\n",
        );
    }

    #[test]
    fn an_answer_is_asked_for_with_the_command_that_gives_it() {
        let short = sample::message("").reminder.id.short();
        check_line(
            |message| sample::change(message, |reminder| reminder.ack = Some(sample::ack("Up?"))),
            &format!("⏰ 08:00:00  alice: Stand up  — Up? (punctual ack {short})\n"),
        );
        check_line(
            |message| sample::change(message, |reminder| reminder.ack = Some(Default::default())),
            &format!("⏰ 08:00:00  alice: Stand up  — (punctual ack {short})\n"),
        );
    }

    #[test]
    fn nothing_in_a_message_reaches_the_terminal_as_a_command() {
        check_line(
            |message| message.text = "\x1b[2Jgone\x07\r\u{9b}31m\x7f\ta".into(),
            "⏰ 08:00:00  alice: �[2Jgone���31m�\ta\n",
        );
        check_line(
            |message| message.text = "\u{202e}drow\u{2066}: שלום".into(),
            "⏰ 08:00:00  alice: <U+202E>drow<U+2066>: שלום\n",
        );
        check_line(
            |message| message.text = "first\r\nsecond\nthird\n".into(),
            "⏰ 08:00:00  alice: first\n    second\n    third\n",
        );
        check_line(
            |message| sample::change(message, |reminder| reminder.user = "a\n⏰ \x1b]0;x\x07".into()),
            "⏰ 08:00:00  a ⏰ �]0;x�: Stand up\n",
        );
    }

    #[tokio::test]
    async fn a_console_that_cannot_be_written_to_is_unavailable() {
        struct Full;
        impl Write for Full {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::Error::other("disk full"))
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let sent = Console::new(Box::new(Full)).send(&sample::message("")).await;
        assert_eq!(sent, Err(SendError::Unavailable("cannot write to the console: disk full".into())));
    }

    #[tokio::test]
    async fn a_sent_line_arrives_whole() {
        #[derive(Clone, Default)]
        struct Paper(Arc<Mutex<Vec<u8>>>);
        impl Write for Paper {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                self.0.lock().unwrap().write(bytes)
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let paper = Paper::default();
        let console = Console::new(Box::new(paper.clone()));
        assert_eq!(console.send(&sample::message("anything")).await, Ok(Receipt::default()));
        let written = String::from_utf8(paper.0.lock().unwrap().clone()).unwrap();
        assert_eq!(written, "⏰ 08:00:00  alice: Take your \"medicine\"  (1 s late)\n");
        assert!(console.check_address("anything").is_ok());
        assert!(console.check_address(&"x".repeat(257)).is_err());
    }
}
