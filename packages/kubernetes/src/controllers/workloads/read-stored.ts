// Reads of stored objects that cost what they take: objects within the limit of their size may be very many together.

import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { CachedObject } from "@postern/apiserver/cache/cached-object";
import type { InstalledResource } from "@postern/apiserver/registry/resource-registry";
import { createTurns } from "@postern/apiserver/runtime/in-slices";
import type { WorkloadPort } from "./workload-port.ts";

type LooksPort = Pick<WorkloadPort, "looks">;

/** Parsing so many bytes takes as long as looking at an object. */
const BYTES_OF_LOOK = 10;

/** The object with this key. Stored objects have passed the schema of their kind, which is that of `Kind`. */
export function readStored<Kind extends KubeObject>(
  { looks }: LooksPort,
  { view }: Pick<InstalledResource, "view">,
  key: string,
): Kind | undefined {
  const object = view.get(key);
  return object === undefined ? undefined : (decodeFor(looks, object) as Kind);
}

function decodeFor(looks: LooksPort["looks"], object: CachedObject): KubeObject {
  looks.spend(Math.ceil(object.byteLength / BYTES_OF_LOOK));
  return object.decode();
}

/** The summaries of objects, in their order. */
type Summaries<Summary> = (objects: Iterable<CachedObject>) => Promise<Summary[]>;

/**
 * Parses each version of an object once, in turns, and keeps a summary of it for as long as the object is in memory. A summary has nothing that a
 * tenant can make large: with those of all objects, memory would hold what is stored twice.
 */
export function createSummaries<Kind extends KubeObject, Summary>(
  { looks, runtime: { clock } }: LooksPort & Pick<WorkloadPort, "runtime">,
  summarize: (object: Kind) => Summary,
): Summaries<Summary> {
  const known = new WeakMap<CachedObject, Summary>();
  const pause = createTurns(clock);
  return async (objects) => {
    const summaries: Summary[] = [];
    for (const object of objects) {
      await pause();
      looks.spend(1);
      // As above.
      const summary = known.get(object) ?? summarize(decodeFor(looks, object) as Kind);
      known.set(object, summary);
      summaries.push(summary);
    }
    return summaries;
  };
}
