//! The request of one turn, sent until it is answered: as it is, without what was refused, and shorter.
//!
//! Owns the order of these tries. Leaves what is left out to `refused`, and making it shorter to `room`. Invariant: each
//! further try sends less than the one before.

use super::words::shorter;
use super::{Driver, End};
use crate::agent::Cancel;
use crate::agent::turn::Turn;
use crate::tool::ToolSet;

impl Driver<'_> {
    pub(super) async fn turn(&mut self, tools: &ToolSet, stop: &Cancel) -> Result<Turn, End> {
        let mut request = self.request(tools).await;
        self.make_room(&mut request, stop).await?;
        let mut sent = self.send(request.clone(), stop).await;
        while let Err(End::Refused(error)) = &sent
            && self.leave_out(error, &mut request).await
        {
            sent = self.send(request.clone(), stop).await;
        }
        if matches!(sent, Err(End::TooLong(_)))
            && !self.room.is_second
            && self.make_more_room(&mut request, stop).await?
        {
            sent = self.send(request, stop).await;
        } else if let Err(End::Refused(error)) = &sent
            && self.may_be_too_long(&request)
        {
            // That it was too long is only a guess: what the service said stays the reason.
            match self.make_more_room(&mut request, stop).await {
                Ok(true) => sent = self.send(request, stop).await,
                Err(End::Failed(_)) => return Err(End::Failed(error.clone())),
                Ok(false) => {}
                Err(end) => return Err(end),
            }
        }
        match sent {
            Err(End::Refused(error)) => Err(End::Failed(error)),
            Err(End::TooLong(error)) => Err(End::Failed(format!("{error} {}", shorter(self.agent)))),
            sent => sent,
        }
    }
}
