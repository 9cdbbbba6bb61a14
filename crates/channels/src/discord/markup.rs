//! Making a text harmless in Discord's markdown.

/// Characters that begin or end markup, a mention or a masked link wherever they stand.
const SPECIAL: &[char] = &['\\', '*', '_', '~', '`', '|', '<', '['];
/// Characters that begin a heading, a list or a quote at the start of a line.
const SPECIAL_AT_START: &[char] = &['#', '-', '>'];

/// `text` as Discord shows it letter by letter. Links stay as they are: a backslash in one would become part of it.
///
/// `allowed_mentions` is what keeps Discord from calling anybody. The escapes here only make the text look that way too.
pub(super) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    let (mut rest, mut before) = (text, '\n');
    let mut at_start = true;
    // Whether the line is a number so far.
    let mut is_number = false;
    while let Some(character) = rest.chars().next() {
        if !before.is_alphanumeric()
            && let Some(url) = url(rest)
        {
            out.push_str(url);
            (rest, before, at_start, is_number) = (&rest[url.len()..], '/', false, false);
            continue;
        }
        if SPECIAL.contains(&character) || at_start && SPECIAL_AT_START.contains(&character) {
            out.push('\\');
        }
        // `1.` begins a list.
        if character == '.' && is_number {
            out.push('\\');
        }
        out.push(character);
        rest = &rest[character.len_utf8()..];
        if character == '@' && calls_everyone(rest) {
            out.push('\u{200b}');
        }
        is_number = character.is_ascii_digit() && (at_start || is_number);
        at_start = character == '\n' || at_start && character.is_whitespace();
        before = character;
    }
    out
}

/// The link that `text` begins with.
fn url(text: &str) -> Option<&str> {
    let lower = text.get(..8).unwrap_or(text).to_ascii_lowercase();
    if !lower.starts_with("http://") && !lower.starts_with("https://") {
        return None;
    }
    let is_part = |character: char| character.is_ascii_alphanumeric() || "-._~:/?#@!$&'+,;=%".contains(character);
    let end = text.find(|character| !is_part(character)).unwrap_or(text.len());
    Some(&text[..end])
}

fn calls_everyone(rest: &str) -> bool {
    ["everyone", "here"].iter().any(|name| rest.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expect: &str) {
        assert_eq!(escape(text), expect);
    }

    #[test]
    fn nothing_is_formatted() {
        check("**bold** _it_ ~~no~~ `code` ||spoiler||", r"\*\*bold\*\* \_it\_ \~\~no\~\~ \`code\` \|\|spoiler\|\|");
        check("# head\n- item\n> quote\n-# small\n  # in", "\\# head\n\\- item\n\\> quote\n\\-# small\n  \\# in");
        check("1. one\n 12. two\n3.14 is pi", "1\\. one\n 12\\. two\n3\\.14 is pi");
        check("a - b # c > d 1. e", "a - b # c > d 1. e");
        check("1 2. x\n1a. y\n1.. z\n. 3.", "1 2. x\n1a. y\n1\\.. z\n. 3.");
        check("[click](https://evil.example)", r"\[click](https://evil.example)");
        check(r"¯\_(ツ)_/¯", r"¯\\\_(ツ)\_/¯");
        check("Take 2 pills 💊", "Take 2 pills 💊");
    }

    /// However long: looking back from every dot would take minutes.
    #[test]
    fn a_line_of_dots_is_read_once() {
        let dots = ".".repeat(1 << 20);
        assert_eq!(escape(&dots), dots);
    }

    #[test]
    fn nobody_is_called() {
        check("@everyone and @here, a@b.example", "@\u{200b}everyone and @\u{200b}here, a@b.example");
        check("@Everyone @hereby", "@\u{200b}Everyone @\u{200b}hereby");
        check("<@1> <@!1> <@&1> <#1> <:a:1> <t:1:R>", r"\<@1> \<@!1> \<@&1> \<#1> \<:a:1> \<t:1:R>");
    }

    #[test]
    fn links_still_work() {
        check("see https://a.example/x_y?q=a_b~c#d_e, now_", r"see https://a.example/x_y?q=a_b~c#d_e, now\_");
        check("HTTP://A.example/_x_", "HTTP://A.example/_x_");
        check("xhttp://_a_", r"xhttp://\_a\_");
        check("http://a.example/<@&1>", r"http://a.example/\<@&1>");
        check("https://ä.example/_a_", r"https://ä.example/\_a\_");
    }
}
