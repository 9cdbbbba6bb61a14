//! Whether a client still lives, and goes on sending what it began.

use std::time::Duration;

use super::ends::End;

/// How often a client that says nothing is asked whether it lives.
pub(super) const PING_EVERY: Duration = Duration::from_secs(20);
/// A client that answers so many pings in a row with nothing is gone.
const PINGS_MAX: u32 = 3;
/// A client that sends less of a message than this between two ticks has stopped sending it.
const PROGRESS_BYTES: usize = 64 * 1024;

/// What was heard of a client.
#[derive(Default)]
pub(super) struct Heard {
    /// Whether anything was heard since the last tick.
    anything: bool,
    /// Pings since anything was heard.
    n_pings: u32,
    n_messages: u64,
    /// How many messages had come at the last tick, and how many bytes of the next one.
    at_tick: (u64, usize),
}

impl Heard {
    /// Something was heard: a message, a ping or the answer to one.
    pub(super) fn anything(&mut self) {
        self.anything = true;
    }

    /// A message has come whole.
    pub(super) fn message(&mut self) {
        self.n_messages += 1;
    }

    /// [`PING_EVERY`] has passed, and `coming` bytes of a message have come that is not whole. Returns whether to ask the client whether it lives.
    pub(super) fn tick(&mut self, coming: usize) -> Result<bool, End> {
        let (n_before, coming_before) = std::mem::replace(&mut self.at_tick, (self.n_messages, coming));
        let is_same = coming > 0 && coming_before > 0 && n_before == self.n_messages;
        if is_same && coming < coming_before + PROGRESS_BYTES {
            return Err(End::HALF_SENT);
        }
        if std::mem::take(&mut self.anything) || (is_same && coming > coming_before) {
            self.n_pings = 0;
            return Ok(false);
        }
        if self.n_pings == PINGS_MAX {
            return Err(End::IDLE);
        }
        self.n_pings += 1;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_that_answers_no_ping_for_a_minute_is_gone() {
        let mut heard = Heard::default();
        heard.anything();
        assert_eq!(heard.tick(0), Ok(false), "it has just spoken");
        assert_eq!([heard.tick(0), heard.tick(0), heard.tick(0)], [Ok(true); 3]);
        assert_eq!(heard.tick(0), Err(End::IDLE));
    }

    #[test]
    fn a_client_that_answers_pings_lives_for_ever() {
        let mut heard = Heard::default();
        for _ in 0..100 {
            assert_eq!(heard.tick(0), Ok(true));
            heard.anything();
            assert_eq!(heard.tick(0), Ok(false));
        }
    }

    #[test]
    fn a_message_that_was_begun_is_sent_on() {
        let mut heard = Heard::default();
        // A large one over a slow line, and it says nothing else meanwhile.
        for n in 1..10 {
            heard.tick(n * PROGRESS_BYTES).expect("it goes on");
        }
        heard.message();
        heard.anything();
        // The next is another message, however little of it there is.
        assert_eq!(heard.tick(7), Ok(false));
        assert_eq!(heard.tick(7 + PROGRESS_BYTES - 1), Err(End::HALF_SENT));
    }
}
