//! Configurations for common assistants. They are printed for a person to put in place; nothing is written.

use clap::ValueEnum;
use serde_json::json;

/// An assistant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Assistant {
    ClaudeDesktop,
    ClaudeCode,
    Cursor,
    #[value(name = "vscode", alias = "vs-code")]
    VsCode,
    Zed,
    Windsurf,
    Codex,
    GeminiCli,
}

/// How the assistant is to start or reach this server.
#[derive(Debug, Clone)]
pub(crate) struct Way {
    /// The program, as the assistant finds it.
    pub(crate) program: String,
    /// The options before `mcp`, such as `--url`.
    pub(crate) before: Vec<String>,
    /// The options after it, such as `--user`.
    pub(crate) after: Vec<String>,
    /// The server's own address.
    pub(crate) url: String,
    /// Whether the assistant reaches it over HTTP instead of starting a program.
    pub(crate) http: bool,
}

/// What stands for the key: a key is never printed.
const KEY: &str = "YOUR_KEY";

impl Assistant {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::ClaudeDesktop => "Claude Desktop",
            Self::ClaudeCode => "Claude Code",
            Self::Cursor => "Cursor",
            Self::VsCode => "VS Code",
            Self::Zed => "Zed",
            Self::Windsurf => "Windsurf",
            Self::Codex => "Codex",
            Self::GeminiCli => "Gemini CLI",
        }
    }

    /// Where its configuration is, and what to put there.
    pub(crate) fn told(self, way: &Way) -> String {
        let (before, after) = (way.before.iter().map(String::as_str), way.after.iter().map(String::as_str));
        let args: Vec<&str> = before.chain(["mcp"]).chain(after).collect();
        let program = json!({ "command": way.program, "args": args });
        let mcp_url = format!("{}/mcp", way.url);
        let authorization = format!("Bearer {KEY}");
        let header = json!({ "Authorization": authorization });
        let pretty = |value: serde_json::Value| format!("{value:#}");
        match (self, way.http) {
            (Self::ClaudeDesktop, _) => format!(
                "{}\n\nmacOS: ~/Library/Application Support/Claude/claude_desktop_config.json\nWindows: %APPDATA%\\Claude\\claude_desktop_config.json\nLinux: ~/.config/Claude/claude_desktop_config.json",
                pretty(json!({ "mcpServers": { "punctual": program } }))
            ),
            (Self::ClaudeCode, false) => format!("claude mcp add punctual -- {}", shell(&way.program, &args)),
            (Self::ClaudeCode, true) => {
                format!(
                    "claude mcp add --transport http punctual {mcp_url} --header \"Authorization: {authorization}\""
                )
            }
            (Self::Cursor, false) => {
                format!("{}\n\n~/.cursor/mcp.json", pretty(json!({ "mcpServers": { "punctual": program } })))
            }
            (Self::Cursor, true) => {
                let server = json!({ "url": mcp_url, "headers": header });
                format!("{}\n\n~/.cursor/mcp.json", pretty(json!({ "mcpServers": { "punctual": server } })))
            }
            (Self::VsCode, false) => {
                let server = json!({ "type": "stdio", "command": way.program, "args": args });
                format!(
                    "{}\n\n.vscode/mcp.json, or \"MCP: Open User Configuration\"",
                    pretty(json!({ "servers": { "punctual": server } }))
                )
            }
            (Self::VsCode, true) => {
                let server = json!({ "type": "http", "url": mcp_url, "headers": { "Authorization": "Bearer ${input:punctual-key}" } });
                let input = json!({ "type": "promptString", "id": "punctual-key", "description": "Key of punctual", "password": true });
                let config = json!({ "inputs": [input], "servers": { "punctual": server } });
                format!("{}\n\n.vscode/mcp.json, or \"MCP: Open User Configuration\"", pretty(config))
            }
            (Self::Zed, false) => {
                let server = json!({ "command": way.program, "args": args });
                format!(
                    "{}\n\n~/.config/zed/settings.json",
                    pretty(json!({ "context_servers": { "punctual": server } }))
                )
            }
            (Self::Zed, true) => {
                let server = json!({ "url": mcp_url, "headers": header });
                format!(
                    "{}\n\n~/.config/zed/settings.json",
                    pretty(json!({ "context_servers": { "punctual": server } }))
                )
            }
            (Self::Windsurf, false) => {
                format!(
                    "{}\n\n~/.codeium/windsurf/mcp_config.json",
                    pretty(json!({ "mcpServers": { "punctual": program } }))
                )
            }
            (Self::Windsurf, true) => {
                let server = json!({ "serverUrl": mcp_url, "headers": header });
                format!(
                    "{}\n\n~/.codeium/windsurf/mcp_config.json",
                    pretty(json!({ "mcpServers": { "punctual": server } }))
                )
            }
            (Self::Codex, false) => format!(
                "[mcp_servers.punctual]\ncommand = {}\nargs = {}\n\n~/.codex/config.toml",
                json!(way.program),
                json!(args)
            ),
            (Self::Codex, true) => format!(
                "[mcp_servers.punctual]\nurl = {}\nbearer_token_env_var = \"PUNCTUAL_API_KEY\"\n\n~/.codex/config.toml",
                json!(mcp_url)
            ),
            (Self::GeminiCli, false) => {
                format!("{}\n\n~/.gemini/settings.json", pretty(json!({ "mcpServers": { "punctual": program } })))
            }
            (Self::GeminiCli, true) => {
                let server = json!({ "httpUrl": mcp_url, "headers": header });
                format!("{}\n\n~/.gemini/settings.json", pretty(json!({ "mcpServers": { "punctual": server } })))
            }
        }
    }

    /// Whether it can be told to use HTTP with a key of its own.
    pub(crate) fn takes_http(self) -> bool {
        self != Self::ClaudeDesktop
    }
}

/// A command line, with quotes where a shell needs them.
fn shell(program: &str, args: &[&str]) -> String {
    let is_plain = |word: &str| word.chars().all(|c| c.is_ascii_alphanumeric() || "-_./:=@".contains(c));
    let word = |word: &str| if is_plain(word) { word.to_owned() } else { format!("'{}'", word.replace('\'', r"'\''")) };
    std::iter::once(program).chain(args.iter().copied()).map(word).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_assistant_is_told_how_to_start_it_and_how_to_reach_it() {
        for http in [false, true] {
            let way = Way {
                program: "/opt/my programs/punctual".into(),
                before: vec!["--url".into(), "http://h:1".into()],
                after: vec!["--user".into(), "alice".into()],
                url: "http://h:1".into(),
                http,
            };
            for assistant in Assistant::value_variants() {
                let told = assistant.told(&way);
                let is_http = http && assistant.takes_http();
                assert_eq!(told.contains("http://h:1/mcp"), is_http, "{told}");
                assert_eq!(told.contains("/opt/my programs/punctual"), !is_http, "{told}");
                let json =
                    told.rsplit_once("\n\n").map_or("", |(json, _)| json.split("\n\nmacOS").next().unwrap_or(json));
                let is_json = json.starts_with('{');
                assert!(!is_json || serde_json::from_str::<serde_json::Value>(json).is_ok(), "{json}");
            }
        }
        assert_eq!(shell("a b", &["mcp"]), "'a b' mcp");
    }
}
