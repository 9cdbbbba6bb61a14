//! The assistants' door in the description of the API. The protocol describes itself to its clients: here is how it is reached.

use serde_json::{Value, json};

/// The operations at `/mcp`.
pub(in crate::http) fn described() -> Value {
    let session = json!({
        "name": "Mcp-Session-Id", "in": "header", "schema": { "type": "string" },
        "description": "The session, of revisions that have sessions.",
    });
    let revision = json!({
        "name": "Mcp-Protocol-Version", "in": "header", "schema": { "type": "string" },
        "description": "The revision that the client speaks, such as `2026-07-28`.",
    });
    let message = json!({
        "type": "object",
        "description": "One message of JSON-RPC 2.0.",
        "required": ["jsonrpc"],
        "properties": {
            "jsonrpc": { "type": "string" },
            "id": { "type": ["string", "integer"] },
            "method": { "type": "string" },
            "params": { "type": "object" },
            "result": { "type": "object" },
            "error": { "type": "object" },
        },
        "additionalProperties": false,
    });
    let example = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" });
    let answer = json!({ "schema": { "type": "object" } });
    json!({
        "post": {
            "operationId": "ask_as_assistant", "tags": ["server"],
            "summary": "Speaks the Model Context Protocol.",
            "description": "The streamable HTTP transport of revisions 2025-11-25 and 2026-07-28. The client accepts both `application/json` and \
                `text/event-stream`. A mistake in a call is an answer with 200, as the protocol has it; a body that is no message is refused with 400 and an error of JSON-RPC. A request counts once against the key's rate, \
                whatever it asks for.",
            "parameters": [revision, session],
            "requestBody": { "required": true, "content": { "application/json": { "schema": message, "example": example } } },
            "responses": {
                "200": { "description": "The answer", "content": { "application/json": answer, "text/event-stream": { "schema": { "type": "string" } } } },
                "202": { "description": "A notification was taken" },
            },
        },
        "delete": {
            "operationId": "end_assistant_session", "tags": ["server"],
            "summary": "Ends a session of the Model Context Protocol.",
            "parameters": [revision, session],
            "responses": { "204": { "description": "The session is over" } },
        },
    })
}
