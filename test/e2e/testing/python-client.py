"""Drives a server with the Python client of Kubernetes; prints one JSON line of what it saw."""

import json
import sys
import threading

from kubernetes import client, config, dynamic, watch
from kubernetes.client.rest import ApiException

API = "management.postern/v1"
api_client = config.new_client_from_config(sys.argv[1])
seen = {}


def status_of(call):
    try:
        call()
    except ApiException as error:
        return [error.status, json.loads(error.body)["reason"]]
    return None


# Discovery by the dynamic client: /version, /api, /apis and each group by itself.
found = dynamic.DynamicClient(api_client)
keys = found.resources.get(api_version=API, kind="OwnedAccessKey")
instances = found.resources.get(api_version=API, kind="VirtualClusterInstance")
seen["discovered"] = {
    "plural": keys.name,
    "namespaced": [keys.namespaced, instances.namespaced],
    "verbs": sorted(keys.verbs),
    "subresources": sorted(instances.subresources),
    "version": found.version["kubernetes"]["gitVersion"],
}


def key(name, **spec):
    return {"apiVersion": API, "kind": "OwnedAccessKey", "metadata": {"name": name, "labels": {"by": "python"}}, "spec": spec}


created = keys.create(body=key("python", displayName="one", ttl=3600))
seen["created"] = [created.metadata.name, created.spec.displayName, bool(created.spec.key)]
seen["exists"] = status_of(lambda: keys.create(body=key("python")))
seen["read"] = [keys.get(name="python").spec.displayName, keys.get(name="python").spec.key]
merged = keys.patch(name="python", body={"spec": {"displayName": "two"}}, content_type="application/merge-patch+json")
seen["merged"] = merged.spec.displayName
operations = [{"op": "replace", "path": "/spec/displayName", "value": "three"}]
patched = keys.patch(name="python", body=operations, content_type="application/json-patch+json")
seen["patched"] = patched.spec.displayName
stale = merged.to_dict()
seen["stale"] = status_of(lambda: keys.replace(body=stale))
# The client of Debian 12 knows no `server_side_apply`: what newer ones send.
headers = {"Content-Type": "application/apply-patch+yaml", "Accept": "application/json"}


def apply(manager, display_name, force):
    query = [("fieldManager", manager), ("force", str(force).lower())]
    answer, code, _ = api_client.call_api(
        f"/apis/{API}/ownedaccesskeys/python",
        "PATCH",
        query_params=query,
        header_params=headers,
        body=json.dumps(key("python", displayName=display_name)),
        auth_settings=["BearerToken"],
        response_type="object",
    )
    return [code, answer["spec"]["displayName"]]


seen["applied"] = apply("python", "four", True)
seen["conflict"] = status_of(lambda: apply("other", "five", False))
listed = keys.get(label_selector="by=python")
seen["listed"] = [item.metadata.name for item in listed.items]

# Every content type of patches, on a resource that takes them all. The dynamic client sends what it is told.
secrets = found.resources.get(api_version="v1", kind="Secret")
secrets.create(namespace="default", body={"metadata": {"name": "patched", "labels": {"a": "1"}}, "stringData": {"a": "1"}})


def patch_secret(content_type, body, **options):
    patched = secrets.patch(name="patched", namespace="default", body=body, content_type=content_type, **options)
    return sorted(patched.to_dict()["data"])


seen["patches"] = {
    "json": patch_secret("application/json-patch+json", [{"op": "add", "path": "/data/b", "value": "Yg=="}]),
    "merge": patch_secret("application/merge-patch+json", {"data": {"a": None, "c": "Yw=="}}),
    "strategic": patch_secret("application/strategic-merge-patch+json", {"data": {"$patch": "replace", "d": "ZA=="}}),
    # The client of Debian 12 makes no YAML; JSON is YAML.
    "apply": patch_secret(
        "application/apply-patch+yaml",
        json.dumps({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "patched"}, "data": {"e": "ZQ=="}}),
        field_manager="python",
    ),
    "default": sorted(
        client.CoreV1Api(api_client).patch_namespaced_secret("patched", "default", {"stringData": {"f": "f"}}).data
    ),
}
seen["strategic"] = status_of(
    lambda: keys.patch(name="python", body={"spec": {}}, content_type="application/strategic-merge-patch+json")
)
seen["unknown"] = status_of(lambda: keys.patch(name="python", body={"spec": {}}, content_type="application/json"))

# Pages, by the dynamic and by the typed client; a token goes with its own state, and no other.
for number in range(5):
    secrets.create(namespace="default", body={"metadata": {"name": f"page-{number}", "labels": {"pages": "yes"}}})
pages = []
token = None
while token != "":
    page = secrets.get(namespace="default", label_selector="pages=yes", limit=2, _continue=token)
    pages.append([item.metadata.name for item in page.items])
    token = page.metadata["continue"] or ""
    if len(pages) == 1:
        secrets.delete(namespace="default", name="page-4")
seen["pages"] = pages
typed = client.CoreV1Api(api_client).list_namespaced_secret("default", label_selector="pages=yes", limit=3)
seen["typed"] = [len(typed.items), typed.metadata.remaining_item_count, bool(typed.metadata._continue)]
seen["broken"] = status_of(lambda: secrets.get(namespace="default", limit=2, _continue="broken"))

# A watch from the listed version, as informers do it, with writes from another thread.
events = []


def write():
    keys.create(body=key("watched"))
    keys.patch(name="watched", body={"spec": {"disabled": True}}, content_type="application/merge-patch+json")
    keys.delete(name="watched")


writer = threading.Thread(target=write)
writer.start()
for event in keys.watch(resource_version=listed.metadata.resourceVersion, label_selector="by=python", timeout=30):
    events.append([event["type"], event["object"].metadata.name])
    if event["type"] == "DELETED":
        break
writer.join()
seen["watched"] = events

# The typed clients.
custom = client.CustomObjectsApi(api_client)
group = {"group": "management.postern", "version": "v1"}
seen["custom"] = custom.get_cluster_custom_object(**group, plural="ownedaccesskeys", name="python")["metadata"]["name"]
core = client.CoreV1Api(api_client)
seen["namespaces"] = sorted(namespace.metadata.name for namespace in core.list_namespace().items)
stream = watch.Watch()
first = next(iter(stream.stream(core.list_namespace, timeout_seconds=10)))
stream.stop()
seen["streamed"] = [first["type"], type(first["object"]).__name__]
rbac = client.RbacAuthorizationV1Api(api_client)
seen["roles"] = "postern:admin" in [role.metadata.name for role in rbac.list_cluster_role().items]
review = client.V1SelfSubjectAccessReview(
    spec=client.V1SelfSubjectAccessReviewSpec(
        resource_attributes=client.V1ResourceAttributes(verb="create", group="management.postern", resource="projects")
    )
)
seen["allowed"] = client.AuthorizationV1Api(api_client).create_self_subject_access_review(review).status.allowed
exact = core.list_namespace(resource_version=listed.metadata.resourceVersion, resource_version_match="Exact")
seen["exact"] = exact.metadata.resource_version == listed.metadata.resourceVersion
deleted = keys.delete(name="python")
seen["deleted"] = [deleted.status, deleted.details.name]
seen["gone"] = status_of(lambda: keys.get(name="python"))
print(json.dumps(seen))
