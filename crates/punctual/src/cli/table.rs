//! Aligned columns.

use std::io::{self, IsTerminal};

use super::style::{Paint, Style, neutral, shorten, width};

/// The narrowest the last column is cut to.
const LAST_WIDTH_MIN: usize = 12;
const GAP: usize = 2;

/// Rows under a header. On a terminal the last column is cut to fit.
pub(super) struct Table {
    header: Vec<String>,
    rows: Vec<Vec<Cell>>,
}

/// One text and how it is set off.
pub(super) struct Cell(String, Style);

impl Cell {
    pub(super) fn new(text: &str, style: Style) -> Self {
        Self(neutral(text), style)
    }

    pub(super) fn plain(text: &str) -> Self {
        Self::new(text, Style::Plain)
    }
}

impl Table {
    pub(super) fn new<T: AsRef<str>>(header: &[T]) -> Self {
        Self { header: header.iter().map(|text| text.as_ref().to_owned()).collect(), rows: Vec::new() }
    }

    pub(super) fn push(&mut self, row: Vec<Cell>) {
        self.rows.push(row);
    }

    pub(super) fn render(&self, paint: Paint) -> String {
        self.render_within(paint, terminal_width())
    }

    fn render_within(&self, paint: Paint, max: Option<usize>) -> String {
        let last = self.header.len() - 1;
        let widest = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column)).map(|Cell(text, _)| width(text));
            cells.chain([width(&self.header[column])]).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..=last).map(widest).collect();
        let before: usize = widths[..last].iter().map(|width| width + GAP).sum();
        let last_max = max.map_or(usize::MAX, |max| max.saturating_sub(before).max(LAST_WIDTH_MIN));
        let mut out = String::new();
        let header: Vec<Cell> = self.header.iter().map(|text| Cell::new(text, Style::Dim)).collect();
        for row in std::iter::once(&header).chain(&self.rows) {
            for (column, Cell(text, style)) in row.iter().enumerate() {
                if column == last {
                    out.push_str(&paint.with(*style, &shorten(text, last_max)));
                } else {
                    out.push_str(&paint.with(*style, text));
                    let fill = widths[column].saturating_sub(width(text)) + GAP;
                    out.extend(std::iter::repeat_n(' ', fill));
                }
            }
            out.truncate(out.trim_end().len());
            out.push('\n');
        }
        out
    }
}

fn terminal_width() -> Option<usize> {
    let stdout = io::stdout();
    if !stdout.is_terminal() {
        return None;
    }
    #[cfg(unix)]
    return rustix::termios::tcgetwinsize(&stdout).ok().map(|size| usize::from(size.ws_col)).filter(|width| *width > 0);
    #[cfg(not(unix))]
    return None;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_align_and_the_last_is_cut() {
        let mut table = Table::new(&["ID", "NEXT", "MESSAGE"]);
        table.push(vec![Cell::plain("1"), Cell::plain("薬"), Cell::plain("a long message\nthat goes on")]);
        table.push(vec![Cell::plain("22"), Cell::plain(""), Cell::plain("short")]);
        let paint = Paint::none();
        assert_eq!(
            table.render_within(paint, None),
            "ID  NEXT  MESSAGE\n1   薬    a long message that goes on\n22        short\n"
        );
        assert_eq!(
            table.render_within(paint, Some(24)),
            "ID  NEXT  MESSAGE\n1   薬    a long messag…\n22        short\n"
        );
    }
}
