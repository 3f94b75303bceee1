"""Follows the secrets of a namespace with the Python client of Kubernetes, as its users write it: lists in pages, watches from there on,
lists anew after 410, watches on after a lost connection. Ends when it has seen the secret named `end`; prints one JSON line."""

import json
import sys
import time

import urllib3
from kubernetes import client, config, watch
from kubernetes.client.rest import ApiException

PAGE = 500
core = client.CoreV1Api(config.new_client_from_config(sys.argv[1]))
known = {}
counts = {"lists": 0, "pages": 0, "watches": 0, "expired": 0, "lost": 0}
version = None


def state(secret):
    return f"{secret.metadata.uid} {secret.metadata.resource_version}"


def relist():
    """All pages are of one state; a page that comes too late for it begins anew."""
    found = {}
    token = None
    counts["lists"] += 1
    while True:
        page = core.list_namespaced_secret("default", limit=PAGE, _continue=token)
        counts["pages"] += 1
        found.update((item.metadata.name, state(item)) for item in page.items)
        token = page.metadata._continue
        if not token:
            return found, page.metadata.resource_version


while "end" not in known:
    try:
        if version is None:
            known, version = relist()
            print("listed", file=sys.stderr, flush=True)
            continue
        stream = watch.Watch()
        counts["watches"] += 1
        for event in stream.stream(
            core.list_namespaced_secret, "default", resource_version=version, allow_watch_bookmarks=True, timeout_seconds=60
        ):
            item = event["object"]
            if event["type"] == "DELETED":
                known.pop(item.metadata.name, None)
            elif event["type"] != "BOOKMARK":
                known[item.metadata.name] = state(item)
            # Of a bookmark the client gives what came, not a secret.
            version = item["metadata"]["resourceVersion"] if event["type"] == "BOOKMARK" else item.metadata.resource_version
            if "end" in known:
                break
    except ApiException as error:
        if error.status == 410:
            counts["expired"] += 1
            version = None
        elif error.status not in (429, 500, 503, 504):
            raise
        else:
            time.sleep(0.05)
    except urllib3.exceptions.HTTPError:
        counts["lost"] += 1
        time.sleep(0.05)

print(json.dumps({"known": known, **counts}))
