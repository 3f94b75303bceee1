"""Drives custom resources with the Python client of Kubernetes: its CustomObjectsApi and its watches; prints one JSON line of what it saw."""

import json
import sys
import threading

from kubernetes import client, config, watch
from kubernetes.client.rest import ApiException

GROUP = {"group": "management.example.com", "version": "v1"}
WIDGETS = {**GROUP, "namespace": "default", "plural": "widgets"}
api_client = config.new_client_from_config(sys.argv[1])
custom = client.CustomObjectsApi(api_client)
seen = {}


def status_of(call):
    try:
        call()
    except ApiException as error:
        return [error.status, json.loads(error.body)["reason"]]
    return None


def widget(name, size, **labels):
    return {
        "apiVersion": "management.example.com/v1",
        "kind": "Widget",
        "metadata": {"name": name, "labels": labels},
        "spec": {"size": size},
    }


def names(objects):
    return [item["metadata"]["name"] for item in objects["items"]]


resources = custom.list_cluster_custom_object(**GROUP, plural="")["resources"]
seen["resources"] = sorted(resource["name"] for resource in resources)

created = custom.create_namespaced_custom_object(**WIDGETS, body=widget("one", 1))
seen["created"] = [created["metadata"]["name"], created["spec"]["size"], created["metadata"]["generation"]]
seen["exists"] = status_of(lambda: custom.create_namespaced_custom_object(**WIDGETS, body=widget("one", 1)))
seen["invalid"] = status_of(lambda: custom.create_namespaced_custom_object(**WIDGETS, body=widget("bad", "large")))
custom.create_namespaced_custom_object(**WIDGETS, body=widget("two", 1, by="python"))
listed = custom.list_namespaced_custom_object(**WIDGETS)
seen["listed"] = [
    names(listed),
    names(custom.list_namespaced_custom_object(**WIDGETS, label_selector="by=python")),
    names(custom.list_cluster_custom_object(**GROUP, plural="widgets")),
]
first = custom.list_namespaced_custom_object(**WIDGETS, limit=1)
rest = custom.list_namespaced_custom_object(**WIDGETS, limit=1, _continue=first["metadata"]["continue"])
seen["pages"] = [names(first), names(rest)]

# The client of Debian 12 sends every patch of a custom object as a merge patch.
merged = custom.patch_namespaced_custom_object(**WIDGETS, name="one", body={"spec": {"size": 2}})
seen["merged"] = merged["spec"]["size"]
seen["generation"] = merged["metadata"]["generation"]
patched = custom.get_namespaced_custom_object(**WIDGETS, name="one")
patched["spec"]["size"] = 4
seen["replaced"] = custom.replace_namespaced_custom_object(**WIDGETS, name="one", body=patched)["spec"]["size"]
seen["stale"] = status_of(lambda: custom.replace_namespaced_custom_object(**WIDGETS, name="one", body=patched))

written = custom.patch_namespaced_custom_object_status(
    **WIDGETS, name="one", body={"spec": {"size": 9}, "status": {"replicas": 5}}
)
seen["status"] = [written["status"]["replicas"], written["spec"]["size"]]
custom.patch_namespaced_custom_object(**WIDGETS, name="one", body={"spec": {"replicas": 1}})
scaled = custom.patch_namespaced_custom_object_scale(**WIDGETS, name="one", body={"spec": {"replicas": 7}})
replicas = custom.get_namespaced_custom_object(**WIDGETS, name="one")["spec"]["replicas"]
seen["scaled"] = [scaled["spec"]["replicas"], replicas, scaled["kind"]]


def write():
    custom.create_namespaced_custom_object(**WIDGETS, body=widget("watched", 1))
    custom.patch_namespaced_custom_object(**WIDGETS, name="watched", body={"spec": {"size": 2}})
    custom.delete_namespaced_custom_object(**WIDGETS, name="watched")


version = custom.list_namespaced_custom_object(**WIDGETS)["metadata"]["resourceVersion"]
events = []
writer = threading.Thread(target=write)
writer.start()
stream = watch.Watch()
for event in stream.stream(custom.list_namespaced_custom_object, **WIDGETS, resource_version=version, timeout_seconds=30):
    changed = event["object"]
    events.append([event["type"], changed["metadata"]["name"], changed["spec"]["size"]])
    if event["type"] == "DELETED":
        stream.stop()
writer.join()
seen["watched"] = events

custom.create_namespaced_custom_object(**WIDGETS, body=widget("dry", 1), dry_run="All")
seen["dryRun"] = status_of(lambda: custom.get_namespaced_custom_object(**WIDGETS, name="dry"))
seen["deleted"] = custom.delete_namespaced_custom_object(**WIDGETS, name="one")["status"]
seen["gone"] = status_of(lambda: custom.get_namespaced_custom_object(**WIDGETS, name="one"))
custom.delete_collection_namespaced_custom_object(**WIDGETS)
seen["emptied"] = names(custom.list_namespaced_custom_object(**WIDGETS))

keys = {**GROUP, "plural": "ownedaccesskeys"}
body = {"apiVersion": "management.example.com/v1", "kind": "OwnedAccessKey", "metadata": {"name": "key"}, "spec": {"user": "u"}}
made = custom.create_cluster_custom_object(**keys, body=body)["metadata"]["name"]
seen["cluster"] = [made, names(custom.list_cluster_custom_object(**keys, label_selector=""))]

# Definitions are given to the library: the list of them is served, and empty.
seen["definitions"] = client.ApiextensionsV1Api(api_client).list_custom_resource_definition().items
print(json.dumps(seen))
