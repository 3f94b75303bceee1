// ControllerRevisions: the templates that a StatefulSet or DaemonSet has had.
// Source: k8s.io/kubernetes/pkg/controller/history/controller_history.go

import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { isApiError } from "@postern/apimachinery/meta/api-error";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import {
  deleteControlled,
  ignoringConflicts,
  readControlled,
  updateControlled,
} from "@postern/apiserver/controllers/controlled-objects";
import type { PodTemplate } from "../../builtin/workloads/pods/pod-fields.ts";
import { templateHash } from "./deployments/deployment.ts";
import { digestOf, inOrderOfNames } from "./digest.ts";
import type { OwnedObjects } from "./owned-objects.ts";
import { createOwned } from "./pod-control.ts";
import { createSummaries, readStored } from "./read-stored.ts";
import { compareRevisions, revisionAfter, revisionAsJson } from "./revision-number.ts";
import { controllerReference, type WorkloadPort } from "./workload-port.ts";

/** A ControllerRevision without its data, of which there may be very much. */
export type Revision = KubeObject & { readonly revision: bigint; readonly digest: string };

type StoredRevision = KubeObject & { readonly data?: JsonObject; readonly revision?: number | bigint };

export type Revisions = {
  /** Oldest first. */
  of(owner: KubeObject): Promise<readonly Revision[]>;
  /** The template that a revision has kept. */
  templateOf(revision: Revision): PodTemplate | undefined;
  /** The revision of this template, which becomes the newest. Rejects with ApiErrors. */
  ensure(owner: KubeObject, template: PodTemplate, known: readonly Revision[], signal: AbortSignal): Promise<Revision>;
  /** Deletes the oldest that the history has no room for, but for those that are in use. */
  cleanUp(known: readonly Revision[], inUse: ReadonlySet<string>, limit: number, signal: AbortSignal): Promise<void>;
};

const nameOf = ({ metadata }: KubeObject): string => metadata.name ?? "";

function summaryOf({ apiVersion, kind, metadata, data, revision }: StoredRevision): Revision {
  const { name = "", namespace = "", uid = "" } = metadata;
  return {
    apiVersion,
    kind,
    metadata: { name, namespace, uid },
    revision: BigInt(revision ?? 0),
    digest: digestOf(data),
  };
}

/** `hashLabel` is the label that has the hash of the template. */
export function createRevisions(port: WorkloadPort, owned: OwnedObjects, hashLabel: string): Revisions {
  const { resource } = owned;
  const summaries = createSummaries(port, summaryOf);

  const dataOf = (template: PodTemplate): JsonObject => ({
    spec: { template: { ...template, $patch: "replace" } },
  });

  async function create(
    owner: KubeObject,
    template: PodTemplate,
    revision: bigint,
    signal: AbortSignal,
  ): Promise<Revision> {
    const { name = "", namespace = "", annotations } = owner.metadata;
    const { collisionCount } = (owner["status"] ?? {}) as { readonly collisionCount?: number };
    const hash = templateHash(template, collisionCount);
    const object: StoredRevision = {
      apiVersion: "apps/v1",
      kind: "ControllerRevision",
      metadata: {
        name: `${name.slice(0, 223)}-${hash}`,
        namespace,
        labels: { ...template.metadata?.labels, [hashLabel]: hash },
        ...(annotations === undefined ? {} : { annotations }),
        ownerReferences: [controllerReference(owner)],
      },
      // kubectl compares it byte by byte with what Go writes of a map.
      data: inOrderOfNames(dataOf(template)) as JsonObject,
      revision: revisionAsJson(revision),
    };
    try {
      await createOwned(port, resource, object, signal);
      return summaryOf(object);
    } catch (error) {
      // Another server has created it, or a policy has changed it: by its name it is the one.
      const existing = isApiError(error, "AlreadyExists")
        ? await readControlled(port, resource, object, signal)
        : undefined;
      const isOwn = existing?.metadata.ownerReferences?.some(({ uid }) => uid === owner.metadata.uid) === true;
      if (isOwn) return summaryOf(existing as StoredRevision);
      throw error;
    }
  }

  return {
    async of({ metadata: { uid = "" } }) {
      const known = await summaries(owned.of(uid));
      return known.sort((a, b) => compareRevisions(a.revision, b.revision) || (nameOf(a) < nameOf(b) ? -1 : 1));
    },
    templateOf({ metadata: { namespace = "", name = "" } }) {
      const stored = readStored<StoredRevision>(port, resource, resource.keys.of(namespace, name));
      // As this controller writes it.
      const { spec } = (stored?.data ?? {}) as { readonly spec?: { readonly template?: JsonObject } };
      if (spec?.template === undefined) return undefined;
      const { $patch: _, ...template } = spec.template;
      return template;
    },
    async ensure(owner, template, known, signal) {
      const digest = digestOf(dataOf(template));
      const same = known.findLast((each) => each.digest === digest);
      const newest = known.at(-1);
      const next = revisionAfter(newest?.revision ?? 0n);
      if (same === undefined) return await create(owner, template, next, signal);
      if (same === newest) return same;
      const transform = (current: KubeObject): KubeObject => ({ ...current, revision: revisionAsJson(next) });
      await ignoringConflicts(() => updateControlled(port, resource, same, { transform }, signal));
      return { ...same, revision: next };
    },
    async cleanUp(known, inUse, limit, signal) {
      const idle = known.filter((each) => !inUse.has(nameOf(each)));
      for (const revision of idle.slice(0, Math.max(0, idle.length - limit)))
        await ignoringConflicts(() => deleteControlled(port, resource, revision, signal));
    },
  };
}
