//! User, host and connection of a header's line `# User@Host: `.

use memchr::{memchr, memmem, memrchr, memrchr_iter};

/// The content of a line `# User@Host: USER[PRIVILEGES] @ HOST [ADDRESS]  Id: N`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct User<'a> {
    pub(super) name: &'a [u8],
    pub(super) host: &'a [u8],
    pub(super) session: Option<u64>,
    /// Fields after the address, unless there is only a number after `Id:`.
    pub(super) more: &'a [u8],
}

/// Parses a line of that form. Replication has a user within the brackets only, which is then the name.
/// Servers without name resolution have no host; the address then replaces it.
pub(super) fn user(line: &[u8]) -> Option<User<'_>> {
    let line = line.strip_prefix(b"# User@Host: ")?.trim_ascii_end();
    usual(line).or_else(|| with_fields(line))
}

/// Parses a line with nothing after the address except a connection id, as all current servers write it.
#[inline]
fn usual(line: &[u8]) -> Option<User<'_>> {
    let (account, session) = match line.last()? {
        b']' => (line, None),
        _ => {
            let digits = line.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
            let (rest, digits) = line.split_at(line.len() - digits);
            let session = std::str::from_utf8(digits).ok()?.parse().ok()?;
            (rest.trim_ascii_end().strip_suffix(b"Id:")?.trim_ascii_end(), Some(session))
        }
    };
    let (name, host) = taken_apart(account)?;
    // Otherwise the last brackets belong to another field.
    let is_host = session.is_some() || !host.contains(&b'[');
    is_host.then_some(User { name, host, session, more: b"" })
}

/// User and host of `USER[PRIVILEGES] @ HOST [ADDRESS]`.
fn taken_apart(account: &[u8]) -> Option<(&[u8], &[u8])> {
    let account = account.strip_suffix(b"]")?;
    let open = memrchr(b'[', account)?;
    let (host, address) = (account[..open].strip_suffix(b" ")?, &account[open + 1..]);
    let middle = memrchr_iter(b'@', host).find(|at| host[..*at].ends_with(b"] "))?;
    let (user, host) = (&host[..middle - 2], host[middle + 1..].trim_ascii_start());
    let open = memrchr(b'[', user)?;
    let name = if open == 0 { &user[1..] } else { &user[..open] };
    Some((name, if host.is_empty() { address } else { host }))
}

/// Parses a line with any fields after the address.
#[cold]
fn with_fields(line: &[u8]) -> Option<User<'_>> {
    let middle = memmem::find(line, b"] @ ")? + 4;
    let open = middle + memchr(b'[', &line[middle..])?;
    let end = open + memchr(b']', &line[open..])? + 1;
    let more = line[end..].trim_ascii_start();
    let has_value = memmem::find(more, b": ").is_some() && !more.ends_with(b":");
    let (name, host) = taken_apart(&line[..end]).filter(|_| has_value)?;
    Some(User { name, host, session: None, more })
}

/// User and host of `# User: USER@HOST`, which TiDB writes, or of an account in the other line's form.
pub(super) fn short(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let account = line.strip_prefix(b"# User: ")?.trim_ascii();
    if let Some(found) = taken_apart(account) {
        return Some(found);
    }
    let at = memrchr(b'@', account).unwrap_or(account.len());
    Some((&account[..at], account.get(at + 1..).unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: &[u8]) -> &str {
        std::str::from_utf8(bytes).unwrap()
    }

    #[test]
    fn users_are_taken_apart() {
        let parts = |line: &'static str| {
            let user = user(line.as_bytes()).unwrap();
            assert_eq!(user.more, b"");
            (text(user.name), text(user.host), user.session)
        };
        assert_eq!(parts("# User@Host: a[b] @ h [10.0.0.1]  Id:     5"), ("a", "h", Some(5)));
        assert_eq!(parts("# User@Host: a[b] @  [10.0.0.1]\r"), ("a", "10.0.0.1", None));
        assert_eq!(parts("# User@Host: a[b] @ [10.0.0.1]  Id: 5"), ("a", "10.0.0.1", Some(5)));
        assert_eq!(parts("# User@Host: [SQL_SLAVE] @  []"), ("SQL_SLAVE", "", None));
        assert_eq!(parts("# User@Host: a b[c[d][a] @ h []"), ("a b[c[d]", "h", None));
        assert_eq!(user(b"# User@Host: a[b] @ h []  Id: "), None);
        assert_eq!(user(b"# User@Host: a[b] @ h []  or not"), None);
        assert_eq!(user(b"# User@Host: ]"), None);
        assert_eq!(user(b"# User@Host: "), None);
    }

    #[test]
    fn fields_that_are_not_known_may_follow_the_address() {
        let line = b"# User@Host: a[b] @ h []  Id: 5  Tenant: shop [7]";
        let user = user(line).unwrap();
        assert_eq!((text(user.name), text(user.host)), ("a", "h"));
        assert_eq!(text(user.more), "Id: 5  Tenant: shop [7]");
    }

    #[test]
    fn short_lines_have_an_account_in_either_form() {
        let parts = |line: &'static str| {
            let (name, host) = short(line.as_bytes()).unwrap();
            (text(name), text(host))
        };
        assert_eq!(parts("# User: app@10.0.0.7\r"), ("app", "10.0.0.7"));
        assert_eq!(parts("# User: a@b@10.0.0.7"), ("a@b", "10.0.0.7"));
        assert_eq!(parts("# User: app[app] @  [10.0.0.7]"), ("app", "10.0.0.7"));
        assert_eq!(parts("# User: app"), ("app", ""));
    }
}
