"""What the tests ask readers of calendars that are not ours. The calendar comes in, lines of JSON go out."""
import datetime
import json
import sys

import icalendar
import recurring_ical_events

UTC = datetime.timezone.utc


def instant(at):
    if not isinstance(at, datetime.datetime):
        return at.isoformat()
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def day(text):
    return datetime.datetime.fromisoformat(text).astimezone(UTC)


def strict(text):
    calendar = icalendar.Calendar.from_ical(text)
    for component in calendar.walk():
        if component.errors:
            sys.exit(f"{component.name} {component.get('UID')}: {component.errors}")
    return calendar


def say(**row):
    print(json.dumps(row, sort_keys=True))


def main():
    question, *rest = sys.argv[1:]
    text = sys.stdin.buffer.read()
    calendar = strict(text)
    if question == "runs":
        query = recurring_ical_events.of(calendar, components=["VEVENT"])
        for run in query.between(day(rest[0]), day(rest[1])):
            say(uid=str(run["UID"]), at=instant(run.start))
    elif question == "alarms":
        query = recurring_ical_events.of(calendar, components=["VALARM"])
        for run in query.between(day(rest[0]), day(rest[1])):
            for alarm in run.alarms.times:
                say(uid=str(run["UID"]), at=instant(alarm.trigger))
    elif question == "texts":
        for component in calendar.walk():
            if component.name in ("VEVENT", "VTODO"):
                say(uid=str(component["UID"]), kind=component.name, summary=str(component.get("SUMMARY", "")),
                    description=str(component.get("DESCRIPTION", "")), due=instant(component["DUE"].dt) if "DUE" in component else None)
    elif question == "offsets":
        # The zones as the calendar describes them, and not as Python's own database has them.
        zones = {str(zone["TZID"]): zone.to_tz(lookup_tzid=False) for zone in calendar.timezones}
        for name, at in json.loads(rest[0]):
            say(zone=name, at=at, seconds=int(day(at).astimezone(zones[name]).utcoffset().total_seconds()))
    else:
        sys.exit(f"what is {question}?")


main()
