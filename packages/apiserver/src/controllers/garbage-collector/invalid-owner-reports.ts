// Tells, as Events, of owner references that mean an object of another namespace, which can own nothing there.
// Source: k8s.io/kubernetes/pkg/controller/garbagecollector/graph_builder.go (reportInvalidNamespaceOwnerRef)

import type { KubeObject, OwnerReference } from "@postern/apimachinery/meta/object-meta";
import type { EventRecorder } from "../event-recorder.ts";

export class InvalidOwnerReports {
  readonly #record: EventRecorder;
  /** Storage key of a dependent → uids of the owners that have been notified of. */
  readonly #told = new Map<string, Set<string>>();

  constructor(record: EventRecorder) {
    this.#record = record;
  }

  /** Once for each owner of a dependent, by its storage key. */
  report(key: string, { apiVersion, kind, metadata }: KubeObject, owner: OwnerReference): void {
    const told = this.#told.get(key) ?? new Set();
    if (told.has(owner.uid)) return;
    this.#told.set(key, told.add(owner.uid));
    const { namespace = "", name = "", uid = "" } = metadata;
    const described = `${owner.apiVersion}/${owner.kind}, namespace: ${namespace}, name: ${owner.name}, uid: ${owner.uid}`;
    this.#record({
      involvedObject: { apiVersion, kind, ...(namespace === "" ? {} : { namespace }), name, uid },
      type: "Warning",
      reason: "OwnerRefInvalidNamespace",
      message: `ownerRef [${described}] does not exist in namespace ${JSON.stringify(namespace)}`,
    });
  }

  /** For dependents that are gone. */
  forget(key: string): void {
    this.#told.delete(key);
  }
}
