//! Silencing reminders for a while, and changing whom that is for.

use punctual_core::group::Group;
use punctual_core::id::SilenceId;
use punctual_core::journal::Who;
use punctual_core::silence::Silence;
use punctual_core::store::StoreError;

use super::user::look_again;
use crate::Engine;

impl Engine {
    /// Writes a new silence; returns whether there was room for it.
    pub async fn put_silence(&self, silence: Silence, who: impl Into<Who>) -> Result<bool, StoreError> {
        let (parts, who) = (self.parts.clone(), who.into());
        self.finish(async move {
            let has_room = parts.node.store.put_silence(silence, who).await?;
            parts.node.journal.written();
            Ok(has_room)
        })
        .await
    }

    /// Ends a silence: what waits because of it is looked at now. Returns whether there was one.
    pub async fn end_silence(&self, id: SilenceId, who: impl Into<Who>) -> Result<bool, StoreError> {
        let (parts, who) = (self.parts.clone(), who.into());
        self.finish(async move {
            let (mut existed, mut after) = (false, None);
            loop {
                let released = parts.node.store.end_silence(id, after, who.clone(), parts.node.now()).await;
                let more_after = released.as_ref().ok().and_then(|released| released.as_ref()?.more_after);
                existed |= matches!(released, Ok(Some(_)));
                let wakes = released.map(|released| released.map(|released| released.wakes).unwrap_or_default());
                parts.node.journal.written();
                look_again(&parts.timer, wakes)?;
                match more_after {
                    Some(last) => after = Some(last),
                    None => return Ok(existed),
                }
            }
        })
        .await
    }

    /// Writes or replaces a group.
    pub async fn put_group(&self, group: Group, who: impl Into<Who>) -> Result<(), StoreError> {
        let (parts, who) = (self.parts.clone(), who.into());
        self.finish(async move {
            let wakes = parts.node.store.put_group(group, who).await;
            parts.node.journal.written();
            // Its rota may be another.
            parts.feeds.nudge();
            look_again(&parts.timer, wakes)
        })
        .await
    }

    /// Removes a group; its users stay. Returns whether there was one.
    pub async fn delete_group(&self, name: &str, who: impl Into<Who>) -> Result<bool, StoreError> {
        let (parts, name, who) = (self.parts.clone(), name.to_owned(), who.into());
        self.finish(async move {
            let wakes = parts.node.store.delete_group(&name, who, parts.node.now()).await;
            parts.node.journal.written();
            let existed = matches!(wakes, Ok(Some(_)));
            look_again(&parts.timer, wakes.map(Option::unwrap_or_default))?;
            Ok(existed)
        })
        .await
    }
}
