"""Posts new answers by HTTP, signed as Standard Webhooks say (standardwebhooks.com).

``webhook-id`` is the same for every repetition of a part, ``webhook-signature`` is
``v1,<base64 of HMAC-SHA256 of "id.timestamp.body">``: libraries that check it exist for most
languages. Redirects are not followed: the rows go where the author said, or nowhere.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import http.client
import json
import math
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from email.utils import parsedate_to_datetime
from functools import partial
from typing import Any
from urllib.parse import urlsplit

import requests
from requests.adapters import HTTPAdapter

from tapestry.delivery.batch import Delivery
from tapestry.delivery.declare import WebhookSink
from tapestry.delivery.exchange import Exchange, within
from tapestry.delivery.http_parts import fault_of_header, is_address
from tapestry.delivery.retry import Refused, Unavailable
from tapestry.delivery.secrets import from_environment

AGAIN = (408, 425, 429)
"""Answers besides 5xx after which the same request may succeed."""


def send_webhook(
    sink: WebhookSink, delivery: Delivery, part: int, rows: Sequence[str], seconds: float
) -> None:
    """Post one part, within ``seconds`` from the lookup of the name to the answer's headers.

    Unavailable where trying again may help, Refused where not.
    """
    url = sink.url or from_environment(sink.url_env)
    body = body_of(delivery, part, rows)
    headers = _headers(sink)
    headers |= {"content-type": "application/json", "user-agent": "dbt-tapestry"}
    headers |= _signed(sink, delivery.part_id(part), body)
    if not is_address(url):
        raise Refused(f"{sink.url_env or 'url'} does not hold the address of a webhook")
    host = urlsplit(url).hostname or ""
    try:
        request = requests.Request("POST", url, headers, data=body).prepare()
        talk = partial(_answer, request, sink.ca_file, seconds)
        status, wait = within(seconds, host, talk)
    except requests.exceptions.SSLError as error:
        raise Refused(
            f"there is no TLS connection to {host}: is its certificate to trust?"
        ) from error
    except (requests.exceptions.Timeout, TimeoutError) as error:
        raise Unavailable(f"{host} did not answer within {seconds:.3g} s") from error
    except requests.exceptions.ConnectionError as error:
        raise Unavailable(f"{host} {_what(error, seconds)}") from error
    except (requests.exceptions.RequestException, ValueError, OSError) as error:
        # Its text may hold the URL, which may be a secret.
        raise Refused(f"the request to {host} cannot be made: {type(error).__name__}") from error
    if 200 <= status < 300:
        return
    message = f"{host} answered {status}"
    if status >= 500 or status in AGAIN:
        raise Unavailable(message, _seconds(wait))
    raise Refused(message)


def _answer(
    request: requests.PreparedRequest, ca_file: str, seconds: float, exchange: Exchange
) -> tuple[int, str | None]:
    """Status and ``Retry-After``.

    The adapter is asked, not a session of requests: that one reads a redirect's body even where it
    does not follow it, and a body may never end. Proxies of the environment count all the same.
    """
    with requests.Session() as session:
        found = session.merge_environment_settings(
            str(request.url), {}, True, ca_file or None, None
        )
        with (
            closing(_Watched(exchange)) as adapter,
            adapter.send(request, timeout=seconds, **found) as response,
        ):
            return response.status_code, response.headers.get("retry-after")


class _Watched(HTTPAdapter):
    """The adapter of requests; the exchange knows its connections."""

    def __init__(self, exchange: Exchange) -> None:
        super().__init__()
        self.exchange = exchange

    def get_connection_with_tls_context(self, *args: Any, **named: Any) -> Any:
        pool = super().get_connection_with_tls_context(*args, **named)
        kind: Any = pool.ConnectionCls
        exchange = self.exchange

        class Connection(kind):  # type: ignore[misc]  # of HTTP, HTTPS or a proxy
            def _new_conn(self) -> Any:
                # urllib3 asks here for each connection, before TLS and the way through a proxy.
                return exchange.watch(super()._new_conn())

        pool.ConnectionCls = Connection
        return pool


def _what(error: Exception, seconds: float) -> str:
    """Return why there was no answer, without the text of the error, which may hold the URL."""
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, TimeoutError):
            return f"did not answer within {seconds:.3g} s"
        if isinstance(seen, http.client.RemoteDisconnected):
            return "closed the connection"
        if isinstance(seen, (http.client.LineTooLong, http.client.BadStatusLine)):
            return "did not answer in HTTP"
        if isinstance(seen, http.client.HTTPException) and "headers" in str(seen):
            return "answered with too many headers"
        seen = seen.__cause__ or seen.__context__
    return "cannot be reached"


def body_of(delivery: Delivery, part: int, rows: Sequence[str]) -> bytes:
    """The JSON that is posted: whose rows these are, and the rows as the engine wrote them."""
    head = json.dumps(
        {
            "id": delivery.part_id(part),
            "model": delivery.name,
            "sink": delivery.batch.sink,
            "batch": delivery.batch.m,
            "part": part,
            "after": delivery.answers.after.isoformat(),
            "until": delivery.answers.until.isoformat(),
            "count": len(rows),
        },
        ensure_ascii=False,
    )
    return f'{head[:-1]}, "rows": [{", ".join(rows)}]}}'.encode()


def signature(secret: str, message_id: str, timestamp: int, body: bytes) -> str:
    """Return ``webhook-signature``; a secret ``whsec_…`` is base64, others are used as they are.

    >>> signature("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "msg_p5jXN8AQM9LWM0D4loKWxJek",
    ...     1614265330, b'{"test": 2432232314}')
    'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE='
    """
    key = secret.encode()
    if secret.startswith("whsec_"):
        try:
            key = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
        except binascii.Error as error:
            raise Refused("the webhook's secret begins with whsec_ but is not base64") from error
    signed = b".".join((message_id.encode(), str(timestamp).encode(), body))
    return "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()


def _headers(sink: WebhookSink) -> dict[str, str]:
    """Return the headers of the configuration, with the values of variables."""
    headers = {**(sink.headers or {})}
    headers |= {key: from_environment(name) for key, name in (sink.headers_env or {}).items()}
    for key, value in headers.items():
        if fault := fault_of_header(key, value):
            raise Refused(fault)
    return headers


def _signed(sink: WebhookSink, message_id: str, body: bytes) -> Mapping[str, str]:
    now = int(time.time())
    headers = {"webhook-id": message_id, "webhook-timestamp": str(now)}
    if sink.secret_env:
        secret = from_environment(sink.secret_env)
        headers["webhook-signature"] = signature(secret, message_id, now, body)
    return headers


def _seconds(wait: str | None) -> float | None:
    """``Retry-After``: a number of seconds or a date."""
    if not wait:
        return None
    try:
        seconds = float(wait)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(wait).timestamp() - time.time()
        except (ValueError, TypeError, LookupError, OverflowError):
            return None
    return None if math.isnan(seconds) else max(0.0, seconds)
