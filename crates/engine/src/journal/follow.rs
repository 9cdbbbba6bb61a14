//! Following the journal from any position: first what is there, then what comes.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;
use std::time::Duration;

use punctual_core::id::ReminderId;
use punctual_core::journal::Placed;
use punctual_core::store::{JournalQuery, Start, StoreError};
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

use super::Interest;
use super::tail::PAGE;
use crate::Engine;
use crate::node::{Node, lock};

/// How long a store that failed is left alone.
const AGAIN_AFTER: Duration = Duration::from_millis(250);

/// Some entries in order, and the position up to which there is no other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// The entries.
    pub entries: Vec<Placed>,
    /// Everything up to here has been told.
    pub reached: i64,
}

/// Why the journal cannot be followed from a position.
#[derive(Debug, Clone, thiserror::Error)]
pub enum FollowError {
    /// Entries after it have been removed.
    #[error("entries after this position have been removed; the oldest that is kept is {first}")]
    Removed {
        /// The oldest position that is kept.
        first: i64,
    },
    /// The journal has not come so far.
    #[error("the journal ends at {head}, before this position")]
    Ahead {
        /// The last position there is.
        head: i64,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why a follower hears no more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// It takes entries more slowly than they come.
    TooSlow,
    /// The engine stops.
    Stopping,
}

/// Hears every entry after a position, once and in order.
pub struct Follower {
    node: Node,
    pages: broadcast::Receiver<Arc<Page>>,
    /// Everything up to here has been told.
    position: i64,
    /// Entries after this position are heard; entries up to it are read.
    hears_after: i64,
    /// Whether it has caught up.
    is_live: bool,
    /// Which entries are wanted, of those that are read.
    query: JournalQuery,
    /// A page that was heard, until it is known which of its reminders have the tag that is asked for.
    heard: Option<Arc<Page>>,
    /// The reminders of the last page that have that tag.
    tagged: HashSet<ReminderId>,
    _interest: Interest,
}

impl Engine {
    /// The journal of this node.
    pub fn journal(&self) -> &Arc<super::Journal> {
        &self.parts.node.journal
    }

    /// Follows the journal after a position; `None`: from now on.
    pub async fn follow(&self, after: Option<i64>) -> Result<Follower, FollowError> {
        Follower::new(self.parts.node.clone(), after).await
    }
}

impl Follower {
    pub(crate) async fn new(node: Node, after: Option<i64>) -> Result<Self, FollowError> {
        let interest = Interest::new(node.journal.clone());
        let head = node.store.place().await?;
        if let Some(after) = after {
            let ends = node.store.journal(JournalQuery::new(Start::NEWEST, 1)).await?;
            if after > ends.head {
                return Err(FollowError::Ahead { head: ends.head });
            }
            if after + 1 < ends.first {
                return Err(FollowError::Removed { first: ends.first });
            }
        }
        let (pages, hears_after) = lock(&node.journal.tail).join(head);
        // The tail looks once more, now that somebody listens.
        node.journal.head.send_modify(|known| *known = head.max(*known));
        Ok(Self {
            node,
            pages,
            position: after.unwrap_or(head),
            hears_after,
            is_live: false,
            query: JournalQuery::new(Start::OLDEST, PAGE),
            heard: None,
            tagged: HashSet::new(),
            _interest: interest,
        })
    }

    /// Reads only the entries that `query` asks for, wherever it starts. All followers hear the same, so what is heard has others among it:
    /// [`Follower::wants`] tells.
    #[must_use]
    pub fn only(self, query: JournalQuery) -> Self {
        Self { query: JournalQuery { limit: PAGE, ..query }, ..self }
    }

    /// Whether an entry of the last page is one that was asked for.
    pub fn wants(&self, entry: &Placed) -> bool {
        let has_tag = || entry.reminder.is_some_and(|id| self.tagged.contains(&id));
        self.query.takes(entry) && (self.query.tag.is_none() || has_tag())
    }

    /// Whether it has read what was there before it came.
    pub fn has_caught_up(&self) -> bool {
        self.position >= self.hears_after
    }

    /// Whether the last page was one that all followers of this node hear.
    pub fn is_live(&self) -> bool {
        self.is_live
    }

    /// Everything up to here has been told.
    pub fn position(&self) -> i64 {
        self.position
    }

    /// The next entries, as soon as there are some. It may be dropped before it is ready: nothing is lost.
    pub async fn next(&mut self) -> Result<Arc<Page>, Ended> {
        loop {
            if let Some(page) = self.heard.clone() {
                self.tagged = self.ask_tags(&page).await?;
                (self.heard, self.is_live) = (None, true);
                return Ok(self.take(page));
            }
            if self.position < self.hears_after {
                match self.read().await? {
                    Some(page) => return Ok(page),
                    None => continue,
                }
            }
            let heard = tokio::select! { biased;
                () = self.node.stopped() => return Err(Ended::Stopping),
                heard = self.pages.recv() => heard,
            };
            match heard {
                Ok(page) if page.reached <= self.position => {}
                Ok(page) if self.query.tag.is_some() => self.heard = Some(page),
                Ok(page) => {
                    self.is_live = true;
                    return Ok(self.take(page));
                }
                Err(RecvError::Lagged(_)) if self.is_live => return Err(Ended::TooSlow),
                Err(RecvError::Lagged(_)) => {
                    // It was reading what had been written before; now there is more of that.
                    (self.pages, self.hears_after) = lock(&self.node.journal.tail).join(self.position);
                }
                Err(RecvError::Closed) => return Err(Ended::Stopping),
            }
        }
    }

    /// Reads entries that were there before it listened.
    async fn read(&mut self) -> Result<Option<Arc<Page>>, Ended> {
        let node = &self.node;
        let query = JournalQuery { start: Start::After(self.position), ..self.query.clone() };
        let read = async {
            let _turn = node.journal.catching_up.acquire().await;
            node.store.journal(query).await
        };
        let page = tokio::select! { biased;
            () = node.stopped() => return Err(Ended::Stopping),
            page = read => page,
        };
        match page {
            Ok(page) if page.reached > self.position => {
                self.position = page.reached;
                if self.query.tag.is_some() {
                    // The store has looked for it.
                    self.tagged = page.entries.iter().filter_map(|entry| entry.reminder).collect();
                }
                let page = Page { entries: page.entries, reached: page.reached };
                Ok(Some(Arc::new(page)))
            }
            Ok(_) => {
                // The entries up to there have been removed meanwhile.
                self.position = self.hears_after;
                Ok(None)
            }
            Err(error) => {
                node.health.failed(&error);
                if node.pause(AGAIN_AFTER).await { Ok(None) } else { Err(Ended::Stopping) }
            }
        }
    }

    /// The reminders of a page that have the tag that is asked for. An entry does not say the tags of its reminder, which change.
    async fn ask_tags(&self, page: &Page) -> Result<HashSet<ReminderId>, Ended> {
        let node = &self.node;
        let wanted = page.entries.iter().filter(|entry| entry.position > self.position && self.query.takes(entry));
        let asked: BTreeSet<ReminderId> = wanted.filter_map(|entry| entry.reminder).collect();
        let Some(tag) = self.query.tag.as_deref().filter(|_| !asked.is_empty()) else { return Ok(HashSet::new()) };
        loop {
            let ask = async {
                let _turn = node.journal.catching_up.acquire().await;
                node.store.tagged(tag, asked.iter().copied().collect()).await
            };
            let tagged = tokio::select! { biased;
                () = node.stopped() => return Err(Ended::Stopping),
                tagged = ask => tagged,
            };
            match tagged {
                Ok(tagged) => return Ok(tagged.into_iter().collect()),
                Err(error) => {
                    node.health.failed(&error);
                    if !node.pause(AGAIN_AFTER).await {
                        return Err(Ended::Stopping);
                    }
                }
            }
        }
    }

    /// The entries of a page that have not been told.
    fn take(&mut self, page: Arc<Page>) -> Arc<Page> {
        let before = std::mem::replace(&mut self.position, page.reached);
        let n_told = page.entries.partition_point(|entry| entry.position <= before);
        match n_told {
            0 => page,
            _ => Arc::new(Page { entries: page.entries[n_told..].to_vec(), reached: page.reached }),
        }
    }
}
