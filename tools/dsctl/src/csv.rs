//! CSV as RFC 4180 has it: comma, CRLF, quotes around what needs them, a quote doubled. UTF-8.
//!
//! Spreadsheets take a cell that begins with `=`, `+`, `-`, `@`, a tab or a line's end (also in full width) for a formula, and
//! would run what somebody wrote into a record. Such a cell gets an apostrophe before it, which spreadsheets know as "this is
//! text". A telephone number (`+49 ...`) gets one too: as a formula it would lose its plus sign.

use serde_json::Value;

/// One record with its line end.
pub(crate) fn record<'a>(cells: impl IntoIterator<Item = &'a str>) -> String {
    let cells: Vec<String> = cells.into_iter().map(quoted).collect();
    // A record of one empty cell would be an empty line, which readers skip.
    if cells.len() == 1 && cells[0].is_empty() {
        return "\"\"\r\n".to_owned();
    }
    cells.join(",") + "\r\n"
}

/// A JSON value as a cell: nothing for null, items of a list with `; ` between.
pub(crate) fn cell(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => harmless(text),
        Some(Value::Array(items)) => {
            let items: Vec<String> = items
                .iter()
                .map(|item| item.as_str().map_or_else(|| item.to_string(), str::to_owned))
                .collect();
            harmless(&items.join("; "))
        }
        Some(other) => other.to_string(),
    }
}

fn harmless(text: &str) -> String {
    let is_formula = text.starts_with([
        '=', '+', '-', '@', '\t', '\r', '\n', '\u{ff1d}', '\u{ff0b}', '\u{ff0d}', '\u{ff20}',
    ]);
    if is_formula {
        format!("'{text}")
    } else {
        text.to_owned()
    }
}

fn quoted(cell: &str) -> String {
    if cell.contains(['"', ',', '\r', '\n']) || cell.starts_with(' ') || cell.ends_with(' ') {
        format!("\"{}\"", cell.replace('"', "\"\""))
    } else {
        cell.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_needs_quotes_has_them() {
        assert_eq!(
            record(["a", "b,c", "say \"hi\"", "two\nlines", "", " x"]),
            "a,\"b,c\",\"say \"\"hi\"\"\",\"two\nlines\",,\" x\"\r\n"
        );
        assert_eq!(record([""]), "\"\"\r\n");
    }

    #[test]
    fn no_text_is_a_formula() {
        for text in [
            "=1+1", "+49 30 1", "-x", "@SUM(A1)", "\t=1", "\r=1", "＝1", "＋1", "－1", "＠x",
        ] {
            assert_eq!(cell(Some(&json!(text))), format!("'{text}"));
        }
        for (value, text) in [
            (json!("a=b"), "a=b"),
            (json!(-3), "-3"),
            (json!(true), "true"),
            (json!(null), ""),
            (json!([]), ""),
            (json!(["a", "b"]), "a; b"),
            (json!(["=a", "b"]), "'=a; b"),
        ] {
            assert_eq!(cell(Some(&value)), text);
        }
        assert_eq!(cell(None), "");
    }
}
