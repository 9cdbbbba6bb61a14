//! One connection, from its opening to its end.
//!
//! The loop writes what it has before it takes anything new: an answer, a page of the journal or a message. So a connection keeps one of
//! these at a time, and a client that does not read stops being heard, and is dropped with a reason by the ticks of
//! [`crate::connections`].

use std::sync::Arc;
use std::time::Duration;

use punctual_core::clock::{BoxFuture, Clock, within};
use punctual_engine::journal::Ended;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::{JoinError, JoinSet};

use super::calls::{Calls, Done};
use super::ends::{End, Ends};
use super::heard::{Heard, PING_EVERY};
use super::journal::Followings;
use super::meter::Meter;
use super::wire::{Came, Over, Wire};
use super::{MESSAGE_BYTES_MAX, Open};
use crate::connections::Connection;

/// The most messages of one connection that are worked on at once. The next is read when one is done.
const IN_FLIGHT_MAX: usize = 16;
/// How long the requests under way have to end when their connection ends.
const REQUESTS_GRACE: Duration = Duration::from_secs(2);
/// How long a client has to take the reason of the end, and to say that it has.
const FAREWELL_GRACE: Duration = Duration::from_secs(30);
/// The same when the server stops.
const STOP_GRACE: Duration = Duration::from_secs(1);

/// What an open connection has.
pub(super) struct Session {
    pub(super) calls: Arc<Calls>,
    pub(super) ends: Ends,
    pub(super) open: Open,
}

impl Session {
    /// Speaks until one of both sides ends it.
    pub(super) async fn run<S: AsyncRead + AsyncWrite + Unpin>(self, io: S) {
        let Self { calls, mut ends, mut open } = self;
        let clock = Arc::clone(calls.app.engine.clock());
        let wire = Wire::new(io, Meter::new(Arc::clone(&calls.app)), MESSAGE_BYTES_MAX);
        let mut talk = Talk {
            wire,
            calls,
            connection: Arc::clone(&open.connection),
            clock: Arc::clone(&clock),
            in_flight: JoinSet::new(),
            followings: Followings::default(),
            tick: clock.pause(PING_EVERY),
            heard: Heard::default(),
        };
        let over = loop {
            tokio::select! { biased;
                end = ends.next() => break Over::Told(end),
                went = talk.on() => if let Err(over) = went { break over },
            }
        };
        let end = match over {
            Over::Told(end) => end,
            Over::KeyEnds => ends.key_ends(),
            Over::Gone => {
                // What the library may have queued, such as its part of the close.
                let _ = within(&*clock, STOP_GRACE, Box::pin(talk.finish())).await;
                return;
            }
        };
        open.ended = Some(end.reason);
        // What is needed only at the end takes no memory before.
        Box::pin(talk.say(end)).await;
    }
}

/// The conversation.
struct Talk<S> {
    wire: Wire<S>,
    calls: Arc<Calls>,
    connection: Arc<Connection>,
    clock: Arc<dyn Clock>,
    in_flight: JoinSet<Done>,
    followings: Followings,
    tick: BoxFuture<()>,
    heard: Heard,
}

enum Step {
    Done(Result<Done, JoinError>),
    Told(Result<Vec<axum::body::Bytes>, Ended>),
    Came(Result<Came, Over>),
    Tick,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Talk<S> {
    /// Does one thing. It may be dropped while it waits: nothing is lost.
    async fn on(&mut self) -> Result<(), Over> {
        if self.wire.is_dirty() {
            return self.wire.flush().await;
        }
        let (app, subscriptions) = (&self.calls.app, &self.calls.subscriptions);
        let may_read = self.in_flight.len() < IN_FLIGHT_MAX;
        let step = tokio::select! {
            Some(done) = self.in_flight.join_next(), if !self.in_flight.is_empty() => Step::Done(done),
            told = self.followings.next(app, subscriptions), if !self.followings.is_empty() => Step::Told(told),
            came = self.wire.next(), if may_read => Step::Came(came),
            () = &mut self.tick => Step::Tick,
        };
        match step {
            Step::Done(done) => self.answer(done)?,
            Step::Told(Ok(notifications)) => {
                for notification in notifications {
                    self.wire.text(notification)?;
                }
            }
            Step::Told(Err(Ended::TooSlow)) => return Err(Over::Told(End::TOO_SLOW)),
            Step::Told(Err(Ended::Stopping)) => return Err(Over::Told(End::STOPPING)),
            Step::Came(came) => {
                let came = came?;
                self.heard.anything();
                match came {
                    Came::Text(message, part) => {
                        self.heard.message();
                        let (calls, connection) = (Arc::clone(&self.calls), Arc::clone(&self.connection));
                        self.in_flight.spawn(async move {
                            let done = calls.done(message, part).await;
                            connection.owes(done.answer.as_ref().map_or(0, |answer| answer.len() as u64));
                            done
                        });
                    }
                    Came::Sign => {}
                    Came::Close => {
                        self.wire.flush().await?;
                        // What it asked for before it left is done; nobody is answered.
                        let ended = async { while self.in_flight.join_next().await.is_some() {} };
                        let _ = within(&*self.clock, REQUESTS_GRACE, ended).await;
                        return Err(Over::Gone);
                    }
                }
            }
            Step::Tick => {
                self.tick = self.clock.pause(PING_EVERY);
                self.ping()?;
                for position in self.calls.subscriptions.positions() {
                    self.wire.text(position)?;
                }
            }
        }
        Ok(())
    }

    fn answer(&mut self, done: Result<Done, JoinError>) -> Result<(), Over> {
        let done = done.map_err(|error| {
            tracing::error!(%error, "a request over WebSocket failed");
            Over::Told(End::FAILED)
        })?;
        if let Some(answer) = done.answer {
            self.wire.text(answer)?;
        }
        for following in done.begun {
            self.followings.begin(following, &self.calls.subscriptions);
        }
        if done.is_unauthorized { Err(Over::KeyEnds) } else { Ok(()) }
    }

    /// Asks a client that has said nothing whether it lives.
    fn ping(&mut self) -> Result<(), Over> {
        if self.in_flight.len() >= IN_FLIGHT_MAX {
            // It is not listened to just now.
            return Ok(());
        }
        match self.heard.tick(self.wire.coming()).map_err(Over::Told)? {
            true => self.wire.ping(),
            false => Ok(()),
        }
    }

    /// Ends with a reason. A request under way is answered first when the server stops, if its answer comes soon.
    async fn say(&mut self, end: End) {
        let (clock, is_stop) = (Arc::clone(&self.clock), end == End::STOPPING);
        if is_stop {
            let _ = within(&*clock, REQUESTS_GRACE, self.answer_rest()).await;
        }
        // A client that has closed meanwhile hears nothing of it.
        let _ = self.farewell(end);
        let _ = within(&*clock, if is_stop { STOP_GRACE } else { FAREWELL_GRACE }, self.finish()).await;
    }

    async fn answer_rest(&mut self) -> Result<(), Over> {
        loop {
            self.wire.flush().await?;
            match self.in_flight.join_next().await {
                Some(done) => self.answer(done)?,
                None => return Ok(()),
            }
        }
    }

    fn farewell(&mut self, end: End) -> Result<(), Over> {
        for farewell in self.calls.subscriptions.farewells(end.reason, end.detail) {
            self.wire.text(farewell)?;
        }
        self.wire.close(end)
    }

    /// Writes what waits, and hears the client out.
    async fn finish(&mut self) {
        while self.wire.flush().await.is_ok() && self.wire.next().await.is_ok() {}
        self.wire.shut().await;
    }
}
