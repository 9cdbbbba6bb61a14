//! The things that people see who look at their day, or who look after a server.

use async_trait::async_trait;
use punctual_core::model::lateness::Stretch;
use punctual_core::store::Overview;

use super::*;

#[async_trait]
impl Overview for MemoryStore {
    async fn runs(&self, query: RunsQuery) -> Done<RunsPage> {
        let t = self.lock();
        let is_users = |run: &&Run| t.reminders[&run.occurrence.id.reminder].0.user == query.user;
        let wanted = t.runs.values().filter(is_users).filter(|run| query.takes(&run.occurrence));
        let (places, next) = query.page_of(wanted.map(|run| (run.occurrence.due_at, run.occurrence.id)).collect());
        let run =
            |(_, id): DuePlace| Some(RunView { trail: t.trail(t.runs.get(&id)?), reminder: t.view(id.reminder)? });
        Ok(RunsPage { runs: places.into_iter().filter_map(run).collect(), next })
    }

    async fn count(&self, query: ReminderQuery) -> Done<HowMany> {
        let query = ReminderQuery { before: None, channel: None, limit: COUNTED_MAX, ..query };
        Ok(HowMany { n: self.lock().views(&query).len(), is_all: true })
    }

    async fn put_lateness(&self, stretches: Vec<Stretch>) -> Done<()> {
        let key = |stretch: &Stretch| (stretch.at, stretch.node.clone(), stretch.since);
        self.lock().lateness.extend(stretches.into_iter().map(|stretch| (key(&stretch), stretch)));
        Ok(())
    }

    async fn lateness(&self, from: Timestamp, to: Timestamp) -> Done<Vec<Stretch>> {
        let t = self.lock();
        let within = t.lateness.values().filter(|stretch| from <= stretch.at && stretch.at < to);
        Ok(within.cloned().collect())
    }

    async fn prune_lateness(&self, before: Timestamp) -> Done<()> {
        self.lock().lateness.retain(|(at, ..), _| *at >= before);
        Ok(())
    }

    async fn nodes(&self) -> Done<Option<KnownNodes>> {
        let t = self.lock();
        let node = |(name, seen): (&String, &nodes::Seen)| KnownNode {
            name: name.clone(),
            since: seen.since,
            seen_at: seen.at,
            is_alive: seen.lives(t.now),
            about: seen.about.clone(),
        };
        Ok(Some(KnownNodes { now: t.now, nodes: t.nodes.iter().map(node).collect() }))
    }

    async fn database(&self) -> Done<DatabaseState> {
        Ok(DatabaseState { kind: "memory", version: String::new(), schema: 0, bytes: 0 })
    }
}
