//! Files as the client has them open.
//!
//! Owns the request for one. Leaves when it is made, and what the answer is worth, to `tool`.

use std::sync::{Arc, OnceLock};

use futures::FutureExt as _;

use super::client::Client;
use super::schema::{CLIENT_METHOD_NAMES, ReadTextFileRequest, ReadTextFileResponse, SessionId};
use crate::tool::EditorFiles;

/// Returns what asks a client for the files of a session, once that has a name.
pub(super) fn of_client(client: Client, session: Arc<OnceLock<SessionId>>) -> EditorFiles {
    EditorFiles::new(Arc::new(move |path| {
        let (client, session) = (client.clone(), session.clone());
        async move {
            let wanted = ReadTextFileRequest::new(session.get()?.clone(), path);
            let (_, line, answer) = client.ask(CLIENT_METHOD_NAMES.fs_read_text_file, wanted);
            client.send(line).await;
            let answer = answer.await.ok()?.ok()?;
            serde_json::from_str::<ReadTextFileResponse>(answer.get()).ok().map(|read| read.content)
        }
        .boxed()
    }))
}
