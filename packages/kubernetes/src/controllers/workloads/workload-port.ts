// Parts that the workload controllers of one cluster share.

import type { KubeObject, OwnerReference } from "@postern/apimachinery/meta/object-meta";
import { GROUP_AUTHENTICATED, GROUP_MASTERS } from "@postern/apiserver/authentication/user-info";
import type { ControllerPort } from "@postern/apiserver/controllers/controller-port";
import type { EventRecorder } from "@postern/apiserver/controllers/event-recorder";
import type { WorkQueue } from "@postern/apiserver/controllers/work-queue";
import type { InstalledResource } from "@postern/apiserver/registry/resource-registry";
import type { Allowance } from "./allowance.ts";
import type { OwnedObjects } from "./owned-objects.ts";

export type WorkloadPort = ControllerPort & {
  /** The resource of a kind that every cluster serves. */
  readonly resource: (group: string, kind: string) => InstalledResource;
  readonly pods: OwnedObjects;
  /** Creations and deletions of objects that controllers own. */
  readonly writes: Allowance;
  /** Objects that controllers look at: an owner may have very many, and each of them may change at any time. */
  readonly looks: Allowance;
  /** Records Events of one controller, such as `replicaset-controller`. */
  readonly recorder: (component: string) => EventRecorder;
};

/** Before the next part of what is to be done: others have their turn. */
const SHORTEST_MS = 10;
/** Timers of more than 24 days would be over at once. */
const LONGEST_MS = 60 * 60_000;

/** Works on a key again after this time, or before. */
export const retryLater = (queue: Pick<WorkQueue, "addAfter">, key: string, delayMs: number): void =>
  queue.addAfter(key, Math.max(SHORTEST_MS, Math.min(delayMs, LONGEST_MS)));

/**
 * The port as one of these controllers uses it: under the name that kube-controller-manager has for it. What it creates meets policies and webhooks, as
 * what its owners create does.
 */
export const actingAs = (port: WorkloadPort, controller: string): WorkloadPort => ({
  ...port,
  user: {
    name: `system:serviceaccount:kube-system:${controller}`,
    groups: ["system:serviceaccounts", "system:serviceaccounts:kube-system", GROUP_AUTHENTICATED, GROUP_MASTERS],
  },
});

export type Says = (object: KubeObject, type: "Normal" | "Warning", reason: string, message: string) => void;

/** Records Events about objects. */
export const eventsBy =
  (record: EventRecorder): Says =>
  ({ apiVersion, kind, metadata: { namespace = "", name = "", uid = "" } }, type, reason, message) =>
    record({ involvedObject: { apiVersion, kind, namespace, name, uid }, type, reason, message });

/** The reference by which an object names its controller. */
export const controllerReference = ({ apiVersion, kind, metadata }: KubeObject): OwnerReference => ({
  apiVersion,
  kind,
  name: metadata.name ?? "",
  uid: metadata.uid ?? "",
  controller: true,
  blockOwnerDeletion: true,
});
