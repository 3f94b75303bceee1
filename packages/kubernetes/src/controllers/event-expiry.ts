// Deletes Events after a TTL since their last update.
// Source: k8s.io/kubernetes/pkg/registry/core/event/storage/storage.go (TTLFunc), kube-apiserver --event-ttl

import { isJsonArray, isJsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import { parseTimestamp } from "@postern/apimachinery/time/timestamp";
import type { CachedObject } from "@postern/apiserver/cache/cached-object";
import { createMemberReader, type MemberSelection } from "@postern/apiserver/cache/read-members";
import { deleteControlled } from "@postern/apiserver/controllers/controlled-objects";
import type { ControlledResource, Controller, ControllerPort } from "@postern/apiserver/controllers/controller-port";
import { createSweeper } from "@postern/apiserver/controllers/sweeper";

/** The lifetime of kube-apiserver. */
export const EVENT_TTL_MS = 60 * 60_000;

const INTERVAL_MS = 60_000;

const MEMBERS = {
  metadata: { name: true, namespace: true, uid: true, creationTimestamp: true, managedFields: true },
} as const satisfies MemberSelection;

/** Facts that are needed to end an Event. */
type Known = { readonly namespace: string; readonly name: string; readonly uid: string; readonly writtenAt: number };

/** `events` as it is installed. */
export function createEventExpiry(
  port: Pick<ControllerPort, "runtime" | "onError">,
  events: ControlledResource,
): Controller {
  const { clock } = port.runtime;
  const read = createMemberReader(MEMBERS);
  // An object is a new one with every revision, so that each is read once.
  const remembered = new WeakMap<CachedObject, Known>();

  const know = (object: CachedObject): Known => {
    const known = remembered.get(object) ?? describe(object.read(read)["metadata"]);
    remembered.set(object, known);
    return known;
  };

  return createSweeper(port, {
    intervalMs: INTERVAL_MS,
    items: () => events.view.list(events.keys.prefix),
    isOver: (object) => know(object).writtenAt + EVENT_TTL_MS <= clock.now(),
    remove(object, signal) {
      const { namespace, name, uid } = know(object);
      // Only the state that was checked: a write meanwhile keeps it alive.
      const resourceVersion = String(object.revision);
      return deleteControlled(port, events, { metadata: { namespace, name, uid } }, signal, { resourceVersion });
    },
    nameOf: (object) => know(object).name,
  });
}

function describe(metadata: JsonValue | undefined): Known {
  const members = isJsonObject(metadata) ? metadata : {};
  const { creationTimestamp, managedFields } = members;
  const writes = isJsonArray(managedFields) ? managedFields.map((entry) => isJsonObject(entry) && entry["time"]) : [];
  const times = [creationTimestamp, ...writes].map(
    (time) => (typeof time === "string" ? parseTimestamp(time) : 0) ?? 0,
  );
  return {
    namespace: String(members["namespace"]),
    name: String(members["name"]),
    uid: String(members["uid"]),
    // By the server's own notes: the times in the Event are the client's.
    writtenAt: Math.max(...times),
  };
}
