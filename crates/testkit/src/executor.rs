//! Tasks on one thread, polled in an order that a seed chooses.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use punctual_core::clock::BoxFuture;
use punctual_engine::Runtime;

/// Runs tasks one poll at a time. Clones are the same executor.
///
/// Tasks belong to a group, which stands for one process: a group can be killed at any poll, or stand still.
#[derive(Clone, Default)]
pub struct Executor {
    tasks: Arc<Mutex<Tasks>>,
    ready: Arc<Ready>,
}

/// Names a group of tasks.
pub type Group = u32;

#[derive(Default)]
struct Tasks {
    waiting: BTreeMap<TaskId, BoxFuture<()>>,
    frozen: BTreeSet<Group>,
    last_number: u64,
}

type TaskId = (Group, u64);

#[derive(Default)]
struct Ready(Mutex<BTreeSet<TaskId>>);

struct TaskWaker {
    id: TaskId,
    ready: Arc<Ready>,
}

impl Wake for TaskWaker {
    fn wake(self: Arc<Self>) {
        lock(&self.ready.0).insert(self.id);
    }
}

impl Executor {
    /// Where tasks of `group` are started.
    pub fn runtime(&self, group: Group) -> GroupRuntime {
        GroupRuntime { executor: self.clone(), group }
    }

    /// Starts a task.
    pub fn spawn(&self, group: Group, task: BoxFuture<()>) {
        let mut tasks = lock(&self.tasks);
        tasks.last_number += 1;
        let id = (group, tasks.last_number);
        tasks.waiting.insert(id, task);
        drop(tasks);
        lock(&self.ready.0).insert(id);
    }

    /// Polls one of the tasks that can go on: the one `choose` picks by its index. Returns which it was, or `None` if
    /// none can.
    pub fn step(&self, choose: impl FnOnce(usize) -> usize) -> Option<(Group, u64)> {
        let (id, mut task) = {
            let mut tasks = lock(&self.tasks);
            let mut ready = lock(&self.ready.0);
            // A task that ended, or was killed, may still have been woken.
            ready.retain(|id| tasks.waiting.contains_key(id));
            let candidates: Vec<_> = ready.iter().filter(|id| !tasks.frozen.contains(&id.0)).copied().collect();
            if candidates.is_empty() {
                return None;
            }
            let id = candidates[choose(candidates.len())];
            ready.remove(&id);
            (id, tasks.waiting.remove(&id)?)
        };
        let waker = Waker::from(Arc::new(TaskWaker { id, ready: self.ready.clone() }));
        match task.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(()) => drop(task),
            Poll::Pending => {
                lock(&self.tasks).waiting.insert(id, task);
            }
        }
        Some(id)
    }

    /// Polls in order until no task can go on.
    pub fn run_until_idle(&self) {
        while self.step(|_| 0).is_some() {}
    }

    /// Drops every task of `group`, as the death of a process does.
    pub fn kill(&self, group: Group) {
        let mut tasks = lock(&self.tasks);
        let alive = tasks.waiting.split_off(&(group + 1, 0));
        let killed = tasks.waiting.split_off(&(group, 0));
        tasks.waiting.extend(alive);
        tasks.frozen.remove(&group);
        // Dropping a task may start or wake another.
        drop(tasks);
        drop(killed);
    }

    /// Stops polling the tasks of `group` until [`Executor::thaw`].
    pub fn freeze(&self, group: Group) {
        lock(&self.tasks).frozen.insert(group);
    }

    /// Lets `group` go on.
    pub fn thaw(&self, group: Group) {
        lock(&self.tasks).frozen.remove(&group);
    }
}

/// Starts tasks of one group.
#[derive(Clone)]
pub struct GroupRuntime {
    executor: Executor,
    group: Group,
}

impl Runtime for GroupRuntime {
    fn spawn(&self, task: BoxFuture<()>) {
        self.executor.spawn(self.group, task);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
