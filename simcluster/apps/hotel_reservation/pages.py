"""What the front end answers: its pages' parameters and bodies."""

from __future__ import annotations

import json
from urllib.parse import parse_qs

from simcluster.engine.streams import mix, uniform_at

_INDEX = "<!DOCTYPE html>\n<html>\n<head><title>Hotel Reservation</title></head>\n<body></body>\n</html>\n"
_STAY = ("inDate", "outDate")
_LOGIN = ("username", "password")
#: Parameters that a page wants, and what it answers without.
_WANTED = {
    "/hotels": ((_STAY, "Please specify inDate/outDate params"), (("lat", "lon"), "Please specify location params")),
    "/recommendations": ((("lat", "lon"), "Please specify location params"),),
    "/user": ((_LOGIN, "Please specify username and password"),),
    "/reservation": (
        (_STAY, "Please specify inDate/outDate params"),
        (("hotelId",), "Please specify hotelId params"),
        (("customerName",), "Please specify customerName params"),
        (_LOGIN, "Please specify username and password"),
    ),
}


def complaint(path: str) -> str:
    """What is missing in a request, in the program's words; empty if nothing is."""
    page, _, query = path.partition("?")
    given = parse_qs(query)
    for names, words in _WANTED.get(page, ()):
        if any(name not in given for name in names):
            return words + "\n"
    if page == "/recommendations" and given.get("require", [""])[0] not in ("dis", "rate", "price"):
        return "Please specify require params\n"
    return ""


def body(path: str, key: int) -> str:
    """The body of a page that succeeded. `key`: from which the hotels it shows follow."""
    page = path.partition("?")[0]
    if page == "/":
        return _INDEX
    if page in ("/hotels", "/recommendations"):
        hotels = sorted({1 + int(uniform_at(mix(key, n), 0) * 80) for n in range(5)})
        return json.dumps({"features": [_feature(number) for number in hotels], "type": "FeatureCollection"}) + "\n"
    words = "Login successfully!" if page == "/user" else "Reserve successfully!"
    return json.dumps({"message": words}) + "\n"


def _feature(number: int) -> dict[str, object]:
    """One hotel as a point: all but the first six lie on a line north-east of San Francisco."""
    place = [round(-122.41 + number / 500 * 4, 4), round(37.7835 + number / 500 * 3, 4)]
    properties = {"name": "St. Regis San Francisco", "phone_number": f"(415) 284-40{number:02d}"}
    return {
        "geometry": {"coordinates": place, "type": "Point"},
        "id": str(number),
        "properties": properties,
        "type": "Feature",
    }
