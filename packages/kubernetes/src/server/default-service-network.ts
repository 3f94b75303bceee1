// The network of Services, as the object that every cluster has.
// Source: k8s.io/kubernetes/pkg/controlplane/controller/defaultservicecidr/default_servicecidr_controller.go

import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { formatTimestamp } from "@postern/apimachinery/time/timestamp";
import { createWhenAbsent, updateStatus } from "@postern/apiserver/controllers/controlled-objects";
import type { ResourceRegistry } from "@postern/apiserver/registry/resource-registry";
import type { Clock } from "@postern/apiserver/runtime/clock";
import { SERVICE_NETWORK } from "../builtin/services/service-addresses.ts";
import { requiredResource } from "./required-resource.ts";

const NAME = "kubernetes";

export async function createServiceNetwork(
  registry: ResourceRegistry,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  const networks = requiredResource(registry, "networking.k8s.io", "ServiceCIDR");
  const metadata = { name: NAME };
  const object = {
    apiVersion: "networking.k8s.io/v1",
    kind: "ServiceCIDR",
    metadata,
    spec: { cidrs: [SERVICE_NETWORK] },
  };
  if (networks.view.get(networks.keys.of("", NAME)) !== undefined) return;
  await createWhenAbsent(networks, object, clock, signal);
  const ready = {
    type: "Ready",
    status: "True",
    reason: "",
    message: "Kubernetes Service CIDR is ready",
    lastTransitionTime: formatTimestamp(clock.now()),
  };
  const transform = (current: KubeObject): KubeObject => ({ ...current, status: { conditions: [ready] } });
  await updateStatus({ runtime: { clock } }, networks, { metadata }, transform, signal);
}
