#!/usr/bin/env python3
"""Writes what the schedules must say, worked out by Python's zoneinfo and dateutil and by nothing of ours.

usage: make.py                        writes zones.txt and rules.txt beside this script, in about ten minutes
       make.py --rules                writes only rules.txt
       make.py --instants ZONE CASE   prints every instant of one case (its number, as a failing test names it)

zones.txt: daily, weekly, cron and rrule schedules in every zone of the zone database, 1990 to 2037. PEP 495 is the
whole of the theory: a naive local time with fold=0 has the offset from before a gap and the first one in a fold, which
is what a schedule means by it. Zones whose clocks are the same share a line. A line is

    names|number of changes of the clocks and their digest|for each case: digest near changes, digest of all

where "near" are the days around a change of the clocks, the ends of years and the ends of Februaries (fast enough for
every run of the tests) and "all" is every instant of the 48 years (for the ignored test). "-" is not worked out.

rules.txt: recurrence rules in floating time, by dateutil. A line is

    rule|DTSTART|how many of its first times|their digest
"""
import itertools, multiprocessing, pathlib, signal, sys, zoneinfo
from datetime import date, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

from dateutil import rrule as du

HERE = pathlib.Path(__file__).parent
EPOCH = datetime(1970, 1, 1)
FIRST, LAST = 1990, 2037
BEGIN = int((datetime(FIRST, 1, 1) - EPOCH).total_seconds())
END = int((datetime(LAST + 1, 1, 1) - EPOCH).total_seconds())
DAY = 86400
# From the day before the first year to the day after the last, so that no zone misses a day.
DATES = [date(FIRST - 1, 12, 29) + timedelta(days=n) for n in range((END - BEGIN) // DAY + 6)]

def at(hour, minute, second=0):
    return hour * 3600 + minute * 60 + second

def seconds(naive):
    return (naive - EPOCH) // timedelta(seconds=1)

# Every case: what the test asks, and the naive local times it means. "real" cases follow real time: see `real`.
def daily(*clocks, on=lambda day: True):
    return lambda: [datetime(d.year, d.month, d.day) + timedelta(seconds=c) for d in DATES if on(d) for c in clocks]

def ruled(text):
    start = datetime(1989, 12, 28, 2, 30)
    return lambda: list(du.rrulestr(text, dtstart=start).between(start, datetime(2038, 1, 5), inc=True))

CASES = [
    ("daily 00:00", daily(at(0, 0))),
    ("daily 00:30", daily(at(0, 30))),
    ("daily 01:30", daily(at(1, 30))),
    ("daily 02:00", daily(at(2, 0))),
    ("daily 02:30", daily(at(2, 30))),
    ("daily 02:46", daily(at(2, 46))),
    ("daily 12:00", daily(at(12, 0))),
    ("daily 23:30", daily(at(23, 30))),
    ("daily 23:59:59", daily(at(23, 59, 59))),
    ("weekly sun 02:30", daily(at(2, 30), on=lambda d: d.isoweekday() == 7)),
    ("weekly fri 12:00", daily(at(12, 0), on=lambda d: d.isoweekday() == 5)),
    ("weekly mon,sat 00:15", daily(at(0, 15), on=lambda d: d.isoweekday() in (1, 6))),
    ("cron 30 2 * * *", daily(at(2, 30))),
    ("cron 0 0,12 29 2 *", daily(at(0, 0), at(12, 0), on=lambda d: (d.month, d.day) == (2, 29))),
    ("cron 59 59 23 31 12 *", daily(at(23, 59, 59), on=lambda d: (d.month, d.day) == (12, 31))),
    ("cron 15 1 13 * FRI", daily(at(1, 15), on=lambda d: d.day == 13 or d.isoweekday() == 5)),
    # A step or a range in the time: runs through both passes of a repeated hour; every hour: needs no shifting.
    ("cron */30 0-4 * * *", ("real", lambda h, m: h <= 4 and m % 30 == 0, True)),
    ("cron 45 * * * *", ("real", lambda h, m: m == 45, False)),
    ("rrule FREQ=WEEKLY;INTERVAL=2;BYDAY=SA,SU", ruled("FREQ=WEEKLY;INTERVAL=2;BYDAY=SA,SU")),
    ("rrule FREQ=MONTHLY;BYDAY=-1SU;BYHOUR=0,2;BYMINUTE=0,30", ruled("FREQ=MONTHLY;BYDAY=-1SU;BYHOUR=0,2;BYMINUTE=0,30")),
    ("rrule FREQ=HOURLY;INTERVAL=5", ruled("FREQ=HOURLY;INTERVAL=5")),
]
NAIVE = {}

def naive_times(number):
    if number not in NAIVE:
        NAIVE[number] = CASES[number][1]()
    return NAIVE[number]

def digest(instants):
    h = 0
    for t in instants:
        h = (h * 6364136223846793005 + t + 0x9E3779B97F4A7C15) & 0xFFFFFFFFFFFFFFFF
    return f"{h:016x}"

def changes(zone):
    """The moments at which the offset changes, with the new offset, found by looking: zoneinfo does not tell."""
    offset = lambda t: int(datetime.fromtimestamp(t, zone).utcoffset().total_seconds())
    begin, end, step = BEGIN - 3 * DAY, END + 3 * DAY, 6 * 3600
    found, last = [(begin, offset(begin))], offset(begin)
    for t in range(begin + step, end + 1, step):
        if offset(t) != last:
            low, high = t - step, t
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (middle, high) if offset(middle) == last else (low, middle)
            last = offset(t)
            found.append((high, last))
    return found

def near(found):
    """The stretches that are looked at closely."""
    spans = [(t - 2 * DAY, t + 2 * DAY) for t, _ in found[1:]]
    for year in range(FIRST, LAST + 1):
        new_year = seconds(datetime(year, 1, 1))
        march = seconds(datetime(year, 3, 1))
        spans += [(new_year - 2 * DAY, new_year + 2 * DAY), (march - 3 * DAY, march + DAY)]
    merged = []
    for begin, end in sorted(spans):
        begin, end = max(begin, BEGIN), min(end, END)
        if merged and begin <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        elif begin < end:
            merged.append((begin, end))
    return merged

def fixed(zone, number):
    """Every naive time, once, by PEP 495."""
    instants = {seconds(n) - int(n.replace(tzinfo=zone).utcoffset().total_seconds()) for n in naive_times(number)}
    return sorted(t for t in instants if BEGIN <= t < END)

def real(zone, found, number, spans):
    """What the clock on the wall shows, minute by minute; and skipped times, shifted, if hours are left out."""
    _, matches, shifts_skipped = CASES[number][1]
    shown = {minute for minute in range(1440) if matches(*divmod(minute, 60))}
    stretches = [(t, offset, later) for (t, offset), (later, _) in zip(found, found[1:] + [(END, 0)])]
    instants = set()
    for span_begin, span_end in spans:
        for begin, offset, end in stretches:
            begin, end = max(begin, span_begin), min(end, span_end)
            # Runs are on whole local minutes; the offsets of some zones have seconds.
            for local in range(begin + offset + -(begin + offset) % 60, end + offset, 60):
                if local // 60 % 1440 in shown:
                    instants.add(local - offset)
    if shifts_skipped:
        for (_, before), (t, after) in zip(found, found[1:]):
            for skipped in range(t + before, t + after):
                naive = EPOCH + timedelta(seconds=skipped)
                if naive.second == 0 and matches(naive.hour, naive.minute):
                    instants.add(skipped - int(naive.replace(tzinfo=zone).utcoffset().total_seconds()))
    return sorted(t for t in instants if any(b <= t < e for b, e in spans))

def inside(instants, spans):
    kept, at_span = [], 0
    for t in instants:
        while at_span < len(spans) and t >= spans[at_span][1]:
            at_span += 1
        if at_span < len(spans) and t >= spans[at_span][0]:
            kept.append(t)
    return kept

def line(group):
    names, found = group
    zone = ZoneInfo(names[0])
    spans = near(found)
    cells = []
    for number, (_, case) in enumerate(CASES):
        if isinstance(case, tuple):
            cells.append(digest(real(zone, found, number, spans)) + ",-")
        else:
            instants = fixed(zone, number)
            cells.append(digest(inside(instants, spans)) + "," + digest(instants))
    flat = [value for change in found for value in change]
    return f"{' '.join(names)}|{len(found) - 1},{digest(flat)}|{' '.join(cells)}"

def write_zones():
    groups = {}
    skip = ("posix/", "right/", "localtime", "posixrules", "Factory")
    for name in sorted(zoneinfo.available_timezones()):
        if not name.startswith(skip):
            groups.setdefault(tuple(changes(ZoneInfo(name))), []).append(name)
    work = sorted(((names, list(found)) for found, names in groups.items()))
    with multiprocessing.Pool() as pool:
        lines = pool.map(line, work, chunksize=4)
    version = pathlib.Path("/usr/share/zoneinfo/tzdata.zi").open().readline().split()[-1]
    head = [f"# by make.py: Python {sys.version.split()[0]}, zone database {version}, {FIRST} to {LAST}"]
    head += [f"# case {number}: {name}" for number, (name, _) in enumerate(CASES)]
    (HERE / "zones.txt").write_text("\n".join(head + lines) + "\n")
    n = sum(len(names) for names, _ in work)
    print(f"{n} zones, {len(work)} different clocks, {n * (LAST - FIRST + 1)} zone-years")

# Parts of rules, of which every combination of at most three is tried.
PARTS = {
    "BYMONTH": ["1,3", "2", "6,11"],
    "BYMONTHDAY": ["1,15", "29", "31", "-1", "-31,13"],
    "BYYEARDAY": ["1,100,200,365", "-366,60"],
    "BYWEEKNO": ["1,20", "-1,53"],
    "BYDAY": ["MO", "TU,TH,SA", "SU,MO,TU,WE,TH,FR,SA"],
    "NTH": ["1TU,-1TH", "5FR", "-2SU"],
    "BYHOUR": ["6,18", "0"],
    "BYMINUTE": ["0,30"],
    "BYSECOND": ["0,59"],
    "BYSETPOS": ["1", "-1,2"],
    "WKST": ["SU", "TH"],
}
STARTS = [datetime(1997, 9, 2, 9, 0), datetime(2024, 2, 29, 23, 30), datetime(2010, 1, 3, 0, 0)]

def rules():
    for freq in ["YEARLY", "MONTHLY", "WEEKLY", "DAILY", "HOURLY", "MINUTELY", "SECONDLY"]:
        # dateutil walks through every second of the shorter ones, so of these there are fewer.
        for n in range(4 if freq in ("YEARLY", "MONTHLY", "WEEKLY", "DAILY") else 3):
            for names in itertools.combinations(PARTS, n):
                if unlike(freq, names):
                    continue
                for number, values in enumerate(itertools.product(*(PARTS[name] for name in names))):
                    # Not all values of all combinations, but all values and all combinations.
                    if n == 3 and (number + len(freq)) % 11 and number:
                        continue
                    interval = [1, 2, 3, 1, 12, 7][(number + n + len(names)) % 6]
                    parts = [f"FREQ={freq}"] + ([f"INTERVAL={interval}"] if interval > 1 else [])
                    parts += [f"{'BYDAY' if name == 'NTH' else name}={value}" for name, value in zip(names, values)]
                    yield ";".join(parts), STARTS[(number + n) % len(STARTS)]

def unlike(freq, names):
    """Combinations that we read otherwise than dateutil does, or refuse; docs/schedules.md says why."""
    has = set(names)
    return (
        "NTH" in has and (freq not in ("YEARLY", "MONTHLY") or "BYDAY" in has or "BYWEEKNO" in has)
        # All days of the week, instead of that of DTSTART.
        or freq == "YEARLY" and "BYWEEKNO" in has and not has & {"BYDAY", "BYMONTHDAY", "BYYEARDAY"}
        # Only what comes from DTSTART on, instead of the whole first week.
        or freq == "WEEKLY" and "BYSETPOS" in has
        or "BYSETPOS" in has and len(has - {"WKST", "BYSETPOS"}) == 0
    )

def give_up(*_):
    raise TimeoutError

def first_times(work):
    text, start = work
    freq = text.split(";")[0]
    # What is rare is given up on.
    try:
        rule, found = du.rrulestr(text, dtstart=start), []
    except ValueError:
        return None
    days = {"FREQ=SECONDLY": 0.2, "FREQ=MINUTELY": 10, "FREQ=HOURLY": 500, "FREQ=DAILY": 3000}.get(freq, 40 * 365)
    horizon = start + timedelta(days=days)
    # A rule that names nothing any more keeps dateutil busy until the year 9999.
    signal.signal(signal.SIGALRM, give_up)
    signal.setitimer(signal.ITIMER_REAL, 2)
    try:
        for time in rule.replace(until=horizon):
            found.append(seconds(time))
            if len(found) == 60:
                break
    except TimeoutError:
        return None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    return f"{text}|{start:%Y%m%dT%H%M%S}|{len(found)}|{digest(found)}" if found else None

def write_rules():
    with multiprocessing.Pool() as pool:
        lines = [line for line in pool.map(first_times, rules(), chunksize=16) if line]
    import dateutil
    head = f"# by make.py: python-dateutil {dateutil.__version__}"
    (HERE / "rules.txt").write_text("\n".join([head] + lines) + "\n")
    print(f"{len(lines)} rules")

def main():
    if sys.argv[1:] == ["--rules"]:
        return write_rules()
    if sys.argv[1:2] == ["--instants"]:
        zone, number = ZoneInfo(sys.argv[2]), int(sys.argv[3])
        found = changes(zone)
        is_real = isinstance(CASES[number][1], tuple)
        for t in real(zone, found, number, near(found)) if is_real else fixed(zone, number):
            print(datetime.fromtimestamp(t, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"))
        return
    write_zones()
    write_rules()

if __name__ == "__main__":
    main()
