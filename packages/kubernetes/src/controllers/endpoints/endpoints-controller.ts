// Keeps Endpoints and EndpointSlices of Services that select pods, and slices of Endpoints that clients write.
// Source: k8s.io/kubernetes/pkg/controller/{endpoint,endpointslice,endpointslicemirroring}

import { equalJson } from "@postern/apimachinery/json/equal-json";
import type { JsonObject, JsonValue } from "@postern/apimachinery/json/json-value";
import { isApiError } from "@postern/apimachinery/meta/api-error";
import { isBeingDeleted, type KubeObject } from "@postern/apimachinery/meta/object-meta";
import {
  createControlled,
  deleteControlled,
  ignoringConflicts,
  updateControlled,
} from "@postern/apiserver/controllers/controlled-objects";
import type { Controller, ControllerPort } from "@postern/apiserver/controllers/controller-port";
import { followKeys } from "@postern/apiserver/controllers/follow-keys";
import { createQueueController } from "@postern/apiserver/controllers/queue-controller";
import { WorkQueue } from "@postern/apiserver/controllers/work-queue";
import type { InstalledResource } from "@postern/apiserver/registry/resource-registry";
import { createTurns } from "@postern/apiserver/runtime/in-slices";
import type { Endpoints } from "../../builtin/services/endpoints.ts";
import type { Service } from "../../builtin/services/service.ts";
import { type AddressedPods, followAddressedPods } from "./addressed-pods.ts";
import { createManagedSlices } from "./managed-slices.ts";
import { endpointsFound, hasSelector, isHeadless, mirroredSlices, slicesOf, subsetsOf } from "./wanted-endpoints.ts";

export type EndpointsControllerDeps = {
  readonly services: InstalledResource;
  readonly endpoints: InstalledResource;
  readonly slices: InstalledResource;
  readonly pods: InstalledResource;
  /** Without stored pods, selectors select nothing, and Services get no endpoints. */
  readonly keepsWorkloads: () => boolean;
};

const HEADLESS = "service.kubernetes.io/headless";
const SKIP_MIRROR = "endpointslice.kubernetes.io/skip-mirror";
const MANAGED_BY = "endpoints.kubernetes.io/managed-by";
const LEADER = "control-plane.alpha.kubernetes.io/leader";
const TRIGGER = "endpoints.kubernetes.io/last-change-trigger-time";

export function createEndpointsController(port: ControllerPort, deps: EndpointsControllerDeps): Controller {
  const { services, endpoints, slices, pods, keepsWorkloads } = deps;
  const { scheduler, clock } = port.runtime;
  /** `namespace/` means all Services of the namespace. */
  const queue = new WorkQueue(port, { name: "endpoints", process, concurrency: 1 });
  const add = (namespace: string, name: string): void => queue.add(`${namespace}/${name}`);
  const ofSelector = createManagedSlices(port, slices, "endpointslice-controller.k8s.io", add);
  const mirrored = createManagedSlices(port, slices, "endpointslicemirroring-controller.k8s.io", add);
  const addressed: AddressedPods = followAddressedPods(pods, scheduler, (namespace) => add(namespace, ""));
  /** Services that went: their Endpoints go with them. */
  const gone = new Set<string>();

  async function process(key: string, signal: AbortSignal): Promise<void> {
    const [namespace = "", name = ""] = key.split("/");
    if (name === "") {
      const pause = createTurns(clock);
      for (const cached of services.view.list(services.keys.inNamespace(namespace))) {
        await pause();
        add(namespace, services.keys.parse(cached.key).name);
      }
      return;
    }
    // Stored objects have passed the schema of their kind, here and below.
    const service = services.view.get(services.keys.of(namespace, name))?.decode() as Service | undefined;
    const written = endpoints.view.get(endpoints.keys.of(namespace, name))?.decode() as Endpoints | undefined;
    if (service === undefined || isBeingDeleted(service)) {
      if (service === undefined && gone.delete(key) && written !== undefined)
        await ignoringConflicts(() => deleteControlled(port, endpoints, written, signal));
      await mirrored.clear(namespace, name, signal);
      return;
    }
    gone.delete(key);
    if (!hasSelector(service)) {
      await ofSelector.clear(namespace, name, signal);
      await mirror(service, written, signal);
      return;
    }
    await mirrored.clear(namespace, name, signal);
    if (!keepsWorkloads()) return;
    const found = endpointsFound(service, addressed.in(namespace));
    await inNamespace(() => keepEndpoints(service, written, subsetsOf(service, found) as JsonValue, signal));
    const labels = { ...ownLabels(service), ...headlessLabel(service) };
    await inNamespace(() => ofSelector.keep(name, service, labels, slicesOf(service, found), signal));
  }

  async function keepEndpoints(
    service: Service,
    written: Endpoints | undefined,
    subsets: JsonValue,
    signal: AbortSignal,
  ): Promise<void> {
    const { name = "", namespace = "" } = service.metadata;
    const labels = { ...ownLabels(service), ...headlessLabel(service), [MANAGED_BY]: "endpoint-controller" };
    const members = (subsets as readonly JsonValue[]).length === 0 ? {} : { subsets };
    if (written === undefined) {
      const metadata = { name, namespace, labels };
      const object = { apiVersion: "v1", kind: "Endpoints", metadata, ...members } as KubeObject;
      return await createControlled(port, endpoints, object, signal);
    }
    if (
      equalJson((written.subsets ?? []) as JsonValue, subsets) &&
      equalJson((written.metadata.labels ?? {}) as JsonObject, labels)
    )
      return;
    const transform = ({ subsets: _, ...now }: KubeObject): KubeObject =>
      ({ ...now, metadata: { ...(now as KubeObject).metadata, labels }, ...members }) as KubeObject;
    await ignoringConflicts(() => updateControlled(port, endpoints, written, { transform }, signal));
  }

  async function mirror(service: Service, written: Endpoints | undefined, signal: AbortSignal): Promise<void> {
    const { name = "", namespace = "" } = service.metadata;
    const isMirrored =
      written !== undefined &&
      !isBeingDeleted(written) &&
      written.metadata.labels?.[SKIP_MIRROR] !== "true" &&
      written.metadata.annotations?.[LEADER] === undefined;
    if (!isMirrored) return await mirrored.clear(namespace, name, signal);
    const { [HEADLESS]: _h, [MANAGED_BY]: _m, ...labels } = { ...written.metadata.labels };
    await inNamespace(() => mirrored.keep(name, written, labels, mirroredSlices(written), signal));
  }

  const followService = followKeys(services, scheduler, (key) => {
    const { namespace, name } = services.keys.parse(key);
    if (services.view.get(key) === undefined) gone.add(`${namespace}/${name}`);
    add(namespace, name);
  });
  const followEndpoints = followKeys(endpoints, scheduler, (key) => {
    const { namespace, name } = endpoints.keys.parse(key);
    add(namespace, name);
  });
  return createQueueController(queue, [followService, followEndpoints, addressed, ofSelector, mirrored]);
}

/** Refusals that need no retry: the namespace is being deleted, or an event about the existing object is on its way. */
async function inNamespace(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!isApiError(error, "Forbidden") && !isApiError(error, "AlreadyExists") && !isApiError(error, "NotFound"))
      throw error;
  }
}

const headlessLabel = (service: Service): JsonObject => (isHeadless(service) ? { [HEADLESS]: "" } : {});

const ownLabels = ({ metadata }: Service): JsonObject => {
  const { [TRIGGER]: _, ...labels } = { ...metadata.labels };
  return labels;
};
