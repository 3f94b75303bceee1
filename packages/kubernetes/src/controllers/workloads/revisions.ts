// ControllerRevisions: the templates that a StatefulSet or DaemonSet has had.
// Source: k8s.io/kubernetes/pkg/controller/history/controller_history.go

import { equalJson } from "@postern/apimachinery/json/equal-json";
import type { JsonObject, JsonValue } from "@postern/apimachinery/json/json-value";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import {
  deleteControlled,
  ignoringConflicts,
  updateControlled,
} from "@postern/apiserver/controllers/controlled-objects";
import type { PodTemplate } from "../../builtin/workloads/pod-fields.ts";
import { templateHash } from "./deployment.ts";
import type { OwnedObjects } from "./owned-objects.ts";
import { createOwned } from "./pod-control.ts";
import { controllerReference, type WorkloadPort } from "./workload-port.ts";

export type Revision = KubeObject & { readonly data?: JsonValue; readonly revision?: number };

export type Revisions = {
  /** Oldest first. */
  of(owner: KubeObject): readonly Revision[];
  /** The revision of this template, which becomes the newest. Rejects with ApiErrors. */
  ensure(owner: KubeObject, template: PodTemplate, known: readonly Revision[], signal: AbortSignal): Promise<Revision>;
  /** Deletes the oldest that the history has no room for, but for those that are in use. */
  cleanUp(known: readonly Revision[], inUse: ReadonlySet<string>, limit: number, signal: AbortSignal): Promise<void>;
};

const nameOf = ({ metadata }: KubeObject): string => metadata.name ?? "";
const numberOf = ({ revision }: Revision): number => Number(revision ?? 0);

/** `hashLabel` is the label that has the hash of the template. */
export function createRevisions(port: WorkloadPort, owned: OwnedObjects, hashLabel: string): Revisions {
  const { resource } = owned;

  const dataOf = (template: PodTemplate): JsonObject => ({
    // A template is JSON; only its named types hide it.
    spec: { template: { ...(template as never as JsonObject), $patch: "replace" } },
  });

  async function create(
    owner: KubeObject,
    template: PodTemplate,
    revision: number,
    signal: AbortSignal,
  ): Promise<Revision> {
    const { name = "", namespace = "", annotations } = owner.metadata;
    const hash = templateHash(template);
    const object: KubeObject = {
      apiVersion: "apps/v1",
      kind: "ControllerRevision",
      metadata: {
        name: `${name.slice(0, 223)}-${hash}`,
        namespace,
        labels: { ...template.metadata?.labels, [hashLabel]: hash },
        ...(annotations === undefined ? {} : { annotations }),
        ownerReferences: [controllerReference(owner)],
      },
      data: dataOf(template),
      revision,
    };
    await createOwned(port, resource, object, signal);
    return object;
  }

  return {
    of: ({ metadata: { uid = "" } }) =>
      [...owned.of(uid)]
        // Stored objects have passed the schema of their kind.
        .map((object) => object.decode() as Revision)
        .toSorted((a, b) => numberOf(a) - numberOf(b) || (nameOf(a) < nameOf(b) ? -1 : 1)),
    async ensure(owner, template, known, signal) {
      const data = dataOf(template);
      const same = known.findLast((each) => equalJson(each.data, data));
      const newest = known.at(-1);
      const next = (newest === undefined ? 0 : numberOf(newest)) + 1;
      if (same === undefined) return await create(owner, template, next, signal);
      if (same === newest) return same;
      const transform = (current: KubeObject): KubeObject => ({ ...current, revision: next });
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

/** The template that a revision has kept. */
export function templateOf({ data }: Revision): PodTemplate | undefined {
  const { spec } = (data ?? {}) as { readonly spec?: { readonly template?: JsonObject } };
  if (spec?.template === undefined) return undefined;
  const { $patch: _, ...template } = spec.template;
  return template as never;
}
