//! Aligned columns.

use std::io::{self, IsTerminal};

use super::style::{Paint, Style, neutral, shorten, width, wrap};

/// The narrowest the last column is cut to.
const LAST_WIDTH_MIN: usize = 12;
/// The most lines that one text is wrapped to.
const LINES_MAX: usize = 8;
const GAP: usize = 2;

/// Rows under a header. Where a line has a width, the last column is cut or wrapped to fit.
pub(super) struct Table {
    header: Vec<String>,
    rows: Vec<Vec<Cell>>,
    wraps: bool,
}

/// One text and how it is set off.
pub(super) struct Cell {
    text: String,
    style: Style,
    /// A text that stands on a line of its own below, in the last column.
    below: Option<String>,
}

impl Cell {
    pub(super) fn new(text: &str, style: Style) -> Self {
        Self { text: neutral(text), style, below: None }
    }

    pub(super) fn plain(text: &str) -> Self {
        Self::new(text, Style::Plain)
    }

    /// The same with a line below.
    pub(super) fn with_below(self, text: &str) -> Self {
        Self { below: Some(neutral(text)), ..self }
    }

    /// Its lines where a line has `max` columns.
    fn lines(&self, max: usize, wraps: bool) -> Vec<(String, Style)> {
        let own = if wraps { wrap(&self.text, max, LINES_MAX) } else { vec![shorten(&self.text, max)] };
        let below = self.below.iter().flat_map(|text| wrap(text, max, LINES_MAX)).map(|line| (line, Style::Dim));
        own.into_iter().map(|line| (line, self.style)).chain(below).collect()
    }
}

impl Table {
    pub(super) fn new<T: AsRef<str>>(header: &[T]) -> Self {
        let header = header.iter().map(|text| text.as_ref().to_owned()).collect();
        Self { header, rows: Vec::new(), wraps: false }
    }

    /// A table whose last column is wrapped at words instead of cut.
    pub(super) fn wrapping(self) -> Self {
        Self { wraps: true, ..self }
    }

    pub(super) fn push(&mut self, row: Vec<Cell>) {
        self.rows.push(row);
    }

    /// Whether a line of `max` columns has room for the whole last column, or for `enough` columns of it.
    pub(super) fn has_room(&self, max: usize, enough: usize) -> bool {
        let widths = self.widths();
        let (last, before) = (widths[widths.len() - 1], self.before(&widths));
        before + last.min(enough) <= max
    }

    pub(super) fn render(&self, paint: Paint) -> String {
        self.render_within(paint, line_width())
    }

    /// The columns that each column takes.
    fn widths(&self) -> Vec<usize> {
        let widest = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column)).map(|cell| width(&cell.text));
            cells.chain([width(&self.header[column])]).max().unwrap_or(0)
        };
        (0..self.header.len()).map(widest).collect()
    }

    /// Where the last column begins.
    fn before(&self, widths: &[usize]) -> usize {
        widths[..widths.len() - 1].iter().map(|width| width + GAP).sum()
    }

    fn render_within(&self, paint: Paint, max: Option<usize>) -> String {
        let last = self.header.len() - 1;
        let widths = self.widths();
        let before = self.before(&widths);
        let last_max = max.map_or(usize::MAX, |max| max.saturating_sub(before).max(LAST_WIDTH_MIN));
        let mut out = String::new();
        let header: Vec<Cell> = self.header.iter().map(|text| Cell::new(text, Style::Dim)).collect();
        for row in std::iter::once(&header).chain(&self.rows) {
            for (column, cell) in row.iter().enumerate() {
                if column < last {
                    out.push_str(&paint.with(cell.style, &cell.text));
                    pad(&mut out, widths[column].saturating_sub(width(&cell.text)) + GAP);
                    continue;
                }
                for (n, (line, style)) in cell.lines(last_max, self.wraps).iter().enumerate() {
                    if n > 0 {
                        end_line(&mut out);
                        pad(&mut out, before);
                    }
                    out.push_str(&paint.with(*style, line));
                }
            }
            end_line(&mut out);
        }
        out
    }
}

fn pad(out: &mut String, columns: usize) {
    out.extend(std::iter::repeat_n(' ', columns));
}

fn end_line(out: &mut String) {
    out.truncate(out.trim_end_matches(' ').len());
    out.push('\n');
}

/// How many columns a line has: as `COLUMNS` says, else as the terminal does. Where nobody reads along, lines have no end.
pub(super) fn line_width() -> Option<usize> {
    let asked = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    asked.or_else(terminal_width).filter(|width| *width > 0)
}

fn terminal_width() -> Option<usize> {
    let stdout = io::stdout();
    if !stdout.is_terminal() {
        return None;
    }
    #[cfg(unix)]
    return rustix::termios::tcgetwinsize(&stdout).ok().map(|size| usize::from(size.ws_col));
    #[cfg(not(unix))]
    return None;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::new(&["ID", "NEXT", "MESSAGE"]);
        table.push(vec![Cell::plain("1"), Cell::plain("薬"), Cell::plain("a long message\nthat goes on")]);
        table.push(vec![Cell::plain("22"), Cell::plain(""), Cell::plain("short").with_below("every day")]);
        table
    }

    #[test]
    fn columns_align_and_the_last_is_cut() {
        let paint = Paint::none();
        assert_eq!(
            table().render_within(paint, None),
            "ID  NEXT  MESSAGE\n1   薬    a long message that goes on\n22        short\n          every day\n"
        );
        assert_eq!(
            table().render_within(paint, Some(24)),
            "ID  NEXT  MESSAGE\n1   薬    a long messag…\n22        short\n          every day\n"
        );
    }

    #[test]
    fn the_last_column_is_wrapped_where_it_may_be() {
        let table = table().wrapping();
        assert_eq!(
            table.render_within(Paint::none(), Some(24)),
            "ID  NEXT  MESSAGE\n1   薬    a long message\n          that goes on\n22        short\n          every day\n"
        );
        assert!(table.has_room(37, 100) && table.has_room(30, 20) && !table.has_room(36, 100));
    }
}
