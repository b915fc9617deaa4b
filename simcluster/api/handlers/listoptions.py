"""Options of lists and watches: what a query says, and what the server refuses of it.

Source: k8s.io/apimachinery/pkg/apis/meta/internalversion/validation (1.32, with the feature
WatchList, which is on), k8s.io/apiserver/pkg/storage.
"""

from __future__ import annotations

from typing import NamedTuple

from simcluster.api import errors
from simcluster.api.errors import ApiError, Cause
from simcluster.api.request import Request

EXACT = "Exact"
NOT_OLDER = "NotOlderThan"
_MATCH = "resourceVersionMatch"
_TRUE = ("1", "t", "T", "true", "TRUE", "True", "")


class ListOptions(NamedTuple):
    """What a query asks for.

    Attributes:
        version: `resourceVersion`; None if it is not given.
        match: `resourceVersionMatch`, or empty.
        limit: 0 for no limit.
        token: `continue`, or empty.
        initial: `sendInitialEvents`; None if it is not given.
        timeout_s: `timeoutSeconds`; None if it is not given.
    """

    version: int | None = None
    match: str = ""
    limit: int = 0
    token: str = ""
    initial: bool | None = None
    timeout_s: int | None = None


_PLAIN = ListOptions()


def list_options(request: Request) -> ListOptions:
    """The options of a list. Raises ApiError 400 or 422."""
    if not request.query:
        return _PLAIN
    text = request.param("resourceVersion")
    options = _read(request, text)
    causes = []
    if options.match:
        if not text:
            causes.append(_forbidden(f"{_MATCH} is forbidden unless resourceVersion is provided"))
        if options.token:
            causes.append(_forbidden(f"{_MATCH} is forbidden when continue is provided"))
        if options.match not in (EXACT, NOT_OLDER):
            causes.append(_not_supported(options.match, f'"{EXACT}", "{NOT_OLDER}", ""'))
        if options.match == EXACT and text == "0":
            causes.append(_forbidden(f'{_MATCH} "exact" is forbidden for resourceVersion "0"'))
    if options.initial is not None:
        why = "Forbidden: sendInitialEvents is forbidden for list"
        causes.append(Cause("FieldValueForbidden", why, "sendInitialEvents"))
    _refuse(causes)
    if options.token and options.version:
        raise errors.bad_request("specifying resource version is not allowed when using continue")
    return options


def watch_options(request: Request) -> ListOptions:
    """The options of a watch. Raises ApiError 400 or 422."""
    text = request.param("resourceVersion")
    if text and not (text.isdecimal() and text.isascii()):
        why = f'Invalid value: "{text}": strconv.ParseUint: parsing "{text}": invalid syntax'
        _refuse([Cause("FieldValueInvalid", why, "resourceVersion")])
    options = _read(request, text)
    causes = []
    if options.initial is not None and options.match != NOT_OLDER:
        causes.append(_forbidden(f"sendInitialEvents requires setting resourceVersionMatch to {NOT_OLDER}"))
    if options.match:
        if options.initial is None:
            causes.append(_forbidden(f"{_MATCH} is forbidden for watch unless sendInitialEvents is provided"))
        if options.match != NOT_OLDER:
            causes.append(_not_supported(options.match, f'"{NOT_OLDER}"'))
        if options.token:
            causes.append(_forbidden(f"{_MATCH} is forbidden when continue is provided"))
    _refuse(causes)
    return options


def check_version(text: str, current: int) -> None:
    """Whether the store has reached a version that a reader has seen. Raises ApiError 400 or 504."""
    if text:
        _check_reached(_version(text), current)


def check_reached(options: ListOptions, current: int) -> None:
    """As `check_version`. The real server waits three seconds for the version first."""
    if options.version is not None:
        _check_reached(options.version, current)


def _check_reached(version: int, current: int) -> None:
    if version <= current:
        return
    cause = {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
    message = f"Timeout: Too large resource version: {version}, current: {current}"
    raise ApiError(504, "Timeout", message, {"causes": [cause], "retryAfterSeconds": 1})


def _read(request: Request, text: str) -> ListOptions:
    initial = request.param("sendInitialEvents") if any(k == "sendInitialEvents" for k, _ in request.query) else None
    timeout = request.param("timeoutSeconds")
    return ListOptions(
        _version(text) if text else None,
        request.param(_MATCH),
        _number(request.param("limit")),
        request.param("continue"),
        None if initial is None else initial in _TRUE,
        _number(timeout) if timeout else None,
    )


def _version(text: str) -> int:
    if not (text.isdecimal() and text.isascii()):
        why = f'Invalid value: "{text}": strconv.ParseUint: parsing "{text}": invalid syntax'
        raise errors.bad_request(f"invalid resource version: resourceVersion: {why}")
    if len(text) > 19:
        why = f'Invalid value: "{text}": strconv.ParseUint: parsing "{text}": value out of range'
        raise errors.bad_request(f"invalid resource version: resourceVersion: {why}")
    return int(text)


def _number(text: str) -> int:
    if not text:
        return 0
    digits = text[1:] if text[0] in "+-" else text
    if not (digits.isdecimal() and digits.isascii()):
        raise errors.bad_request(f'strconv.ParseInt: parsing "{text}": invalid syntax')
    if len(digits) > 18:
        raise errors.bad_request(f'strconv.ParseInt: parsing "{text}": value out of range')
    return int(text)


def _forbidden(why: str) -> Cause:
    return Cause("FieldValueForbidden", f"Forbidden: {why}", _MATCH)


def _not_supported(value: str, supported: str) -> Cause:
    return Cause("FieldValueNotSupported", f'Unsupported value: "{value}": supported values: {supported}', _MATCH)


def _refuse(causes: list[Cause]) -> None:
    if causes:
        raise errors.invalid("ListOptions", "meta.k8s.io", "", causes)
