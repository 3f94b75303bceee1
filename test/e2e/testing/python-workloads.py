"""Reads and writes kinds of a cluster with the typed Python client, which refuses answers that lack a required member; prints one JSON line."""

import json
import sys
from datetime import datetime, timezone

from kubernetes import client, config

api_client = config.new_client_from_config(sys.argv[1])
apps = client.AppsV1Api(api_client)
policy = client.PolicyV1Api(api_client)
core = client.CoreV1Api(api_client)
events = client.EventsV1Api(api_client)
coordination = client.CoordinationV1Api(api_client)
batch = client.BatchV1Api(api_client)
seen = {}

meta = client.V1ObjectMeta(name="py")
selector = client.V1LabelSelector(match_labels={"app": "py"})
pod = client.V1PodSpec(containers=[client.V1Container(name="c", image="nginx")])
template = client.V1PodTemplateSpec(metadata=client.V1ObjectMeta(labels={"app": "py"}), spec=pod)
space = "default"


def shown(name, create, read, listed):
    # A controller may have written the status by the time of the read.
    status = create().status
    read("py", space)
    seen[name] = [len(listed(space).items), {key: value for key, value in status.to_dict().items() if value is not None}]


shown(
    "ReplicaSet",
    lambda: apps.create_namespaced_replica_set(
        space, client.V1ReplicaSet(metadata=meta, spec=client.V1ReplicaSetSpec(selector=selector, template=template))
    ),
    apps.read_namespaced_replica_set,
    apps.list_namespaced_replica_set,
)
shown(
    "DaemonSet",
    lambda: apps.create_namespaced_daemon_set(
        space, client.V1DaemonSet(metadata=meta, spec=client.V1DaemonSetSpec(selector=selector, template=template))
    ),
    apps.read_namespaced_daemon_set,
    apps.list_namespaced_daemon_set,
)
shown(
    "StatefulSet",
    lambda: apps.create_namespaced_stateful_set(
        space,
        client.V1StatefulSet(
            metadata=meta, spec=client.V1StatefulSetSpec(selector=selector, template=template, service_name="py")
        ),
    ),
    apps.read_namespaced_stateful_set,
    apps.list_namespaced_stateful_set,
)
shown(
    "PodDisruptionBudget",
    lambda: policy.create_namespaced_pod_disruption_budget(
        space,
        client.V1PodDisruptionBudget(
            metadata=meta, spec=client.V1PodDisruptionBudgetSpec(selector=selector, min_available=1)
        ),
    ),
    policy.read_namespaced_pod_disruption_budget,
    policy.list_namespaced_pod_disruption_budget,
)
shown(
    "Deployment",
    lambda: apps.create_namespaced_deployment(
        space, client.V1Deployment(metadata=meta, spec=client.V1DeploymentSpec(selector=selector, template=template))
    ),
    apps.read_namespaced_deployment,
    apps.list_namespaced_deployment,
)

# A status that is written keeps what it always has.
apps.patch_namespaced_replica_set_status("py", space, {"status": {"replicas": None, "observedGeneration": 1}})
seen["written"] = apps.read_namespaced_replica_set_status("py", space).status.replicas

now = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=timezone.utc)
coordination.create_namespaced_lease(
    space,
    client.V1Lease(metadata=meta, spec=client.V1LeaseSpec(holder_identity="py", lease_duration_seconds=15, renew_time=now)),
)
seen["lease"] = coordination.read_namespaced_lease("py", space).spec.renew_time == now
events.create_namespaced_event(
    space,
    client.EventsV1Event(
        metadata=meta,
        event_time=now,
        reporting_controller="py/test",
        reporting_instance="py-1",
        action="Try",
        reason="Tried",
        type="Normal",
        regarding=client.V1ObjectReference(kind="Pod", name="py", namespace=space),
    ),
)
seen["events"] = [
    [event.metadata.name for event in events.list_namespaced_event(space).items if event.metadata.name == "py"],
    [event.metadata.name for event in core.list_namespaced_event(space).items if event.metadata.name == "py"],
]
print(json.dumps(seen))
