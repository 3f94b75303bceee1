// The EndpointSlices that a controller keeps for one Service, found by their labels.

import { equalJson } from "@postern/apimachinery/json/equal-json";
import type { JsonObject } from "@postern/apimachinery/json/json-value";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { CachedObject } from "@postern/apiserver/cache/cached-object";
import { followView } from "@postern/apiserver/cache/view-informer";
import {
  createControlled,
  deleteControlled,
  ignoringConflicts,
  updateControlled,
} from "@postern/apiserver/controllers/controlled-objects";
import type { ControlledResource, ControllerPort } from "@postern/apiserver/controllers/controller-port";

export const SERVICE_NAME = "kubernetes.io/service-name";
const MANAGED_BY = "endpointslice.kubernetes.io/managed-by";

/** A slice as the controller writes it. */
export type WantedSlice = {
  readonly addressType: string;
  readonly endpoints: readonly JsonObject[];
  readonly ports: readonly JsonObject[];
};

/** The object that a slice belongs to, and goes with. */
export type SliceOwner = Pick<KubeObject, "apiVersion" | "kind" | "metadata">;

export type ManagedSlices = Disposable & {
  /** Makes the slices of the Service those that are wanted. */
  keep(
    service: string,
    owner: SliceOwner,
    labels: JsonObject,
    wanted: readonly WantedSlice[],
    signal: AbortSignal,
  ): Promise<void>;
  /** Removes all of them. */
  clear(namespace: string, service: string, signal: AbortSignal): Promise<void>;
};

/** `onChange` is called with namespace and Service of a slice that changed or went. */
export function createManagedSlices(
  port: Pick<ControllerPort, "runtime">,
  slices: ControlledResource,
  manager: string,
  onChange: (namespace: string, service: string) => void,
): ManagedSlices {
  const { view, keys } = slices;
  const byService = new Map<string, Set<string>>();
  const serviceOf = ({ labels }: CachedObject): string | undefined =>
    labels?.[MANAGED_BY] === manager ? labels[SERVICE_NAME] : undefined;
  const placeOf = (namespace: string, service: string): string => `${namespace}/${service}`;

  function put(object: CachedObject, previous?: CachedObject): void {
    if (previous !== undefined && serviceOf(previous) !== serviceOf(object)) remove(previous);
    const service = serviceOf(object);
    if (service === undefined) return;
    const { namespace } = keys.parse(object.key);
    const place = placeOf(namespace, service);
    byService.set(place, (byService.get(place) ?? new Set()).add(object.key));
    onChange(namespace, service);
  }
  function remove(object: CachedObject): void {
    const service = serviceOf(object);
    if (service === undefined) return;
    const { namespace } = keys.parse(object.key);
    const known = byService.get(placeOf(namespace, service));
    known?.delete(object.key);
    if (known?.size === 0) byService.delete(placeOf(namespace, service));
    onChange(namespace, service);
  }
  const following = followView({ view, prefix: keys.prefix }, port.runtime.scheduler, {
    replace(objects) {
      byService.clear();
      for (const object of objects) put(object);
    },
    put: (object, previous) => put(object, previous),
    delete: remove,
  });

  const currentOf = (namespace: string, service: string): readonly KubeObject[] =>
    [...(byService.get(placeOf(namespace, service)) ?? [])].flatMap((key) => view.get(key)?.decode() ?? []);

  return {
    async keep(service, owner, labels, wanted, signal) {
      const { namespace = "", uid = "", name = "" } = owner.metadata;
      const current = [...currentOf(namespace, service)].sort((a, b) =>
        (a.metadata.name ?? "") < (b.metadata.name ?? "") ? -1 : 1,
      );
      const allLabels = { ...labels, [SERVICE_NAME]: service, [MANAGED_BY]: manager } as { [label: string]: string };
      for (const slice of wanted) {
        const at = current.findIndex((each) => each["addressType"] === slice.addressType);
        const [known] = at === -1 ? [] : current.splice(at, 1);
        if (known === undefined) {
          const { apiVersion, kind } = owner;
          const ownerReferences = [{ apiVersion, kind, name, uid, controller: true, blockOwnerDeletion: true }];
          const metadata = { generateName: `${service}-`, namespace, labels: allLabels, ownerReferences };
          const object = { apiVersion: "discovery.k8s.io/v1", kind: "EndpointSlice", metadata, ...slice };
          await createControlled(port, slices, object, signal);
        } else if (!isAsWanted(known, slice, allLabels)) {
          const transform = (now: KubeObject): KubeObject => ({
            ...now,
            metadata: { ...now.metadata, labels: allLabels },
            ...slice,
          });
          await ignoringConflicts(() => updateControlled(port, slices, known, { transform }, signal));
        }
      }
      for (const each of current) await ignoringConflicts(() => deleteControlled(port, slices, each, signal));
    },
    async clear(namespace, service, signal) {
      for (const each of currentOf(namespace, service))
        await ignoringConflicts(() => deleteControlled(port, slices, each, signal));
    },
    [Symbol.dispose]: () => following[Symbol.dispose](),
  };
}

const isAsWanted = (known: KubeObject, { endpoints, ports }: WantedSlice, labels: JsonObject): boolean =>
  equalJson(known["endpoints"] ?? [], endpoints) &&
  equalJson(known["ports"] ?? [], ports) &&
  equalJson((known.metadata.labels ?? {}) as JsonObject, labels);
